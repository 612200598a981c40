//! What came of a command that was carried out.

use seriatim_api::message::{NumberDrawn, Receipt};

use crate::key::Key;

/// What came of a command that was carried out, now or when it was first sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// The key that it was sent with.
    pub key: Key,
    /// All numbers that it was given.
    pub receipt: Receipt,
    /// Whether it had been carried out before, by an attempt whose answer got lost or an earlier
    /// call with the same key, so that nothing happened now.
    pub is_replayed: bool,
}

impl Submitted {
    /// The id of the record that the command created under a raw id.
    #[must_use]
    pub fn id(&self, raw: u16) -> Option<u64> {
        self.receipt.ids.get(&raw).copied()
    }

    /// The first number that the command drew from a sequence.
    #[must_use]
    pub fn number(&self, sequence: &str) -> Option<&NumberDrawn> {
        self.receipt.numbers.iter().find(|drawn| drawn.sequence == sequence)
    }
}
