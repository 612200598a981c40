//! How much is measured.

use std::time::Duration;

/// The sizes of all measurements.
#[derive(Debug, Clone)]
pub struct Sizes {
    /// What a reader calls these sizes.
    pub name: &'static str,
    /// How many times floor, ours and peer take turns.
    pub rounds: u64,
    /// Commands per batch, and batches per round.
    pub commits: [(u64, u64); 3],
    /// Batches per round and writer, where writers share syncs.
    pub shared_batches: u64,
    /// Batches per round while the disk is busy, if they fit in the time.
    pub busy_batches: u64,
    /// The time after which such a round ends.
    pub busy_time_max: Duration,
    /// Commands in the store that is read.
    pub filled_commands: u64,
    /// Point reads per round.
    pub reads: u64,
    /// Scans of 100 rows per round.
    pub short_scans: u64,
    /// Batches per round of each kind, with and without conditions.
    pub condition_batches: u64,
    /// Pairs written before the kill, and how many times; the small one and the large one.
    pub reopens: [(u64, u64); 2],
    /// Batches per run of write stalls.
    pub stall_batches: u64,
    /// How many times each setting is run.
    pub stall_passes: u64,
    /// Raw appends before and after each such run.
    pub stall_floor_batches: u64,
}

impl Sizes {
    /// About a minute: enough to see that something broke.
    #[must_use]
    pub fn short() -> Self {
        Self {
            name: "short",
            rounds: 3,
            commits: [(1, 1_000), (16, 1_000), (256, 160)],
            shared_batches: 500,
            busy_batches: 2_000,
            busy_time_max: Duration::from_secs(1),
            filled_commands: 100_000,
            reads: 20_000,
            short_scans: 500,
            condition_batches: 200,
            reopens: [(100_000, 1), (1_000_000, 1)],
            stall_batches: 400_000 / 64,
            stall_passes: 1,
            stall_floor_batches: 500,
        }
    }

    /// About ten minutes: what reports are made of.
    #[must_use]
    pub fn long() -> Self {
        Self {
            name: "long",
            rounds: 5,
            commits: [(1, 1_000), (16, 1_500), (256, 400)],
            shared_batches: 1_000,
            busy_batches: 6_000,
            busy_time_max: Duration::from_secs(2),
            filled_commands: 1_000_000,
            reads: 40_000,
            short_scans: 2_000,
            condition_batches: 500,
            reopens: [(1_000_000, 2), (10_000_000, 1)],
            stall_batches: 3_000_000 / 64,
            stall_passes: 2,
            stall_floor_batches: 2_000,
        }
    }
}
