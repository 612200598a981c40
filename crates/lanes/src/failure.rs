//! Why work was given back, and when it is tried again.
//!
//! Only an event's own failure is ever given up, and then nothing is skipped: its holder keeps the
//! lease, and the policy of the projection decides. What is not the event's fault is tried for ever.

use seriatim_types::Time;
use seriatim_types::limits::{
    DATABASE_RETRY_MS_MAX, DATABASE_RETRY_MS_MIN, HANDLER_RETRIES_MAX, HANDLER_RETRY_MS_MAX,
    HANDLER_RETRY_MS_MIN,
};

use crate::lease::Lease;
use crate::run::Tries;

/// Why a lease is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The worker stops. Nothing has failed.
    Stopped,
    /// A handler failed on an event.
    Handler,
    /// The database is busy, full, or away.
    Database,
}

/// What comes of a release.
#[derive(Debug)]
#[must_use = "a run that may not be retried is still held"]
pub enum Released {
    /// Anybody may take the run now.
    Free,
    /// Anybody may take the run from then on.
    Retry(Time),
    /// The handler has failed too often. The lease is still held: finish it and pass the place in
    /// the commit, or split it and stop.
    Poison(Lease),
}

/// The longest delay that there is.
pub(crate) const DELAY_MS_MAX: u64 = HANDLER_RETRY_MS_MAX;

const _: () = assert!(DATABASE_RETRY_MS_MAX <= DELAY_MS_MAX, "a longer delay would be shortened");

/// How long after this failure a run may be tried again; `None` when it may not.
pub(crate) fn count_failure(failure: Failure, tries: &mut Tries) -> Option<u64> {
    match failure {
        Failure::Stopped => Some(0),
        Failure::Handler => {
            let failures = &mut tries.handler_failures;
            *failures = failures.saturating_add(1);
            let is_retried = *failures <= HANDLER_RETRIES_MAX;
            is_retried.then(|| backoff(*failures, HANDLER_RETRY_MS_MIN, HANDLER_RETRY_MS_MAX))
        }
        Failure::Database => {
            let failures = &mut tries.database_failures;
            *failures = failures.saturating_add(1);
            Some(backoff(*failures, DATABASE_RETRY_MS_MIN, DATABASE_RETRY_MS_MAX))
        }
    }
}

fn backoff(failures: u32, ms_min: u64, ms_max: u64) -> u64 {
    let doublings = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
    ms_min.saturating_mul(doublings).min(ms_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_is_retried_five_times_with_exponential_backoff() {
        let mut tries = Tries::default();
        let delays: Vec<_> = (0..7).map(|_| count_failure(Failure::Handler, &mut tries)).collect();
        let expected = [Some(100), Some(200), Some(400), Some(800), Some(1_600), None, None];
        assert_eq!(delays, expected);
    }

    #[test]
    fn the_database_is_retried_for_ever_at_most_ten_seconds_apart() {
        let mut tries = Tries::default();
        let delays: Vec<_> =
            (0..100).map(|_| count_failure(Failure::Database, &mut tries)).collect();
        assert_eq!(&delays[..3], &[Some(100), Some(200), Some(400)]);
        assert_eq!((delays[6], delays[7]), (Some(6_400), Some(10_000)));
        assert!(delays[7..].iter().all(|delay| *delay == Some(10_000)), "{delays:?}");
        assert_eq!(tries.handler_failures, 0, "the database is not the event's fault");
    }

    #[test]
    fn a_worker_that_stops_costs_no_delay_and_is_no_failure() {
        assert_eq!(count_failure(Failure::Stopped, &mut Tries::default()), Some(0));
    }
}
