//! Memory, and faulty on top of it, pass the suite.

use std::sync::Mutex;

use seriatim_storage::conformance::{self, Place};
use seriatim_storage::faulty::{self, FaultyStore, Rates};
use seriatim_storage::memory::{MemoryDisk, MemoryStore};
use seriatim_storage::{OpenError, Schema, Store};

/// A disk in memory.
#[derive(Default)]
pub(crate) struct InMemory(MemoryDisk);

impl Place for InMemory {
    fn open(&self, schema: &Schema) -> Result<Box<dyn Store>, OpenError> {
        Ok(Box::new(MemoryStore::open(&self.0, schema)?))
    }

    fn open_with_room(
        &self,
        schema: &Schema,
        room_bytes: u64,
    ) -> Option<Result<Box<dyn Store>, OpenError>> {
        self.0.set_capacity(Some(room_bytes));
        Some(self.open(schema))
    }

    fn make_room(&self) {
        self.0.set_capacity(None);
    }
}

/// A disk in memory whose calls are delayed at random and whose power can be lost.
#[derive(Default)]
pub(crate) struct Faulty {
    disk: InMemory,
    open: Mutex<Option<FaultyStore>>,
}

impl Place for Faulty {
    fn open(&self, schema: &Schema) -> Result<Box<dyn Store>, OpenError> {
        let mut open = self.open.lock().unwrap();
        // The handle that is kept for losing power must not keep a closed store open.
        if open.as_ref().is_some_and(|store| store.handles() == 1) {
            *open = None;
        }
        let inner = self.disk.open(schema)?;
        let delays = faulty::seeded(7, Rates { delay: 50, ..Rates::default() });
        let store = FaultyStore::new(inner.into(), delays);
        *open = Some(store.clone());
        Ok(Box::new(store))
    }

    fn lose_power(&self, store: Box<dyn Store>, seed: u64) -> bool {
        let open = self.open.lock().unwrap().take().expect("a store is open");
        let (after, _) = open.reopen(seed, faulty::never()).expect("the disk itself is sound");
        drop((store, open, after));
        true
    }

    fn open_with_room(
        &self,
        schema: &Schema,
        room_bytes: u64,
    ) -> Option<Result<Box<dyn Store>, OpenError>> {
        self.disk.0.set_capacity(Some(room_bytes));
        Some(self.open(schema))
    }

    fn make_room(&self) {
        self.disk.make_room();
    }
}

#[test]
fn memory_passes_every_case_that_applies() {
    let report = conformance::run_all(&|| Box::new(InMemory::default()));
    assert_eq!(
        report.not_applicable,
        [
            "after_losing_power_everything_acknowledged_is_there",
            "after_sigkill_everything_acknowledged_is_there",
        ]
    );
    assert_eq!(report.passed.len() + 2, conformance::cases().count());
}

#[test]
fn faulty_passes_every_case_that_applies() {
    let report = conformance::run_all(&|| Box::new(Faulty::default()));
    assert_eq!(report.not_applicable, ["after_sigkill_everything_acknowledged_is_there"]);
}
