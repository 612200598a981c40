//! A store that keeps what is committed, so that the same can be written straight into another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use seriatim_node::schema;
use seriatim_storage::hooked::HookedStore;
use seriatim_storage::memory::{MemoryDisk, MemoryStore};
use seriatim_storage::{Batch, Store, Write};

/// Copies of the batches that a store is given. Keeping them costs the node a third of its speed, in
/// memory that is touched for the first time; so it is asked for when no clock runs.
#[derive(Clone, Default)]
pub(crate) struct Recording {
    batches: Arc<Mutex<Option<Vec<Batch>>>>,
}

impl Recording {
    /// The store, so that what it is given can be recorded.
    pub(crate) fn of(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        let recording = self.clone();
        Arc::new(HookedStore::new(store).before_commit(move |batch| {
            if let Some(batches) = &mut *recording.batches() {
                batches.push(batch.clone());
            }
        }))
    }

    /// Keeps what is committed from now on.
    pub(crate) fn begin(&self) {
        *self.batches() = Some(Vec::new());
    }

    /// What was committed since it began, batch by batch, without its conditions.
    pub(crate) fn take(&self) -> Result<Vec<Vec<Write>>> {
        let batches = self.batches().take().unwrap_or_default();
        // The node writes conditions only on rows that are not there.
        let empty = MemoryStore::open(&MemoryDisk::new(), &schema())?;
        let resolve = |batch: Batch| Ok(batch.resolve(&empty, &schema())?);
        batches.into_iter().map(resolve).collect()
    }

    fn batches(&self) -> MutexGuard<'_, Option<Vec<Batch>>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
