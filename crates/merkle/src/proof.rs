//! Making proofs, as RFC 6962 defines them in sections 2.1.1 and 2.1.2.
//!
//! Both proofs walk from the root down. A span of leaves is split at the largest power of two
//! below its length, the walk enters one half, and the other half's hash joins the path.
//!
//! ```text
//!  11 leaves, proof of leaf 9            [0, 11)
//!                                       ╱       ╲
//!                                  *[0, 8)      [8, 11)
//!                                              ╱       ╲
//!                                         [8, 10)     *[10, 11)
//!                                        ╱       ╲
//!   path: [8, 9) [10, 11) [0, 8)    *[8, 9)     [9, 10)
//! ```
//!
//! The root and each half are hashed from the fewest leaves and stored nodes of which they consist:
//! at most 15 for each four levels along one edge. A proof has two edges, that of its leaf and the
//! right one of the tree.
//!
//! **Invariant:** a path begins beside the leaf and ends below the root.
//!
//! **Deliberately absent:** the frontier. A proof may be about any earlier size, of which no
//! frontier is kept.

use seriatim_types::Hash;

use crate::hash::{empty_root, node_hash};
use crate::node::{NodeId, Nodes};

/// Why there is no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError<E> {
    /// What shall be proven is not in the tree: a leaf behind its end, or a larger tree.
    #[error("{asked} is out of range for a tree of {size} leaves")]
    OutOfRange {
        /// The index of the leaf, or the size of the tree that shall be its beginning.
        asked: u64,
        /// How many leaves the tree has.
        size: u64,
    },
    /// A node could not be read.
    #[error("a node of the tree cannot be read")]
    Nodes(#[from] E),
}

/// The root of the tree of the first `size` leaves.
///
/// # Errors
///
/// When a node cannot be read.
pub fn root_at<N: Nodes>(size: u64, nodes: &mut N) -> Result<Hash, N::Error> {
    if size == 0 { Ok(empty_root()) } else { Span { start: 0, end: size }.hash(nodes) }
}

/// The path that shows that a leaf is in the tree of the first `size` leaves.
///
/// # Errors
///
/// When the tree has no such leaf, or a node cannot be read.
pub fn inclusion_proof<N: Nodes>(
    size: u64,
    index: u64,
    nodes: &mut N,
) -> Result<Vec<Hash>, ProofError<N::Error>> {
    if index >= size {
        return Err(ProofError::OutOfRange { asked: index, size });
    }
    let mut path = Vec::new();
    let mut span = Span { start: 0, end: size };
    while let Some((left, right)) = span.split() {
        let sibling;
        (span, sibling) = if index < left.end { (left, right) } else { (right, left) };
        path.push(sibling.hash(nodes)?);
    }
    path.reverse();
    Ok(path)
}

/// The path that shows that the tree of the first `from` leaves is the beginning of that of the
/// first `to`. It is empty when there is nothing to show: from no leaves, or to the same tree.
///
/// # Errors
///
/// When the first tree is the larger one, or a node cannot be read.
pub fn consistency_proof<N: Nodes>(
    from: u64,
    to: u64,
    nodes: &mut N,
) -> Result<Vec<Hash>, ProofError<N::Error>> {
    if from > to {
        return Err(ProofError::OutOfRange { asked: from, size: to });
    }
    let mut path = Vec::new();
    if from == 0 {
        return Ok(path);
    }
    let mut span = Span { start: 0, end: to };
    while span.end != from
        && let Some((left, right)) = span.split()
    {
        let sibling;
        (span, sibling) = if from <= left.end { (left, right) } else { (right, left) };
        path.push(sibling.hash(nodes)?);
    }
    // The walk ends at the last complete subtree of the first tree. Where that is the whole
    // tree, its hash is the root, which the verifier has.
    if span.start > 0 {
        path.push(span.hash(nodes)?);
    }
    path.reverse();
    Ok(path)
}

/// The leaves from `start` up to, not including, `end`: at least one, and always a subtree that
/// comes of splitting, so that `start` is a multiple of every power of two up to the length.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u64,
    end: u64,
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "start < end, and what is added or subtracted is at most their distance"
)]
impl Span {
    /// The two subtrees of which it consists, the left one complete; `None` for a single leaf.
    fn split(self) -> Option<(Self, Self)> {
        let last = self.end - self.start - 1;
        let middle = self.start + (1 << last.checked_ilog2()?);
        Some((Self { end: middle, ..self }, Self { start: middle, ..self }))
    }

    fn hash<N: Nodes>(self, nodes: &mut N) -> Result<Hash, N::Error> {
        let length = self.end - self.start;
        let level = u8::try_from(length.ilog2()).expect("a u64 has fewer than 256 bits");
        let node = NodeId { level, index: self.start >> level };
        if length.is_power_of_two() && node.is_stored() {
            return nodes.get(node);
        }
        let (left, right) = self.split().expect("a single leaf is stored");
        Ok(node_hash(&left.hash(nodes)?, &right.hash(nodes)?))
    }
}
