//! Arguments that cannot be, nodes that cannot be read, and sizes that no test can build.

use std::convert::Infallible;

use seriatim_merkle::{
    Frontier, NodeId, Nodes, ProofError, consistency_proof, empty_root, inclusion_proof, leaf_hash,
    node_hash, root_at, verify_consistency, verify_inclusion,
};
use seriatim_types::{Hash, NUMBER_MAX};

/// Up to the most that a log can hold, and far beyond.
const SIZES: [u64; 8] = [
    NUMBER_MAX - 1,
    NUMBER_MAX,
    NUMBER_MAX + 1,
    NUMBER_MAX + 2,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX,
];

#[test]
fn no_proof_is_made_of_what_is_not_in_the_tree() {
    let nodes = &mut Broken;
    let out_of_range = |asked, size| Err(ProofError::OutOfRange { asked, size });
    for (index, size) in [(0, 0), (1, 1), (9, 8), (u64::MAX, u64::MAX)] {
        assert_eq!(inclusion_proof(size, index, nodes), out_of_range(index, size));
    }
    for (from, to) in [(1, 0), (9, 8), (u64::MAX, 0)] {
        assert_eq!(consistency_proof(from, to, nodes), out_of_range(from, to));
    }
}

#[test]
fn where_there_is_nothing_to_show_no_node_is_read() {
    let nodes = &mut Broken;
    assert_eq!(root_at(0, nodes), Ok(empty_root()));
    assert_eq!(inclusion_proof(1, 0, nodes), Ok(vec![]));
    for (from, to) in [(0, 0), (0, 9), (9, 9), (8, 8)] {
        assert_eq!(consistency_proof(from, to, nodes), Ok(vec![]), "{from} to {to}");
    }
}

#[test]
fn a_node_that_cannot_be_read_ends_the_proof() {
    let nodes = &mut Broken;
    assert_eq!(root_at(17, nodes), Err(Unreadable));
    assert_eq!(inclusion_proof(17, 3, nodes), Err(ProofError::Nodes(Unreadable)));
    assert_eq!(consistency_proof(3, 17, nodes), Err(ProofError::Nodes(Unreadable)));
}

#[test]
fn proofs_in_trees_of_any_size_verify() {
    let mut alike = Alike::new();
    for size in SIZES {
        let root = root_at(size, &mut alike).unwrap();
        assert_eq!(root, alike.frontier(size).root(), "{size} leaves");

        for index in [0, 1, size / 2 - 1, size / 2, size - 2, size - 1] {
            let path = inclusion_proof(size, index, &mut alike).unwrap();
            let found = verify_inclusion(&alike.0[0], index, size, &path, &root);
            assert_eq!(found, Ok(()), "leaf {index} of {size}");
        }
        for from in [1, 2, 3, size / 2, size / 2 + 1, size - 1, size] {
            let path = consistency_proof(from, size, &mut alike).unwrap();
            let from_root = alike.frontier(from).root();
            let found = verify_consistency(from, size, &from_root, &root, &path);
            assert_eq!(found, Ok(()), "{from} to {size} leaves");
        }
    }
}

#[test]
fn the_last_leaf_of_a_full_log_completes_a_node_of_every_stored_level() {
    let alike = Alike::new();
    let mut frontier = alike.frontier(NUMBER_MAX);
    let mut levels = Vec::new();
    frontier.push(alike.0[0], &mut |node, hash| {
        assert_eq!(node.index, (NUMBER_MAX >> node.level));
        assert_eq!(hash, alike.0[usize::from(node.level)]);
        levels.push(node.level);
    });
    assert_eq!(levels, [4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52]);
    assert_eq!(frontier, alike.frontier(NUMBER_MAX + 1));
}

/// A tree whose leaves are all alike: then so are the nodes of each level, and a tree of any size
/// is known by one hash for each.
struct Alike(Vec<Hash>);

impl Alike {
    fn new() -> Self {
        let leaf = leaf_hash(b"event");
        Self(
            std::iter::successors(Some(leaf), |hash| Some(node_hash(hash, hash)))
                .take(64)
                .collect(),
        )
    }

    fn frontier(&self, size: u64) -> Frontier {
        let levels = (0..64).rev().filter(|level| size >> level & 1 == 1);
        Frontier::new(size, levels.map(|level| self.0[level]).collect()).unwrap()
    }
}

impl Nodes for Alike {
    type Error = Infallible;

    fn get(&mut self, node: NodeId) -> Result<Hash, Infallible> {
        Ok(self.0[usize::from(node.level)])
    }
}

/// Nodes of which none can be read.
struct Broken;

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("the disk is gone")]
struct Unreadable;

impl Nodes for Broken {
    type Error = Unreadable;

    fn get(&mut self, _: NodeId) -> Result<Hash, Unreadable> {
        Err(Unreadable)
    }
}
