//! Range scans: exact bounds, both directions, limits, and the ways in which they end.

use std::ops::{Bound, ControlFlow};
use std::thread;

use super::rows::{Model, bytes, get, open, put};
use super::{Place, Verdict, case_list};
use crate::{Batch, Cancel, Direction, KeyRange, Read, Scan, ScanEnd, ScanError, Store, Table};

case_list![
    bounds_are_exact_in_both_directions,
    a_range_is_empty_exactly_when_no_row_lies_in_it,
    long_scans_are_sorted_and_miss_nothing,
    a_visitor_can_stop_a_scan,
    a_cancelled_scan_is_never_taken_for_a_finished_one,
];

/// Short keys over a small alphabet: every way in which keys can touch each other.
fn small_keys() -> Vec<Vec<u8>> {
    let letters = [0x00, 0x01, 0x7f, 0xff];
    let mut keys = vec![vec![]];
    for first in letters {
        keys.push(vec![first]);
        keys.extend(letters.map(|second| vec![first, second]));
    }
    keys
}

fn bounds(keys: &[Vec<u8>]) -> Vec<Bound<&[u8]>> {
    let mut bounds = vec![Bound::Unbounded];
    for key in keys {
        bounds.push(Bound::Included(key.as_slice()));
        bounds.push(Bound::Excluded(key.as_slice()));
    }
    bounds
}

fn scan(read: &dyn Read, scan: &Scan) -> (Vec<Vec<u8>>, Result<ScanEnd, ScanError>) {
    let mut keys = Vec::new();
    let end = read.scan(scan, &mut |row| {
        assert_eq!(row.value, row.key, "these cases store each key as its own value");
        keys.push(row.key.to_vec());
        ControlFlow::Continue(())
    });
    (keys, end)
}

/// Every other small key is there; the bounds are all of them.
fn put_every_other(store: &dyn Store, table: Table) -> (Vec<Vec<u8>>, Model) {
    let keys = small_keys();
    let mut there = Model::new();
    for key in keys.iter().step_by(2) {
        put(store, table, key, key);
        there.insert(key.clone(), key.clone());
    }
    (keys, there)
}

fn bounds_are_exact_in_both_directions(place: &dyn Place) -> Verdict {
    let f = open(place);
    let (keys, there) = put_every_other(&*f.store, f.a);
    // A neighbour whose rows must never show up.
    put(&*f.store, f.b, [0x01], [0x01]);
    for start in bounds(&keys) {
        for end in bounds(&keys) {
            let range = KeyRange::new(start, end);
            let forward: Vec<Vec<u8>> =
                there.keys().filter(|key| range.contains(key)).cloned().collect();
            for direction in [Direction::Forward, Direction::Backward] {
                let mut expected = forward.clone();
                if direction == Direction::Backward {
                    expected.reverse();
                }
                for limit in [0, 1, 3, usize::MAX] {
                    let asked = Scan { direction, ..Scan::new(f.a, range.clone()) }.limit(limit);
                    let (got, ended) = scan(&*f.store, &asked);
                    let reached = expected.len() >= limit;
                    let why = if reached { ScanEnd::Limit } else { ScanEnd::Complete };
                    assert_eq!(ended, Ok(why), "{asked:?}");
                    let expected: Vec<_> = expected.iter().take(limit).cloned().collect();
                    assert_eq!(got, expected, "{asked:?}");
                }
            }
        }
    }
    Verdict::Passed
}

fn a_range_is_empty_exactly_when_no_row_lies_in_it(place: &dyn Place) -> Verdict {
    let f = open(place);
    assert_eq!(f.store.is_range_empty(f.a, &KeyRange::all()), Ok(true), "a new table is empty");
    let (keys, there) = put_every_other(&*f.store, f.a);
    for start in bounds(&keys) {
        for end in bounds(&keys) {
            let range = KeyRange::new(start, end);
            let first = there.keys().find(|key| range.contains(key));
            assert_eq!(f.store.is_range_empty(f.a, &range), Ok(first.is_none()), "{range:?}");
            let got = f.store.first_key(f.a, &range).expect("the first key is read");
            assert_eq!(got.as_deref(), first.map(Vec::as_slice), "{range:?}");
        }
    }
    let mut batch = Batch::new();
    for key in there.keys() {
        batch.delete(f.a, bytes(key));
    }
    f.store.commit(batch).expect("commit");
    let emptied = f.store.is_range_empty(f.a, &KeyRange::all());
    assert_eq!(emptied, Ok(true), "deleted rows do not count");
    Verdict::Passed
}

