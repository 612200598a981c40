//! Whether a thread has ended, for any number of those who wait for it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Whether a thread has ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    has_ended: Mutex<bool>,
    changed: Condvar,
}

/// What the thread holds: it has ended when this is dropped, also by a fault.
pub(super) struct Running(Arc<Ended>);

impl Ended {
    pub(super) fn new() -> (Arc<Self>, Running) {
        let ended = Arc::new(Self::default());
        (ended.clone(), Running(ended))
    }

    /// Waits for its end. Returns whether it came before the deadline.
    pub(super) fn wait(&self, deadline: Instant) -> bool {
        let mut has_ended = self.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*has_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(has_ended, left);
            has_ended = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.has_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.changed.notify_all();
    }
}
