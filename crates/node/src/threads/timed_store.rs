//! A store whose commits and syncs are timed.
//!
//! The machine of a partition has no clock, so the driver measures around it. What is slow is logged,
//! and not more often than somebody would read it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use seriatim_storage::{
    Batch, CommitError, Poisoned, ReadError, Schema, Snapshot, Stats, Store, SyncError,
    read_through,
};

use crate::metrics::NodeCounters;
use crate::settings::Settings;

/// For how long after a line about something slow there is no other one of the same kind.
const QUIET: Duration = Duration::from_secs(10);

/// Another store, with its commits and syncs timed.
pub(super) struct TimedStore {
    store: Arc<dyn Store>,
    counters: Arc<NodeCounters>,
    slow_after: Duration,
    stalled_after: Duration,
    slow_commits: Throttle,
    slow_syncs: Throttle,
}

impl TimedStore {
    pub(super) fn new(
        store: Arc<dyn Store>,
        counters: Arc<NodeCounters>,
        settings: &Settings,
    ) -> Self {
        let Settings { slow_after, sync_stalled_after, .. } = *settings;
        let (slow_commits, slow_syncs) = (Throttle::default(), Throttle::default());
        let stalled_after = sync_stalled_after;
        Self { store, counters, slow_after, stalled_after, slow_commits, slow_syncs }
    }
}

/// Lets one line through at a time, and counts the others.
#[derive(Debug, Default)]
struct Throttle(Mutex<Throttled>);

#[derive(Debug, Default)]
struct Throttled {
    last: Option<Instant>,
    unreported: u64,
}

impl Throttle {
    /// How many were not let through since the last one that was, if this one is.
    fn pass(&self, now: Instant) -> Option<u64> {
        let mut it = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if it.last.is_some_and(|last| now.saturating_duration_since(last) < QUIET) {
            it.unreported = it.unreported.saturating_add(1);
            return None;
        }
        it.last = Some(now);
        Some(std::mem::take(&mut it.unreported))
    }
}

fn milliseconds(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

read_through!(TimedStore, store);

impl Store for TimedStore {
    fn schema(&self) -> &Schema {
        self.store.schema()
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot>, ReadError> {
        self.store.snapshot()
    }

    fn commit(&self, batch: Batch) -> Result<(), CommitError> {
        let began = Instant::now();
        let committed = self.store.commit(batch);
        let took = began.elapsed();
        self.counters.commits.observe_duration(took);
        if took >= self.slow_after
            && let Some(unreported) = self.slow_commits.pass(Instant::now())
        {
            tracing::warn!(took_ms = milliseconds(took), unreported, "slow commit");
        }
        committed
    }

    fn sync(&self) -> Result<(), SyncError> {
        let began = Instant::now();
        let synced = self.store.sync();
        let took = began.elapsed();
        self.counters.syncs.observe_duration(took);
        // One that was pending for longer was reported while it was.
        if took >= self.slow_after
            && took < self.stalled_after
            && let Some(unreported) = self.slow_syncs.pass(Instant::now())
        {
            tracing::warn!(took_ms = milliseconds(took), unreported, "slow sync");
        }
        synced
    }

    fn health(&self) -> Result<(), Poisoned> {
        self.store.health()
    }

    fn room(&self) -> Result<(), CommitError> {
        self.store.room()
    }

    fn stats(&self) -> Result<Stats, ReadError> {
        self.store.stats()
    }

    fn disk_free_bytes(&self) -> Option<u64> {
        self.store.disk_free_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_something_slow_are_ten_seconds_apart_and_the_others_are_counted() {
        let throttle = Throttle::default();
        let first = Instant::now();
        let at = |seconds| first.checked_add(Duration::from_secs(seconds)).unwrap();
        let passed = [0, 1, 9, 10, 11, 40].map(|seconds| throttle.pass(at(seconds)));
        assert_eq!(passed, [Some(0), None, None, Some(2), None, Some(1)]);
    }
}
