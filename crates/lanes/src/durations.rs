//! How long a lease should be, from how long past work took.
//!
//! ```text
//!  microseconds per place ─► 252 buckets, four for each doubling ─► p99
//!  p99 × places × 2 ─► at least 10 s ─► doubled for each expiry of the run ─► at most 10 min
//! ```
//!
//! Counts are halved every 4,096 samples: a moving window that needs no clock.
//!
//! **Invariant:** a lease is at least the floor and at most the cap, whatever was recorded.

use seriatim_types::limits::{
    LEASE_MS_FIRST, LEASE_MS_MAX, LEASE_MS_MIN, LEASE_RENEWALS_MAX, LEASE_SAMPLES_MAX,
    LEASE_SAMPLES_MIN,
};

const STEPS: u64 = 4;
const BUCKETS: usize = 252;
const PERCENT: u64 = 99;
/// Most leases should end long before their deadline.
const SAFETY: u64 = 2;
/// A lease with all of its renewals. A longer duration comes from a clock that was set.
const TOOK_MS_MAX: u64 = LEASE_MS_MAX * (LEASE_RENEWALS_MAX as u64 + 1);

/// A histogram of past durations per place.
#[derive(Debug, Clone)]
pub(crate) struct Durations {
    buckets: [u32; BUCKETS],
    /// The sum of the buckets.
    samples: u64,
    /// Recorded since the buckets were halved.
    fresh: u64,
}

impl Durations {
    pub(crate) const fn new() -> Self {
        Self { buckets: [0; BUCKETS], samples: 0, fresh: 0 }
    }

    /// How long a run of so many places is leased for.
    pub(crate) fn lease_ms(&self, places: u64, expiries: u32) -> u64 {
        // A run that expired may have had too short a lease, and only work that was finished is
        // recorded. Without doubling, leases that are too short would stay too short.
        let doublings = 1_u64.checked_shl(expiries).unwrap_or(u64::MAX);
        self.estimate_ms(places).saturating_mul(doublings).clamp(LEASE_MS_MIN, LEASE_MS_MAX)
    }

    /// Records that so many places took so long.
    pub(crate) fn record(&mut self, places: u64, took_ms: u64) {
        let took_us = took_ms.min(TOOK_MS_MAX).saturating_mul(1_000);
        let per_place = took_us.checked_div(places).unwrap_or(took_us);
        let bucket = self.buckets.get_mut(bucket_of(per_place));
        let bucket = bucket.expect("the buckets cover every u64");
        *bucket = bucket.saturating_add(1);
        self.samples = self.samples.saturating_add(1);
        self.fresh = self.fresh.saturating_add(1);
        if self.fresh >= LEASE_SAMPLES_MAX {
            self.halve();
        }
    }

    fn estimate_ms(&self, places: u64) -> u64 {
        if self.samples < LEASE_SAMPLES_MIN {
            return LEASE_MS_FIRST;
        }
        let us = self.percentile_us().saturating_mul(places).saturating_mul(SAFETY);
        us.div_ceil(1_000).max(LEASE_MS_MIN)
    }

    /// The end of the bucket in which the percentile lies.
    fn percentile_us(&self) -> u64 {
        let rank = self.samples.saturating_mul(PERCENT).div_ceil(100);
        let mut seen = 0_u64;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen = seen.saturating_add(u64::from(*count));
            if seen >= rank {
                return last_of(bucket);
            }
        }
        0
    }

    fn halve(&mut self) {
        self.fresh = 0;
        self.samples = 0;
        for bucket in &mut self.buckets {
            *bucket /= 2;
            self.samples = self.samples.saturating_add(u64::from(*bucket));
        }
    }
}

/// Four buckets for each doubling; below four, one for each value.
fn bucket_of(value: u64) -> usize {
    let Some(exponent) = value.checked_ilog2().filter(|exponent| *exponent >= 2) else {
        return usize::try_from(value).expect("a value below four fits");
    };
    let step = (value >> exponent.saturating_sub(2)) & (STEPS - 1);
    let below = u64::from(exponent.saturating_sub(1)).saturating_mul(STEPS);
    usize::try_from(below.saturating_add(step)).expect("there are 252 buckets")
}

