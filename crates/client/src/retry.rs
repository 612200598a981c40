//! When to try again: later with each failure, and never at the same moment as others.

use std::time::Duration;

/// How long to wait before trying again what failed.
///
/// The delay is drawn at random between nothing and a bound that doubles with every failure in a
/// row, so that clients that failed together do not come back together. When the server says how
/// long to wait, that comes on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The bound after the first failure.
    pub delay_first: Duration,
    /// The highest bound.
    pub delay_max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { delay_first: Duration::from_millis(10), delay_max: Duration::from_secs(1) }
    }
}

impl RetryPolicy {
    /// The delay after so many failures in a row.
    #[doc(hidden)]
    #[must_use]
    pub fn delay(&self, failures: u32, retry_after: Option<Duration>, dice: &mut Dice) -> Duration {
        let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
        let bound = self.delay_first.saturating_mul(doubled).min(self.delay_max);
        retry_after.unwrap_or_default().saturating_add(bound.mul_f64(dice.roll()))
    }
}

/// Random numbers that need not be good ones (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    /// Dice that nobody else throws.
    #[must_use]
    pub fn random() -> Self {
        Self(u64::from_ne_bytes(crate::key::random_bytes()))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number from 0 up to 1.
    fn roll(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).expect("half of the bits")) / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_bound_doubles_up_to_its_maximum_and_all_below_it_happens() {
        let policy = RetryPolicy { delay_first: MS(10), delay_max: MS(100) };
        let mut dice = Dice(1);
        for (failures, bound) in [(1, 10), (2, 20), (3, 40), (4, 80), (5, 100), (u32::MAX, 100)] {
            let mut delays: Vec<_> =
                (0..1000).map(|_| policy.delay(failures, None, &mut dice)).collect();
            delays.sort();
            assert!(delays[999] <= MS(bound) && delays[999] > MS(bound).mul_f64(0.95));
            assert!(delays[0] < MS(bound).mul_f64(0.05));
        }
    }

    #[test]
    fn what_the_server_asks_for_comes_on_top() {
        let policy = RetryPolicy { delay_first: MS(10), delay_max: MS(100) };
        let delay = policy.delay(1, Some(MS(500)), &mut Dice(2));
        assert!(delay >= MS(500) && delay <= MS(510), "{delay:?}");
    }

    #[test]
    fn different_dice_fall_differently() {
        assert_ne!(Dice::random().next(), Dice::random().next());
    }
}
