//! What can be set for a node, with defaults that suit a small machine.

use std::time::Duration;

use seriatim_types::limits::TICK_ITEMS_MAX;

/// Half of what a tick may hold, for each of the two kinds.
const DUE_ITEMS_MAX: usize = TICK_ITEMS_MAX / 2;

/// Settings of a node's partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Partitions of all apps together beyond which no app is made.
    pub partitions_max: usize,
    /// Entries that one commit may hold, at least 1.
    pub batch_entries_max: usize,
    /// Bytes of writes at which a commit takes no more entries. One entry may come on top, and storage
    /// can take far more.
    pub commit_bytes: usize,
    /// Requests that wait for a partition's answer before others are turned away, at least 1.
    pub queue_max: usize,
    /// Bytes of commands that wait for a partition's answer before others are turned away, at least
    /// 1. One command may come on top.
    pub queue_bytes_max: usize,
    /// Commits of a partition that may wait for the disk at the same time, at least 1.
    pub commits_in_flight_max: usize,
    /// How long a sync of the store may be pending before the node says that it is not ready.
    pub sync_stalled_after: Duration,
    /// How long a commit or a sync may take before it is logged as slow.
    pub slow_after: Duration,
    /// Rows of numbers that are kept in memory, for each partition.
    pub cached_rows_max: usize,
    /// Rows of workspaces that are kept in memory, for each partition, and clients of which it is known
    /// what keys are not stored; at least 1.
    pub cached_workspaces_max: usize,
    /// Rows of numbers that may wait for a checkpoint. At least those of four commits are allowed.
    pub unflushed_rows_max: usize,
    /// How long numbers wait for a checkpoint at least.
    pub checkpoint_delay: Duration,
    /// How often a partition looks for what is due.
    pub tick_interval: Duration,
    /// Entities, and as many events whose keys are over, that are removed in one step, 1 to 512.
    pub due_items_max: usize,
    /// Events that are read in one go while numbers are read from the log.
    pub actualize_events: usize,
    /// How long readers of a partition in which nothing happens are shown the same snapshot. An old
    /// one keeps the store from freeing anything that was written since, by any partition.
    pub view_renewal: Duration,
    /// Events that a subscription gives at a time, at least 1.
    pub page_events: usize,
    /// Events that a subscription that had caught up may fall behind before it is told so.
    pub subscription_lag_max: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            partitions_max: 4096,
            batch_entries_max: 256,
            commit_bytes: 8 * 1024 * 1024,
            queue_max: 4096,
            queue_bytes_max: 64 * 1024 * 1024,
            commits_in_flight_max: 2,
            sync_stalled_after: Duration::from_secs(5),
            slow_after: Duration::from_secs(1),
            cached_rows_max: 100_000,
            cached_workspaces_max: 20_000,
            unflushed_rows_max: 16_384,
            checkpoint_delay: Duration::from_millis(100),
            tick_interval: Duration::from_secs(1),
            due_items_max: DUE_ITEMS_MAX,
            actualize_events: 512,
            view_renewal: Duration::from_secs(1),
            page_events: 256,
            subscription_lag_max: 100_000,
        }
    }
}

impl Settings {
    /// The same with at least 1 where 0 would let nothing happen.
    pub(crate) fn with_least(self) -> Self {
        Self {
            batch_entries_max: self.batch_entries_max.max(1),
            queue_max: self.queue_max.max(1),
            queue_bytes_max: self.queue_bytes_max.max(1),
            commits_in_flight_max: self.commits_in_flight_max.max(1),
            cached_workspaces_max: self.cached_workspaces_max.max(1),
            due_items_max: self.due_items_max.clamp(1, DUE_ITEMS_MAX),
            actualize_events: self.actualize_events.max(1),
            ..self
        }
    }

    /// Those of a partition's sequencer, with the seed of its hashes.
    pub(crate) fn sequencer(&self, hash_seed: u64) -> seriatim_sequencer::Settings {
        // Every command changes the row of its workspace and that of its client.
        let four_commits = self.batch_entries_max.saturating_mul(2).saturating_mul(4);
        seriatim_sequencer::Settings {
            unflushed_rows_max: self.unflushed_rows_max.max(four_commits),
            cached_rows_max: self.cached_rows_max.max(1),
            hash_seed,
        }
    }
}
