//! The same suite as for every backend.

use std::sync::Mutex;

use seriatim_storage::conformance::{self, Place};
use seriatim_storage::faulty::{self, FaultyStore, Rates};
use seriatim_storage::{OpenError, Schema, Store};
use seriatim_storage_fjall::{FjallStore, Settings};
use tempfile::TempDir;

use crate::on_disk::OnDisk;

/// The case about a full disk needs a small disk and runs in a process of its own.
const FULL_DISK: &str = "a_full_disk_is_said_and_costs_nothing_that_was_acknowledged";

#[test]
fn fjall_passes_every_case_that_applies() {
    let report = conformance::run_all(&|| Box::new(OnDisk::new()));
    assert_eq!(report.not_applicable, [FULL_DISK]);
}

#[test]
fn faulty_over_fjall_passes_every_case_that_applies() {
    let report = conformance::run_all(&|| Box::new(FaultyOnDisk::new()));
    let killing = "after_sigkill_everything_acknowledged_is_there";
    assert_eq!(report.not_applicable, [killing, FULL_DISK]);
}

/// fjall behind random delays, with the faulty store's own kind of power loss.
struct FaultyOnDisk {
    folder: TempDir,
    open: Mutex<Option<FaultyStore>>,
}

impl FaultyOnDisk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { folder, open: Mutex::new(None) }
    }
}

impl Place for FaultyOnDisk {
    fn open(&self, schema: &Schema) -> Result<Box<dyn Store>, OpenError> {
        let mut open = self.open.lock().expect("no panic with the lock");
        if open.as_ref().is_some_and(|store| store.handles() == 1) {
            *open = None;
        }
        let inner = FjallStore::open(self.folder.path(), schema, Settings::default())?;
        let delays = faulty::seeded(11, Rates { delay: 50, ..Rates::default() });
        let store = FaultyStore::new(std::sync::Arc::new(inner), delays);
        *open = Some(store.clone());
        Ok(Box::new(store))
    }

    fn lose_power(&self, store: Box<dyn Store>, seed: u64) -> bool {
        let open = self.open.lock().expect("no panic with the lock").take();
        let open = open.expect("a store is open");
        let (after, _) = open.reopen(seed, faulty::never()).expect("the disk itself is sound");
        drop((store, open, after));
        true
    }
}
