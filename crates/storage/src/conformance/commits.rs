//! Commits without conditions: atomic, ordered, limited, counted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use seriatim_types::limits::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX};

use super::rows::{Fixture, bytes, get, open, put, rows};
use super::{Place, Verdict, case_list};
use crate::{Batch, CommitError, Outcome, TooLarge};

case_list![
    a_batch_over_several_tables_appears_at_once,
    the_last_operation_on_a_key_wins,
    an_empty_batch_changes_nothing,
    what_is_too_large_is_refused_and_changes_nothing,
    concurrent_writers_lose_nothing,
    sizes_and_counters_tell_what_happened,
];

fn a_batch_over_several_tables_appears_at_once(place: &dyn Place) -> Verdict {
    const ROUNDS: u32 = 2_000;
    let f = open(place);
    let write = |n: u32| {
        let mut batch = Batch::new();
        for table in [f.a, f.b, f.c] {
            for key in [b"first", b"last!"] {
                batch.put(table, bytes(key), bytes(n.to_be_bytes()));
            }
        }
        f.store.commit(batch).expect("commit");
    };
    write(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let keys = [f.a, f.b, f.c]
                        .into_iter()
                        .flat_map(|t| [(t, b"first".as_slice()), (t, b"last!".as_slice())]);
                    let seen = f.store.get_many(&keys.collect::<Vec<_>>()).expect("reads");
                    assert!(seen.iter().all(|v| v == &seen[0]), "half a batch: {seen:?}");
                    let table = rows(&*f.store, f.b);
                    let values: Vec<_> = table.values().collect();
                    assert_eq!(values[0], values[1], "a scan saw half a batch");
                }
            });
        }
        (1..=ROUNDS).for_each(write);
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(get(&*f.store, f.c, b"last!"), Some(ROUNDS.to_be_bytes().to_vec()));
    Verdict::Passed
}

fn the_last_operation_on_a_key_wins(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.a, b"old", b"0");
    let mut batch = Batch::new();
    batch.put(f.a, bytes(b"k"), bytes(b"1"));
    batch.delete(f.a, bytes(b"k"));
    batch.put(f.a, bytes(b"k"), bytes(b"2"));
    batch.put(f.a, bytes(b"old"), bytes(b"1"));
    batch.delete(f.a, bytes(b"old"));
    batch.put(f.b, bytes(b"k"), bytes(b"3"));
    f.store.commit(batch).expect("commit");
    f.store.sync().expect("sync");
    let check = |f: &Fixture, when: &str| {
        assert_eq!(get(&*f.store, f.a, b"k"), Some(b"2".to_vec()), "{when}");
        assert_eq!(get(&*f.store, f.a, b"old"), None, "{when}");
        assert_eq!(get(&*f.store, f.b, b"k"), Some(b"3".to_vec()), "{when}");
    };
    check(&f, "at once");
    drop(f);
    check(&open(place), "after reopening");
    Verdict::Passed
}

fn an_empty_batch_changes_nothing(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.a, b"k", b"v");
    f.store.commit(Batch::new()).expect("an empty batch is committed");
    f.store.sync().expect("sync");
    assert_eq!(rows(&*f.store, f.a).len(), 1);
    Verdict::Passed
}

fn what_is_too_large_is_refused_and_changes_nothing(place: &dyn Place) -> Verdict {
    let f = open(place);
    let with_a_good_row = || {
        let mut batch = Batch::new();
        batch.put(f.b, bytes(b"good"), bytes(b"v"));
        batch
    };
    let mut long_key = with_a_good_row();
    long_key.put(f.a, vec![0; KEY_BYTES_MAX + 1], bytes(b""));
    let mut long_value = with_a_good_row();
    long_value.put(f.a, bytes(b"k"), vec![0; VALUE_BYTES_MAX + 1]);
    let mut many_bytes = with_a_good_row();
    let megabyte = bytes(vec![0; 1 << 20]);
    for n in 0..=(BATCH_BYTES_MAX >> 20) {
        many_bytes.put(f.a, bytes(n.to_be_bytes()), megabyte.clone());
    }
    let mut many_rows = with_a_good_row();
    for n in 0..BATCH_ROWS_MAX {
        many_rows.delete(f.a, bytes(n.to_be_bytes()));
    }
    let sum = many_bytes.bytes();
    for (batch, expected) in [
        (long_key, TooLarge::Key { bytes: KEY_BYTES_MAX + 1 }),
        (long_value, TooLarge::Value { bytes: VALUE_BYTES_MAX + 1 }),
        (many_bytes, TooLarge::BatchBytes { bytes: sum }),
        (many_rows, TooLarge::BatchRows { rows: BATCH_ROWS_MAX + 1 }),
    ] {
        let error = f.store.commit(batch).expect_err("over the limit");
        assert_eq!(error.outcome(), Outcome::NotWritten);
        assert_eq!(error, CommitError::TooLarge(expected));
    }
    assert!(rows(&*f.store, f.a).is_empty() && rows(&*f.store, f.b).is_empty());
    f.store.health().expect("a refusal does not stop the store");
    put(&*f.store, f.a, b"k", b"v");
    Verdict::Passed
}

fn concurrent_writers_lose_nothing(place: &dyn Place) -> Verdict {
    const WRITERS: u8 = 4;
    const BATCHES: u32 = 200;
    let f = open(place);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let f = &f;
            scope.spawn(move || {
                for n in 0..BATCHES {
                    let key = [&[writer], n.to_be_bytes().as_slice()].concat();
                    let mut batch = Batch::new();
                    batch.put(f.a, bytes(&key), bytes(&key));
                    batch.put(f.b, bytes(&key), bytes(&key));
                    f.store.commit(batch).expect("commit");
                    if n % 16 == 0 {
                        f.store.sync().expect("sync");
                    }
                }
            });
        }
    });
    let expected = usize::from(WRITERS) * 200;
    assert_eq!(rows(&*f.store, f.a).len(), expected);
    assert_eq!(rows(&*f.store, f.a), rows(&*f.store, f.b));
    Verdict::Passed
}

fn sizes_and_counters_tell_what_happened(place: &dyn Place) -> Verdict {
    let f = open(place);
    let before = f.store.stats().expect("stats");
    let names: Vec<&str> = before.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"], "one entry per table, in the order of the schema");
    for n in 0..100_u32 {
        put(&*f.store, f.b, n.to_be_bytes(), vec![1; 1_000]);
    }
    f.store.sync().expect("sync");
    let after = f.store.stats().expect("stats");
    assert_eq!(after.commits - before.commits, 100);
    assert_eq!(after.sync_calls - before.sync_calls, 1);
    assert!(after.disk_syncs > before.disk_syncs, "a sync waits for the disk");
    assert!(after.tables[1].rows_estimate >= 100, "{:?}", after.tables[1]);
    assert_eq!(after.tables[0].rows_estimate, 0);
    assert!(after.bytes() >= 100_000, "{after:?}");
    Verdict::Passed
}
