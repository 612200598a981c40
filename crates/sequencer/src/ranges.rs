//! The ranges that a sequence draws from, one after the other.
//!
//! ```text
//!  [1000 ..= 1999]  [50 ..= 99]        used in this order, whatever their numbers
//!        first           then          behind the last: exhausted, never a wrap
//! ```
//!
//! **Invariant:** ranges do not overlap, so a number has one position, and "later" is an order.

use seriatim_planted::{self as planted, Bug};
use seriatim_types::limits::RANGES_MAX;
use seriatim_types::{NUMBER_MAX, Number};

/// One or more ranges of numbers that do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges(Vec<(Number, Number)>);

/// Why a list is no list of ranges.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangesError {
    /// None, or too many.
    #[error("a sequence has 1 to {RANGES_MAX} ranges, not {count}")]
    Count {
        /// How many there are.
        count: usize,
    },
    /// A bound that is 0 or beyond what a sequence can give.
    #[error("a range lies between 1 and {NUMBER_MAX}; {bound} does not")]
    Bound {
        /// The bound.
        bound: u64,
    },
    /// A range that ends before it starts.
    #[error("the range {first} to {last} ends before it starts")]
    Inverted {
        /// Its first number.
        first: u64,
        /// Its last number.
        last: u64,
    },
    /// Two ranges with a number in common.
    #[error("two ranges hold {number}")]
    Overlap {
        /// The lowest number that both hold.
        number: u64,
    },
}

impl Ranges {
    /// Ranges in the order in which they are to be used, each with its first and last number.
    ///
    /// # Errors
    ///
    /// When there is none, one is not a range, or two overlap.
    pub fn new(list: &[(u64, u64)]) -> Result<Self, RangesError> {
        if list.is_empty() || list.len() > RANGES_MAX {
            return Err(RangesError::Count { count: list.len() });
        }
        let mut ranges: Vec<(Number, Number)> = Vec::with_capacity(list.len());
        for &(first, last) in list {
            let number = |bound| Number::new(bound).ok_or(RangesError::Bound { bound });
            let range = (number(first)?, number(last)?);
            if range.0 > range.1 {
                return Err(RangesError::Inverted { first, last });
            }
            let shared = |other: &(Number, Number)| {
                let lowest = range.0.max(other.0);
                (lowest <= range.1.min(other.1)).then_some(lowest.get())
            };
            if let Some(number) = ranges.iter().find_map(shared) {
                return Err(RangesError::Overlap { number });
            }
            ranges.push(range);
        }
        Ok(Self(ranges))
    }

    /// The number to draw when `last` was the last; `None` when there is no more.
    #[must_use]
    pub fn after(&self, last: Option<Number>) -> Option<Number> {
        let Some(last) = last else { return self.0.first().map(|range| range.0) };
        let at = self.position(last)?;
        let (_, end) = self.0.get(at)?;
        if last < *end {
            return Number::new(last.get().saturating_add(1));
        }
        let next = self.0.get(at.saturating_add(1)).map(|range| range.0)?;
        let late = u64::from(planted::is(Bug::RangeBeginsLate));
        Number::new(next.get().saturating_add(late))
    }

    /// What is the last number once `seen` has been seen. A number outside all ranges moves
    /// nothing, and an earlier one neither: merging takes the later, never the newer.
    #[must_use]
    pub fn merge(&self, last: Option<Number>, seen: Number) -> Option<Number> {
        let Some(seen_at) = self.position(seen) else { return last };
        let is_later = last.and_then(|last| Some((self.position(last)?, last)));
        match is_later {
            Some(held) if held >= (seen_at, seen) => Some(held.1),
            Some(_) | None => Some(seen),
        }
    }

    /// Whether the number lies in one of the ranges.
    #[must_use]
    pub fn contains(&self, number: Number) -> bool {
        self.position(number).is_some()
    }

    /// The ranges, in the order of their use.
    pub fn iter(&self) -> impl Iterator<Item = (Number, Number)> + '_ {
        self.0.iter().copied()
    }

    fn position(&self, number: Number) -> Option<usize> {
        self.0.iter().position(|(first, last)| (*first..=*last).contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(number: u64) -> Number {
        Number::new(number).unwrap()
    }

    #[test]
    fn lists_that_are_no_ranges_are_refused_with_the_culprit() {
        assert_eq!(Ranges::new(&[]), Err(RangesError::Count { count: 0 }));
        let many: Vec<_> = (1..=17).map(|n| (n, n)).collect();
        assert_eq!(Ranges::new(&many), Err(RangesError::Count { count: 17 }));
        assert_eq!(Ranges::new(&[(0, 9)]), Err(RangesError::Bound { bound: 0 }));
        let bound = NUMBER_MAX + 1;
        assert_eq!(Ranges::new(&[(1, bound)]), Err(RangesError::Bound { bound }));
        assert_eq!(Ranges::new(&[(9, 8)]), Err(RangesError::Inverted { first: 9, last: 8 }));
        assert_eq!(Ranges::new(&[(5, 9), (1, 5)]), Err(RangesError::Overlap { number: 5 }));
    }

    #[test]
    fn ranges_are_used_in_their_order_and_end() {
        let ranges = Ranges::new(&[(100, 101), (7, 8)]).unwrap();
        let mut drawn = Vec::new();
        let mut last = None;
        while let Some(next) = ranges.after(last) {
            drawn.push(next.get());
            last = Some(next);
        }
        assert_eq!(drawn, [100, 101, 7, 8]);
        assert_eq!(ranges.after(last), None, "exhausted stays exhausted");
    }

    #[test]
    fn the_last_number_of_all_is_given_and_nothing_behind_it() {
        let ranges = Ranges::new(&[(NUMBER_MAX, NUMBER_MAX)]).unwrap();
        assert_eq!(ranges.after(None), Number::new(NUMBER_MAX));
        assert_eq!(ranges.after(Number::new(NUMBER_MAX)), None);
    }

    proptest! {
        #[test]
        fn merging_in_any_order_gives_the_latest_position(
            seen in proptest::collection::vec(1_u64..60, 0..20),
        ) {
            let ranges = Ranges::new(&[(30, 39), (10, 19), (50, 59)]).unwrap();
            let merged = seen.iter().fold(None, |last, n| ranges.merge(last, number(*n)));
            let mut order = Vec::new();
            let mut next = ranges.after(None);
            while let Some(n) = next {
                order.push(n);
                next = ranges.after(next);
            }
            let expected = order.into_iter().rfind(|n| seen.contains(&n.get()));
            prop_assert_eq!(merged, expected);
        }
    }
}
