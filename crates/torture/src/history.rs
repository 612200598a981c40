//! What clients were told, which the server must stand by.

use std::collections::BTreeMap;

use crate::workload::Asked;

/// What one client was told, in order.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Commands that were carried out, with the bytes of their receipts.
    pub(crate) acknowledged: Vec<(Asked, Vec<u8>)>,
    /// Keys of commands that were refused, with the code.
    pub(crate) refused: BTreeMap<String, String>,
    pub(crate) counts: Counts,
}

/// How often something happened to a client.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Commands that were acknowledged.
    pub acknowledged: u64,
    /// Commands that were refused.
    pub refused: u64,
    /// Commands that were not answered before the kill.
    pub unknown: u64,
    /// Of those, the ones that had been carried out.
    pub unknown_written: u64,
    /// Of those, the ones that were carried out when they were sent again.
    pub unknown_not_written: u64,
    /// Of those, the ones that were refused when they were sent again.
    pub unknown_refused: u64,
    /// Receipts that were asked for again.
    pub repeated: u64,
    /// Answers that there was no room, or that nothing was written.
    pub busy: u64,
}

impl Counts {
    /// Unknown outcomes that were found out.
    #[must_use]
    pub fn resolved(&self) -> u64 {
        self.unknown_written + self.unknown_not_written + self.unknown_refused
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.unknown_written += other.unknown_written;
        self.unknown_not_written += other.unknown_not_written;
        self.unknown_refused += other.unknown_refused;
        self.repeated += other.repeated;
        self.busy += other.busy;
    }
}