fn long_scans_are_sorted_and_miss_nothing(place: &dyn Place) -> Verdict {
    const ROWS: u32 = 20_000;
    let f = open(place);
    let mut there = Model::new();
    for chunk in 0..20 {
        let mut batch = Batch::new();
        for n in (0..ROWS).filter(|n| n % 20 == chunk) {
            let key = n.wrapping_mul(0x9e37_79b9).to_be_bytes();
            batch.put(f.a, bytes(key), bytes(key));
            there.insert(key.to_vec(), key.to_vec());
        }
        f.store.commit(batch).expect("commit");
    }
    let mut batch = Batch::new();
    for key in there.keys().step_by(3).cloned().collect::<Vec<_>>() {
        batch.delete(f.a, bytes(&key));
        there.remove(&key);
    }
    f.store.commit(batch).expect("commit");
    let expected: Vec<Vec<u8>> = there.keys().cloned().collect();
    let (got, end) = scan(&*f.store, &Scan::new(f.a, KeyRange::all()));
    assert_eq!(end, Ok(ScanEnd::Complete));
    assert!(got == expected, "forward: {} rows instead of {}", got.len(), expected.len());
    let (mut got, end) = scan(&*f.store, &Scan::new(f.a, KeyRange::all()).backward());
    assert_eq!(end, Ok(ScanEnd::Complete));
    got.reverse();
    assert!(got == expected, "backward: {} rows instead of {}", got.len(), expected.len());
    Verdict::Passed
}

fn a_visitor_can_stop_a_scan(place: &dyn Place) -> Verdict {
    let f = open(place);
    for n in 0..10_u8 {
        put(&*f.store, f.a, [n], [n]);
    }
    for stop_at in 0..10_u8 {
        let mut seen = 0;
        let end = f.store.scan(&Scan::new(f.a, KeyRange::all()), &mut |row| {
            seen += 1;
            if row.key == [stop_at].as_slice() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        assert_eq!(end, Ok(ScanEnd::Stopped), "also at the last row: the visitor did not ask");
        assert_eq!(seen, u32::from(stop_at) + 1);
    }
    Verdict::Passed
}

fn a_cancelled_scan_is_never_taken_for_a_finished_one(place: &dyn Place) -> Verdict {
    const ROWS: usize = 50;
    let f = open(place);
    for n in 0..ROWS {
        put(&*f.store, f.a, [n.to_le_bytes()[0]], [n.to_le_bytes()[0]]);
    }
    // Cancelled before it begins, at each row, and at the very last one.
    for cancel_after in 0..=ROWS {
        let cancel = Cancel::default();
        if cancel_after == 0 {
            cancel.cancel();
        }
        let mut visited = 0;
        let asked = Scan::new(f.a, KeyRange::all()).cancel(&cancel);
        let end = f.store.scan(&asked, &mut |_| {
            visited += 1;
            if visited == cancel_after {
                cancel.cancel();
            }
            ControlFlow::Continue(())
        });
        assert_eq!(end, Err(ScanError::Cancelled { visited }), "after {cancel_after} rows");
        assert_eq!(visited, cancel_after, "no row is shown after the cancellation");
    }
    // From another thread, while the scan is at work.
    let cancel = Cancel::default();
    let asked = Scan::new(f.a, KeyRange::all()).cancel(&cancel);
    let mut visited = 0;
    let end = f.store.scan(&asked, &mut |_| {
        visited += 1;
        thread::scope(|scope| {
            scope.spawn(|| cancel.cancel());
        });
        ControlFlow::Continue(())
    });
    assert_eq!(end, Err(ScanError::Cancelled { visited: 1 }));
    assert_eq!(visited, 1);
    assert_eq!(get(&*f.store, f.a, &[7]), Some(vec![7]), "the store goes on");
    Verdict::Passed
}
