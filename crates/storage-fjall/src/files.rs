//! The files around the engine: the lock, the store's identity, free space, and the journal's
//! file handle.
//!
//! ```text
//!  <path>/lock          held while the store is open
//!  <path>/identity      01 │ the store's random number u64
//!  <path>/journal       01 │ the newest journal that was ever synced u64
//!  <path>/clean         the last commit before the last clean end
//!  <path>/fjall/        the engine's own folder
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use seriatim_storage::OpenError;

use crate::clean_end;
use crate::disk::Disk;
use crate::journal;
use crate::marker::Nonce;
use crate::permissions;

const VERSION: u8 = 1;

/// Length of the engine's version file once it is whole.
const VERSION_FILE_BYTES: u64 = 4;

/// Everything that a store's folder holds, and what the engine's does besides its journals.
const OURS: [&str; 6] =
    ["lock", "identity", "journal", clean_end::NAME, clean_end::NEW_NAME, "fjall"];
const ENGINES: [&str; 3] = ["lock", "version", "keyspaces"];

/// The engine's folder in the store's.
pub(crate) fn engine_folder(path: &Path) -> PathBuf {
    path.join("fjall")
}

/// Takes the lock of a store, creating its folder if there is none. It is released when the
/// file is dropped, and by the operating system when the process dies.
pub(crate) fn lock(path: &Path) -> Result<File, OpenError> {
    let failed = |cause: io::Error| OpenError::Failed {
        path: path.display().to_string(),
        cause: cause.to_string(),
    };
    permissions::create_folder(path).map_err(failed)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock"));
    let file = file.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.display().to_string() }),
        Err(TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

/// What is found where a store is to be opened.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing, or what is left of a creation that was cut short before anything was committed.
    Nothing,
    /// A store.
    Store(Nonce),
    /// A store with something missing.
    Damaged(&'static str),
}

/// Looks at a store's folder without changing it.
pub(crate) fn look(path: &Path) -> io::Result<Found> {
    let engine = engine_folder(path);
    let is_gone = !engine.try_exists()?;
    if is_gone || is_unfinished(&engine)? {
        // A store that is made has its folder before its identity, and its first journal is 0.
        let was_there = is_gone && path.join("identity").try_exists()?;
        if was_there || noted_journal(path)?.is_some_and(|noted| noted > 0) {
            return Ok(Found::Damaged("the folder `fjall` with its data is missing or empty"));
        }
        return Ok(Found::Nothing);
    }
    if !has_version(&engine) {
        return Ok(Found::Damaged("the engine's version file is missing, its data is there"));
    }
    if !engine.join("lock").try_exists()? {
        return Ok(Found::Damaged("the engine's file `lock` is missing"));
    }
    if !engine.join("keyspaces").try_exists()? {
        return Ok(Found::Damaged("the engine's folder `keyspaces` is missing"));
    }
    if !keyspaces_are_numbered(&engine)? {
        return Ok(Found::Damaged("there is a foreign file or folder among the engine's tables"));
    }
    match read_number(&path.join("identity"))? {
        Some(nonce) => Ok(Found::Store(Nonce(nonce))),
        None => Ok(Found::Damaged("the file `identity` is missing or cannot be read")),
    }
}

/// Something beside the files of a store, in its own folder: of somebody else, or a store of its own.
pub(crate) fn beside(path: &Path) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(path)? {
        let entry = entry?.path();
        if !OURS.iter().any(|name| path.join(name) == entry) {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

/// Something in a folder that is no part of a store: a file or folder of somebody else's.
pub(crate) fn foreign(path: &Path) -> io::Result<Option<PathBuf>> {
    let engine = engine_folder(path);
    let is_ours = |entry: &Path| OURS.iter().any(|name| path.join(name) == entry);
    let is_engines = |entry: &Path| {
        journal::is_journal(entry) || ENGINES.iter().any(|name| engine.join(name) == entry)
    };
    for folder in [path, &engine] {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?.path();
            if !is_ours(&entry) && !is_engines(&entry) {
                return Ok(Some(entry));
            }
        }
    }
    Ok(None)
}

/// Makes a folder and an identity for a new store, and removes what is left of an earlier attempt:
/// the engine would trip over its own files. Wherever it is cut short, no identity is there without
/// the folder: that is how a folder is missed that somebody has removed.
pub(crate) fn prepare(path: &Path) -> io::Result<Nonce> {
    let (engine, identity) = (engine_folder(path), path.join("identity"));
    let sync_names = || File::open(path)?.sync_all();
    // The note of a store that was here before would speak of another one.
    for name in [clean_end::NAME, clean_end::NEW_NAME] {
        let note = path.join(name);
        if note.try_exists()? {
            fs::remove_file(note)?;
        }
    }
    if identity.try_exists()? {
        fs::remove_file(&identity)?;
        sync_names()?;
    }
    if engine.try_exists()? {
        fs::remove_dir_all(&engine)?;
    }
    fs::create_dir(&engine)?;
    sync_names()?;
    // Keys that the operating system drew for this value alone.
    let nonce = RandomState::new().hash_one("store");
    write_number(&path.join("journal"), 0)?;
    write_number(&identity, nonce)?;
    Ok(Nonce(nonce))
}

/// An engine whose creation was cut short: no version, and nothing that could hold a commit.
fn is_unfinished(engine: &Path) -> io::Result<bool> {
    Ok(!has_version(engine) && journal::is_blank(engine)? && count_keyspaces(engine)? == 0)
}

/// The engine writes its version before it can be used, in more than one step, and never again.
fn has_version(engine: &Path) -> bool {
    engine.join("version").metadata().is_ok_and(|version| version.len() >= VERSION_FILE_BYTES)
}

fn count_keyspaces(engine: &Path) -> io::Result<usize> {
    match fs::read_dir(engine.join("keyspaces")) {
        Ok(entries) => Ok(entries.count()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// The engine expects folders with numbers for names, and panics at anything else.
fn keyspaces_are_numbered(engine: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(engine.join("keyspaces"))? {
        let entry = entry?;
        let is_number = entry.file_name().to_str().is_some_and(|name| name.parse::<u64>().is_ok());
        if !is_number || !entry.file_type()?.is_dir() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn write_number(path: &Path, number: u64) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(&number_bytes(number))?;
    file.sync_all()
}

fn read_number(path: &Path) -> io::Result<Option<u64>> {
    match fs::read(path) {
        Ok(bytes) => Ok(bytes
            .strip_prefix(&[VERSION])
            .and_then(|number| number.try_into().ok())
            .map(u64::from_be_bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn number_bytes(number: u64) -> Vec<u8> {
    [[VERSION].as_slice(), &number.to_be_bytes()].concat()
}

/// Makes the names of files and folders durable that were created at opening. A table whose
/// folder is gone after a power cut would be an empty table.
pub(crate) fn sync_folders(path: &Path) -> io::Result<()> {
    let engine = engine_folder(path);
    let parent = path.canonicalize()?.parent().map(Path::to_owned);
    let ours = [engine.join("keyspaces"), engine, path.to_owned()];
    ours.into_iter().chain(parent).try_for_each(|folder| File::open(folder)?.sync_all())
}

/// Bytes that are free for us on the disk of a folder.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Bytes that the journals occupy. Their length says nothing: they are created with 64 MiB of
/// zeroes that take no room.
pub(crate) fn journal_bytes(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0_u64;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "jnl") {
            match entry.metadata() {
                Ok(data) => bytes = bytes.saturating_add(data.blocks().saturating_mul(512)),
                // The engine has just removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(bytes)
}

/// The newest journal that a sync has relied on, as it was noted.
pub(crate) fn noted_journal(path: &Path) -> io::Result<Option<u64>> {
    read_number(&path.join("journal"))
}

/// Makes the journal durable without the engine's lock, so that commits go on meanwhile.
///
/// The engine syncs a journal before it begins the next one. So a commit that has returned is
/// durable once the newest journal is synced: it is in that one, or in an older one that was.
pub(crate) struct JournalSync {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// Where the number of the newest journal is noted, so that its loss can be told.
    note: File,
    /// The newest journal that was seen. The handle is kept: errors of write-back are reported
    /// to handles that were open when they happened.
    newest: Mutex<(u64, File)>,
}

impl JournalSync {
    pub(crate) fn open(path: &Path, disk: Arc<dyn Disk>) -> io::Result<Self> {
        let folder = engine_folder(path);
        let newest = open_newest(&folder)?;
        let note = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join("journal"))?;
        // A crash can come between a new journal and its note, and the sync of a note that reads right
        // may have failed. The syncs from now on rely on it.
        note.write_all_at(&number_bytes(newest.0), 0)?;
        note.sync_all()?;
        Ok(Self { folder, disk, note, newest: Mutex::new(newest) })
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let before = newest.0;
        loop {
            let next = newest.0.saturating_add(1);
            let path = journal_path(&self.folder, next);
            // Looked for by name first: a process that has no handle left can still sync.
            if path.try_exists()? {
                match File::open(path) {
                    Ok(file) => {
                        *newest = (next, file);
                        continue;
                    }
                    // Removed between the two calls, and ours before it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            // Journals are removed oldest first. While ours is there, no newer one has come and
            // gone.
            if is_linked(&newest.1)? {
                break;
            }
            *newest = open_newest(&self.folder)?;
        }
        if newest.0 != before {
            self.note.write_all_at(&number_bytes(newest.0), 0)?;
            self.note.sync_all()?;
        }
        self.disk.sync_data(&newest.1)
    }
}

/// Whether a file still has a name. Asks for nothing else: asking for its times, as a full stat
/// does, makes the next write change them, and fdatasync then has more to write.
fn is_linked(file: &File) -> io::Result<bool> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    Ok(statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK)?.stx_nlink > 0)
}

fn open_newest(folder: &Path) -> io::Result<(u64, File)> {
    loop {
        let number = journal::newest(folder)?;
        match File::open(journal_path(folder, number)) {
            Ok(file) => return Ok((number, file)),
            // Removed between the two calls, which means that there is a newer one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

fn journal_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number}.jnl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes which journals were synced, by what stands in them.
    struct Heard(Arc<Mutex<Vec<u64>>>);

    impl Disk for Heard {
        fn sync_data(&self, file: &File) -> io::Result<()> {
            let mut number = [0; 8];
            file.read_exact_at(&mut number, 0)?;
            self.0.lock().unwrap().push(u64::from_be_bytes(number));
            Ok(())
        }
    }

    #[test]
    fn the_newest_journal_is_synced_also_when_others_have_come_and_gone() {
        // A copy commits for a long time before its one sync. Meanwhile the engine may begin
        // several journals and remove all but the last: following them one by one would stop
        // at the first and sync a file that nobody writes to.
        let path = tempfile::tempdir().unwrap();
        let folder = engine_folder(path.path());
        fs::create_dir(&folder).unwrap();
        let create = |number: u64| {
            fs::write(journal_path(&folder, number), number.to_be_bytes()).unwrap();
        };
        let remove = |number| fs::remove_file(journal_path(&folder, number)).unwrap();
        let synced = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&synced);
        create(4);
        let sync = JournalSync::open(path.path(), Arc::new(Heard(heard))).unwrap();
        sync.sync().unwrap();
        create(5);
        create(6);
        sync.sync().unwrap();
        assert_eq!(noted_journal(path.path()).unwrap(), Some(6));
        create(9);
        remove(4);
        remove(5);
        sync.sync().unwrap();
        remove(6);
        sync.sync().unwrap();
        // While 6 is there it is the newest; once it is gone, 9 must be.
        assert_eq!(*synced.lock().unwrap(), [4, 6, 6, 9]);
        assert_eq!(noted_journal(path.path()).unwrap(), Some(9));
    }

    #[test]
    fn a_store_is_locked_once() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        assert!(matches!(lock(folder.path()), Err(OpenError::InUse { .. })));
        drop(held);
        assert!(lock(folder.path()).is_ok());
    }

    #[test]
    fn the_stored_bytes_are_these_for_ever() {
        assert_eq!(number_bytes(0x0102), [1, 0, 0, 0, 0, 0, 0, 1, 2]);
    }
}
