//! A store in memory: the reference for every other backend, and the disk of simulations.
//!
//! Tables are persistent maps (old versions share structure with new ones), so a snapshot is
//! a pointer and never copies a row. The rows live in a [`MemoryDisk`] that outlives the
//! store: closing and opening it again behaves as with files.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use rpds::RedBlackTreeMapSync;

use crate::{
    Batch, CommitError, Direction, OpenError, PoisonCell, Poisoned, Read, ReadError, Row, Scan,
    ScanEnd, ScanError, Schema, Snapshot, Stats, Store, SyncError, SyncGroup, Table, TableStats,
    Write, visit_rows,
};

type Rows = RedBlackTreeMapSync<Bytes, Bytes>;

/// Where a [`MemoryStore`] keeps its rows. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk(Arc<Disk>);

#[derive(Debug, Default)]
struct Disk {
    tables: RwLock<Vec<(String, Arc<TableRows>)>>,
    in_use: AtomicBool,
    /// Keys and values that fit; 0 is no limit.
    capacity_bytes: AtomicU64,
}

#[derive(Debug, Clone, Default)]
struct TableRows {
    rows: Rows,
    bytes: u64,
}

impl MemoryDisk {
    /// An empty disk without a limit.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how many bytes of keys and values fit; `None` takes the limit away.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.0.capacity_bytes.store(bytes.unwrap_or(0), Ordering::Relaxed);
    }
}

/// A store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    schema: Schema,
    disk: MemoryDisk,
    /// The tables of the schema. Readers take a clone and read it without the lock.
    state: RwLock<Arc<State>>,
    /// Never set: nothing here can fail. Sharing a sync asks for one.
    poison: PoisonCell,
    syncs: SyncGroup,
    commits: AtomicU64,
}

/// All tables at one moment, in the order of the schema.
#[derive(Debug, Clone)]
struct State {
    tables: Vec<Arc<TableRows>>,
}

impl MemoryStore {
    /// Opens the store on a disk, with the rows that are there already.
    ///
    /// # Errors
    ///
    /// When the disk is in use, or has a table that the schema does not list.
    pub fn open(disk: &MemoryDisk, schema: &Schema) -> Result<Self, OpenError> {
        let path = || "memory".to_owned();
        let tables = disk.0.tables.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((table, _)) = tables.iter().find(|(name, _)| schema.table(name).is_none()) {
            return Err(OpenError::UnknownTable { path: path(), table: table.clone() });
        }
        if disk.0.in_use.swap(true, Ordering::AcqRel) {
            return Err(OpenError::InUse { path: path() });
        }
        let rows_of = |name: &str| {
            let found = tables.iter().find(|(known, _)| known == name);
            found.map(|(_, rows)| Arc::clone(rows)).unwrap_or_default()
        };
        let state = State { tables: schema.tables().map(|t| rows_of(schema.name(t))).collect() };
        Ok(Self {
            schema: schema.clone(),
            disk: disk.clone(),
            state: RwLock::new(Arc::new(state)),
            poison: PoisonCell::default(),
            syncs: SyncGroup::default(),
            commits: AtomicU64::new(0),
        })
    }

    /// A store on a disk of its own.
    #[must_use]
    pub fn new(schema: &Schema) -> Self {
        Self::open(&MemoryDisk::new(), schema).expect("a new disk is empty and not in use")
    }

    fn state(&self) -> Arc<State> {
        // A panic while the lock was held cannot have left a half-applied batch behind: the
        // state is replaced by one assignment.
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        let state = self.state();
        let mut tables = self.disk.0.tables.write().unwrap_or_else(PoisonError::into_inner);
        *tables = self
            .schema
            .tables()
            .map(|table| (self.schema.name(table).to_owned(), Arc::clone(state.table(table))))
            .collect();
        self.disk.0.in_use.store(false, Ordering::Release);
    }
}

impl State {
    fn table(&self, table: Table) -> &Arc<TableRows> {
        self.tables.get(table.index()).expect("a table handle is used with its own schema")
    }

    fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.bytes).fold(0, u64::saturating_add)
    }

    fn apply(&self, writes: Vec<Write>) -> Self {
        let mut next = self.clone();
        for write in writes {
            let table = next.tables.get_mut(write.table.index());
            let table = table.expect("a table handle is used with its own schema");
            Arc::make_mut(table).apply(write.key, write.value);
        }
        next
    }
}

