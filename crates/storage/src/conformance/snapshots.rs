//! Snapshots: one moment, for as long as they live.

use std::thread;

use super::rows::{Model, bytes, get, open, put, rows};
use super::{Place, Verdict, case_list};
use crate::{Batch, KeyRange, Snapshot};

case_list![
    a_snapshot_sees_its_moment_and_nothing_later,
    snapshots_of_different_moments_live_side_by_side,
    a_snapshot_taken_under_load_is_consistent,
];

fn a_snapshot_sees_its_moment_and_nothing_later(place: &dyn Place) -> Verdict {
    let f = open(place);
    for key in [b"changed", b"deleted", b"stable!"] {
        put(&*f.store, f.a, key, b"then");
    }
    let snapshot = f.store.snapshot().expect("a snapshot");
    let then = rows(&*snapshot, f.a);
    // More than an engine keeps in memory, so that the rows move to other files meanwhile.
    let filler = vec![7; 1 << 20];
    for n in 0..48_u32 {
        let mut batch = Batch::new();
        batch.put(f.a, bytes(b"changed"), bytes(n.to_be_bytes()));
        batch.delete(f.a, bytes(b"deleted"));
        batch.put(f.a, bytes([b"new".as_slice(), &n.to_be_bytes()].concat()), bytes(b"now"));
        batch.put(f.b, bytes(n.to_be_bytes()), bytes(&filler));
        f.store.commit(batch).expect("commit");
        if n % 8 == 0 {
            f.store.sync().expect("sync");
        }
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(rows(&*snapshot, f.a), then, "a scan of the snapshot, on another thread");
        });
    });
    assert_eq!(get(&*snapshot, f.a, b"changed"), Some(b"then".to_vec()));
    assert_eq!(get(&*snapshot, f.a, b"deleted"), Some(b"then".to_vec()));
    let keys = [(f.a, b"deleted".as_slice()), (f.b, [0; 4].as_slice())];
    let many = snapshot.get_many(&keys).expect("many reads");
    assert_eq!(many, [Some(bytes(b"then")), None]);
    assert_eq!(snapshot.is_range_empty(f.b, &KeyRange::all()), Ok(true));
    assert_eq!(get(&*f.store, f.a, b"deleted"), None, "the store itself has moved on");
    Verdict::Passed
}

fn snapshots_of_different_moments_live_side_by_side(place: &dyn Place) -> Verdict {
    let f = open(place);
    let mut moments: Vec<(Box<dyn Snapshot>, Model)> = Vec::new();
    for n in 0..30_u8 {
        moments.push((f.store.snapshot().expect("a snapshot"), rows(&*f.store, f.a)));
        let mut batch = Batch::new();
        batch.put(f.a, bytes([n % 7]), bytes([n]));
        batch.delete(f.a, bytes([(n + 3) % 7]));
        f.store.commit(batch).expect("commit");
    }
    // Dropped out of order: none depends on another.
    while !moments.is_empty() {
        for (snapshot, then) in &moments {
            assert_eq!(&rows(&**snapshot, f.a), then);
        }
        moments.remove(moments.len() / 2);
    }
    Verdict::Passed
}

fn a_snapshot_taken_under_load_is_consistent(place: &dyn Place) -> Verdict {
    let f = open(place);
    let write = |n: u32| {
        let mut batch = Batch::new();
        for table in [f.a, f.b, f.c] {
            batch.put(table, bytes(b"n"), bytes(n.to_be_bytes()));
            batch.put(table, bytes([b"log".as_slice(), &n.to_be_bytes()].concat()), bytes(b""));
        }
        f.store.commit(batch).expect("commit");
    };
    write(0);
    thread::scope(|scope| {
        let writer = scope.spawn(|| (1..600).for_each(write));
        while !writer.is_finished() {
            let snapshot = f.store.snapshot().expect("a snapshot");
            let first = rows(&*snapshot, f.a);
            let number = first[b"n".as_slice()].clone();
            let number = u32::from_be_bytes(number.as_slice().try_into().expect("four bytes"));
            let entries = u32::try_from(first.len()).expect("a short log") - 1;
            assert_eq!(entries, number + 1, "the log and its counter are of one moment");
            for table in [f.b, f.c] {
                assert_eq!(rows(&*snapshot, table), first, "all tables are of one moment");
            }
        }
    });
    Verdict::Passed
}
