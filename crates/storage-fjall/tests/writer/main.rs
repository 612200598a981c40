//! The process that crash tests kill, and the one that runs out of disk.
//!
//! ```text
//! fjall-writer write <folder>                        writes and syncs until it is killed
//! fjall-writer full-disk <folder> <reserve bytes>    runs the suite's case about a full disk
//! ```

#![expect(
    clippy::arithmetic_side_effects,
    reason = "a part of a test, which clippy does not take for one: a panic fails the test"
)]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use seriatim_storage::conformance::{self, Place, Verdict, workload};
use seriatim_storage::{OpenError, Schema, Store};
use seriatim_storage_fjall::{FjallStore, Settings};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["write", folder] => write(Path::new(folder)),
        ["full-disk", folder, reserve] => {
            full_disk(folder.into(), reserve.parse().expect("a number of bytes"));
        }
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
