//! The store itself: fjall behind the contract.

use std::fs::File;
use std::ops::{Bound, ControlFlow};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Readable};
use seriatim_storage::{
    Batch, CommitError, Direction, OpenError, PoisonCell, Poisoned, Read, ReadError, Row, Scan,
    ScanEnd, ScanError, Schema, Snapshot, Stats, Store, SyncError, SyncGroup, Table, TableStats,
    Write, visit_rows,
};

use crate::files::{self, JournalSync};
use crate::journal::{self, InspectError, Inspection};
use crate::marker::{self, Marker};
use crate::pressure::{self, Engine};
use crate::settings::Settings;

/// Free space is asked for again after so many bytes were committed.
const ROOM_CHECK_BYTES: u64 = 1024 * 1024;

/// A store on disk. See the [crate's page](crate) for how it works.
pub struct FjallStore {
    tables: Arc<Tables>,
    path: PathBuf,
    settings: Settings,
    journal: JournalSync,
    opened: Inspection,
    syncs: SyncGroup,
    /// Commits since the store was opened.
    commits: AtomicU64,
    /// The last commit that is visible, and the last that is known to be durable.
    committed: AtomicU64,
    durable: AtomicU64,
    /// Held for the whole of a commit: conditions are checked against a state that no other
    /// commit can change.
    writer: Mutex<Writer>,
    /// Dropped last, when the engine has closed its files.
    _lock: File,
}

/// What reading needs. A snapshot shares it, so the engine stays open as long as one lives.
struct Tables {
    schema: Schema,
    db: Database,
    keyspaces: Vec<Keyspace>,
    /// Our own rows: the marker, and rows with an empty key.
    internal: Keyspace,
    poison: PoisonCell,
}

struct Writer {
    last_commit: u64,
    /// Bytes that may be committed before free space is asked for again.
    unchecked_bytes: u64,
}

