//! Rounds, their ratios, and the few statistics that are needed.

use rustix::time::{ClockId, clock_gettime};

/// The value below which, or at which, the given share of the values lies.
///
/// # Panics
///
/// When there are no values: nothing was measured.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank among values that are held in memory"
)]
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    let place = rank.saturating_sub(1).min(sorted.len().saturating_sub(1));
    *sorted.get(place).expect("something was measured")
}

/// One figure of one contender, a value per round.
#[derive(Debug, Clone, Default)]
pub struct Series(Vec<f64>);

impl Series {
    /// Adds the value of the next round.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The value in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        f64::midpoint(percentile(&self.0, 0.5), -percentile(&self.negated(), 0.5))
    }

    /// The median of the rounds' ratios of this figure to another. A ratio of two medians
    /// would compare rounds that were taken minutes apart.
    ///
    /// # Panics
    ///
    /// When the two were not measured in the same rounds.
    #[must_use]
    pub fn ratio(&self, to: &Self) -> f64 {
        assert_eq!(self.0.len(), to.0.len(), "figures are compared round by round");
        let ratios = self.0.iter().zip(&to.0).map(|(ours, theirs)| ours / theirs);
        Self(ratios.collect()).median()
    }

    /// From the other end: the two medians of an even number of values are then both found.
    fn negated(&self) -> Vec<f64> {
        self.0.iter().map(|value| -value).collect()
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Seconds of processor time that this process has used, those of all its threads together.
pub(crate) fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&hundred, 0.5), 50.0);
        assert_eq!(percentile(&hundred, 0.99), 99.0);
        assert_eq!(percentile(&hundred, 0.999), 100.0);
        assert_eq!(percentile(&hundred, 1.0), 100.0);
        assert_eq!(percentile(&[7.0], 0.01), 7.0);
    }

    #[test]
    fn the_median_lies_between_the_two_in_the_middle() {
        assert_eq!(Series(vec![9.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(Series(vec![9.0, 1.0, 2.0, 4.0]).median(), 3.0);
    }

    #[test]
    fn a_slow_minute_changes_no_ratio() {
        // The machine is ten times slower in the second round, for both.
        let floor = Series(vec![100.0, 10.0, 100.0]);
        let ours = Series(vec![50.0, 5.0, 40.0]);
        assert_eq!(ours.ratio(&floor), 0.5);
    }
}
