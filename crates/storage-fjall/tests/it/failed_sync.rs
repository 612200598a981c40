//! A sync that fails, a restart, a power cut.
//!
//! After a failed fdatasync Linux keeps the pages in its cache and calls them clean, whether or not
//! they reached the disk. The next process reads them, its own sync has nothing to write, and a power
//! cut takes them, with everything that stands behind them in the journal.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use seriatim_storage::conformance::workload;
use seriatim_storage::faulty::Dice;
use seriatim_storage::{Store, SyncError};
use seriatim_storage_fjall::{Disk, FjallStore};
use tempfile::TempDir;

use crate::on_disk::SETTINGS;

const PAGE_BYTES: usize = 4096;

/// More than these tests write. A new journal is 64 MiB of zeroes.
const JOURNAL_BYTES: u64 = 1 << 20;

/// A machine with a page cache and a disk below it. The files are what the page cache shows.
#[derive(Default)]
struct Machine {
    state: Mutex<State>,
}

struct State {
    files: BTreeMap<PathBuf, Journal>,
    /// What the next syncs do.
    fails: Fails,
    dice: Dice,
    /// Bytes that were written anew.
    rewritten_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fails {
    Never,
    /// The disk takes some of the pages, and the cache calls all of them clean.
    Always,
}

#[derive(Default)]
struct Journal {
    /// What the disk has.
    on_disk: Vec<u8>,
    /// What the page cache has called clean last.
    clean: Vec<u8>,
    /// Pages that were written since, with whatever bytes.
    written: BTreeSet<usize>,
}

impl Default for State {
    fn default() -> Self {
        let dice = Dice::new(0);
        Self { files: BTreeMap::new(), fails: Fails::Never, dice, rewritten_bytes: 0 }
    }
}

impl Disk for Machine {
    fn sync_data(&self, file: &File) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        let State { files, fails, dice, .. } = &mut *state;
        let path = path_of(file)?;
        let mut shown = Vec::new();
        File::open(&path)?.take(JOURNAL_BYTES).read_to_end(&mut shown)?;
        let journal = files.entry(path).or_default();
        journal.on_disk.resize(shown.len(), 0);
        journal.clean.resize(shown.len(), 0);
        for (page, bytes) in shown.chunks(PAGE_BYTES).enumerate() {
            let place = page * PAGE_BYTES..page * PAGE_BYTES + bytes.len();
            let is_dirty =
                journal.clean[place.clone()] != *bytes || journal.written.contains(&page);
            if is_dirty && (*fails == Fails::Never || dice.below(2) == 0) {
                journal.on_disk[place].copy_from_slice(bytes);
            }
        }
        journal.clean = shown;
        journal.written.clear();
        match fails {
            Fails::Never => Ok(()),
            Fails::Always => Err(io::Error::from_raw_os_error(5)),
        }
    }

    fn write_at(&self, file: &File, bytes: &[u8], position: u64) -> io::Result<()> {
        file.write_all_at(bytes, position)?;
        let mut state = self.state.lock().unwrap();
        state.rewritten_bytes += bytes.len();
        let journal = state.files.entry(path_of(file)?).or_default();
        let first = usize::try_from(position).unwrap();
        journal.written.extend(first / PAGE_BYTES..=(first + bytes.len()) / PAGE_BYTES);
        Ok(())
    }
}

impl Machine {
    fn new(seed: u64) -> Arc<Self> {
        let machine = Self::default();
        machine.state.lock().unwrap().dice = Dice::new(seed);
        Arc::new(machine)
    }

    fn open(self: &Arc<Self>, folder: &TempDir) -> FjallStore {
        let disk = self.clone();
        FjallStore::open_on(folder.path(), &workload::schema(), SETTINGS, disk).unwrap()
    }

    fn set(&self, fails: Fails) {
        self.state.lock().unwrap().fails = fails;
    }

    /// The store ends without noting anything.
    fn kill(&self, store: FjallStore) {
        let files = std::mem::take(&mut self.state.lock().unwrap().files);
        self.set(Fails::Always);
        drop(store);
        self.set(Fails::Never);
        self.state.lock().unwrap().files = files;
    }

    /// The cache is gone, and the files show what the disk has.
    fn lose_power(&self) {
        for (path, journal) in &self.state.lock().unwrap().files {
            fs::write(path, &journal.on_disk).unwrap();
        }
    }

    fn rewritten_bytes(&self) -> usize {
        self.state.lock().unwrap().rewritten_bytes
    }
}

fn path_of(file: &File) -> io::Result<PathBuf> {
    fs::read_link(Path::new("/proc/self/fd").join(file.as_raw_fd().to_string()))
}

#[test]
fn failed_sync_then_restart_then_power_cut_loses_nothing_acknowledged() {
    for seed in 0..24 {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine::new(seed);
        let store = machine.open(&folder);
        workload::commit(&store, 0, 1).unwrap();
        store.sync().unwrap();
        // Large enough for several pages, each of which may be lost.
        for commit in 2..=12 {
            workload::commit(&store, 0, commit).unwrap();
        }
        machine.set(Fails::Always);
        assert!(matches!(store.sync(), Err(SyncError::Failed(_))));
        machine.set(Fails::Never);
        drop(store);

        // The server is started again, as its error page advises, and shows what it finds.
        let store = machine.open(&folder);
        workload::commit(&store, 0, 13).unwrap();
        store.sync().unwrap();
        machine.kill(store);
        machine.lose_power();

        let store: Box<dyn Store> = Box::new(machine.open(&folder));
        assert_eq!(workload::check(store, &[13], &[13]), [13], "seed {seed}");
    }
}

/// A start that finds nothing unproven writes nothing, and a kill costs no more than its tail.
#[test]
fn what_a_start_writes_anew_is_bounded_by_what_was_not_known_to_be_durable() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::new(0);
    let store = machine.open(&folder);
    for commit in 1..=200 {
        workload::commit(&store, 0, commit).unwrap();
        store.sync().unwrap();
    }
    let end = FjallStore::inspect(folder.path()).unwrap().end.unwrap().1;
    machine.kill(store);
    let found = FjallStore::inspect(folder.path()).unwrap();
    let store = machine.open(&folder);
    let rewritten = u64::try_from(machine.rewritten_bytes()).unwrap();
    assert_eq!(rewritten, found.unproven_bytes);
    assert!(rewritten > 0 && rewritten < end / 50, "{rewritten} of {end} bytes");

    drop(store);
    assert_eq!(FjallStore::inspect(folder.path()).unwrap().unproven_bytes, 0);
    drop(machine.open(&folder));
    let again = u64::try_from(machine.rewritten_bytes()).unwrap();
    assert_eq!(again, rewritten, "after a clean end there is nothing to write");
}
