//! What appending gives: the root, the nodes to be stored, and nothing on the heap.

use std::collections::BTreeMap;

use seriatim_merkle::{Frontier, NodeId, empty_root, leaf_hash};
use seriatim_types::Hash;

use crate::rfc;
use crate::world::events;

#[test]
fn every_size_has_one_hash_for_each_of_its_bits_and_the_root_of_the_rfc() {
    let events = events(300);
    let mut frontier = Frontier::default();
    assert_eq!(frontier.root(), empty_root());
    for (size, event) in (1..).zip(&events) {
        let path = frontier.path_of_next();
        assert_eq!(path, rfc::path(size - 1, &events[..size]), "the last of {size} leaves");
        frontier.push(leaf_hash(event), &mut |_, _| ());
        assert_eq!(frontier.size(), size as u64);
        assert_eq!(frontier.hashes(), subtrees(&events[..size]), "{size} leaves");
        assert_eq!(frontier.root(), rfc::mth(&events[..size]), "{size} leaves");
    }
}

#[test]
fn a_frontier_that_was_put_away_continues_as_if_it_had_not_been() {
    let mut kept = Frontier::default();
    for event in events(300) {
        let (size, hashes) = (kept.size(), kept.clone().into_hashes());
        let mut restored = Frontier::new(size, hashes).unwrap();
        assert_eq!(restored, kept);
        let leaf = leaf_hash(&event);
        let (mut from_kept, mut from_restored) = (Vec::new(), Vec::new());
        kept.push(leaf, &mut |node, hash| from_kept.push((node, hash)));
        restored.push(leaf, &mut |node, hash| from_restored.push((node, hash)));
        assert_eq!((restored, from_restored), (kept.clone(), from_kept));
    }
}

#[test]
fn a_frontier_has_as_many_hashes_as_its_size_has_bits() {
    for (size, count) in [(0, 0), (1, 1), (7, 3), (8, 1), (u64::MAX, 64)] {
        assert!(Frontier::new(size, vec![empty_root(); count]).is_some());
        assert_eq!(Frontier::new(size, vec![empty_root(); count + 1]), None);
        if count > 0 {
            assert_eq!(Frontier::new(size, vec![empty_root(); count - 1]), None);
        }
    }
}

#[test]
fn exactly_the_nodes_of_levels_4_8_and_12_are_reported_when_their_last_leaf_comes() {
    let events = events(5_000);
    let mut frontier = Frontier::default();
    let mut reported = BTreeMap::new();
    for (size, event) in (1_u64..).zip(&events) {
        let mut levels = Vec::new();
        frontier.push(leaf_hash(event), &mut |node, hash| {
            levels.push(node.level);
            assert_eq!((node.index + 1) << node.level, size, "{node:?} is complete now");
            assert_eq!(reported.insert(node, hash), None, "{node:?} was never complete before");
        });
        assert!(levels.is_sorted(), "nodes are reported from below: {levels:?}");
    }

    let mut expected = BTreeMap::new();
    for level in [4, 8, 12] {
        for (index, covered) in (0..).zip(events.chunks_exact(1 << level)) {
            expected.insert(NodeId { level, index }, rfc::mth(covered));
        }
    }
    assert_eq!(expected.len(), 312 + 19 + 1);
    assert_eq!(reported, expected);
}

#[test]
fn an_append_allocates_nothing_once_there_is_room() {
    let leaf = leaf_hash(b"event");
    let mut frontier = Frontier::default();
    let mut reported_count = 0_u64;
    let mut push = |frontier: &mut Frontier| {
        frontier.push(leaf, &mut |_, _| reported_count += 1);
    };
    while frontier.hashes().len() < 10 {
        push(&mut frontier);
    }
    let allocated = allocation_counter::measure(|| {
        while frontier.hashes().len() <= 10 {
            push(&mut frontier);
        }
    });
    assert_eq!(frontier.size(), 2_047);
    assert_eq!(allocated.count_total, 0, "{allocated:?}");
    assert_eq!(reported_count, 127 + 7);
}

/// The complete subtrees of which a tree consists, by the RFC's own recursion.
fn subtrees(events: &[Vec<u8>]) -> Vec<Hash> {
    if events.is_empty() {
        return Vec::new();
    }
    let (first, rest) = events.split_at(1 << events.len().ilog2());
    [vec![rfc::mth(first)], subtrees(rest)].concat()
}
