//! A store whose disk can be held.

use std::sync::{Arc, Condvar, Mutex};

use seriatim_node::schema;
use seriatim_storage::Store;
use seriatim_storage::hooked::HookedStore;
use seriatim_storage::memory::{MemoryDisk, MemoryStore};

/// A store in memory: while the gate is held, every sync waits.
pub(crate) struct Gate {
    pub(crate) store: Arc<dyn Store>,
    held: Arc<(Mutex<Held>, Condvar)>,
}

#[derive(Default)]
struct Held {
    is_held: bool,
    /// Syncs that may pass all the same.
    passes: usize,
    waiting: usize,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::open(&MemoryDisk::new(), &schema()).unwrap();
        let held: Arc<(Mutex<Held>, Condvar)> = Arc::default();
        let gate = held.clone();
        let store = HookedStore::new(Arc::new(store)).sync_by(move |store| {
            let (held, changed) = &*gate;
            let mut waiting = held.lock().unwrap();
            waiting.waiting += 1;
            changed.notify_all();
            let must_wait = |held: &mut Held| held.is_held && held.passes == 0;
            let mut passing = changed.wait_while(waiting, must_wait).unwrap();
            passing.waiting -= 1;
            passing.passes = passing.passes.saturating_sub(1);
            drop(passing);
            store.sync()
        });
        Self { store: Arc::new(store), held }
    }

    pub(crate) fn hold(&self, is_held: bool) {
        self.held.0.lock().unwrap().is_held = is_held;
        self.held.1.notify_all();
    }

    /// Lets one sync pass.
    pub(crate) fn pass_one(&self) {
        self.held.0.lock().unwrap().passes += 1;
        self.held.1.notify_all();
    }

    /// Waits until somebody waits at the gate.
    pub(crate) fn wait_for_one(&self) {
        let held = self.held.0.lock().unwrap();
        drop(self.held.1.wait_while(held, |held| held.waiting == 0).unwrap());
    }
}
