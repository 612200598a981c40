//! The process that crash tests kill, and the one that runs out of disk.
//!
//! ```text
//! fjall-writer write <folder>                        writes and syncs until it is killed
//! fjall-writer full-disk <folder> <reserve bytes>    runs the suite's case about a full disk
//! fjall-writer neighbour <folder>                    somebody else fills the disk in no time
//! fjall-writer background <folder>                   a thread of the engine finds the disk full
//! ```

#![expect(
    clippy::arithmetic_side_effects,
    reason = "a part of a test, which clippy does not take for one: a panic fails the test"
)]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use seriatim_storage::conformance::{self, Place, Verdict, workload};
use seriatim_storage::{CommitError, OpenError, Schema, Store};
use seriatim_storage_fjall::{FjallStore, Settings};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(Path::new(folder)),
        ["full-disk", folder, reserve] => {
            full_disk(folder.into(), reserve.parse().expect("a number of bytes"));
        }
        ["neighbour", folder] => neighbour(folder.into()),
        ["background", folder] => background(folder.into()),
        _ => panic!("this program is run by tests: {arguments:?}"),
    }
}

fn write(folder: &Path) {
    // Small memtables: tables are written out and merged while the process is killed.
    let settings = Settings { memtable_bytes: 128 * 1024, ..Settings::default() };
    let store = FjallStore::open(folder, &workload::schema(), settings).expect("the store opens");
    workload::write_until_killed(&store, io::stdout()).expect("standard output is there");
}

fn full_disk(folder: PathBuf, disk_reserve_bytes: u64) {
    let place = SmallDisk { folder, disk_reserve_bytes };
    let case = conformance::cases().find(|case| case.name.starts_with("a_full_disk"));
    let verdict = (case.expect("the suite has the case").run)(&place);
    assert_eq!(verdict, Verdict::Passed);
    println!("passed");
}

/// Somebody else takes all the room between two commits, of which the store has seen little: it refuses
/// the next one, and does not run into the end of the disk.
fn neighbour(folder: PathBuf) {
    let place = SmallDisk { folder, disk_reserve_bytes: 8 * 1024 * 1024 };
    let store = place.open(&workload::schema()).expect("the store opens");
    workload::commit(&*store, 0, 1).expect("there is room");
    store.sync().expect("there is room");
    let take_all = || {
        let mut filler = File::create(place.filler()).expect("the filler is made");
        while io::Write::write_all(&mut filler, &[0; 64 * 1024]).is_ok() {}
    };
    take_all();
    for _ in 0..100 {
        let refused = workload::commit(&*store, 0, 2);
        assert!(matches!(refused, Err(CommitError::Full { .. })), "{refused:?}");
    }
    store.health().expect("the store goes on");
    place.make_room();
    workload::commit(&*store, 0, 2).expect("there is room again");
    store.sync().expect("there is room again");
    println!("passed");
}

/// A table cannot be written out because the disk is full: the store says what the system said.
fn background(folder: PathBuf) {
    assert!(seriatim_storage_fjall::keep_engine_errors(), "there is no other logger");
    let settings =
        Settings { disk_reserve_bytes: 0, memtable_bytes: 64 * 1024, ..Settings::default() };
    let store = FjallStore::open(&folder.join("store"), &workload::schema(), settings);
    let store = store.expect("the store opens");
    let table = store.schema().table("a").expect("the workload's schema");
    let mut filler = File::create(folder.join("filler")).expect("the filler is made");
    while io::Write::write_all(&mut filler, &[0; 64 * 1024]).is_ok() {}
    // Room for the journal, whose pages are there already or come with each commit, and not for tables.
    let room = 192 * 1024;
    filler.set_len(filler.metadata().expect("a size").len() - room).expect("a little room");
    let failed = (0..10_000_u32).find_map(|number| {
        let mut batch = seriatim_storage::Batch::new();
        batch.put(table, number.to_be_bytes().to_vec(), vec![7; 1024]);
        let committed = store.commit(batch);
        committed.err().map(|error| error.to_string()).or_else(|| {
            std::thread::yield_now();
            store.health().err().map(|error| error.to_string())
        })
    });
    let failed = failed.expect("the disk is full");
    assert!(failed.contains("No space left on device (os error 28)"), "{failed}");
    println!("{failed}\npassed");
}

/// A folder on a small disk of its own, with a file that takes up the room.
struct SmallDisk {
    folder: PathBuf,
    disk_reserve_bytes: u64,
}

impl SmallDisk {
    fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }
}

impl Place for SmallDisk {
    fn open(&self, schema: &Schema) -> Result<Box<dyn Store>, OpenError> {
        let settings =
            Settings { disk_reserve_bytes: self.disk_reserve_bytes, ..Settings::default() };
        Ok(Box::new(FjallStore::open(&self.folder.join("store"), schema, settings)?))
    }

    fn open_with_room(
        &self,
        schema: &Schema,
        room_bytes: u64,
    ) -> Option<Result<Box<dyn Store>, OpenError>> {
        let store = self.open(schema);
        let disk = rustix::fs::statvfs(&self.folder).expect("the disk has a size");
        let free = disk.f_bavail * disk.f_frsize;
        let filler = free - room_bytes - self.disk_reserve_bytes;
        let zeroes = vec![0; usize::try_from(filler).expect("a small disk")];
        fs::write(self.filler(), zeroes).expect("the filler is written");
        File::open(self.filler()).and_then(|file| file.sync_all()).expect("the filler is synced");
        Some(store)
    }

    fn make_room(&self) {
        fs::remove_file(self.filler()).expect("the filler is removed");
    }
}
