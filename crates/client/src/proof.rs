//! Hashes and proofs over a workspace's log, as RFC 6962 has them.

use std::fmt;

use bytes::Bytes;
use seriatim_api as api;

use crate::error::Error;

/// A SHA-256 hash. Shown as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

/// How many events a log has, and the root of the tree over them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The workspace, by its name if it has one.
    pub workspace: String,
    /// How many events there are.
    pub size: u64,
    /// The root.
    pub root: Hash,
}

/// That an event is in the log: its leaf has the index `offset - 1` in a tree of `size` leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The event.
    pub offset: u64,
    /// The size of the tree.
    pub size: u64,
    /// The hash of the event.
    pub leaf: Hash,
    /// What the leaf is hashed with, from below.
    pub path: Vec<Hash>,
    /// The root of the tree.
    pub root: Hash,
}

/// That a log of one size is the beginning of the log of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consistency {
    /// The smaller size.
    pub from: u64,
    /// The larger size.
    pub to: u64,
    /// The hashes that lead from one root to the other.
    pub path: Vec<Hash>,
    /// The root of the smaller tree.
    pub from_root: Hash,
    /// The root of the larger tree.
    pub to_root: Hash,
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl TryFrom<Bytes> for Hash {
    type Error = Error;

    fn try_from(bytes: Bytes) -> Result<Self, Error> {
        let bytes = bytes.as_ref().try_into();
        bytes.map(Self).map_err(|_| Error::bad_answer("a hash has 32 bytes"))
    }
}

impl TryFrom<api::Head> for Head {
    type Error = Error;

    fn try_from(head: api::Head) -> Result<Self, Error> {
        Ok(Self { workspace: head.workspace, size: head.size, root: head.root.try_into()? })
    }
}

impl TryFrom<api::Proof> for Proof {
    type Error = Error;

    fn try_from(proof: api::Proof) -> Result<Self, Error> {
        let api::Proof { offset, size, leaf, path, root } = proof;
        let (leaf, root) = (leaf.try_into()?, root.try_into()?);
        Ok(Self { offset, size, leaf, path: hashes(path)?, root })
    }
}

impl TryFrom<api::Consistency> for Consistency {
    type Error = Error;

    fn try_from(proof: api::Consistency) -> Result<Self, Error> {
        let api::Consistency { from, to, path, from_root, to_root } = proof;
        let (from_root, to_root) = (from_root.try_into()?, to_root.try_into()?);
        Ok(Self { from, to, path: hashes(path)?, from_root, to_root })
    }
}

fn hashes(path: Vec<Bytes>) -> Result<Vec<Hash>, Error> {
    path.into_iter().map(Hash::try_from).collect()
}
