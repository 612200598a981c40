//! A place on disk for the conformance suite, with a power switch.

use std::fs::{self, OpenOptions};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use seriatim_storage::conformance::Place;
use seriatim_storage::faulty::Dice;
use seriatim_storage::{
    Batch, CommitError, OpenError, Poisoned, Read, ReadError, Row, Scan, ScanEnd, ScanError,
    Schema, Snapshot, Stats, Store, SyncError, Table,
};
use seriatim_storage_fjall::{FjallStore, Settings, journal};
use tempfile::TempDir;

const PAGE_BYTES: usize = 4096;

pub(crate) struct OnDisk {
    pub(crate) folder: TempDir,
    synced: Arc<Mutex<Synced>>,
}

/// Up to where the journal is durable.
type Synced = Option<(PathBuf, u64)>;

impl OnDisk {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, synced: Arc::default() }
    }

    pub(crate) fn engine_folder(&self) -> PathBuf {
        self.folder.path().join("fjall")
    }
}

impl Place for OnDisk {
    fn open(&self, schema: &Schema) -> Result<Box<dyn Store>, OpenError> {
        let inner = FjallStore::open(self.folder.path(), schema, Settings::default())?;
        let found = journal::inspect(&self.engine_folder()).expect("an open store is sound");
        *self.synced.lock().expect("no panic with the lock") = found.end;
        let (folder, synced) = (self.engine_folder(), Arc::clone(&self.synced));
        Ok(Box::new(Watched { inner, folder, synced }))
    }

    fn lose_power(&self, store: Box<dyn Store>, seed: u64) -> bool {
        // Closing writes everything to the files; the power cut then takes away what no sync
        // had asked for.
        drop(store);
        let synced = self.synced.lock().expect("no panic with the lock").clone();
        let found = journal::inspect(&self.engine_folder()).expect("a closed store is sound");
        let (file, end) = found.end.expect("there is a journal");
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

/// A store that remembers up to where its journal was when it was last synced.
struct Watched {
    inner: FjallStore,
    folder: PathBuf,
    synced: Arc<Mutex<Synced>>,
}

impl Read for Watched {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.inner.get(table, key)
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.inner.get_many(keys)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.inner.scan(scan, visit)
    }
}

impl Store for Watched {
    fn schema(&self) -> &Schema {
        self.inner.schema()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError> {
        self.inner.snapshot()
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        self.inner.commit(batch)
    }

    fn sync(&self) -> Result<(), SyncError> {
        let reached = journal::inspect(&self.folder).ok().and_then(|found| found.end);
        self.inner.sync()?;
        if let Some(reached) = reached {
            *self.synced.lock().expect("no panic with the lock") = Some(reached);
        }
        Ok(())
    }

    fn health(&self) -> Result<(), Poisoned> {
        self.inner.health()
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        self.inner.stats()
    }
}

/// Flips bits of one byte of a file.
pub(crate) fn flip(file: &std::path::Path, position: u64, bits: u8) {
    let file = OpenOptions::new().read(true).write(true).open(file).expect("the file is there");
    let mut byte = [0];
    file.read_exact_at(&mut byte, position).expect("the byte is read");
    file.write_all_at(&[byte[0] ^ bits], position).expect("the byte is flipped");
}
