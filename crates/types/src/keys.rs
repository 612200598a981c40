//! Bytes that identify: idempotency keys, fingerprints, hashes.

use std::fmt;

/// An idempotency key: a UUID that the client chose for one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u8; 16]);

/// A versioned hash over what a command asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint {
    /// How it was taken. Fingerprints of different versions are never equal.
    pub version: u8,
    /// The hash.
    pub hash: [u8; 16],
}

/// A hash of a Merkle tree: SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(pub [u8; 32]);

impl fmt::Display for Key {
    /// As a hyphenated UUID in lower case.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from_be_bytes(self.0);
        let part = |shift: u32, mask: u128| bits >> shift & mask;
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 0xffff_ffff),
            part(80, 0xffff),
            part(64, 0xffff),
            part(48, 0xffff),
            part(0, 0xffff_ffff_ffff),
        )
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
