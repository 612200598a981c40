//! The suite must fail for a backend that breaks the contract. Each planted bug is one that a
//! real engine has had, and each must be found by the case that is about it.

use std::ops::{Bound, ControlFlow};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use bytes::Bytes;
use seriatim_storage::conformance::{self, Place};
use seriatim_storage::{
    Batch, CommitError, Direction, KeyRange, OpenError, Poisoned, Read, ReadError, Row, Scan,
    ScanEnd, ScanError, Schema, Snapshot, Stats, Store, SyncError, Table,
};

use crate::backends::Faulty;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bug {
    /// A cancelled scan says that it has seen everything.
    CancelledIsComplete,
    /// A limited scan shows one row too many.
    LimitIsOneTooMany,
    /// A backward scan takes the end of its range as included.
    BackwardEndIsIncluded,
    /// Empty values read as absent rows.
    EmptyValueIsAbsent,
    /// `get_many` answers in the order of the keys' bytes.
    ManyReadsAreSorted,
    /// A snapshot reads the present.
    SnapshotIsLive,
    /// Conditions are checked first and the rows written later, with a gap between.
    ConditionsAreRacy,
    /// A refused batch has written its first row.
    RefusedBatchLeavesARow,
    /// Unknown tables are ignored at opening.
    UnknownTablesAreIgnored,
    /// A second handle may be opened.
    TwoHandles,
    /// A crash keeps a batch without its last row.
    CrashTearsABatch,
    /// Sync returns before anything is durable.
    SyncIsALie,
    /// A full disk drops the row and says nothing.
    FullDiskIsSilent,
    /// Free space is asked for once, at the start.
    FreeSpaceIsStale,
}

const ALL: [(Bug, &str); 14] = [
    (Bug::CancelledIsComplete, "a_cancelled_scan_is_never_taken_for_a_finished_one"),
    (Bug::LimitIsOneTooMany, "bounds_are_exact_in_both_directions"),
    (Bug::BackwardEndIsIncluded, "bounds_are_exact_in_both_directions"),
    (Bug::EmptyValueIsAbsent, "empty_keys_and_values_are_rows_like_others"),
    (Bug::ManyReadsAreSorted, "many_reads_answer_in_the_order_of_their_keys"),
    (Bug::SnapshotIsLive, "a_snapshot_sees_its_moment_and_nothing_later"),
    (Bug::ConditionsAreRacy, "of_many_inserts_of_one_key_exactly_one_wins"),
    (Bug::RefusedBatchLeavesARow, "a_failed_condition_commits_nothing_and_names_table_and_key"),
    (Bug::UnknownTablesAreIgnored, "a_table_that_the_schema_lacks_is_not_dropped_silently"),
    (Bug::TwoHandles, "one_handle_at_a_time"),
    (Bug::CrashTearsABatch, "after_losing_power_everything_acknowledged_is_there"),
    (Bug::SyncIsALie, "after_losing_power_everything_acknowledged_is_there"),
    (Bug::FullDiskIsSilent, "a_full_disk_is_said_and_costs_nothing_that_was_acknowledged"),
    (Bug::FreeSpaceIsStale, "a_full_disk_is_said_and_costs_nothing_that_was_acknowledged"),
];

/// How long a commit that is alone waits for a second one.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place for stores with a bug.
struct Planted {
    sound: Faulty,
    bug: Option<Bug>,
}

struct PlantedStore {
    inner: Arc<dyn Store>,
    bug: Option<Bug>,
    /// Commits that have checked their conditions.
    checked: (Mutex<u32>, Condvar),
}

impl Place for Planted {
    fn open(&self, schema: &Schema) -> Result<Box<dyn Store>, OpenError> {
        let mut opened = self.sound.open(schema);
        match (&opened, self.bug) {
            (Err(OpenError::UnknownTable { table, .. }), Some(Bug::UnknownTablesAreIgnored)) => {
                let all = schema.tables().map(|t| schema.name(t).to_owned()).chain([table.clone()]);
                opened = self.sound.open(&Schema::new(all).expect("good names"));
            }
            (Err(OpenError::InUse { .. }), Some(Bug::TwoHandles)) => {
                opened = Faulty::default().open(schema);
            }
            _ => {}
        }
        let inner = Arc::from(opened?);
        Ok(Box::new(PlantedStore { inner, bug: self.bug, checked: Default::default() }))
    }

    fn lose_power(&self, store: Box<dyn Store>, seed: u64) -> bool {
        let schema = store.schema().clone();
        let could = self.sound.lose_power(store, seed);
        if self.bug == Some(Bug::CrashTearsABatch) {
            let store = self.sound.open(&schema).expect("the sound store opens");
            let table = schema.table("b").expect("the workload's schema");
            let mut last = None;
            let scan = Scan::new(table, KeyRange::all()).backward().limit(1);
            let end = store.scan(&scan, &mut |row| {
                last = Some(row.key);
                ControlFlow::Continue(())
            });
            assert!(end.is_ok());
            let mut batch = Batch::new();
            last.into_iter().for_each(|key| batch.delete(table, key));
            store.commit(batch).expect("a row is torn off");
            store.sync().expect("for good");
        }
        could
    }

