//! The one hash function of writer, reader and verifier: SHA-256 as in RFC 6962, section 2.1.

use seriatim_types::Hash;
use sha2::{Digest, Sha256};

/// Leaves and nodes begin with different bytes, so that no event can pass for a pair of hashes.
const LEAF_PREFIX: [u8; 1] = [0];
const NODE_PREFIX: [u8; 1] = [1];

/// The hash of a leaf, which is an event as it is stored.
#[must_use]
pub fn leaf_hash(event_bytes: &[u8]) -> Hash {
    finish(Sha256::new_with_prefix(LEAF_PREFIX).chain_update(event_bytes))
}

/// The hash of a node over those of its two children.
#[must_use]
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    finish(Sha256::new_with_prefix(NODE_PREFIX).chain_update(left.0).chain_update(right.0))
}

/// The root of a tree without leaves.
#[must_use]
pub fn empty_root() -> Hash {
    finish(Sha256::new())
}

fn finish(hasher: Sha256) -> Hash {
    Hash(hasher.finalize().into())
}
