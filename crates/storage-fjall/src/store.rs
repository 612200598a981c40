//! The store itself: fjall behind the contract.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use fjall::{AbstractTree, Keyspace, OwnedWriteBatch, PersistMode};
use seriatim_storage::{
    Batch, CommitError, OpenError, Poisoned, Read, ReadError, Row, Scan, ScanEnd, ScanError,
    Schema, Snapshot, Stats, Store, SyncError, SyncGroup, Table, TableStats, Write,
};

use crate::check::{self, FilesReport};
use crate::clean_end;
use crate::clean_end::{CleanEnd, Noted};
use crate::disk::{Disk, SystemDisk};
use crate::engine_log;
use crate::files::{self, Found, JournalSync};
use crate::journal::{self, InspectError, Inspected, Inspection};
use crate::listing;
use crate::marker::{self, Marker, Nonce};
use crate::pack::pack;
use crate::permissions;
use crate::pressure::{self, Engine, L0_RUNS_MAX, SEALED_MEMTABLES_MAX};
use crate::settings::Settings;
use crate::tables::{FjallSnapshot, Tables, said};

/// Free space is asked for again after this time, and after so many bytes were committed.
const ROOM_CHECK_AGE: Duration = Duration::from_millis(1);
const ROOM_CHECK_BYTES: u64 = 1024 * 1024;

/// The size at which the engine begins a new journal.
const JOURNAL_BYTES: u64 = 64 * 1024 * 1024;

/// A store on disk. See the [crate's page](crate) for how it works.
pub struct FjallStore {
    tables: Arc<Tables>,
    path: PathBuf,
    nonce: Nonce,
    settings: Settings,
    journal: JournalSync,
    opened: Inspection,
    was_open_to_others: bool,
    syncs: SyncGroup,
    /// Commits since the store was opened.
    commits: AtomicU64,
    /// The last commit that is visible, and the last that is known to be durable.
    committed: AtomicU64,
    durable: AtomicU64,
    /// Held for the whole of a commit: conditions are checked against a state that no other
    /// commit can change.
    writer: Mutex<Writer>,
}

struct Writer {
    last_commit: u64,
    /// When free space was last asked for, and what was committed since.
    checked_at: Option<Instant>,
    unchecked_bytes: u64,
    /// Bytes that were committed since the sizes of memtables were looked at.
    unseen_bytes: u64,
    /// The newest journal when tables that lag behind were last written out.
    caught_up_at: u64,
}

impl FjallStore {
    /// Opens the store in the folder `path`, creating it if there is none. A folder that holds
    /// anything else is left alone.
    ///
    /// What a crash left of commits that were never acknowledged is cut off; see
    /// [`FjallStore::found_on_open`].
    ///
    /// # Errors
    ///
    /// When the store is in use, damaged, from a newer build or cannot be read or written.
    pub fn open(path: &Path, schema: &Schema, settings: Settings) -> Result<Self, OpenError> {
        Self::open_on(path, schema, settings, Arc::new(SystemDisk))
    }

