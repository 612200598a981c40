//! Every proof of every size up to 64 verifies, and none that was altered in any way does.

use std::collections::BTreeMap;

use seriatim_merkle::{
    VerifyError, consistency_proof, empty_root, inclusion_proof, leaf_hash, root_at,
    verify_consistency, verify_inclusion,
};
use seriatim_storage::faulty::Dice;
use seriatim_types::Hash;

use crate::world::{Store, events};

const SIZE_MAX: u64 = 64;

#[test]
fn an_altered_path_leaf_or_root_never_verifies_inclusion() {
    let world = World::new();
    let mut forger = Forger(Dice::new(1));
    for ((size, index), path) in world.inclusion_proofs() {
        let (leaf, root) = (world.leaf(index), world.root(size));
        let verify =
            |leaf: &Hash, path: &[Hash], root| verify_inclusion(leaf, index, size, path, &root);
        assert_eq!(verify(&leaf, &path, root), Ok(()), "leaf {index} of {size}");

        for forged in forger.forge_lengths(&path) {
            let expected = VerifyError::PathLength { expected: path.len(), actual: forged.len() };
            assert_eq!(verify(&leaf, &forged, root), Err(expected), "leaf {index} of {size}");
        }
        for forged in forger.forge_hashes(&path) {
            assert_root_differs(verify(&leaf, &forged, root), size);
        }
        assert_root_differs(verify(&forger.flip(leaf), &path, root), size);
        assert_root_differs(verify(&leaf, &path, forger.flip(root)), size);
    }
}

#[test]
fn another_leaf_index_or_head_never_verifies_inclusion() {
    let world = World::new();
    for ((size, index), path) in world.inclusion_proofs() {
        for other in (0..SIZE_MAX).filter(|other| *other != index) {
            let (leaf, root) = (world.leaf(index), world.root(size));
            let found = verify_inclusion(&leaf, other, size, &path, &root);
            assert!(found.is_err(), "leaf {index} of {size} at {other}");
            let found = verify_inclusion(&world.leaf(other), index, size, &path, &root);
            assert_root_differs(found, size);
        }
        for other in (0..=SIZE_MAX).filter(|other| *other != size) {
            let found =
                verify_inclusion(&world.leaf(index), index, other, &path, &world.root(other));
            assert!(found.is_err(), "leaf {index} of {size} in {other}");
        }
    }
}

#[test]
fn an_altered_path_or_root_never_verifies_consistency() {
    let world = World::new();
    let mut forger = Forger(Dice::new(2));
    for ((from, to), path) in world.consistency_proofs() {
        let (old, new) = (world.root(from), world.root(to));
        let verify = |old, new, path: &[Hash]| verify_consistency(from, to, &old, &new, path);
        assert_eq!(verify(old, new, &path), Ok(()), "{from} to {to}");

        for forged in forger.forge_lengths(&path) {
            let expected = VerifyError::PathLength { expected: path.len(), actual: forged.len() };
            assert_eq!(verify(old, new, &forged), Err(expected), "{from} to {to}");
        }
        for forged in forger.forge_hashes(&path) {
            let found = verify(old, new, &forged);
            assert!(matches!(found, Err(VerifyError::RootDiffers { .. })), "{from} to {to}");
        }
        let found = verify(forger.flip(old), new, &path);
        assert!(matches!(found, Err(VerifyError::RootDiffers { .. })), "{from} to {to}");
        // Every tree continues the empty one, so there the second root is anyone's.
        if from > 0 || to == 0 {
            assert_root_differs(verify(old, forger.flip(new), &path), to);
        }
    }
}

#[test]
fn another_head_never_verifies_consistency() {
    let world = World::new();
    let proofs = world.consistency_proofs();
    for ((from, to), path) in &proofs {
        let others = (0..=SIZE_MAX).flat_map(|other| [(other, *to), (*from, other)]);
        for (other_from, other_to) in others {
            let (old, new) = (world.root(other_from), world.root(other_to));
            let found = verify_consistency(other_from, other_to, &old, &new, path);
            // Where there is nothing to show, many heads share the empty path.
            let is_theirs = proofs.get(&(other_from, other_to)) == Some(path);
            assert_eq!(found.is_ok(), is_theirs, "{from} to {to} as {other_from} to {other_to}");
        }
    }
}

#[test]
fn a_path_binds_a_leaf_to_a_root_and_the_size_is_for_the_head_to_say() {
    let world = World::new();
    let path = inclusion_proof(3, 0, &mut Store::of(&events(3))).unwrap();
    let verify = |size| verify_inclusion(&world.leaf(0), 0, size, &path, &world.root(3));
    assert_eq!(verify(3), Ok(()));
    assert_eq!(verify(4), Ok(()), "the way to leaf 0 is the same in trees of 3 and of 4");
    assert_eq!(verify(2), Err(VerifyError::PathLength { expected: 1, actual: 2 }));
    assert_eq!(verify(5), Err(VerifyError::PathLength { expected: 3, actual: 2 }));
}

