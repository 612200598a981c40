//! Which node of a tree is meant, and which of them a store holds.
//!
//! ```text
//!  level 8        stored           one row for 256 events
//!  level 7 … 5    computed         from at most 16 nodes of level 4
//!  level 4        stored           one row for 16 events
//!  level 3 … 1    computed         from at most 16 leaves
//!  level 0        the events       whose leaf hashes are taken again
//! ```

use seriatim_types::Hash;

/// Every so many levels above the leaves, nodes are stored: 16 events cost one more row, where
/// all nodes of a tree would cost one for each event.
pub const LEVELS_PER_STORED: u8 = 4;

/// A node that covers the leaves from `index * 2^level` up to, not including,
/// `(index + 1) * 2^level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// How far it stands above the leaves.
    pub level: u8,
    /// Its place among the nodes of its level, from 0.
    pub index: u64,
}

/// Where the hashes of complete nodes come from. Which of them are asked for follows from sizes
/// and indices alone: a first try that only takes note finds out what to fetch.
pub trait Nodes {
    /// Why a hash cannot be had.
    type Error;

    /// The hash of a leaf (level 0), or of a node of a stored level.
    ///
    /// # Errors
    ///
    /// Whatever keeps the hash from being read; the proof is given up.
    fn get(&mut self, node: NodeId) -> Result<Hash, Self::Error>;
}

impl NodeId {
    /// Whether a store holds it once it is complete: as a node, or as the event of a leaf.
    pub(crate) const fn is_stored(self) -> bool {
        self.level.is_multiple_of(LEVELS_PER_STORED)
    }

    pub(crate) const fn is_right_child(self) -> bool {
        !self.index.is_multiple_of(2)
    }

    #[expect(clippy::arithmetic_side_effects, reason = "a tree has at most 64 levels")]
    pub(crate) const fn parent(self) -> Self {
        Self { level: self.level + 1, index: self.index / 2 }
    }
}