    /// As [`FjallStore::open`], with something else in the place of the disk: for tests that make it
    /// fail, or that must know what a sync has covered.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn open_on(
        path: &Path,
        schema: &Schema,
        settings: Settings,
        disk: Arc<dyn Disk>,
    ) -> Result<Self, OpenError> {
        let name = || path.display().to_string();
        let failed = |cause: String| OpenError::Failed { path: name(), cause };
        let io = |error: std::io::Error| failed(error.to_string());
        settings.check().map_err(failed)?;
        // Before anything is made there, as taking the lock would. Whoever has the lock may be
        // making files right now, so what cannot be read is looked at again below.
        if matches!(files::look(path), Ok(Found::Nothing))
            && let Some(found) = files::foreign(path).map_err(io)?
        {
            let found = found.display().to_string();
            return Err(OpenError::Occupied { path: name(), found });
        }
        let lock = files::lock(path)?;
        let was_open = permissions::tighten(path).map_err(io)?;
        let found = files::look(path).map_err(io)?;
        // In a folder that is new there was nothing to be read.
        let was_open_to_others = was_open && matches!(found, Found::Store(_));
        let (nonce, opened) = match found {
            Found::Nothing => (files::prepare(path).map_err(io)?, Inspection::default()),
            Found::Store(nonce) => (nonce, recover(path, nonce, &*disk)?),
            Found::Damaged(what) => {
                return Err(OpenError::Damaged { path: name(), what: what.to_owned() });
            }
        };
        let tables = Tables::open(path, schema, settings, lock)?;
        let marker = tables.check_complete(&opened, nonce);
        let marker = marker.map_err(|what| OpenError::Damaged { path: name(), what })?;
        files::sync_folders(path).map_err(io)?;
        let store = Self {
            tables: Arc::new(tables),
            path: path.to_owned(),
            nonce,
            settings,
            journal: JournalSync::open(path, disk).map_err(io)?,
            opened,
            was_open_to_others,
            syncs: SyncGroup::default(),
            commits: AtomicU64::new(0),
            committed: AtomicU64::new(marker.commit),
            // What was found was made durable before it was read.
            durable: AtomicU64::new(marker.commit),
            writer: Mutex::new(Writer {
                last_commit: marker.commit,
                checked_at: None,
                unchecked_bytes: 0,
                unseen_bytes: 0,
                caught_up_at: 0,
            }),
        };
        store.list_new_tables().map_err(failed)?;
        // What the journals brought back to memory would be read again at every start.
        let limit = settings.memtable_bytes / 16;
        store.write_out(limit).map_err(|error| failed(error.to_string()))?;
        Ok(store)
    }

    /// What the journals held when the store was opened, and what was cut off.
    #[must_use]
    pub fn found_on_open(&self) -> &Inspection {
        &self.opened
    }

    /// Whether others than its owner could enter the store's folder when it was opened. They cannot any
    /// more.
    #[must_use]
    pub fn was_open_to_others(&self) -> bool {
        self.was_open_to_others
    }

    /// Reads the journals of a store that is there and changes nothing. It may be open.
    ///
    /// # Errors
    ///
    /// When there is no store, acknowledged commits are damaged, or a file cannot be read.
    pub fn inspect(path: &Path) -> Result<Inspection, InspectError> {
        let file = || path.to_owned();
        let found =
            files::look(path).map_err(|source| InspectError::Io { file: file(), source })?;
        let damaged = |what: &str| {
            let what = what.to_owned();
            Err(InspectError::Damaged { file: file(), position: 0, what })
        };
        match found {
            Found::Store(nonce) => {
                let found = inspect(path, nonce)?.found;
                found.check_end()?;
                Ok(found)
            }
            Found::Nothing => damaged("there is no store"),
            Found::Damaged(what) => damaged(what),
        }
    }

    /// Reads every byte of a store that nobody has open and changes nothing. `progress` is told how
    /// many bytes were read so far.
    ///
    /// # Errors
    ///
    /// When the store is in use, a byte is not what it should be, or a file cannot be read.
    pub fn check_files(
        path: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<FilesReport, OpenError> {
        check::check(path, progress)
    }

    /// The engine says only that it has stopped when one of its workers has failed.
    fn describe(&self, error: &fjall::Error) -> String {
        if !matches!(error, fjall::Error::Poisoned) {
            return said(error);
        }
        let free = files::free_bytes(&self.path)
            .map_or_else(|error| error.to_string(), |bytes| format!("{bytes} bytes are free"));
        let cause = engine_log::last_error().map_or_else(String::new, |cause| format!(": {cause}"));
        format!(
            "writing out or merging tables failed in the background{cause} ({free} on the disk)"
        )
    }

    /// Refuses a commit that could run into the end of the disk. Others write to the same disk, so it is
    /// asked again after a millisecond, in which nobody fills a reserve, or after so many bytes of ours.
    fn check_room(&self, writer: &mut Writer, batch_bytes: u64) -> Result<(), CommitError> {
        let unchecked = writer.unchecked_bytes.saturating_add(batch_bytes);
        let is_fresh = writer.checked_at.is_some_and(|at| at.elapsed() < ROOM_CHECK_AGE);
        if is_fresh && unchecked <= ROOM_CHECK_BYTES {
            writer.unchecked_bytes = unchecked;
            return Ok(());
        }
        let room = self.room_for(batch_bytes);
        room.map_err(|error| CommitError::Failed(self.tables.poison.poison("commit", error)))??;
        (writer.checked_at, writer.unchecked_bytes) = (Some(Instant::now()), batch_bytes);
        Ok(())
    }

    /// Whether so many bytes can be written without touching the reserve.
    fn room_for(&self, bytes: u64) -> io::Result<Result<(), CommitError>> {
        let reserve_bytes = self.settings.disk_reserve_bytes;
        let free_bytes = files::free_bytes(&self.path)?;
        if reserve_bytes > 0 && free_bytes.saturating_sub(bytes) < reserve_bytes {
            return Ok(Err(CommitError::Full { free_bytes, reserve_bytes }));
        }
        Ok(Ok(()))
    }

    fn write(&self, writer: &mut Writer, mut writes: Vec<Write>) -> Result<(), fjall::Error> {
        let tables = &self.tables;
        pack(&mut writes);
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
        self.write_marked(writer, batch)
    }

    /// Commits a batch of the engine with the marker at its end, and shows it to readers.
    fn write_marked(
        &self,
        writer: &mut Writer,
        mut batch: OwnedWriteBatch,
    ) -> Result<(), fjall::Error> {
        let marker = Marker {
            commit: writer.last_commit.saturating_add(1),
            durable: self.durable.load(Ordering::Acquire),
        };
        batch.insert(&self.tables.internal, marker::KEY, marker.encode(self.nonce));
        batch.commit()?;
        writer.last_commit = marker.commit;
        self.committed.store(marker.commit, Ordering::Release);
        self.tables.publish();
        Ok(())
    }

    /// Notes the names of tables that are new, so that one whose folder goes missing is missed.
    fn list_new_tables(&self) -> Result<(), String> {
        let tables = &self.tables;
        let listed = tables.listed().map_err(|error| error.to_string())?;
        let names = tables.schema.tables().map(|table| tables.schema.name(table));
        let new: Vec<&str> = names.filter(|name| !listed.iter().any(|l| l == name)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mut batch = OwnedWriteBatch::with_capacity(tables.db.clone(), new.len())
            .durability(Some(PersistMode::Buffer));
        for name in new {
            batch.insert(&tables.internal, marker::key_of_table(name), Bytes::from_static(&[1]));
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_marked(&mut writer, batch).map_err(|error| error.to_string())?;
        drop(writer);
        self.sync().map_err(|error| error.to_string())
    }

    /// Has tables written out whose memtables are full, or that keep old journals alive.
    fn keep_up(&self, writer: &mut Writer, batch_bytes: u64) -> Result<(), String> {
        writer.unseen_bytes = writer.unseen_bytes.saturating_add(batch_bytes);
        if writer.unseen_bytes < self.settings.memtable_bytes / 16 {
            return Ok(());
        }
        writer.unseen_bytes = 0;
        let mut limit = self.settings.memtable_bytes;
        let journals = u64::try_from(self.tables.db.journal_count()).unwrap_or(u64::MAX);
        if journals.saturating_mul(JOURNAL_BYTES) > self.settings.journal_bytes_max {
            let newest = journal::newest(&files::engine_folder(&self.path));
            let newest = newest.map_err(|error| error.to_string())?;
            if newest != writer.caught_up_at {
                writer.caught_up_at = newest;
                limit = 0;
            }
        }
        self.write_out(limit).map_err(|error| error.to_string())
    }

    /// Seals the memtables that are larger than `limit`. What they hold is made durable in the
    /// journal first: a table on disk that is ahead of the journal would show a part of a batch
    /// after a power cut.
    fn write_out(&self, limit: u64) -> Result<(), WriteOutError> {
        let is_over = |keyspace: &&Keyspace| keyspace.tree.active_memtable().size() > limit;
        let full: Vec<&Keyspace> = self.tables.all().filter(is_over).collect();
        if !full.is_empty() {
            self.journal.sync()?;
            for keyspace in full {
                keyspace.rotate_memtable()?;
            }
        }
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
enum WriteOutError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("{0}")]
    Engine(#[from] fjall::Error),
}

/// Reads the journals of a store, and the note of its last clean end. Whether they fit together is
/// for [`Inspection::check_end`].
pub(crate) fn inspect(path: &Path, nonce: Nonce) -> Result<Inspected, InspectError> {
    let file = || path.join(clean_end::NAME);
    let noted = CleanEnd::read(path, nonce);
    let noted = noted.map_err(|source| InspectError::Io { file: file(), source })?;
    let inspect = |durable| journal::inspect(&files::engine_folder(path), nonce, durable);
    match noted {
        Noted::Nothing => inspect(0),
        Noted::End(end) => inspect(end.commit),
        Noted::Damaged => {
            // Where the store's identity is damaged, no seal is right: that is what is to be told.
            inspect(0)?;
            let what = "the note of the last clean end cannot be read; where all other files are \
                        known to be whole, remove it";
            Err(InspectError::Damaged { file: file(), position: 0, what: what.to_owned() })
        }
    }
}

/// Makes the journals of a store fit to be read: nothing is missing, nothing is torn, and everything
/// in them is durable.
fn recover(path: &Path, nonce: Nonce, disk: &dyn Disk) -> Result<Inspection, OpenError> {
    let name = || path.display().to_string();
    let failed = |cause: String| OpenError::Failed { path: name(), cause };
    let bad = |error: InspectError| match error {
        InspectError::Damaged { .. } => {
            OpenError::Damaged { path: name(), what: error.to_string() }
        }
        InspectError::Io { .. } => failed(error.to_string()),
    };
    let inspected = inspect(path, nonce).map_err(bad)?;
    let found = &inspected.found;
    let noted = files::noted_journal(path).map_err(|error| failed(error.to_string()))?;
    if noted.is_none_or(|noted| noted > found.newest_journal) {
        let newest = found.newest_journal;
        let what = match noted {
            Some(noted) => format!("journal {noted} is missing, {newest} is the newest"),
            None => "the file `journal` is missing or cannot be read".to_owned(),
        };
        return Err(OpenError::Damaged { path: name(), what });
    }
    found.check_end().map_err(bad)?;
    let missing = listing::missing(&files::engine_folder(path), &found.tables);
    if let Some(file) = missing.map_err(|error| failed(error.to_string()))? {
        let what = format!("the file {} is missing", file.display());
        return Err(OpenError::Damaged { path: name(), what });
    }
    journal::make_durable(&inspected, disk).map_err(|error| failed(error.to_string()))?;
    Ok(inspected.found)
}

/// A store that is closed in good order notes how far it was.
impl Drop for FjallStore {
    fn drop(&mut self) {
        // One that has stopped does not know. The next start finds out, as after a crash.
        if self.sync().is_ok() && self.check_alive().is_ok() {
            let commit = self.committed.load(Ordering::Acquire);
            // Without the note the next start knows less, and nothing is lost.
            drop(CleanEnd { commit }.write(&self.path, self.nonce));
        }
    }
}

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
        let snapshot = self.tables.snapshot();
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
            let fatal = |cause| CommitError::Failed(tables.poison.poison("commit", cause));
            pressure::wait(self).map_err(fatal)?;
            self.write(&mut writer, writes).map_err(stop)?;
            self.keep_up(&mut writer, batch_bytes).map_err(fatal)?;
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
        self.check_alive().map_err(|cause| self.tables.poison.poison("write-out", cause))
    }

    fn room(&self) -> Result<(), CommitError> {
        // A disk that does not say is no reason to turn anybody away: the next commit will tell.
        self.room_for(0).unwrap_or(Ok(()))
    }

    fn disk_free_bytes(&self) -> Option<u64> {
        files::free_bytes(&self.path).ok()
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

impl Engine for FjallStore {
    type Error = String;

    fn is_behind(&self) -> bool {
        self.tables.all().any(|keyspace| {
            keyspace.sealed_memtable_count() >= SEALED_MEMTABLES_MAX
                || keyspace.tree.l0_run_count() >= L0_RUNS_MAX
        })
    }

    fn is_at_work(&self) -> bool {
        self.tables.db.outstanding_flushes() > 0 || self.tables.db.active_compactions() > 0
    }

    fn check_alive(&self) -> Result<(), String> {
        // Hands nothing to the disk; fails when a worker of the engine has died.
        self.tables.db.persist(PersistMode::Buffer).map_err(|error| self.describe(&error))
    }

    fn remind(&self) -> Result<(), String> {
        self.write_out(0).map_err(|error| error.to_string())
    }

    fn pause(&self, step: Duration) {
        std::thread::sleep(step);
    }
}
