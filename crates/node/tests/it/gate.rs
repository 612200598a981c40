//! A store whose disk can be held.

use std::sync::{Arc, Condvar, Mutex};

use seriatim_node::schema;
use seriatim_storage::Store;
use seriatim_storage::hooked::HookedStore;
use seriatim_storage::memory::{MemoryDisk, MemoryStore};

/// A store in memory: while the gate is held, every sync waits.
pub(crate) struct Gate {
    pub(crate) store: Arc<dyn Store>,
    held: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::open(&MemoryDisk::new(), &schema()).unwrap();
        let held: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let waiting = held.clone();
        let store = HookedStore::new(Arc::new(store)).sync_by(move |store| {
            let (is_held, changed) = &*waiting;
            drop(changed.wait_while(is_held.lock().unwrap(), |is_held| *is_held).unwrap());
            store.sync()
        });
        Self { store: Arc::new(store), held }
    }

    pub(crate) fn hold(&self, is_held: bool) {
        *self.held.0.lock().unwrap() = is_held;
        self.held.1.notify_all();
    }
}
