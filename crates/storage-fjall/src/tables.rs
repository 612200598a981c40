//! The engine's tables: opening them, checking that they are all there, reading from them.

use std::fs::File;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use fjall::{AbstractTree, Database, Keyspace, KeyspaceCreateOptions, LsmError, Readable};
use seriatim_storage::{
    Direction, OpenError, PoisonCell, Read, ReadError, Row, Scan, ScanEnd, ScanError, Schema,
    Snapshot, Table, visit_rows,
};

use crate::files;
use crate::journal::Inspection;
use crate::marker::{self, Marker, Nonce};
use crate::settings::Settings;

/// A memtable size that the engine never reaches: we say when a table is written out.
const NEVER: u64 = 1 << 40;

/// What reading needs. A snapshot shares it, so the engine stays open as long as one lives.
pub(crate) struct Tables {
    pub(crate) schema: Schema,
    /// The state after the last commit. Readers never ask the engine for its present one: it
    /// lets a batch be seen in part while tables are written out.
    current: RwLock<Arc<fjall::Snapshot>>,
    keyspaces: Vec<Keyspace>,
    /// Our own rows: the marker, the names of tables, and rows with an empty key.
    pub(crate) internal: Keyspace,
    pub(crate) db: Database,
    pub(crate) poison: PoisonCell,
    /// Dropped last, when the engine has closed its files.
    _lock: File,
}

impl Tables {
    pub(crate) fn open(
        path: &Path,
        schema: &Schema,
        settings: Settings,
        lock: File,
    ) -> Result<Self, OpenError> {
        let name = || path.display().to_string();
        let failed = |error: fjall::Error| {
            if matches!(error, fjall::Error::Locked) {
                OpenError::InUse { path: name() }
            } else {
                OpenError::Failed { path: name(), cause: error.to_string() }
            }
        };
        let db = Database::builder(files::engine_folder(path))
            .max_journaling_size(u64::MAX)
            .cache_size(settings.cache_bytes)
            .worker_threads(settings.worker_threads)
            .open()
            .map_err(failed)?;
        let mut names: Vec<String> =
            db.list_keyspace_names().iter().map(ToString::to_string).collect();
        names.sort();
        if !names.is_empty() && !names.iter().any(|name| name == marker::TABLE) {
            let what = format!("its own table {} is missing", marker::TABLE);
            return Err(OpenError::Damaged { path: name(), what });
        }
        let is_known = |name: &&String| *name == marker::TABLE || schema.table(name).is_some();
        if let Some(table) = names.iter().find(|name| !is_known(name)) {
            return Err(OpenError::UnknownTable { path: name(), table: table.clone() });
        }
        let open = |name: &str| {
            let options = || KeyspaceCreateOptions::default().max_memtable_size(NEVER);
            db.keyspace(name, options).map_err(failed)
        };
        let internal = open(marker::TABLE)?;
        let current = RwLock::new(Arc::new(db.snapshot()));
        let listed = list(&current_of(&current), &internal).map_err(failed)?;
        if let Some(table) = listed.iter().find(|table| !names.contains(table)) {
            let what = format!("the files of table {table} are missing");
            return Err(OpenError::Damaged { path: name(), what });
        }
        let keyspaces = schema.tables().map(|table| open(schema.name(table)));
        let keyspaces = keyspaces.collect::<Result<_, _>>()?;
        let (schema, poison) = (schema.clone(), PoisonCell::default());
        Ok(Self { schema, current, keyspaces, internal, db, poison, _lock: lock })
    }