impl FjallStore {
    /// Opens the store in the folder `path`, creating it if there is none.
    ///
    /// What a crash left of commits that were never acknowledged is cut off; see
    /// [`FjallStore::found_on_open`].
    ///
    /// # Errors
    ///
    /// When the store is in use, damaged, from a newer build or cannot be read or written.
    pub fn open(path: &Path, schema: &Schema, settings: Settings) -> Result<Self, OpenError> {
        let failed = |cause: String| OpenError::Failed { path: path.display().to_string(), cause };
        settings.check().map_err(failed)?;
        let lock = files::lock(path)?;
        let folder = files::engine_folder(path);
        files::remove_unfinished_engine(&folder).map_err(|error| failed(error.to_string()))?;
        let opened = inspect_and_cut(path, &folder)?;

        let tables = Tables::open(path, &folder, schema, settings)?;
        let marker = tables.read_marker().map_err(|error| failed(error.to_string()))?;
        let least = opened.last_commit.unwrap_or(0).max(opened.durable_commit);
        if marker.commit < least {
            let commit = marker.commit;
            return Err(OpenError::Damaged {
                path: path.display().to_string(),
                what: format!("the tables end with commit {commit}, {least} was acknowledged"),
            });
        }
        files::sync_folders(path).map_err(|error| failed(error.to_string()))?;
        let journal = JournalSync::open(&folder).map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            tables: Arc::new(tables),
            path: path.to_owned(),
            settings,
            journal,
            opened,
            syncs: SyncGroup::default(),
            commits: AtomicU64::new(0),
            committed: AtomicU64::new(marker.commit),
            durable: AtomicU64::new(marker.durable),
            writer: Mutex::new(Writer { last_commit: marker.commit, unchecked_bytes: 0 }),
            _lock: lock,
        })
    }

    /// What the journals held when the store was opened, and what was cut off.
    #[must_use]
    pub fn found_on_open(&self) -> &Inspection {
        &self.opened
    }

    /// The engine says only that it has stopped when one of its workers has failed.
    fn describe(&self, error: &fjall::Error) -> String {
        if !matches!(error, fjall::Error::Poisoned) {
            return error.to_string();
        }
        let free = files::free_bytes(&self.path)
            .map_or_else(|error| error.to_string(), |bytes| format!("{bytes} bytes are free"));
        format!("writing out or merging tables failed in the background ({free} on the disk)")
    }

    /// Refuses a commit that could run into the end of the disk.
    fn check_room(&self, writer: &mut Writer, batch_bytes: u64) -> Result<(), CommitError> {
        if let Some(left) = writer.unchecked_bytes.checked_sub(batch_bytes) {
            writer.unchecked_bytes = left;
            return Ok(());
        }
        let reserve_bytes = self.settings.disk_reserve_bytes;
        let free_bytes = files::free_bytes(&self.path)
            .map_err(|error| CommitError::Failed(self.tables.poison.poison("commit", error)))?;
        if reserve_bytes > 0 && free_bytes.saturating_sub(batch_bytes) < reserve_bytes {
            writer.unchecked_bytes = 0;
            return Err(CommitError::Full { free_bytes, reserve_bytes });
        }
        writer.unchecked_bytes = ROOM_CHECK_BYTES;
        Ok(())
    }

    fn write(&self, writer: &mut Writer, writes: Vec<Write>) -> Result<(), fjall::Error> {
        let tables = &self.tables;
        let marker = Marker {
            commit: writer.last_commit.saturating_add(1),
            durable: self.durable.load(Ordering::Acquire),
        };
        // To the operating system with every commit, so that syncing needs no engine lock.
        let mut batch =
            OwnedWriteBatch::with_capacity(tables.db.clone(), writes.len().saturating_add(1))
                .durability(Some(PersistMode::Buffer));
        for write in writes {
            let (keyspace, key) = tables.address(write.table, write.key);
            match write.value {
                Some(value) => batch.insert(keyspace, key, value),
                None => batch.remove(keyspace, key),
            }
        }
        batch.insert(&tables.internal, marker::KEY, marker.encode());
        batch.commit()?;
        writer.last_commit = marker.commit;
        self.committed.store(marker.commit, Ordering::Release);
        Ok(())
    }
}

fn inspect_and_cut(path: &Path, folder: &Path) -> Result<Inspection, OpenError> {
    if !folder.exists() {
        return Ok(Inspection::default());
    }
    let path = path.display().to_string();
    let found = journal::inspect(folder).map_err(|error| match error {
        InspectError::Damaged { .. } => {
            OpenError::Damaged { path: path.clone(), what: error.to_string() }
        }
        InspectError::Io { .. } => {
            OpenError::Failed { path: path.clone(), cause: error.to_string() }
        }
    })?;
    journal::cut_torn_tail(&found)
        .map_err(|error| OpenError::Failed { path, cause: error.to_string() })?;
    Ok(found)
}

impl Tables {
    fn open(
        path: &Path,
        folder: &Path,
        schema: &Schema,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        let path = path.display().to_string();
        let failed = |error: fjall::Error| OpenError::Failed {
            path: path.clone(),
            cause: error.to_string(),
        };
        let db = Database::builder(folder)
            .max_journaling_size(settings.journal_bytes_max)
            .cache_size(settings.cache_bytes)
            .worker_threads(settings.worker_threads)
            .open()
            .map_err(failed)?;
        let mut names: Vec<String> =
            db.list_keyspace_names().iter().map(|name| name.to_string()).collect();
        names.sort();
        let is_known = |name: &String| name == marker::TABLE || schema.table(name).is_some();
        if let Some(table) = names.into_iter().find(|name| !is_known(name)) {
            return Err(OpenError::UnknownTable { path, table });
        }
        let open = |name: &str| {
            let options =
                || KeyspaceCreateOptions::default().max_memtable_size(settings.memtable_bytes);
            db.keyspace(name, options).map_err(failed)
        };
        let internal = open(marker::TABLE)?;
        let keyspaces = schema.tables().map(|table| open(schema.name(table)));
        let keyspaces = keyspaces.collect::<Result<_, _>>()?;
        let poison = PoisonCell::default();
        Ok(Self { schema: schema.clone(), db, keyspaces, internal, poison })
    }

