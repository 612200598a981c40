//! One bit is flipped, and the check must find it: in a row, or in a file.
//!
//! A flip that is not found must be one that cannot be: it says something that no event says, or
//! leaves every row as it was. Which those are is told here without asking the check.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use seriatim_codec::{CheckpointHead, PartitionPrefix, Stored, head_key, workspace_log_prefix};
use seriatim_node::schema;
use seriatim_storage::faulty::Dice;
use seriatim_storage::{Batch, KeyRange, Row, Scan, Store, Table};
use seriatim_storage_fjall::{FjallStore, Settings};
use seriatim_types::{PartitionRow, WorkspaceId};
use seriatim_verify::{Options, verify, verify_files};
use tempfile::TempDir;

use crate::world::{Checkpoints, World};

/// How a store on disk was left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By a node that has ended.
    Closed,
    /// In the middle, as a kill leaves it, with events that no checkpoint covers.
    Killed,
}

/// What came of flips.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flips {
    pub(crate) flips: u64,
    pub(crate) found: u64,
    /// Those that say something that nothing else does, each in words.
    pub(crate) free: Vec<String>,
}

/// Small memtables, so that tables are written out all the time.
pub(crate) const SMALL: Settings = Settings {
    memtable_bytes: 64 * 1024,
    journal_bytes_max: 64 * 1024 * 1024,
    cache_bytes: 1024 * 1024,
    disk_reserve_bytes: 0,
    worker_threads: 1,
};

/// A store on disk, written by a node.
pub(crate) fn on_disk(ending: Ending, rounds: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let open = || -> Arc<dyn Store> {
        Arc::new(FjallStore::open(folder.path(), &schema(), SMALL).unwrap())
    };
    World::fill(&open(), rounds);
    // Opening writes out what the journal brought back.
    let store = open();
    while !has_tables(&folder.path().join("fjall/keyspaces")) {
        std::thread::yield_now();
    }
    if ending == Ending::Closed {
        drop(store);
        return folder;
    }
    let mut world = World::open(store, Checkpoints::Late);
    world.advance(3 * 86_400_000);
    world.work(rounds / 2);
    let killed = copy_live(folder.path());
    world.end();
    killed
}

/// Whether a table of ours was written out, and not only the engine's own.
fn has_tables(keyspaces: &Path) -> bool {
    let tables = fs::read_dir(keyspaces).unwrap().map(|entry| entry.unwrap().path());
    let mut tables = tables.filter(|path| !path.ends_with("0")).map(|path| path.join("tables"));
    tables.any(|tables| fs::read_dir(tables).is_ok_and(|mut files| files.next().is_some()))
}

