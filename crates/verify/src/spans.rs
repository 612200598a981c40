//! Ranges of numbers, counted through from the first number of the first range.
//!
//! The law of a series is told by these counts alone: the next number has the next count. Nothing
//! here is shared with what draws the numbers.

use std::cmp::Ordering;

/// Ranges with their first and last number, in the order of their use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spans(Vec<(u64, u64)>);

/// What is wrong with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Numbers before it were passed over: so many.
    Gap(u64),
    /// It, or a later one, was given already.
    Repeat,
    /// It lies in no range.
    Outside,
}

impl Spans {
    pub(crate) fn new(ranges: Vec<(u64, u64)>) -> Self {
        Self(ranges)
    }

    /// Which number of all it is, from 0.
    pub(crate) fn index(&self, number: u64) -> Option<u64> {
        let mut before = 0_u64;
        for (first, last) in &self.0 {
            if (*first..=*last).contains(&number) {
                return before.checked_add(number.checked_sub(*first)?);
            }
            before = before.checked_add(last.checked_sub(*first)?.checked_add(1)?)?;
        }
        None
    }

    /// The number with a count.
    pub(crate) fn at(&self, index: u64) -> Option<u64> {
        let mut left = index;
        for (first, last) in &self.0 {
            let length = last.checked_sub(*first)?.checked_add(1)?;
            match left.checked_sub(length) {
                None => return first.checked_add(left),
                Some(behind) => left = behind,
            }
        }
        None
    }
}

/// What a series has given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Given {
    /// The count of the number that comes next.
    next: u64,
}

impl Given {
    /// The number that comes next.
    pub(crate) fn next(self, spans: &Spans) -> Option<u64> {
        spans.at(self.next)
    }

    /// The last number; `None` before the first.
    pub(crate) fn last(self, spans: &Spans) -> Option<u64> {
        spans.at(self.next.checked_sub(1)?)
    }

    /// Takes in a number that was drawn. A wrong one is taken in too, if it is ahead.
    pub(crate) fn draw(&mut self, spans: &Spans, number: u64) -> Result<(), Wrong> {
        let index = spans.index(number).ok_or(Wrong::Outside)?;
        let expected = self.next;
        self.raise(index);
        match index.cmp(&expected) {
            Ordering::Equal => Ok(()),
            Ordering::Less => Err(Wrong::Repeat),
            Ordering::Greater => Err(Wrong::Gap(index.saturating_sub(expected))),
        }
    }

    /// Takes in a number that comes from outside: it may be behind, and may be ahead.
    pub(crate) fn import(&mut self, spans: &Spans, number: u64) -> Result<(), Wrong> {
        let index = spans.index(number).ok_or(Wrong::Outside)?;
        self.raise(index);
        Ok(())
    }

    fn raise(&mut self, index: u64) {
        self.next = self.next.max(index.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counted_through_all_ranges() {
        let spans = Spans::new(vec![(1_000, 1_001), (50, 52)]);
        let numbers = [1_000, 1_001, 50, 51, 52];
        for (number, index) in numbers.into_iter().zip(0..) {
            assert_eq!((spans.index(number), spans.at(index)), (Some(index), Some(number)));
        }
        assert_eq!((spans.index(53), spans.index(999), spans.at(5)), (None, None, None));
    }

    #[test]
    fn gaps_repeats_and_strangers_are_told_apart() {
        let spans = Spans::new(vec![(7, 9), (100, 109)]);
        let mut given = Given::default();
        assert_eq!((given.next(&spans), given.last(&spans)), (Some(7), None));
        assert_eq!(given.draw(&spans, 7), Ok(()));
        assert_eq!(given.draw(&spans, 100), Err(Wrong::Gap(2)));
        assert_eq!(given.draw(&spans, 9), Err(Wrong::Repeat));
        assert_eq!(given.draw(&spans, 10), Err(Wrong::Outside));
        assert_eq!(given.import(&spans, 8), Ok(()));
        assert_eq!(given.next(&spans), Some(101), "an earlier one moves nothing");
        assert_eq!(given.import(&spans, 105), Ok(()));
        assert_eq!((given.last(&spans), given.next(&spans)), (Some(105), Some(106)));
    }
}
