//! What the faulty store does to its callers, fault by fault.

use std::ops::ControlFlow;
use std::sync::Arc;

use seriatim_storage::conformance::workload;
use seriatim_storage::faulty::{self, Call, CallKind, Fault, FaultyStore};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{
    Batch, CommitError, KeyRange, Outcome, Read, ReadError, Scan, ScanError, Store, SyncError,
    Table,
};

fn store(schedule: faulty::Schedule) -> (FaultyStore, Table) {
    let inner = MemoryStore::new(&workload::schema());
    let table = inner.schema().table("a").unwrap();
    (FaultyStore::new(Arc::new(inner), schedule), table)
}

fn batch(table: Table, key: &'static [u8]) -> Batch {
    let mut batch = Batch::new();
    batch.put(table, key, key);
    batch
}

fn on(kind: CallKind, fault: Fault) -> faulty::Schedule {
    Box::new(move |call: Call| (call.kind == kind).then_some(fault))
}

#[test]
fn a_failed_write_stops_the_store_and_every_later_call_names_it() {
    for fault in [Fault::Fail, Fault::FailAfter] {
        let (store, table) = store(on(CallKind::Commit, fault));
        let snapshot = store.snapshot().unwrap();
        let error = store.commit(batch(table, b"k")).unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown);
        let CommitError::Failed(first) = error else { panic!("{error}") };
        assert_eq!(first.operation, "commit");

        assert_eq!(store.health(), Err(first.clone()));
        let later = store.commit(batch(table, b"k")).unwrap_err();
        assert_eq!(later, CommitError::Poisoned(first.clone()));
        assert_eq!(later.outcome(), Outcome::NotWritten);
        assert_eq!(store.sync(), Err(SyncError::Poisoned(first.clone())));
        let read = ReadError::Poisoned(first);
        assert_eq!(store.get(table, b"k"), Err(read.clone()));
        assert_eq!(store.get_many(&[(table, b"k")]), Err(read.clone()));
        assert_eq!(snapshot.get(table, b"k"), Err(read.clone()));
        assert_eq!(store.stats(), Err(read.clone()));
        assert_eq!(store.snapshot().err(), Some(read.clone()));
        let scan =
            store.scan(&Scan::new(table, KeyRange::all()), &mut |_| ControlFlow::Continue(()));
        assert_eq!(scan, Err(ScanError::Read(read)));
    }
}

#[test]
fn a_failed_sync_stops_the_store() {
    for fault in [Fault::Fail, Fault::FailAfter] {
        let (store, table) = store(on(CallKind::Sync, fault));
        store.commit(batch(table, b"k")).unwrap();
        let Err(SyncError::Failed(first)) = store.sync() else { panic!("the sync was planned") };
        assert_eq!(first.operation, "sync");
        assert_eq!(store.health(), Err(first.clone()));
        assert_eq!(store.commit(batch(table, b"l")), Err(CommitError::Poisoned(first)));
    }
}

#[test]
fn a_refused_commit_writes_nothing_and_the_store_goes_on() {
    let (store, table) = store(faulty::at(0, Fault::Refuse));
    let error = store.commit(batch(table, b"k")).unwrap_err();
    assert!(matches!(error, CommitError::Full { .. }), "{error}");
    assert_eq!(error.outcome(), Outcome::NotWritten);
    assert_eq!(store.get(table, b"k"), Ok(None));
    assert_eq!(store.commit(batch(table, b"k")), Ok(()));
}

#[test]
fn a_failed_read_is_an_error_and_the_store_goes_on() {
    let (store, table) = store(faulty::at(1, Fault::Fail));
    store.commit(batch(table, b"k")).unwrap();
    let error = store.get(table, b"k").unwrap_err();
    assert!(matches!(error, ReadError::Failed { .. }), "{error}");
    assert!(store.get(table, b"k").unwrap().is_some());
}

