//! Heads and proofs of RFC 6962.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use seriatim_types as types;

use super::Hash;

/// The size and the root of the tree over a workspace's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Head {
    /// The workspace, by its name if it has one.
    pub workspace: String,
    /// How many events the log has.
    pub size: u64,
    /// The root of the tree.
    pub root: Hash,
}

/// The size and the root of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Root {
    /// How many events the log has.
    pub size: u64,
    /// The root of the tree.
    pub root: Hash,
}

/// An inclusion proof of RFC 6962: that an event is in a log. The index of the leaf is `offset` - 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InclusionProof {
    /// The event.
    pub offset: u64,
    /// How many events the log has.
    pub size: u64,
    /// The hash of the event.
    pub leaf: Hash,
    /// What the leaf is hashed with, from below.
    pub path: Vec<Hash>,
    /// The root of the tree of that size.
    pub root: Hash,
}

/// A consistency proof of RFC 6962: that a log only grew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consistency {
    /// How many events the earlier log had.
    pub from: u64,
    /// How many events the later log has.
    pub to: u64,
    /// The hashes that lead from one root to the other.
    pub path: Vec<Hash>,
    /// The root of the earlier log.
    pub from_root: Hash,
    /// The root of the later log.
    pub to_root: Hash,
}

impl InclusionProof {
    /// The proof of an event in a log of some size.
    #[must_use]
    pub fn new(offset: u64, size: u64, proof: &types::Inclusion) -> Self {
        let path = proof.path.iter().map(Hash::from).collect();
        Self { offset, size, leaf: proof.leaf.into(), path, root: proof.root.into() }
    }
}
