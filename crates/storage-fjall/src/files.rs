//! The files around the engine: the lock, free space, and the journal's file handle.
//!
//! ```text
//!  <path>/lock          held while the store is open
//!  <path>/fjall/        the engine's own folder
//! ```

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use seriatim_storage::OpenError;

use crate::journal;

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
    fs::create_dir_all(path).map_err(failed)?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(path.join("lock"));
    let file = file.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.display().to_string() }),
        Err(TryLockError::Error(cause)) => Err(failed(cause)),
    }
}

/// Removes what is left of an engine whose creation was cut short. The engine writes its
/// version file last, so without one nothing was ever committed; it would trip over the rest.
pub(crate) fn remove_unfinished_engine(folder: &Path) -> io::Result<()> {
    if folder.try_exists()? && !folder.join("version").try_exists()? {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
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

/// Makes the journal durable without the engine's lock, so that commits go on meanwhile.
///
/// The engine syncs a journal before it begins the next one. So a commit that has returned is
/// durable once the newest journal is synced: it is in that one, or in an older one that was.
#[derive(Debug)]
pub(crate) struct JournalSync {
    folder: PathBuf,
    /// The newest journal that was seen. The handle is kept: errors of write-back are reported
    /// to handles that were open when they happened.
    newest: Mutex<(u64, File)>,
}

impl JournalSync {
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self { folder: folder.to_owned(), newest: Mutex::new(open_newest(folder)?) })
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let next = newest.0.saturating_add(1);
            match File::open(journal_path(&self.folder, next)) {
                Ok(file) => *newest = (next, file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // Journals are removed oldest first. While ours is there, no newer one
                    // has come and gone.
                    if newest.1.metadata()?.nlink() > 0 {
                        break;
                    }
                    *newest = open_newest(&self.folder)?;
                }
                Err(error) => return Err(error),
            }
        }
        newest.1.sync_data()
    }
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

    #[test]
    fn the_newest_journal_is_synced_also_when_others_have_come_and_gone() {
        // A copy commits for a long time before its one sync. Meanwhile the engine may begin
        // several journals and remove all but the last: following them one by one would stop
        // at the first and sync a file that nobody writes to.
        let folder = tempfile::tempdir().unwrap();
        let path = |number| journal_path(folder.path(), number);
        let at = |sync: &JournalSync| sync.newest.lock().unwrap().0;
        File::create(path(4)).unwrap();
        let sync = JournalSync::open(folder.path()).unwrap();
        sync.sync().unwrap();
        assert_eq!(at(&sync), 4);
        File::create(path(5)).unwrap();
        File::create(path(6)).unwrap();
        sync.sync().unwrap();
        assert_eq!(at(&sync), 6, "one by one");
        File::create(path(9)).unwrap();
        fs::remove_file(path(4)).unwrap();
        fs::remove_file(path(5)).unwrap();
        sync.sync().unwrap();
        assert_eq!(at(&sync), 6, "while ours is there, it is the newest");
        fs::remove_file(path(6)).unwrap();
        sync.sync().unwrap();
        assert_eq!(at(&sync), 9, "the one between is gone");
    }

    #[test]
    fn a_store_is_locked_once() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        assert!(matches!(lock(folder.path()), Err(OpenError::InUse { .. })));
        drop(held);
        assert!(lock(folder.path()).is_ok());
    }
}
