//! How long syncs of the store that have not returned have taken so far.
//!
//! A disk that hangs neither fails nor answers: commands wait in flight, and nothing else shows it.
//! The clock of a sync is read by whoever asks, so a check never waits for the disk itself.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A sync of the store has been pending for longer than
/// [`sync_stalled_after`](crate::Settings::sync_stalled_after). Commands wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the disk does not answer: a sync has been pending for {}, and commands wait for it",
    shown(*pending)
)]
pub struct SyncStalled {
    /// How long the oldest sync has been pending.
    pub pending: Duration,
}

/// The syncs that have not returned.
#[derive(Debug, Default)]
pub(crate) struct SyncWatch {
    pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    next: u64,
    /// At most one for each thread that syncs.
    began: Vec<(u64, Instant)>,
}

impl SyncWatch {
    /// Runs a sync, which is pending until it returns.
    pub(crate) fn run<T>(&self, sync: impl FnOnce() -> T) -> T {
        let _pending = self.begin();
        sync()
    }

    /// How long the oldest pending sync has taken so far.
    pub(crate) fn oldest(&self) -> Option<Duration> {
        let began = self.lock().began.iter().map(|(_, at)| *at).min();
        began.map(|at| at.elapsed())
    }

    fn begin(&self) -> Guard<'_> {
        let mut pending = self.lock();
        let number = pending.next;
        pending.next = number.wrapping_add(1);
        pending.began.push((number, Instant::now()));
        Guard { watch: self, number }
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Guard<'w> {
    watch: &'w SyncWatch,
    number: u64,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.watch.lock().began.retain(|(number, _)| *number != self.number);
    }
}

/// Whole seconds once there are some.
fn shown(pending: Duration) -> String {
    match pending.as_secs() {
        0 => format!("{} ms", pending.as_millis()),
        seconds => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_pending_sync_counts_until_it_returns() {
        let watch = SyncWatch::default();
        assert_eq!(watch.oldest(), None);
        let first = watch.begin();
        let after_first = Instant::now();
        watch.run(|| assert!(watch.oldest() >= Some(after_first.elapsed())));
        assert!(watch.oldest().is_some(), "the first one has not returned");
        drop(first);
        assert_eq!(watch.oldest(), None);
    }

    #[test]
    fn a_stalled_sync_says_how_long_it_takes() {
        let said = |ms| SyncStalled { pending: Duration::from_millis(ms) }.to_string();
        assert!(said(40).contains("pending for 40 ms,"), "{}", said(40));
        assert!(said(7_900).contains("pending for 7 s,"), "{}", said(7_900));
    }
}
