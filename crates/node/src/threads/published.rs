//! The read-only copy of the directory by which callers find partitions.

use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::Instant;

use crate::answer::Answer;
use crate::host::Routes;

/// The copy, and how to be told of a newer one.
pub(super) struct Published {
    routes: RwLock<Arc<Routes<Answer>>>,
    /// Counts the copies.
    generation: Mutex<u64>,
    changed: Condvar,
}

impl Published {
    pub(super) fn new(routes: Routes<Answer>) -> Self {
        let routes = RwLock::new(Arc::new(routes));
        Self { routes, generation: Mutex::new(0), changed: Condvar::new() }
    }

    pub(super) fn get(&self) -> Arc<Routes<Answer>> {
        self.routes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn publish(&self, routes: Routes<Answer>) {
        let mut published = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *published, Arc::new(routes));
        drop(published);
        drop(before);
        let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        *generation = generation.wrapping_add(1);
        self.changed.notify_all();
    }

    /// Waits until the copy is enough, or until the deadline.
    pub(super) fn wait(
        &self,
        deadline: Instant,
        mut is_enough: impl FnMut(&Routes<Answer>) -> bool,
    ) {
        let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        // A copy that is published from here on waits for the lock, and so ends the wait below.
        while !is_enough(&self.get()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(generation, left);
            generation = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
