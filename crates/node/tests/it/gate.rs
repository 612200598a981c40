//! A store whose disk can be held.

use std::sync::{Arc, Condvar, Mutex};

use bytes::Bytes;
use seriatim_node::schema;
use seriatim_storage::memory::{MemoryDisk, MemoryStore};
use seriatim_storage::{
    Batch, CommitError, Poisoned, Read, ReadError, Row, Scan, ScanEnd, ScanError, Schema, Snapshot,
    Stats, Store, SyncError, Table,
};

/// A store in memory: while it is held, every sync waits.
pub(crate) struct Gate {
    store: MemoryStore,
    is_held: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn new() -> Arc<Self> {
        let store = MemoryStore::open(&MemoryDisk::new(), &schema()).unwrap();
        Arc::new(Self { store, is_held: Mutex::default(), changed: Condvar::new() })
    }

    pub(crate) fn hold(&self, is_held: bool) {
        *self.is_held.lock().unwrap() = is_held;
        self.changed.notify_all();
    }
}

impl Read for Gate {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.store.get(table, key)
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.store.get_many(keys)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> std::ops::ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.store.scan(scan, visit)
    }
}

impl Store for Gate {
    fn schema(&self) -> &Schema {
        self.store.schema()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError> {
        self.store.snapshot()
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        self.store.commit(batch)
    }

    fn sync(&self) -> Result<(), SyncError> {
        let is_held = self.is_held.lock().unwrap();
        drop(self.changed.wait_while(is_held, |is_held| *is_held).unwrap());
        self.store.sync()
    }

    fn health(&self) -> Result<(), Poisoned> {
        self.store.health()
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        self.store.stats()
    }
}
