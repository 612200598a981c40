//! The right edge of a growing tree: all that is needed to append, and to know the root.
//!
//! ```text
//!  11 leaves = 8 + 2 + 1            12 leaves = 8 + 4: the new one carries, as in addition
//!
//!      a                                a
//!    ╱   ╲                            ╱   ╲       d
//!   ╱     ╲    b                     ╱     ╲    ╱   ╲
//!  ╱       ╲  ╱ ╲   c               ╱       ╲  b     ╲
//!  0 ⋯⋯⋯⋯⋯ 7  8 9  10               0 ⋯⋯⋯⋯⋯ 7 8 9  10 11
//!
//!  hashes: a, b, c                  hashes: a, d
//! ```
//!
//! **Invariant:** there is one hash for each bit that is set in the size, the largest subtree
//! first.

use seriatim_types::Hash;

use crate::hash::{empty_root, node_hash};
use crate::node::NodeId;

/// The hashes of the complete subtrees of which a tree consists, the largest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontier {
    size: u64,
    hashes: Vec<Hash>,
}

impl Frontier {
    /// The frontier of a tree of so many leaves; `None` if it would not have as many hashes.
    #[must_use]
    pub fn new(size: u64, hashes: Vec<Hash>) -> Option<Self> {
        let is_whole = u32::try_from(hashes.len()) == Ok(size.count_ones());
        is_whole.then_some(Self { size, hashes })
    }

    /// How many leaves the tree has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The hashes, the largest subtree first.
    #[must_use]
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    /// The hashes, the largest subtree first.
    #[must_use]
    pub fn into_hashes(self) -> Vec<Hash> {
        self.hashes
    }

    /// Appends a leaf, and reports the nodes to be stored that it completes, from below.
    pub fn push(&mut self, leaf: Hash, completed: &mut impl FnMut(NodeId, Hash)) {
        let mut node = NodeId { level: 0, index: self.size };
        self.size = self.size.checked_add(1).expect("a log holds fewer than 2^64 events");

        let mut hash = leaf;
        while node.is_right_child() {
            let left = self.hashes.pop().expect("a left sibling is complete and on the frontier");
            hash = node_hash(&left, &hash);
            node = node.parent();
            if node.is_stored() {
                completed(node, hash);
            }
        }
        self.hashes.push(hash);
    }

    /// What the next leaf will be hashed with, from below: its proof of inclusion, once it is the
    /// last.
    #[must_use]
    pub fn path_of_next(&self) -> Vec<Hash> {
        self.hashes.iter().rev().copied().collect()
    }

    /// The root of the tree.
    #[must_use]
    pub fn root(&self) -> Hash {
        let from_the_smallest = self.hashes.iter().rev().copied();
        from_the_smallest.reduce(|right, left| node_hash(&left, &right)).unwrap_or_else(empty_root)
    }
}
