//! Roots and paths equal those of another implementation and those of the RFC's own words, for
//! every size up to 64.

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use seriatim_merkle::{consistency_proof, inclusion_proof, root_at};
use seriatim_types::Hash;
use sha2::Sha256;

use crate::rfc;
use crate::world::{Store, events};

const SIZE_MAX: usize = 64;

#[test]
fn roots_and_paths_of_every_size_and_leaf_are_those_of_the_oracles() {
    let events = events(SIZE_MAX);
    let mut store = Store::of(&events);
    let mut tree = MemoryBackedTree::<Sha256, Vec<u8>>::new();
    for (size, event) in (1..).zip(&events) {
        tree.push(event.clone());
        let events = &events[..size];

        let root = root_at(size as u64, &mut store).unwrap();
        assert_eq!(root, rfc::mth(events), "{size} leaves");
        assert_eq!(root.0, tree.root().as_bytes()[..], "{size} leaves");

        for index in 0..size {
            let path = inclusion_proof(size as u64, index as u64, &mut store).unwrap();
            assert_eq!(path, rfc::path(index, events), "leaf {index} of {size}");
            assert_eq!(bytes(&path), tree.prove_inclusion(index).as_bytes());
        }
        for from in 1..=size {
            let path = consistency_proof(from as u64, size as u64, &mut store).unwrap();
            assert_eq!(path, rfc::proof(from, events), "{from} to {size} leaves");
            assert_eq!(bytes(&path), tree.prove_consistency(size - from).as_bytes());
        }
    }
}

fn bytes(path: &[Hash]) -> Vec<u8> {
    path.iter().flat_map(|hash| hash.0).collect()
}
