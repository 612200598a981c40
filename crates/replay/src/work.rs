//! How much a replay has done, counted in units that no machine changes.

/// Counters of work. A replay is linear: each grows in proportion to the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Events that were fed.
    pub events: u64,
    /// Deliveries to code.
    pub deliveries: u64,
    /// Commands that were compared with history.
    pub comparisons: u64,
    /// Polls of the code's future.
    pub polls: u64,
}
