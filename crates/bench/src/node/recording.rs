//! A store that keeps what was committed, so that the same can be written straight into another.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use seriatim_node::schema;
use seriatim_storage::memory::{MemoryDisk, MemoryStore};
use seriatim_storage::{
    Batch, CommitError, Poisoned, Read, ReadError, Row, Scan, ScanEnd, ScanError, Schema, Snapshot,
    Stats, Store, SyncError, Table, Write,
};

/// A store, and copies of the batches that it was given. Keeping them costs the node a third of its
/// speed, in memory that is touched for the first time; so it is asked for when no clock runs.
pub(crate) struct Recording {
    store: Arc<dyn Store>,
    batches: Mutex<Option<Vec<Batch>>>,
}

impl Recording {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, batches: Mutex::default() }
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

    fn batches(&self) -> std::sync::MutexGuard<'_, Option<Vec<Batch>>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Recording {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.store.get(table, key)
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.store.get_many(keys)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.store.scan(scan, visit)
    }
}

impl Store for Recording {
    fn schema(&self) -> &Schema {
        self.store.schema()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError> {
        self.store.snapshot()
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        if let Some(batches) = &mut *self.batches() {
            batches.push(batch.clone());
        }
        self.store.commit(batch)
    }

    fn sync(&self) -> Result<(), SyncError> {
        self.store.sync()
    }

    fn health(&self) -> Result<(), Poisoned> {
        self.store.health()
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        self.store.stats()
    }
}
