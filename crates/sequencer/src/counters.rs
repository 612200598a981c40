//! What happened since the sequencer was made.

/// Counters and gauges, for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Rows that wait for a checkpoint now.
    pub unflushed_rows: usize,
    /// Events that are committed and not covered by a checkpoint now.
    pub checkpoint_lag: u64,
    /// Rows in memory now.
    pub cached_rows: usize,
    /// Rows that a transaction found in memory.
    pub cache_hits: u64,
    /// Rows that had to be handed in.
    pub cache_misses: u64,
    /// Requests that were refused because numbers were being read from the log.
    pub refused_actualizing: u64,
    /// Requests that were refused because too many rows waited for a checkpoint.
    pub refused_unflushed: u64,
    /// Checkpoints that could not be written.
    pub checkpoints_failed: u64,
    /// Checkpoints that were written.
    pub checkpoints_written: u64,
    /// Events that were read from the log.
    pub events_read: u64,
}
