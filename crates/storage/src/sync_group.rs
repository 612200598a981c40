//! Many callers wait for the disk, one of them does the waiting.
//!
//! ```text
//! A  ── sync ──►[ disk ······ ]──► done
//! B      └ sync ── waits ──────┬──►[ disk ······ ]──► done
//! C           └ sync ── waits ─┘          shared ───► done
//! ```
//!
//! B cannot ride with A: A's trip to the disk may have begun before B's bytes were handed to
//! the operating system. B and C came after it began and share the next one.
//!
//! **Invariant:** a caller returns only after a trip that began after it called.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use seriatim_planted::{self as planted, Bug};

use crate::{PoisonCell, SyncError};

/// Shares trips to the disk among concurrent callers of `sync`.
#[derive(Debug, Default)]
pub struct SyncGroup {
    state: Mutex<State>,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct State {
    calls: u64,
    trips_started: u64,
    trips_finished: u64,
}

impl SyncGroup {
    /// Returns once a trip that began after this call has ended well. `trip` makes the
    /// committed bytes durable; it runs on the thread of one of the callers, and never twice
    /// at the same time.
    ///
    /// # Errors
    ///
    /// When a trip fails, `poison` is set and all callers, present and future, get to know.
    pub fn sync<E: std::fmt::Display>(
        &self,
        poison: &PoisonCell,
        trip: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), SyncError> {
        let mut state = self.lock();
        state.calls = state.calls.saturating_add(1);
        let needed = match planted::is(Bug::SyncRidesTooEarly) {
            true => state.trips_started.max(1),
            false => state.trips_started.saturating_add(1),
        };
        loop {
            poison.check()?;
            if state.trips_finished >= needed {
                return Ok(());
            }
            if state.trips_started == state.trips_finished {
                break;
            }
            state = self.finished.wait(state).unwrap_or_else(PoisonError::into_inner);
        }

        state.trips_started = state.trips_started.saturating_add(1);
        drop(state);
        let result = trip().map_err(|cause| SyncError::Failed(poison.poison("sync", cause)));
        let mut state = self.lock();
        state.trips_finished = state.trips_finished.saturating_add(1);
        drop(state);
        self.finished.notify_all();
        result
    }

    /// How many times [`SyncGroup::sync`] was called, and how many trips that took.
    #[must_use]
    pub fn calls_and_trips(&self) -> (u64, u64) {
        let state = self.lock();
        (state.calls, state.trips_finished)
    }

    /// The state is two counters that are never left half changed, so a panic elsewhere in a
    /// caller's thread does not make them wrong.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn callers_that_wait_together_share_one_trip() {
        let (group, poison) = (SyncGroup::default(), PoisonCell::default());
        let (entered, first_is_on_its_way) = mpsc::channel();
        let (let_go, gate) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let (group, poison) = (&group, &poison);
            scope.spawn(move || {
                group.sync(poison, || {
                    entered.send(()).unwrap();
                    gate.recv().map_err(|_| "the gate is gone")
                })
            });
            first_is_on_its_way.recv().unwrap();
            let waiters: Vec<_> = (0..8)
                .map(|_| scope.spawn(move || group.sync(poison, || Ok::<_, String>(()))))
                .collect();
            while group.calls_and_trips().0 < 9 {
                thread::yield_now();
            }
            let_go.send(()).unwrap();
            for waiter in waiters {
                assert_eq!(waiter.join().unwrap(), Ok(()));
            }
        });
        assert_eq!(group.calls_and_trips(), (9, 2), "eight waiters, one trip behind the first");
    }

    #[test]
    fn a_trip_that_began_before_the_call_does_not_count() {
        // Each writer publishes a number and then syncs; a trip makes durable what was
        // published when it began. If a caller rode on an earlier trip, its number would be
        // above the durable one.
        let (group, poison) = (SyncGroup::default(), PoisonCell::default());
        let (published, durable) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        let mine = published.fetch_add(1, Ordering::SeqCst) + 1;
                        let synced = group.sync(&poison, || {
                            let seen = published.load(Ordering::SeqCst);
                            thread::yield_now();
                            durable.fetch_max(seen, Ordering::SeqCst);
                            Ok::<_, String>(())
                        });
                        assert_eq!(synced, Ok(()));
                        assert!(durable.load(Ordering::SeqCst) >= mine, "synced before written");
                    }
                });
            }
        });
        let (calls, trips) = group.calls_and_trips();
        assert_eq!(calls, 8_000);
        assert!(trips <= calls);
    }

    #[test]
    fn a_failed_trip_fails_everybody_and_is_never_tried_again() {
        let (group, poison) = (SyncGroup::default(), PoisonCell::default());
        let failed = group.sync(&poison, || Err("no space left"));
        let Err(SyncError::Failed(first)) = failed else { panic!("{failed:?}") };
        assert_eq!((first.operation, first.cause.as_str()), ("sync", "no space left"));
        let later = group.sync(&poison, || -> Result<(), String> { panic!("tried again") });
        assert_eq!(later, Err(SyncError::Poisoned(first)));
    }
}
