//! Checking proofs, with the algorithms of RFC 9162, sections 2.1.3.2 and 2.1.4.2.
//!
//! The number of hashes in a path, and the side on which each of them stands, follow from index
//! and sizes alone. The path decides nothing but the hash at its end.
//!
//! Size and root belong together: they are one head, and must come from one source. A root under
//! a size that is not its own may verify, because the way to a leaf can be the same in trees of
//! different sizes, as to leaf 0 in trees of 3 and of 4.
//!
//! **Invariant:** a path with a hash too many or too few never verifies.

use seriatim_types::Hash;

use crate::hash::{empty_root, node_hash};

/// Why a proof does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// What shall be proven cannot be in the tree: a leaf behind its end, or a larger tree.
    #[error("{asked} is out of range for a tree of {size} leaves")]
    OutOfRange {
        /// The index of the leaf, or the size of the tree that shall be its beginning.
        asked: u64,
        /// How many leaves the tree is said to have.
        size: u64,
    },
    /// The path has too many or too few hashes.
    #[error("the path has {actual} hashes and should have {expected}")]
    PathLength {
        /// How many a proof of this kind has.
        expected: usize,
        /// How many it has.
        actual: usize,
    },
    /// Leaf, path and root do not belong together.
    #[error("the proof leads to the root {actual} and not to {expected}, for {size} leaves")]
    RootDiffers {
        /// How many leaves the tree is said to have.
        size: u64,
        /// The root that it is said to have.
        expected: Hash,
        /// The root that the proof leads to.
        actual: Hash,
    },
}

/// Checks that a leaf is in the tree with this size and root, at this index.
///
/// # Errors
///
/// When it is not shown.
pub fn verify_inclusion(
    leaf: &Hash,
    index: u64,
    size: u64,
    path: &[Hash],
    root: &Hash,
) -> Result<(), VerifyError> {
    let Some(last) = size.checked_sub(1).filter(|last| index <= *last) else {
        return Err(VerifyError::OutOfRange { asked: index, size });
    };
    let climb = Climb { node: index, last };
    check_length(climb.clone().count(), path)?;
    let actual = climb.zip(path).fold(*leaf, |hash, (side, sibling)| match side {
        Side::Left => node_hash(sibling, &hash),
        Side::Right => node_hash(&hash, sibling),
    });
    check_root(size, root, &actual)
}

/// Checks that the tree with the first size and root is the beginning of that with the second.
///
/// # Errors
///
/// When it is not shown.
pub fn verify_consistency(
    from: u64,
    to: u64,
    from_root: &Hash,
    to_root: &Hash,
    path: &[Hash],
) -> Result<(), VerifyError> {
    if from > to {
        return Err(VerifyError::OutOfRange { asked: from, size: to });
    }
    if from == 0 {
        check_root(from, from_root, &empty_root())?;
    }
    if from == to {
        check_root(to, to_root, from_root)?;
    }
    if from == 0 || from == to {
        return check_length(0, path);
    }

    // The climb begins at the last complete subtree of the first tree. The path begins with its
    // hash, unless it is the whole tree: then its hash is the root.
    let climb = Climb::from_last_subtree(from, to);
    let own_count = usize::from(!from.is_power_of_two());
    check_length(climb.clone().count().saturating_add(own_count), path)?;
    let (own, siblings) = path.split_at(own_count);
    let start = *own.first().unwrap_or(from_root);

    let (old, new) =
        climb.zip(siblings).fold((start, start), |(old, new), (side, sibling)| match side {
            Side::Left => (node_hash(sibling, &old), node_hash(sibling, &new)),
            Side::Right => (old, node_hash(&new, sibling)),
        });
    check_root(from, from_root, &old)?;
    check_root(to, to_root, &new)
}

fn check_length(expected: usize, path: &[Hash]) -> Result<(), VerifyError> {
    let actual = path.len();
    if actual == expected { Ok(()) } else { Err(VerifyError::PathLength { expected, actual }) }
}

fn check_root(size: u64, expected: &Hash, actual: &Hash) -> Result<(), VerifyError> {
    if actual == expected {
        Ok(())
    } else {
        Err(VerifyError::RootDiffers { size, expected: *expected, actual: *actual })
    }
}

/// Where the sibling of a node stands.
#[derive(Debug, Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// The way from a node up to the root, one item for each sibling that is met.
///
/// ```text
///  from leaf 6 of 7        root
///                    ╱             ╲
///  level 2       ●                     ◦     a sibling on the left
///            ╱       ╲             ╱   │
///  level 1 ●           ●         ●     ◦     a sibling on the left
///         ╱ ╲         ╱ ╲       ╱ ╲    │
///  leaf  0   1       2   3     4   5   6     none: the last of its level rises as it is
/// ```
#[derive(Debug, Clone)]
struct Climb {
    /// The place of the node that was reached, among those of its level.
    node: u64,
    /// The place of the last node of that level.
    last: u64,
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "sizes are not 0 here, and numbers of u64 that differ from 0 or from all ones have \
              fewer than 64 zeros or ones at their end"
)]
impl Climb {
    fn from_last_subtree(from: u64, to: u64) -> Self {
        let mut climb = Self { node: from - 1, last: to - 1 };
        climb.rise(climb.node.trailing_ones());
        climb
    }

    fn rise(&mut self, levels: u32) {
        self.node >>= levels;
        self.last >>= levels;
    }
}

impl Iterator for Climb {
    type Item = Side;

    fn next(&mut self) -> Option<Side> {
        if self.last == 0 {
            return None;
        }
        // The last node of a level has no sibling while it is a left child.
        if self.node == self.last {
            self.rise(self.node.trailing_zeros());
        }
        let side = if self.node.is_multiple_of(2) { Side::Right } else { Side::Left };
        self.rise(1);
        Some(side)
    }
}
