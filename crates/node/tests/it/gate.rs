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
    whose: Whose,
    waiting: usize,
}

/// Whose syncs are held.
#[derive(Clone, Copy, Default)]
enum Whose {
    #[default]
    Nobodys,
    Everybodys,
    /// Those of the thread that syncs for all partitions.
    Syncers,
}

impl Gate {
    pub(crate) fn new() -> Self {
        let store = MemoryStore::open(&MemoryDisk::new(), &schema()).unwrap();
        let held: Arc<(Mutex<Held>, Condvar)> = Arc::default();
        let gate = held.clone();
        let store = HookedStore::new(Arc::new(store)).sync_by(move |store| {
            let (held, changed) = &*gate;
            let is_syncer = std::thread::current().name() == Some("syncer");
            let must_wait = |held: &mut Held| match held.whose {
                Whose::Nobodys => false,
                Whose::Everybodys => true,
                Whose::Syncers => is_syncer,
            };
            let mut waiting = held.lock().unwrap();
            if must_wait(&mut waiting) {
                waiting.waiting += 1;
                waiting = changed.wait_while(waiting, must_wait).unwrap();
                waiting.waiting -= 1;
            }
            drop(waiting);
            store.sync()
        });
        Self { store: Arc::new(store), held }
    }

    pub(crate) fn hold(&self, is_held: bool) {
        self.set(if is_held { Whose::Everybodys } else { Whose::Nobodys });
    }

    /// Partitions can sync by themselves, but nobody does it for them.
    pub(crate) fn hold_syncer(&self) {
        self.set(Whose::Syncers);
    }

    fn set(&self, whose: Whose) {
        self.held.0.lock().unwrap().whose = whose;
        self.held.1.notify_all();
    }

    pub(crate) fn is_somebody_waiting(&self) -> bool {
        self.held.0.lock().unwrap().waiting > 0
    }
}