    fn read_marker(&self) -> Result<Marker, String> {
        let row = self.db.snapshot().get(&self.internal, marker::KEY);
        match row.map_err(|error| error.to_string())? {
            None => Ok(Marker::default()),
            Some(bytes) => {
                Marker::decode(&bytes).ok_or_else(|| "the commit row cannot be read".to_owned())
            }
        }
    }

    fn keyspace(&self, table: Table) -> &Keyspace {
        self.keyspaces.get(table.index()).expect("a table handle is used with its own schema")
    }

    /// Where a row is kept. The engine has no empty keys, so a table's row with the empty key
    /// is kept in our own table, under the table's name.
    fn address(&self, table: Table, key: Bytes) -> (&Keyspace, Bytes) {
        if key.is_empty() {
            (&self.internal, marker::key_of_empty_row(self.schema.name(table)))
        } else {
            (self.keyspace(table), key)
        }
    }

    /// The engine as of now. A read without one could see a batch that is being applied.
    fn now(&self) -> Moment<'_> {
        Moment { tables: self, snapshot: self.db.snapshot() }
    }

    fn read_failed(&self, table: Table, error: &fjall::Error) -> ReadError {
        let table = self.schema.name(table).to_owned();
        ReadError::Failed { table, cause: error.to_string() }
    }
}

/// Each call sees what is visible at that time. Under the writer's lock that is one state.
impl Read for Tables {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.now().get(table, key)
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.now().get_many(keys)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.now().scan(scan, visit)
    }
}

/// The tables at one moment.
struct Moment<'a> {
    tables: &'a Tables,
    snapshot: fjall::Snapshot,
}

impl Read for Moment<'_> {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.tables.poison.check()?;
        let value = if key.is_empty() {
            let (keyspace, key) = self.tables.address(table, Bytes::new());
            self.snapshot.get(keyspace, key)
        } else {
            self.snapshot.get(self.tables.keyspace(table), key)
        };
        let value = value.map_err(|error| self.tables.read_failed(table, &error))?;
        Ok(value.map(Bytes::from))
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        keys.iter().map(|(table, key)| self.get(*table, key)).collect()
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.tables.poison.check().map_err(ReadError::from)?;
        if scan.range.is_vacant() {
            return visit_rows(scan, std::iter::empty(), visit);
        }
        let row = |guard: fjall::Guard| match guard.into_inner() {
            Ok((key, value)) => Ok(Row { key: key.into(), value: value.into() }),
            Err(error) => Err(self.tables.read_failed(scan.table, &error)),
        };
        let range = self.engine_range(scan).into_iter().flatten().map(row);
        let lowest = self.empty_row(scan)?.map(Ok).into_iter();
        match scan.direction {
            Direction::Forward => visit_rows(scan, lowest.chain(range), visit),
            Direction::Backward => visit_rows(scan, range.rev().chain(lowest), visit),
        }
    }
}

impl Moment<'_> {
    /// The row with the empty key, which is the lowest of all, if the scan is about it.
    fn empty_row(&self, scan: &Scan) -> Result<Option<Row>, ReadError> {
        if !scan.range.contains(b"") {
            return Ok(None);
        }
        let value = self.get(scan.table, b"")?;
        Ok(value.map(|value| Row { key: Bytes::new(), value }))
    }

    /// The rows of a scan that the engine has: all but the one with the empty key.
    fn engine_range(&self, scan: &Scan) -> Option<fjall::Iter> {
        let start = match scan.range.start() {
            Bound::Included([]) | Bound::Excluded([]) => Bound::Unbounded,
            start @ (Bound::Included(_) | Bound::Excluded(_) | Bound::Unbounded) => start,
        };
        let end = scan.range.end();
        let keyspace = self.tables.keyspace(scan.table);
        (end != Bound::Included([].as_slice()))
            .then(|| self.snapshot.range::<&[u8], _>(keyspace, (start, end)))
    }
}