#[test]
fn nothing_is_in_a_tree_that_is_too_small_for_it() {
    let hash = empty_root();
    let out_of_range = |asked, size| Err(VerifyError::OutOfRange { asked, size });
    for (index, size) in [(0, 0), (1, 1), (9, 8), (u64::MAX, 0), (u64::MAX, u64::MAX)] {
        assert_eq!(verify_inclusion(&hash, index, size, &[], &hash), out_of_range(index, size));
    }
    for (from, to) in [(1, 0), (9, 8), (u64::MAX, 0)] {
        assert_eq!(verify_consistency(from, to, &hash, &hash, &[]), out_of_range(from, to));
    }
}

#[test]
fn an_empty_tree_has_the_empty_root_and_no_other() {
    let (empty, other) = (empty_root(), leaf_hash(b""));
    for to in [0, 1, 7] {
        let found = verify_consistency(0, to, &other, &other, &[]);
        assert_eq!(
            found,
            Err(VerifyError::RootDiffers { size: 0, expected: other, actual: empty })
        );
    }
    assert_eq!(verify_consistency(0, 7, &empty, &other, &[]), Ok(()));
}

#[track_caller]
fn assert_root_differs(found: Result<(), VerifyError>, size: u64) {
    match found {
        Err(VerifyError::RootDiffers { size: found, .. }) => assert_eq!(found, size),
        other => panic!("{other:?}"),
    }
}

/// Leaves, and the roots of all sizes from 0.
struct World {
    store: Store,
    leaves: Vec<Hash>,
    roots: Vec<Hash>,
}

impl World {
    fn new() -> Self {
        let events = events(usize::try_from(SIZE_MAX).unwrap());
        let mut store = Store::of(&events);
        let roots = (0..=SIZE_MAX).map(|size| root_at(size, &mut store).unwrap()).collect();
        Self { store, leaves: events.iter().map(|event| leaf_hash(event)).collect(), roots }
    }

    fn leaf(&self, index: u64) -> Hash {
        self.leaves[usize::try_from(index).unwrap()]
    }

    fn root(&self, size: u64) -> Hash {
        self.roots[usize::try_from(size).unwrap()]
    }

    /// By size and index.
    fn inclusion_proofs(&self) -> BTreeMap<(u64, u64), Vec<Hash>> {
        let mut store = self.store.clone();
        let pairs = (1..=SIZE_MAX).flat_map(|size| (0..size).map(move |index| (size, index)));
        pairs.map(|pair| (pair, inclusion_proof(pair.0, pair.1, &mut store).unwrap())).collect()
    }

    /// By the two sizes.
    fn consistency_proofs(&self) -> BTreeMap<(u64, u64), Vec<Hash>> {
        let mut store = self.store.clone();
        let pairs = (0..=SIZE_MAX).flat_map(|to| (0..=to).map(move |from| (from, to)));
        pairs.map(|pair| (pair, consistency_proof(pair.0, pair.1, &mut store).unwrap())).collect()
    }
}

/// Alters hashes and paths.
struct Forger(Dice);

impl Forger {
    /// The same hash but for one bit.
    fn flip(&mut self, mut hash: Hash) -> Hash {
        let bit = self.0.index_below(256);
        hash.0[bit / 8] ^= 1 << (bit % 8);
        hash
    }

    /// Paths that end early, that lack a hash anywhere, and that have one too many.
    fn forge_lengths(&mut self, path: &[Hash]) -> Vec<Vec<Hash>> {
        let mut forged = Vec::new();
        for at in 0..path.len() {
            forged.push(path[..at].to_vec());
            let mut shorter = path.to_vec();
            shorter.remove(at);
            forged.push(shorter);
            let mut longer = path.to_vec();
            longer.insert(at, path[at]);
            forged.push(longer);
        }
        for at in 0..=path.len() {
            let mut longer = path.to_vec();
            longer.insert(at, self.flip(empty_root()));
            forged.push(longer);
        }
        forged
    }

    /// Paths of the same length with one bit flipped in each place, or two places exchanged.
    fn forge_hashes(&mut self, path: &[Hash]) -> Vec<Vec<Hash>> {
        let mut forged = Vec::new();
        for at in 0..path.len() {
            let mut flipped = path.to_vec();
            flipped[at] = self.flip(path[at]);
            forged.push(flipped);
            for other in 0..at {
                let mut exchanged = path.to_vec();
                exchanged.swap(at, other);
                forged.push(exchanged);
            }
        }
        forged
    }
}
