//! A place on disk for the conformance suite, with a power switch.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use seriatim_storage::conformance::Place;
use seriatim_storage::faulty::Dice;
use seriatim_storage::{OpenError, Schema, Store};
use seriatim_storage_fjall::{Disk, FjallStore, Settings};
use tempfile::TempDir;

const PAGE_BYTES: usize = 4096;

pub(crate) struct OnDisk {
    pub(crate) folder: TempDir,
    switched: Arc<Switched>,
}

/// A disk with a power switch.
#[derive(Default)]
struct Switched {
    path: PathBuf,
    /// Up to where the journal is durable: noted by what stands in the place of fdatasync, so that
    /// a sync that does not happen is not believed.
    synced: Mutex<Option<(PathBuf, u64)>>,
    is_off: AtomicBool,
}

impl Disk for Switched {
    fn sync_data(&self, file: &File) -> io::Result<()> {
        if self.is_off.load(Ordering::Relaxed) {
            return Err(io::Error::other("the power is off"));
        }
        let reached = journal_end(&self.path);
        file.sync_data()?;
        *self.synced.lock().expect("no panic with the lock") = Some(reached);
        Ok(())
    }
}

/// Small memtables: tables are written out and merged all the time.
pub(crate) const SETTINGS: Settings = Settings {
    memtable_bytes: 64 * 1024,
    journal_bytes_max: 128 * 1024 * 1024,
    cache_bytes: 1024 * 1024,
    disk_reserve_bytes: 256 * 1024 * 1024,
    worker_threads: 2,
};

impl OnDisk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().to_owned();
        Self { folder, switched: Arc::new(Switched { path, ..Switched::default() }) }
    }

    /// Ends a store as a kill does: it notes no clean end. What it has written is in its files.
    pub(crate) fn kill(&self, store: Box<dyn Store>) {
        self.switched.is_off.store(true, Ordering::Relaxed);
        drop(store);
        self.switched.is_off.store(false, Ordering::Relaxed);
    }

    pub(crate) fn engine_folder(&self) -> PathBuf {
        self.folder.path().join("fjall")
    }

    pub(crate) fn journal_end(&self) -> (PathBuf, u64) {
        journal_end(self.folder.path())
    }
}

fn journal_end(path: &Path) -> (PathBuf, u64) {
    FjallStore::inspect(path).expect("the store is sound").end.expect("there is a journal")
}

impl Place for OnDisk {
    fn open(&self, schema: &Schema) -> Result<Box<dyn Store>, OpenError> {
        let disk = self.switched.clone();
        let store = FjallStore::open_on(self.folder.path(), schema, SETTINGS, disk)?;
        // A start makes durable what it finds.
        *self.switched.synced.lock().expect("no panic with the lock") = Some(self.journal_end());
        Ok(Box::new(store))
    }

    fn lose_power(&self, store: Box<dyn Store>, seed: u64) -> bool {
        // Closing writes everything to the files; the power cut then takes away what no sync
        // had asked for.
        self.kill(store);
        let synced = self.switched.synced.lock().expect("no panic with the lock").clone();
        let (file, end) = self.journal_end();
        let from = synced.filter(|(synced, _)| *synced == file).map_or(0, |(_, at)| at);
        let bytes = fs::read(&file).expect("the journal is read");
        let (from, end) = (usize::try_from(from).unwrap(), usize::try_from(end).unwrap());
        let spoiled = spoil(&bytes, from, end, &mut Dice::new(seed));
        fs::write(&file, spoiled).expect("the journal is spoiled");
        true
    }

    fn spawn_writer(&self) -> Option<Child> {
        let writer = Command::new(env!("CARGO_BIN_EXE_fjall-writer"))
            .arg("write")
            .arg(self.folder.path())
            .stdout(Stdio::piped())
            .spawn();
        Some(writer.expect("the writer starts"))
    }
}

/// What a power cut can leave of a journal whose first `from` bytes are durable and whose last
/// batch ends at `end`.
fn spoil(bytes: &[u8], from: usize, end: usize, dice: &mut Dice) -> Vec<u8> {
    let mut left = bytes.to_vec();
    let cut = from + dice.index_below(end - from + 1);
    match dice.below(4) {
        // The file ends in the middle of a write.
        0 => left.truncate(cut),
        // Its length is there, its last bytes are not.
        1 => left[cut..].fill(0),
        // The last sector holds something else.
        2 => {
            left[cut..].fill(0);
            let garbage = dice.index_below(512).min(left.len() - cut);
            dice.fill(&mut left[cut..cut + garbage]);
        }
        // Later pages reached the disk and earlier ones did not.
        _ => {
            for page in left[from..end].chunks_mut(PAGE_BYTES) {
                if dice.below(3) == 0 {
                    page.fill(0);
                }
            }
        }
    }
    left
}

/// Flips bits of one byte of a file.
pub(crate) fn flip(file: &Path, position: u64, bits: u8) {
    let file = OpenOptions::new().read(true).write(true).open(file).expect("the file is there");
    let mut byte = [0];
    file.read_exact_at(&mut byte, position).expect("the byte is read");
    file.write_all_at(&[byte[0] ^ bits], position).expect("the byte is flipped");
}
