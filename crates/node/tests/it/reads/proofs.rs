//! Proofs about a workspace's log, with all its nodes stored, some of them, or none.

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use seriatim_codec::tree_node_key;
use seriatim_merkle::{verify_consistency, verify_inclusion};
use seriatim_node::{Consistency, Inclusion, ProofFailed, ReadFailed, View, schema};
use seriatim_storage::{Batch, KeyRange, Scan, Store};
use seriatim_types::{Hash, Number};

use super::fold::root;
use super::{NEVER, ONE, number, open, reading};
use crate::driver::{APP, Driver};

/// Enough for two stored levels, and neither of them ends with the log.
pub(super) const EVENTS: u64 = 280;
const SIZES: [u64; 9] = [1, 15, 16, 17, 100, 255, 256, 257, EVENTS];

/// A workspace with many events. Half of them come before a restart.
pub(super) fn many_events(checkpoint_delay: Duration) -> Driver {
    let mut driver = open(checkpoint_delay);
    let ten = ["{'name': 'A'}"; 10].join(", ");
    for handle in 0..usize::try_from(EVENTS).unwrap() / 10 {
        if handle == 14 {
            driver.land_all();
            driver.partition.restart();
            driver.land_all();
        }
        driver.send(handle, "1", &ten);
    }
    driver
}

fn tree_rows(view: &View) -> Vec<Bytes> {
    let scan = Scan::new(schema().table("tree").unwrap(), KeyRange::all());
    let mut rows = Vec::new();
    let scanned = view.snapshot.scan(&scan, &mut |row| {
        rows.push(row.key);
        ControlFlow::Continue(())
    });
    assert!(scanned.is_ok());
    rows
}

/// Checks proofs of all events in logs of some sizes, and between those sizes.
fn check(view: &View) {
    reading(view, |reader| {
        let events = reader.events(ONE, 1, usize::MAX).unwrap();
        let leaves: Vec<Hash> = events.iter().map(|committed| committed.leaf).collect();
        let roots = SIZES.map(|size| root(&leaves[..usize::try_from(size).unwrap()]));
        assert_eq!(reader.head(ONE).unwrap().root, roots[SIZES.len() - 1]);
        for (size, expected) in SIZES.into_iter().zip(roots) {
            for (leaf, offset) in leaves.iter().zip(1..=size) {
                let proof = reader.inclusion(ONE, number(offset), size).unwrap();
                let Inclusion { leaf: shown, path, root } = proof;
                assert_eq!((&shown, root), (leaf, expected));
                assert_eq!(verify_inclusion(&shown, offset - 1, size, &path, &root), Ok(()));
            }
            for (from, from_expected) in SIZES.into_iter().zip(roots) {
                if from > size {
                    continue;
                }
                let proof = reader.consistency(ONE, from, size).unwrap();
                let Consistency { path, from_root, to_root } = proof;
                assert_eq!((from_root, to_root), (from_expected, expected));
                assert_eq!(verify_consistency(from, size, &from_root, &to_root, &path), Ok(()));
            }
        }
    });
}

#[test]
fn proofs_hold_with_all_nodes_stored() {
    let mut driver = many_events(Duration::ZERO);
    driver.settle();
    let view = driver.stored();
    assert_eq!(tree_rows(&view).len(), 17 + 1, "one for 16 events, and one for 256");
    check(&view);
}

#[test]
fn proofs_hold_with_no_node_stored() {
    let driver = many_events(NEVER);
    assert_eq!(tree_rows(driver.seen()), Vec::<Bytes>::new());
    check(driver.seen());
}

#[test]
fn proofs_hold_while_the_checkpoint_lags() {
    // So long that there is a checkpoint after reading the log, and no other.
    let driver = many_events(Duration::from_secs(1_000_000_000));
    assert_eq!(tree_rows(driver.seen()).len(), 140 / 16);
    check(driver.seen());
}

#[test]
fn proofs_hold_with_any_node_missing() {
    let mut driver = many_events(Duration::ZERO);
    driver.settle();
    for key in tree_rows(&driver.stored()).into_iter().step_by(2) {
        let mut batch = Batch::new();
        batch.delete(schema().table("tree").unwrap(), key);
        driver.store.commit(batch).unwrap();
    }
    check(&driver.stored());
}

#[test]
fn a_stored_node_is_used_and_a_damaged_one_is_named() {
    let mut driver = many_events(Duration::ZERO);
    driver.settle();
    let key = tree_node_key(APP, ONE, 8, 0);
    let plant = |value: &[u8]| {
        let mut batch = Batch::new();
        batch.put(schema().table("tree").unwrap(), key.clone(), Bytes::copy_from_slice(value));
        driver.store.commit(batch).unwrap();
        reading(&driver.stored(), |reader| reader.head(ONE))
    };
    assert_ne!(plant(&[7; 32]), reading(driver.seen(), |reader| reader.head(ONE)));
    let Err(ReadFailed::Unreadable(unreadable)) = plant(&[7; 31]) else { panic!("damaged") };
    assert_eq!((unreadable.row.table, unreadable.row.key), (seriatim_codec::Table::Tree, key));
}

#[test]
fn what_is_not_in_the_log_is_out_of_range() {
    let mut driver = open(Duration::ZERO);
    driver.send(0, "1", "{'name': 'A'}, {'name': 'B'}, {'name': 'C'}");
    reading(driver.seen(), |reader| {
        let out = |asked, size| ProofFailed::OutOfRange { asked, size };
        let inclusion = |offset, size| reader.inclusion(ONE, number(offset), size).map(drop);
        assert_eq!(inclusion(3, 3), Ok(()));
        assert_eq!(inclusion(1, 0), Err(out(1, 0)));
        assert_eq!(inclusion(3, 2), Err(out(3, 2)));
        assert_eq!(inclusion(3, 4), Err(out(4, 3)));
        assert_eq!(
            inclusion(Number::new(u64::MAX >> 11).unwrap().get(), 3),
            Err(out(u64::MAX >> 11, 3))
        );
        let consistency = |from, to| reader.consistency(ONE, from, to).map(drop);
        assert_eq!(
            (consistency(0, 0), consistency(0, 3), consistency(3, 3)),
            (Ok(()), Ok(()), Ok(()))
        );
        assert_eq!(consistency(3, 2), Err(out(3, 2)));
        assert_eq!(consistency(3, 4), Err(out(4, 3)));
        assert_eq!(consistency(4, 4), Err(out(4, 3)));
    });
}