    /// Whether the tables and the journals that were found belong together: every commit that
    /// one of them speaks of is there. Returns the marker of the last commit.
    pub(crate) fn check_complete(
        &self,
        found: &Inspection,
        nonce: Nonce,
    ) -> Result<Marker, String> {
        let decode = |row: Option<fjall::UserValue>| match row {
            None => Ok(Marker::default()),
            Some(bytes) => Marker::decode(&bytes, nonce)
                .ok_or_else(|| "the commit row cannot be read".to_owned()),
        };
        let read_failed = |error: &dyn std::fmt::Display| format!("{error}");
        // What the files of tables hold without the journals. The engine may just have begun
        // to write out more, which only makes this number larger.
        let persisted = match self.internal.tree.get_highest_persisted_seqno() {
            None => None,
            Some(seqno) => {
                let row = self.internal.tree.get(marker::KEY, seqno.saturating_add(1));
                row.map_err(|error| read_failed(&error))?
            }
        };
        let missing = decode(persisted)?.commit.saturating_add(1);
        if let Some(first) = found.first_commit.filter(|first| *first > missing) {
            return Err(format!("the journals begin with commit {first}, {missing} is missing"));
        }
        let ahead = |keyspace: &&Keyspace| {
            let seqno = keyspace.tree.get_highest_persisted_seqno();
            found.last_seqno.is_some() && seqno > found.last_seqno
        };
        if let Some(keyspace) = self.all().find(ahead) {
            let name = keyspace.name();
            return Err(format!("table {name} is ahead of the journals: the newest are missing"));
        }
        let row = self.db.snapshot().get(&self.internal, marker::KEY);
        let marker = decode(row.map_err(|error| read_failed(&error))?)?;
        let least = found.last_commit.unwrap_or(0).max(found.durable_commit);
        if marker.commit < least {
            let commit = marker.commit;
            return Err(format!("the tables end with commit {commit}, {least} was acknowledged"));
        }
        Ok(marker)
    }

    /// The names of the tables that were ever created.
    pub(crate) fn listed(&self) -> Result<Vec<String>, fjall::Error> {
        list(&self.snapshot(), &self.internal)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Keyspace> {
        self.keyspaces.iter().chain([&self.internal])
    }

    pub(crate) fn keyspace(&self, table: Table) -> &Keyspace {
        self.keyspaces.get(table.index()).expect("a table handle is used with its own schema")
    }

    /// Where a row is kept. The engine has no empty keys, so a table's row with the empty key
    /// is kept in our own table, under the table's name.
    pub(crate) fn address(&self, table: Table, key: Bytes) -> (&Keyspace, Bytes) {
        if key.is_empty() {
            (&self.internal, marker::key_of_empty_row(self.schema.name(table)))
        } else {
            (self.keyspace(table), key)
        }
    }

    /// Shows readers what was committed. Called while no commit is under way.
    pub(crate) fn publish(&self) {
        let next = Arc::new(self.db.snapshot());
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = next;
    }

    pub(crate) fn snapshot(&self) -> Arc<fjall::Snapshot> {
        current_of(&self.current)
    }

    /// The state after the last commit.
    fn now(&self) -> Moment<'_> {
        Moment { tables: self, snapshot: self.snapshot() }
    }

    fn read_failed(&self, table: Table, error: &fjall::Error) -> ReadError {
        let table = self.schema.name(table).to_owned();
        ReadError::Failed { table, cause: said(error) }
    }
}

/// What the engine says, and of the operating system only its own words.
pub(crate) fn said(error: &fjall::Error) -> String {
    if let fjall::Error::Io(io) | fjall::Error::Storage(LsmError::Io(io)) = error {
        return io.to_string();
    }
    error.to_string()
}

fn current_of(current: &RwLock<Arc<fjall::Snapshot>>) -> Arc<fjall::Snapshot> {
    Arc::clone(&current.read().unwrap_or_else(PoisonError::into_inner))
}

fn list(snapshot: &fjall::Snapshot, internal: &Keyspace) -> Result<Vec<String>, fjall::Error> {
    let mut names = Vec::new();
    for guard in snapshot.prefix(internal, marker::TABLE_PREFIX) {
        let key = guard.key()?;
        let name = key.strip_prefix(marker::TABLE_PREFIX.as_bytes()).unwrap_or_default();
        names.push(String::from_utf8_lossy(name).into_owned());
    }
    Ok(names)
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
    snapshot: Arc<fjall::Snapshot>,
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
        let mut values = Vec::with_capacity(keys.len());
        for (table, key) in keys {
            values.push(self.get(*table, key)?);
        }
        Ok(values)
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
pub(crate) struct FjallSnapshot {
    pub(crate) tables: Arc<Tables>,
    pub(crate) snapshot: Arc<fjall::Snapshot>,
}

impl FjallSnapshot {
    fn moment(&self) -> Moment<'_> {
        Moment { tables: &self.tables, snapshot: Arc::clone(&self.snapshot) }
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