/// The largest value of a bucket.
fn last_of(bucket: usize) -> u64 {
    let bucket = u64::try_from(bucket).unwrap_or(u64::MAX);
    if bucket < STEPS {
        return bucket;
    }
    let shift = u32::try_from(bucket / STEPS).unwrap_or(u32::MAX).saturating_sub(1);
    let first = STEPS.saturating_add(bucket % STEPS).checked_shl(shift).unwrap_or(u64::MAX);
    let width = 1_u64.checked_shl(shift).unwrap_or(u64::MAX);
    first.saturating_add(width.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` samples of one place each.
    fn of(samples: &[(u64, u64)]) -> Durations {
        let mut durations = Durations::new();
        for (count, ms) in samples {
            (0..*count).for_each(|_| durations.record(1, *ms));
        }
        durations
    }

    #[test]
    fn every_value_lies_in_a_bucket_that_is_at_most_a_quarter_wide() {
        let mut values: Vec<u64> = (0..5_000).collect();
        values.extend((0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        values.push(u64::MAX);
        for value in values {
            let bucket = bucket_of(value);
            assert!(bucket < BUCKETS, "{value}");
            let last = last_of(bucket);
            assert!(value <= last && last - value <= value / 4, "{value} in {bucket} to {last}");
            assert_eq!(bucket_of(last), bucket);
            assert!(last == u64::MAX || bucket_of(last + 1) == bucket + 1);
        }
    }

    #[test]
    fn the_first_lease_is_not_estimated_until_there_are_enough_samples() {
        assert_eq!(of(&[]).lease_ms(512, 0), LEASE_MS_FIRST);
        assert_eq!(of(&[(LEASE_SAMPLES_MIN - 1, 1)]).lease_ms(512, 0), LEASE_MS_FIRST);
        assert_eq!(of(&[(LEASE_SAMPLES_MIN, 1)]).lease_ms(512, 0), LEASE_MS_MIN);
    }

    #[test]
    fn a_lease_is_the_percentile_scaled_by_size_and_doubled() {
        // 1,000 ms are 1,000,000 us: the bucket ends at 1,048,575.
        let durations = of(&[(100, 1_000)]);
        assert_eq!(durations.lease_ms(10, 0), 20_972);
        assert_eq!(durations.lease_ms(100, 0), 209_715);
    }

    #[test]
    fn a_lease_is_never_shorter_than_the_floor_nor_longer_than_the_cap() {
        assert_eq!(of(&[(100, 0)]).lease_ms(512, 0), LEASE_MS_MIN);
        assert_eq!(of(&[(100, 1_000)]).lease_ms(u64::MAX, 0), LEASE_MS_MAX);
        assert_eq!(of(&[(100, u64::MAX)]).lease_ms(1, 0), LEASE_MS_MAX);
        // 5,000 ms are in the bucket that ends at 5,242,879 us: just above the floor of 10,000.
        assert_eq!(of(&[(100, 5_000)]).lease_ms(1, 0), 10_486);
        assert_eq!(of(&[(100, 4_100)]).lease_ms(1, 0), LEASE_MS_MIN);
    }

    #[test]
    fn a_duration_that_only_a_clock_can_have_made_counts_as_the_longest_there_is() {
        let mut durations = Durations::new();
        (0..100).for_each(|_| durations.record(512, u64::MAX));
        // 70 minutes for 512 places: 8.2 s for each, in the bucket that ends at 8.39 s.
        assert_eq!(durations.lease_ms(1, 0), 16_778);
    }

    #[test]
    fn one_slow_sample_in_a_hundred_does_not_count_and_two_do() {
        assert_eq!(of(&[(99, 0), (1, 100_000)]).lease_ms(1, 0), LEASE_MS_MIN);
        assert!(of(&[(98, 0), (2, 100_000)]).lease_ms(1, 0) >= 200_000);
    }

    #[test]
    fn each_expiry_of_a_run_doubles_its_lease_up_to_the_cap() {
        let durations = of(&[(100, 0)]);
        let leases: Vec<u64> = (0..8).map(|expiries| durations.lease_ms(1, expiries)).collect();
        let doubled = [10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 600_000, 600_000];
        assert_eq!(leases, doubled);
        assert_eq!(durations.lease_ms(1, u32::MAX), LEASE_MS_MAX);
    }

    #[test]
    fn durations_are_counted_per_place() {
        let mut durations = Durations::new();
        (0..100).for_each(|_| durations.record(500, 50_000));
        // 100 ms for each place, so 100,000 us: the bucket ends at 114,687.
        assert_eq!(durations.lease_ms(500, 0), 114_687);
        assert_eq!(durations.lease_ms(50, 0), 11_469);
    }

    #[test]
    fn old_samples_lose_their_weight() {
        let mut durations = of(&[(LEASE_SAMPLES_MAX, 100_000)]);
        assert!(durations.lease_ms(1, 0) >= 200_000);
        let mut later = 0;
        while durations.lease_ms(1, 0) > LEASE_MS_MIN {
            durations.record(1, 1);
            later += 1;
        }
        // Without halving, 99 times as many would be needed.
        assert!(later < 8 * LEASE_SAMPLES_MAX, "{later}");
    }
}