#[test]
fn a_flipped_bit_is_an_error_and_never_data() {
    let keys: [&'static [u8]; 5] = [b"0", b"1", b"2", b"3", b"4"];
    for rotten in 0..40_u64 {
        let rots = move |call: Call| (call.index == 5 + rotten).then_some(Fault::Rot);
        let (store, table) = store(Box::new(rots));
        for key in keys {
            store.commit(batch(table, key)).unwrap();
        }
        while store.calls() < 5 + rotten {
            assert_eq!(store.get(table, b"2").unwrap().as_deref(), Some(b"2".as_slice()));
        }
        let mut seen = Vec::new();
        let found = match rotten % 3 {
            0 => store.get(table, b"2").map(|_| ()),
            1 => store.get_many(&keys.map(|key| (table, key))).map(|_| ()),
            _ => match store.scan(&Scan::new(table, KeyRange::all()), &mut |row| {
                seen.push(row);
                ControlFlow::Continue(())
            }) {
                Err(ScanError::Read(error)) => Err(error),
                other => panic!("{other:?}"),
            },
        };
        let Err(ReadError::Failed { cause, .. }) = found else { panic!("{found:?}") };
        assert!(cause.contains("checksum"), "{cause}");
        assert!(seen.iter().all(|row| row.key == row.value) && seen.len() < 5, "{seen:?}");
        assert_eq!(store.get(table, b"none"), Ok(None));
        assert_eq!(store.get(table, b"2").unwrap().as_deref(), Some(b"2".as_slice()));
    }
}

#[test]
fn what_a_killed_process_has_not_synced_is_durable_once_the_next_has_begun() {
    for seed in 0..20 {
        let (store, table) = store(faulty::never());
        store.commit(batch(table, b"k")).unwrap();
        let (next, loss) = store.restart(seed, faulty::never()).unwrap();
        assert_eq!((loss.kept, loss.lost), (1, 0));
        assert!(store.get(table, b"k").is_err(), "its process is gone");
        let (after, _) = next.reopen(seed, faulty::never()).unwrap();
        assert!(after.get(table, b"k").unwrap().is_some(), "it was written anew");
    }
}

#[test]
fn after_a_failed_sync_the_next_process_finds_what_the_cache_has_or_what_the_disk_has() {
    let lost = (0..40).filter(|seed| {
        let (store, table) = store(on(CallKind::Sync, Fault::Fail));
        // Which pages the disk takes depends on the number of the call.
        for _ in 0..*seed {
            store.get(table, b"k").unwrap();
        }
        store.commit(batch(table, b"k")).unwrap();
        store.sync().unwrap_err();
        let (next, loss) = store.restart(*seed, faulty::never()).unwrap();
        let is_gone = next.get(table, b"k").unwrap().is_none();
        assert_eq!(loss.lost, usize::from(is_gone));
        let (after, _) = next.reopen(*seed, faulty::never()).unwrap();
        assert_eq!(after.get(table, b"k").unwrap().is_none(), is_gone, "what was found stays");
        is_gone
    });
    assert!((1..40).contains(&lost.count()));
}

#[test]
fn a_power_cut_after_a_failed_sync_takes_the_first_dropped_batch_and_all_behind_it() {
    let keys = [b"0", b"1", b"2"];
    let mut seen = [0_u32; 4];
    for seed in 0..60 {
        let (store, table) = store(on(CallKind::Sync, Fault::Fail));
        // Which pages the disk takes depends on the number of the call.
        for _ in 0..seed {
            store.get(table, b"0").unwrap();
        }
        for key in keys {
            store.commit(batch(table, key)).unwrap();
        }
        store.sync().unwrap_err();
        let (after, loss) = store.reopen(seed, faulty::never()).unwrap();
        let is_there = keys.map(|key| after.get(table, key).unwrap().is_some());
        let found = is_there.iter().take_while(|is_there| **is_there).count();
        assert!(is_there[found..].iter().all(|is_there| !is_there), "batches go from the end");
        assert_eq!((loss.kept, loss.lost), (found, 3 - found));
        seen[found] += 1;
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn a_scan_that_fails_in_the_middle_is_never_taken_for_a_finished_one() {
    for failing_call in 10..13 {
        let (store, table) = store(faulty::at(failing_call, Fault::Fail));
        for key in [b"0", b"1", b"2", b"3", b"4"] {
            store.commit(batch(table, key)).unwrap();
        }
        while store.calls() < failing_call {
            store.get(table, b"0").unwrap();
        }
        let mut seen = 0;
        let end = store.scan(&Scan::new(table, KeyRange::all()), &mut |_| {
            seen += 1;
            ControlFlow::Continue(())
        });
        assert!(matches!(end, Err(ScanError::Read(ReadError::Failed { .. }))), "{end:?}");
        assert!(seen < 5, "it failed before the end");
    }
}

/// One run of the workload: two writers, a sync after every third batch. Stops at the first
/// error. Returns what was acknowledged and begun, per writer.
fn run(store: &FaultyStore) -> (Vec<u64>, Vec<u64>) {
    let mut acked = vec![0; usize::from(workload::WRITERS)];
    let mut begun = acked.clone();
    for round in 0..10_u64 {
        for writer in 0..workload::WRITERS {
            begun[usize::from(writer)] = round + 1;
            match workload::commit(store, writer, round + 1) {
                Ok(()) => {}
                Err(error) => {
                    if error.outcome() == Outcome::NotWritten {
                        begun[usize::from(writer)] = round;
                    }
                    return (acked, begun);
                }
            }
        }
        if round % 3 == 2 {
            if store.sync().is_err() {
                return (acked, begun);
            }
            acked.clone_from(&begun);
        }
    }
    (acked, begun)
}

#[test]
fn a_fault_at_every_call_loses_nothing_acknowledged_and_tears_no_batch() {
    let (whole, _) = store(faulty::never());
    run(&whole);
    let calls = whole.calls();
    assert!(calls > 30, "{calls} calls: the run is long enough to mean something");
    let (mut lost, mut torn, mut kept) = (0, 0, 0);
    for fault in [Fault::Fail, Fault::FailAfter, Fault::Refuse, Fault::LosePower] {
        for index in 0..calls {
            for seed in 0..8 {
                let (store, _) = store(faulty::at(index, fault));
                let (acked, begun) = run(&store);
                let (after, loss) = store.reopen(seed, faulty::never()).unwrap();
                lost += loss.lost;
                kept += loss.kept;
                torn += usize::from(loss.torn);
                workload::check(Box::new(after), &acked, &begun);
            }
        }
    }
    assert!(lost > 0 && kept > 0 && torn > 0, "lost {lost}, kept {kept}, torn {torn}");
}

#[test]
fn the_same_seed_gives_the_same_faults() {
    let rates = faulty::Rates { delay: 100, refuse: 50, fail: 50, fail_after: 50, lose_power: 50 };
    let draw = |seed| -> Vec<Option<Fault>> {
        let schedule = faulty::seeded(seed, rates);
        (0..2_000).map(|index| schedule(Call { index, kind: CallKind::Commit })).collect()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    let of = |fault| draw(1).iter().filter(|drawn| **drawn == Some(fault)).count();
    let faults = [Fault::Refuse, Fault::Fail, Fault::FailAfter, Fault::LosePower];
    for count in faults.map(of) {
        assert!((50..=150).contains(&count), "about 100 of 2,000: {count}");
    }
}
