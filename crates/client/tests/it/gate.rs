//! A store whose commits can be held up.

use std::sync::{Arc, Condvar, Mutex};

use seriatim_node::schema;
use seriatim_storage::hooked::HookedStore;
use seriatim_storage::memory::MemoryStore;

/// Holds up commits while it is closed.
#[derive(Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn store() -> (Self, Arc<HookedStore>) {
        let gate = Self::default();
        let inside = gate.0.clone();
        let store = HookedStore::new(Arc::new(MemoryStore::new(&schema())));
        (gate, Arc::new(store.before_commit(move |_| pass(&inside))))
    }

    pub(crate) fn close(&self) {
        *self.0.0.lock().unwrap() = true;
    }

    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = false;
        self.0.1.notify_all();
    }
}

/// However a test ends, nobody waits at the gate for ever.
impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

fn pass((is_closed, changed): &(Mutex<bool>, Condvar)) {
    drop(changed.wait_while(is_closed.lock().unwrap(), |is_closed| *is_closed).unwrap());
}
