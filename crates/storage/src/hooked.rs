//! A store whose commits can be looked at and whose syncs can be held up: for tests and
//! measurements.

use std::sync::Arc;

use crate::{Batch, CommitError, Poisoned, ReadError, Schema, Snapshot, Stats, Store, SyncError};

/// Another store, with hooks. Without any it does what that one does.
pub struct HookedStore {
    store: Arc<dyn Store>,
    before_commit: Box<dyn Fn(&Batch) + Send + Sync>,
    sync: Box<SyncBy>,
}

/// What is done in the place of a sync.
type SyncBy = dyn Fn(&dyn Store) -> Result<(), SyncError> + Send + Sync;

impl HookedStore {
    /// The store, without hooks.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        let (before_commit, sync) =
            (Box::new(|_: &Batch| ()), Box::new(|it: &dyn Store| it.sync()));
        Self { store, before_commit, sync }
    }

    /// Shows every batch before it is committed.
    #[must_use]
    pub fn before_commit(self, hook: impl Fn(&Batch) + Send + Sync + 'static) -> Self {
        Self { before_commit: Box::new(hook), ..self }
    }

    /// Does this in the place of a sync.
    #[must_use]
    pub fn sync_by(
        self,
        hook: impl Fn(&dyn Store) -> Result<(), SyncError> + Send + Sync + 'static,
    ) -> Self {
        Self { sync: Box::new(hook), ..self }
    }
}

crate::read_through!(HookedStore, store);

impl Store for HookedStore {
    fn schema(&self) -> &Schema {
        self.store.schema()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError> {
        self.store.snapshot()
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        (self.before_commit)(&batch);
        self.store.commit(batch)
    }

    fn sync(&self) -> Result<(), SyncError> {
        (self.sync)(&*self.store)
    }

    fn health(&self) -> Result<(), Poisoned> {
        self.store.health()
    }

    fn room(&self) -> Result<(), CommitError> {
        self.store.room()
    }

    fn disk_free_bytes(&self) -> Option<u64> {
        self.store.disk_free_bytes()
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        self.store.stats()
    }
}
