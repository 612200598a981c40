//! Proofs from leaves and stored nodes alone, in trees of several stored levels.

use seriatim_merkle::{consistency_proof, inclusion_proof, root_at};

use crate::rfc;
use crate::world::{Store, events};

/// Around the sizes at which a node of a stored level is completed.
const SIZES: [usize; 14] =
    [15, 16, 17, 31, 32, 33, 255, 256, 257, 4_094, 4_095, 4_096, 4_097, 5_000];

#[test]
fn proofs_from_a_store_are_those_of_the_rfc() {
    let events = events(5_000);
    let mut store = Store::of(&events);
    for size in SIZES {
        let (events, size) = (&events[..size], size as u64);
        assert_eq!(root_at(size, &mut store), Ok(rfc::mth(events)), "{size} leaves");
        for at in places(size) {
            let path = inclusion_proof(size, at as u64, &mut store);
            assert_eq!(path, Ok(rfc::path(at, events)), "leaf {at} of {size}");
            let path = consistency_proof(at as u64 + 1, size, &mut store);
            assert_eq!(path, Ok(rfc::proof(at + 1, events)), "{} to {size}", at + 1);
        }
    }
}

#[test]
fn a_root_asks_for_15_nodes_for_each_four_levels_and_a_proof_for_twice_as_many() {
    let mut store = Store::of(&events(5_000));
    for size in (1..=5_000).step_by(59).chain(SIZES.map(|size| size as u64)) {
        let edge_max = 15 * (size.ilog2() as usize / 4 + 1);
        root_at(size, &mut store).unwrap();
        assert!(store.take_asked_count() <= edge_max, "{size} leaves");
        for at in (0..size).step_by(53).chain([size - 1]) {
            inclusion_proof(size, at, &mut store).unwrap();
            let asked_count = store.take_asked_count();
            assert!(asked_count <= 2 * edge_max, "{asked_count} for leaf {at} of {size}");
            consistency_proof(at + 1, size, &mut store).unwrap();
            let asked_count = store.take_asked_count();
            assert!(asked_count <= 2 * edge_max, "{asked_count} for {} to {size}", at + 1);
        }
    }
}

/// Leaves at both ends, around stored nodes, and some from between.
fn places(size: u64) -> Vec<usize> {
    let size = usize::try_from(size).unwrap();
    let near = [0, 1, 14, 15, 16, 17, 255, 256, 257, 2_047, 2_048, 4_095, 4_096, size - 2];
    near.into_iter()
        .chain((0..size).step_by(631))
        .chain([size - 1])
        .filter(|at| *at < size)
        .collect()
}