/// A copy of a folder that is in use. A kill leaves one moment, a copy takes a while: if the engine
/// removed or replaced a file meanwhile, it is no such moment, and is made again.
fn copy_live(folder: &Path) -> TempDir {
    let attempt = |_| {
        let copy = tempfile::tempdir().unwrap();
        copy_folder(folder, copy.path()).ok()?;
        FjallStore::check_files(copy.path(), &mut |_| {}).ok().map(|_| copy)
    };
    (0..1_000).find_map(attempt).expect("the engine comes to rest")
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            fs::create_dir(&target)?;
            copy_folder(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// All rows of a store.
pub(crate) fn all_rows(store: &dyn Store) -> Vec<(Table, Row)> {
    let mut rows = Vec::new();
    for table in store.schema().tables() {
        let scan = Scan::new(table, KeyRange::all());
        let _ = store.scan(&scan, &mut |row| {
            rows.push((table, row));
            std::ops::ControlFlow::Continue(())
        });
    }
    rows
}

/// Flips bits of keys and values, one at a time.
pub(crate) fn flip_rows(store: &dyn Store, flips: u64, dice: &mut Dice) -> Flips {
    let rows = all_rows(store);
    let size = |row: &Row| row.key.len() + row.value.len();
    let total: usize = rows.iter().map(|(_, row)| size(row)).sum();
    let mut result = Flips::default();
    for _ in 0..flips {
        let mut at = dice.index_below(total);
        let (table, row) = rows
            .iter()
            .find(|(_, row)| {
                let is_it = at < size(row);
                at -= if is_it { 0 } else { size(row) };
                is_it
            })
            .unwrap();
        let bit = 1 << dice.below(8);
        let (mut key, mut value) = (row.key.to_vec(), row.value.to_vec());
        match at.checked_sub(key.len()) {
            Some(at) => value[at] ^= bit,
            None => key[at] ^= bit,
        }
        let flipped = Row { key: key.into(), value: value.into() };
        replace(store, *table, row, &flipped);
        result.flips += 1;
        match verify(store, store.schema(), &Options::default(), &mut |_| {}) {
            Err(_) => result.found += 1,
            Ok(_) => {
                let place = format!("{} {:02x?}", store.schema().name(*table), &row.key[..]);
                let why = why_free(store, *table, row, &flipped);
                result.free.push(why.unwrap_or_else(|| panic!("not found: {place}, bit {bit}")));
            }
        }
        replace(store, *table, &flipped, row);
    }
    result
}

fn replace(store: &dyn Store, table: Table, old: &Row, new: &Row) {
    let mut batch = Batch::new();
    batch.delete(table, old.key.clone());
    batch.put(table, new.key.clone(), new.value.clone());
    store.commit(batch).unwrap();
}

/// Why no event can tell that a row was changed, if that is so.
fn why_free(store: &dyn Store, table: Table, old: &Row, new: &Row) -> Option<String> {
    let prefix = PartitionPrefix::split(&old.key).unwrap().0;
    let number = |key: &Bytes| u64::from_be_bytes(*key.last_chunk().unwrap());
    match old.key[PartitionPrefix::BYTES] {
        // The time of the last entry, and up to where keys were removed.
        0x0c if old.key == new.key => {
            let read = |row: &Row| PartitionRow::from_bytes(&row.value).unwrap();
            let (old, new) = (read(old), read(new));
            let same = PartitionRow { time: old.time, keys_through: old.keys_through, ..new };
            (same == old).then(|| "time, or how far keys were removed".to_owned())
        }
        // A workspace that was declared and has no event.
        0x0e => {
            let log = store.schema().table("workspace_log").unwrap();
            let range = workspace_log_prefix(prefix, WorkspaceId(number(&old.key)));
            let is_eventless = store.is_range_empty(log, &KeyRange::prefix(&range)).unwrap();
            is_eventless.then(|| "a declared workspace without events".to_owned())
        }
        // An event that no checkpoint covers: no hash of it is stored.
        0x05 if old.key == new.key => {
            assert_eq!(store.schema().name(table), "log");
            let numbers = store.schema().table("numbers").unwrap();
            let head = store.get(numbers, &head_key(prefix)).unwrap();
            let head = head.map(|bytes| CheckpointHead::decode(&bytes).unwrap());
            let covered = head.and_then(|head| head.through).map_or(0, |it| it.get());
            (number(&old.key) > covered).then(|| "an event behind the checkpoint".to_owned())
        }
        _ => None,
    }
}

/// Flips bits of files, one at a time.
pub(crate) fn flip_files(folder: &Path, flips: u64, dice: &mut Dice) -> Flips {
    let sound = FjallStore::check_files(folder, &mut |_| {}).expect("the store is sound");
    let newest = FjallStore::inspect(folder).unwrap().end;
    let mut files = Vec::new();
    list(folder, &mut files);
    files.retain(|file| !sound.leftovers.contains(file) && file.metadata().unwrap().len() > 0);
    let end_of = |file: &PathBuf| {
        let is_newest = newest.as_ref().filter(|(newest, _)| newest == file);
        is_newest.map_or_else(|| file.metadata().unwrap().len(), |(_, end)| *end)
    };
    let mut result = Flips::default();
    for _ in 0..flips {
        let file = &files[dice.index_below(files.len())];
        let length = file.metadata().unwrap().len();
        let data = end_of(file);
        // Mostly where something was written, sometimes in the zeroes behind it.
        let end = if dice.below(10) == 0 { length } else { data.max(1) };
        let (position, bit) = (dice.below(end), 1 << dice.below(8));
        flip(file, position, bit);
        result.flips += 1;
        match FjallStore::check_files(folder, &mut |_| {}) {
            Err(_) => result.found += 1,
            Ok(report) if report.torn_bytes > 0 => result.found += 1,
            Ok(_) => {
                // Nothing but the engine's number of a batch is under no checksum. Whether the engine
                // would have stumbled over another byte does not count.
                let is_journal = file.extension().is_some_and(|it| it == "jnl");
                assert!(is_journal, "not found: {} at {position}", file.display());
                if check_copy(folder) {
                    result.found += 1;
                } else {
                    result
                        .free
                        .push("the engine's number of a batch, in the same order".to_owned());
                }
            }
        }
        flip(file, position, bit);
        if position >= data {
            // The zeroes take no room again.
            let opened = OpenOptions::new().write(true).open(file).unwrap();
            opened.set_len(data).unwrap();
            opened.set_len(length).unwrap();
        }
    }
    FjallStore::check_files(folder, &mut |_| {}).expect("all flips were taken back");
    result
}

/// Whether the whole check finds something in a copy of a store.
fn check_copy(folder: &Path) -> bool {
    let copy = tempfile::tempdir().unwrap();
    copy_folder(folder, copy.path()).unwrap();
    verify_files(copy.path(), &Options::default(), false, &mut |_| {}).is_err()
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() { list(&entry, files) } else { files.push(entry) }
    }
}

pub(crate) fn flip(file: &Path, position: u64, bit: u8) {
    let file = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, position).unwrap();
    file.write_all_at(&[byte[0] ^ bit], position).unwrap();
}
