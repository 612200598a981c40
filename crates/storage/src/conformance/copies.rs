//! Copies of a key prefix into another store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::rows::{bytes, open, put, rows, schema};
use super::{Place, Verdict, case_list};
use crate::memory::MemoryStore;
use crate::{Batch, Cancel, CopyError, CopyReport, Schema, copy_prefix};

case_list![
    a_copy_holds_the_rows_of_its_prefix_and_no_others,
    a_copy_taken_under_load_is_of_one_moment,
    a_copy_into_this_store_is_durable,
    a_copy_that_cannot_be_whole_says_why,
];

fn a_copy_holds_the_rows_of_its_prefix_and_no_others(place: &dyn Place) -> Verdict {
    let f = open(place);
    for table in [f.a, f.c] {
        for prefix in [b"p".as_slice(), b"p1", b"p1\xff", b"p2", b"q"] {
            for n in 0..3_u8 {
                put(&*f.store, table, [prefix, &[n]].concat(), [prefix, &[n]].concat());
            }
        }
    }
    let target = MemoryStore::new(&schema());
    let mut heard = Vec::new();
    let report =
        copy_prefix(&*f.store, b"p1", &target, b"new", &Cancel::default(), &mut |r| heard.push(r));
    let report = report.expect("the copy is made");
    for (source, copied) in [(rows(&*f.store, f.a), f.a), (rows(&*f.store, f.c), f.c)] {
        let expected = source
            .into_iter()
            .filter_map(|(key, value)| {
                let rest = key.strip_prefix(b"p1")?;
                Some(([b"new", rest].concat(), value))
            })
            .collect();
        assert_eq!(rows(&target, copied), expected);
    }
    assert!(rows(&target, f.b).is_empty());
    let bytes = 2 * (3 * (3 + 3) + 3 * (4 + 4));
    assert_eq!(report, CopyReport { rows: 12, bytes });
    assert_eq!(heard.last(), Some(&report), "progress ends with the whole");
    Verdict::Passed
}

fn a_copy_taken_under_load_is_of_one_moment(place: &dyn Place) -> Verdict {
    const ACCOUNTS: u32 = 500;
    let f = open(place);
    // Every batch moves one unit from one table to the other: the sum is a property of
    // each single moment.
    let account = |n: u32| [b"acct".as_slice(), &n.to_be_bytes()].concat();
    for n in 0..ACCOUNTS {
        put(&*f.store, f.a, account(n), 1_000_u32.to_be_bytes());
        put(&*f.store, f.b, account(n), 1_000_u32.to_be_bytes());
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut moved = 0_u32;
            while !done.load(Ordering::Relaxed) {
                moved += 1;
                let n = moved.wrapping_mul(7_919) % ACCOUNTS;
                let round = moved / ACCOUNTS % 900;
                let mut batch = Batch::new();
                batch.put(f.a, account(n), bytes((1_000 - round).to_be_bytes()));
                batch.put(f.b, account(n), bytes((1_000 + round).to_be_bytes()));
                f.store.commit(batch).expect("commit");
            }
        });
        for _ in 0..10 {
            let target = MemoryStore::new(&schema());
            copy_prefix(&*f.store, b"acct", &target, b"acct", &Cancel::default(), &mut |_| {})
                .expect("the copy is made");
            let (a, b) = (rows(&target, f.a), rows(&target, f.b));
            assert_eq!(a.len(), 500);
            for (account, value) in &a {
                let number = |v: &Vec<u8>| u32::from_be_bytes(v[..].try_into().expect("4 bytes"));
                assert_eq!(number(value) + number(&b[account]), 2_000, "two moments in one copy");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    Verdict::Passed
}

fn a_copy_into_this_store_is_durable(place: &dyn Place) -> Verdict {
    let source = MemoryStore::new(&schema());
    let tables: Vec<_> = schema().tables().collect();
    // Several batches' worth.
    for n in 0..40_u32 {
        put(&source, tables[0], n.to_be_bytes(), vec![7; 100_000]);
    }
    let f = open(place);
    let mut heard = 0;
    copy_prefix(&source, b"", &*f.store, b"here/", &Cancel::default(), &mut |_| heard += 1)
        .expect("the copy is made");
    assert!(heard > 3, "four megabytes are not one batch: the target's others would wait");
    let f = if place.lose_power(f.store, 1) {
        open(place)
    } else {
        // Without power to lose, `lose_power` has closed the store.
        open(place)
    };
    let copied = rows(&*f.store, f.a);
    assert_eq!(copied.len(), 40, "a finished copy does not depend on a later sync");
    assert!(copied.keys().all(|key| key.starts_with(b"here/")));
    Verdict::Passed
}

fn a_copy_that_cannot_be_whole_says_why(place: &dyn Place) -> Verdict {
    let f = open(place);
    put(&*f.store, f.a, b"p1", b"v");
    let never = Cancel::default();
    let target = MemoryStore::new(&schema());
    put(&target, f.c, b"n1", b"in the way");
    let error = copy_prefix(&*f.store, b"p", &target, b"n", &never, &mut |_| {});
    let Err(CopyError::TargetNotEmpty { table }) = error else { panic!("{error:?}") };
    assert_eq!(table, "c");
    assert!(rows(&target, f.a).is_empty());

    let target = MemoryStore::new(&Schema::new(["a", "b"]).expect("two good names"));
    let error = copy_prefix(&*f.store, b"p", &target, b"n", &never, &mut |_| {});
    let Err(CopyError::NoSuchTable { table }) = error else { panic!("{error:?}") };
    assert_eq!(table, "c");

    let cancelled = Cancel::default();
    cancelled.cancel();
    let target = MemoryStore::new(&schema());
    let error = copy_prefix(&*f.store, b"p", &target, b"n", &cancelled, &mut |_| {});
    assert!(matches!(error, Err(CopyError::Cancelled)), "{error:?}");
    Verdict::Passed
}