    fn open_with_room(
        &self,
        schema: &Schema,
        room_bytes: u64,
    ) -> Option<Result<Box<dyn Store>, OpenError>> {
        let inner = self.sound.open_with_room(schema, room_bytes)?;
        let wrap = |inner: Box<dyn Store>| -> Box<dyn Store> {
            Box::new(PlantedStore {
                inner: inner.into(),
                bug: self.bug,
                checked: Default::default(),
            })
        };
        Some(inner.map(wrap))
    }

    fn make_room(&self) {
        self.sound.make_room();
    }
}

impl Read for PlantedStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        let value = self.inner.get(table, key)?;
        Ok(value.filter(|v| self.bug != Some(Bug::EmptyValueIsAbsent) || !v.is_empty()))
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        let mut keys = keys.to_vec();
        if self.bug == Some(Bug::ManyReadsAreSorted) {
            keys.sort();
        }
        self.inner.get_many(&keys)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        let mut scan = scan.clone();
        if self.bug == Some(Bug::LimitIsOneTooMany) {
            scan.limit = scan.limit.saturating_add(1);
        }
        if self.bug == Some(Bug::BackwardEndIsIncluded) && scan.direction == Direction::Backward {
            let end = scan.range.end();
            let end = if let Bound::Excluded(key) = end { Bound::Included(key) } else { end };
            scan.range = KeyRange::new(scan.range.start(), end);
        }
        match self.inner.scan(&scan, visit) {
            Err(ScanError::Cancelled { .. }) if self.bug == Some(Bug::CancelledIsComplete) => {
                Ok(ScanEnd::Complete)
            }
            end => end,
        }
    }
}

impl Store for PlantedStore {
    fn schema(&self) -> &Schema {
        self.inner.schema()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError> {
        if self.bug == Some(Bug::SnapshotIsLive) {
            return Ok(Box::new(Live(Arc::clone(&self.inner))));
        }
        self.inner.snapshot()
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        if self.bug == Some(Bug::ConditionsAreRacy) {
            let writes = batch.resolve(&*self.inner, self.schema())?;
            // The gap is as long as it takes a second one to check its own.
            let (count, more) = &self.checked;
            let mut checked = count.lock().expect("nobody panics with it");
            *checked += 1;
            more.notify_all();
            let alone = |checked: &mut u32| *checked < 2;
            drop(more.wait_timeout_while(checked, PATIENCE, alone).expect("the same"));
            let mut unconditional = Batch::new();
            for write in writes {
                match write.value {
                    Some(value) => unconditional.put(write.table, write.key, value),
                    None => unconditional.delete(write.table, write.key),
                }
            }
            return self.inner.commit(unconditional);
        }
        match (self.inner.commit(batch), self.bug) {
            (Err(error @ CommitError::Condition(_)), Some(Bug::RefusedBatchLeavesARow)) => {
                let table = self.schema().tables().next().expect("a table");
                let mut left_over = Batch::new();
                left_over.put(table, b"before".as_slice(), b"x".as_slice());
                self.inner.commit(left_over)?;
                Err(error)
            }
            (Err(CommitError::Full { .. }), Some(Bug::FullDiskIsSilent)) => Ok(()),
            (result, _) => result,
        }
    }

    fn sync(&self) -> Result<(), SyncError> {
        if self.bug == Some(Bug::SyncIsALie) { Ok(()) } else { self.inner.sync() }
    }

    fn health(&self) -> Result<(), Poisoned> {
        self.inner.health()
    }

    fn disk_free_bytes(&self) -> Option<u64> {
        if self.bug == Some(Bug::FreeSpaceIsStale) {
            return Some(1_000_000);
        }
        self.inner.disk_free_bytes()
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        self.inner.stats()
    }
}

/// A "snapshot" of whatever is there now.
struct Live(Arc<dyn Store>);

impl Read for Live {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, ReadError> {
        self.0.get(table, key)
    }

    fn get_many(&self, keys: &[(Table, &[u8])]) -> Result<Vec<Option<Bytes>>, ReadError> {
        self.0.get_many(keys)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<ScanEnd, ScanError> {
        self.0.scan(scan, visit)
    }
}

impl Snapshot for Live {}

fn run_case(name: &str, bug: Option<Bug>) -> Result<(), String> {
    let case = conformance::cases().find(|case| case.name == name).expect("the suite has the case");
    let place = Planted { sound: Faulty::default(), bug };
    let run = std::panic::AssertUnwindSafe(|| (case.run)(&place));
    match std::panic::catch_unwind(run) {
        Ok(verdict) => {
            assert_eq!(verdict, conformance::Verdict::Passed, "{name} applies to this place");
            Ok(())
        }
        Err(_) => Err(format!("{name} failed")),
    }
}

#[test]
fn every_planted_bug_is_found_by_the_case_that_is_about_it() {
    for (bug, case) in ALL {
        assert_eq!(run_case(case, None), Ok(()), "without a bug the case passes");
        assert!(run_case(case, Some(bug)).is_err(), "{bug:?} was not found by {case}");
    }
}