/// A snapshot that outlives the call.
struct FjallSnapshot {
    tables: Arc<Tables>,
    snapshot: fjall::Snapshot,
}

impl FjallSnapshot {
    fn moment(&self) -> Moment<'_> {
        Moment { tables: &self.tables, snapshot: self.snapshot.clone() }
    }
}

impl Read for FjallSnapshot {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.moment().get(table, key)
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.moment().get_many(keys)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.moment().scan(scan, visit)
    }
}

impl Snapshot for FjallSnapshot {}

impl Read for FjallStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.tables.get(table, key)
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.tables.get_many(keys)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.tables.scan(scan, visit)
    }
}

impl Store for FjallStore {
    fn schema(&self) -> &Schema {
        &self.tables.schema
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError> {
        self.tables.poison.check()?;
        let snapshot = self.tables.db.snapshot();
        Ok(Box::new(FjallSnapshot { tables: Arc::clone(&self.tables), snapshot }))
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        let tables = &self.tables;
        let stop = |error: fjall::Error| {
            CommitError::Failed(tables.poison.poison("commit", self.describe(&error)))
        };
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        tables.poison.check()?;
        let batch_bytes = u64::try_from(batch.bytes()).unwrap_or(u64::MAX);
        let writes = batch.resolve(tables.as_ref(), &tables.schema)?;
        if !writes.is_empty() {
            self.check_room(&mut writer, batch_bytes)?;
            pressure::wait(tables.as_ref()).map_err(stop)?;
            self.write(&mut writer, writes).map_err(stop)?;
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn sync(&self) -> Result<(), SyncError> {
        self.syncs.sync(&self.tables.poison, || {
            let covered = self.committed.load(Ordering::Acquire);
            self.journal.sync()?;
            self.durable.fetch_max(covered, Ordering::AcqRel);
            Ok::<_, std::io::Error>(())
        })
    }

    fn health(&self) -> Result<(), Poisoned> {
        self.tables.poison.check()?;
        self.tables
            .check_alive()
            .map_err(|error| self.tables.poison.poison("write-out", self.describe(&error)))
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        self.tables.poison.check()?;
        let folder = files::engine_folder(&self.path);
        let journal_bytes = files::journal_bytes(&folder).map_err(|error| ReadError::Failed {
            table: "journal".to_owned(),
            cause: error.to_string(),
        })?;
        let stats_of = |table: Table| {
            let keyspace = self.tables.keyspace(table);
            TableStats {
                name: self.tables.schema.name(table).to_owned(),
                rows_estimate: u64::try_from(keyspace.approximate_len()).unwrap_or(u64::MAX),
                bytes: keyspace.disk_space(),
            }
        };
        let (sync_calls, disk_syncs) = self.syncs.calls_and_trips();
        Ok(Stats {
            tables: self.tables.schema.tables().map(stats_of).collect(),
            journal_bytes,
            commits: self.commits.load(Ordering::Relaxed),
            sync_calls,
            disk_syncs,
        })
    }
}

impl Engine for Tables {
    type Error = fjall::Error;

    fn sealed_memtables(&self) -> usize {
        self.keyspaces.iter().map(Keyspace::sealed_memtable_count).max().unwrap_or(0)
    }

    fn is_writing_out(&self) -> bool {
        self.db.outstanding_flushes() > 0
    }

    fn check_alive(&self) -> Result<(), fjall::Error> {
        // Hands nothing to the disk; fails when a worker of the engine has died.
        self.db.persist(PersistMode::Buffer)
    }

    fn remind(&self) -> Result<(), fjall::Error> {
        for keyspace in self.keyspaces.iter().filter(|table| table.sealed_memtable_count() > 0) {
            keyspace.rotate_memtable()?;
        }
        Ok(())
    }

    fn pause(&self, step: Duration) {
        std::thread::sleep(step);
    }
}
