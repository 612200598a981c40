//! A disk that fills up.

use super::rows::{Fixture, bytes, fixture, get, open, put, schema};
use super::{Place, Verdict, case_list};
use crate::{Batch, CommitError};

case_list![a_full_disk_is_said_and_costs_nothing_that_was_acknowledged];

const ROOM_BYTES: u64 = 8 * 1024 * 1024;
const VALUE_BYTES: usize = 64 * 1024;

fn a_full_disk_is_said_and_costs_nothing_that_was_acknowledged(place: &dyn Place) -> Verdict {
    let Some(store) = place.open_with_room(&schema(), ROOM_BYTES) else {
        return Verdict::NotApplicable;
    };
    let f = fixture(store.expect("the store opens"));
    let free_before = f.store.disk_free_bytes();
    let acked = fill(&f);
    assert!(acked > 0, "there was no room at all");
    // Also by a store that has stopped: that is when somebody asks.
    let free = f.store.disk_free_bytes();
    assert!(free.is_some() && free < free_before, "{free:?} bytes are free, {free_before:?} were");
    // Either the store refused in time and goes on, or it stopped and says so.
    let f = if f.store.health().is_ok() {
        let again = f.store.commit(one_row(&f, acked));
        assert!(matches!(again, Err(CommitError::Full { .. })), "it is still full: {again:?}");
        check(&f, acked, "while the disk is full");
        place.make_room();
        f
    } else {
        let again = f.store.commit(one_row(&f, acked));
        assert!(matches!(again, Err(CommitError::Poisoned(_))), "stopped for good: {again:?}");
        assert!(f.store.get(f.a, b"").is_err(), "a stopped store answers nothing");
        drop(f);
        place.make_room();
        open(place)
    };
    check(&f, acked, "once there is room");
    put(&*f.store, f.b, b"after", b"v");
    f.store.sync().expect("there is room again");
    drop(f);
    let f = open(place);
    check(&f, acked, "after reopening");
    assert_eq!(get(&*f.store, f.b, b"after"), Some(b"v".to_vec()));
    Verdict::Passed
}

/// Commits and syncs until the store takes no more; returns how many rows were acknowledged.
fn fill(f: &Fixture) -> u32 {
    for n in 0..100_000 {
        match f.store.commit(one_row(f, n)) {
            Ok(()) => {}
            Err(CommitError::Full { .. } | CommitError::Failed(_) | CommitError::Poisoned(_)) => {
                return n;
            }
            Err(other) => panic!("{other}"),
        }
        if f.store.sync().is_err() {
            return n;
        }
    }
    panic!("the disk never filled up")
}

fn one_row(f: &Fixture, n: u32) -> Batch {
    let mut batch = Batch::new();
    batch.put(f.a, bytes(n.to_be_bytes()), vec![n.to_le_bytes()[0]; VALUE_BYTES]);
    batch
}

fn check(f: &Fixture, acked: u32, when: &str) {
    for n in 0..acked {
        let value = get(&*f.store, f.a, &n.to_be_bytes());
        assert!(value == Some(vec![n.to_le_bytes()[0]; VALUE_BYTES]), "row {n} {when}");
    }
}