impl TableRows {
    fn apply(&mut self, key: Bytes, value: Option<Bytes>) {
        let size = |value: &Bytes| row_bytes(&key, value);
        let old = self.rows.get(&key).map_or(0, size);
        let new = value.as_ref().map_or(0, size);
        self.bytes = self.bytes.saturating_sub(old).saturating_add(new);
        match value {
            Some(value) => self.rows.insert_mut(key, value),
            None => {
                self.rows.remove_mut(&key);
            }
        }
    }
}

fn row_bytes(key: &Bytes, value: &Bytes) -> u64 {
    u64::try_from(key.len().saturating_add(value.len())).unwrap_or(u64::MAX)
}

impl Read for State {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        Ok(self.table(table).rows.get(key).cloned())
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        keys.iter().map(|(table, key)| self.get(*table, key)).collect()
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        let rows = &self.table(scan.table).rows;
        if scan.range.is_vacant() {
            return visit_rows(scan, std::iter::empty(), visit);
        }
        let range = rows.range::<[u8], _>((scan.range.start(), scan.range.end()));
        let row =
            |(key, value): (&Bytes, &Bytes)| Ok(Row { key: key.clone(), value: value.clone() });
        match scan.direction {
            Direction::Forward => visit_rows(scan, range.map(row), visit),
            Direction::Backward => visit_rows(scan, range.rev().map(row), visit),
        }
    }
}

impl Snapshot for State {}

impl Read for MemoryStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.state().get(table, key)
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.state().get_many(keys)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.state().scan(scan, visit)
    }
}

impl Store for MemoryStore {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError> {
        Ok(Box::new(State::clone(&self.state())))
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let writes = batch.resolve(state.as_ref(), &self.schema)?;
        let next = state.apply(writes);
        let capacity = self.disk.0.capacity_bytes.load(Ordering::Relaxed);
        if capacity > 0 && next.bytes() > capacity && next.bytes() > state.bytes() {
            let free_bytes = capacity.saturating_sub(state.bytes());
            return Err(CommitError::Full { free_bytes, reserve_bytes: 0 });
        }
        *state = Arc::new(next);
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self) -> Result<(), SyncError> {
        self.syncs.sync(&self.poison, || Ok::<_, std::convert::Infallible>(()))
    }

    fn health(&self) -> Result<(), Poisoned> {
        Ok(())
    }

    fn disk_free_bytes(&self) -> Option<u64> {
        let capacity = self.disk.0.capacity_bytes.load(Ordering::Relaxed);
        (capacity > 0).then(|| capacity.saturating_sub(self.state().bytes()))
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        let state = self.state();
        let stats_of = |table: Table| TableStats {
            name: self.schema.name(table).to_owned(),
            rows_estimate: u64::try_from(state.table(table).rows.size()).unwrap_or(u64::MAX),
            bytes: state.table(table).bytes,
        };
        let (sync_calls, disk_syncs) = self.syncs.calls_and_trips();
        Ok(Stats {
            tables: self.schema.tables().map(stats_of).collect(),
            journal_bytes: 0,
            commits: self.commits.load(Ordering::Relaxed),
            sync_calls,
            disk_syncs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overwritten_and_deleted_rows_take_no_room() {
        let schema = Schema::new(["a"]).unwrap();
        let table = schema.tables().next().unwrap();
        let disk = MemoryDisk::new();
        disk.set_capacity(Some(100));
        let store = MemoryStore::open(&disk, &schema).unwrap();
        let put = |value: &'static [u8]| {
            let mut batch = Batch::new();
            batch.put(table, b"key".as_slice(), value);
            store.commit(batch)
        };
        for _ in 0..50 {
            assert_eq!(put(&[7; 60]), Ok(()));
        }
        assert_eq!(store.stats().unwrap().bytes(), 63);
        assert_eq!(put(&[7; 98]), Err(CommitError::Full { free_bytes: 37, reserve_bytes: 0 }));
        let mut batch = Batch::new();
        batch.delete(table, b"key".as_slice());
        store.commit(batch).unwrap();
        assert_eq!(store.stats().unwrap().bytes(), 0);
    }
}
