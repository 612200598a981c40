//! How much may be in flight, and what a wait for the turn may do to a lease.

use std::num::{NonZeroU64, NonZeroUsize};

use seriatim_types::limits::{LANE_BYTES_MAX, LANE_RUNS_DEFAULT};

/// The window of runs in flight. Memory is bounded by it, however slow the lowest run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Runs that are offered and not committed.
    pub runs_max: NonZeroUsize,
    /// Bytes of their events. An empty window takes a run of any size.
    pub bytes_max: NonZeroU64,
    /// Who keeps finished work.
    pub sharing: Sharing,
}

/// Whether finished work can be lost while it waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// One process has the machine in memory, and its committer keeps finished work. Only unfinished
    /// work expires.
    OneProcess,
    /// Many processes share leases as rows, and each keeps its own finished work, which is lost with
    /// it. So finished work expires too, unless its holder renews.
    ManyProcesses,
}

impl Default for Settings {
    fn default() -> Self {
        let runs_max = NonZeroUsize::new(LANE_RUNS_DEFAULT).expect("the default is not zero");
        let bytes_max = NonZeroU64::new(LANE_BYTES_MAX).expect("the limit is not zero");
        Self { runs_max, bytes_max, sharing: Sharing::OneProcess }
    }
}
