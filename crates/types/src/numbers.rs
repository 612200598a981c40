//! What is counted and what is drawn, each a type of its own.
//!
//! An *offset* counts the events of a log. A *number* is drawn from a sequence. Mixing them up
//! is the kind of mistake that shows only years later, in somebody's books.

use std::fmt;

/// The highest number that any sequence gives: beyond it, JSON readers lose digits.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;

/// A number drawn from a sequence, from 1 to [`NUMBER_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(u64);

/// A place in a partition's log. The first event has 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionOffset(u64);

/// A moment, in milliseconds since the start of 1970 UTC. It is a field of what is applied,
/// never asked of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A year of the Gregorian calendar, from 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Year(u16);

impl Year {
    /// The year, if it lies between 1 and 9999.
    #[must_use]
    pub const fn new(year: u16) -> Option<Self> {
        if year == 0 || year > 9_999 { None } else { Some(Self(year)) }
    }

    /// The bare year.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// Which owner of a partition wrote something. A new owner has a higher one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Number {
    /// The number, if it lies between 1 and [`NUMBER_MAX`].
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number == 0 || number > NUMBER_MAX { None } else { Some(Self(number)) }
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl PartitionOffset {
    /// Of the first event of a log.
    pub const FIRST: Self = Self(1);

    /// The offset, if it lies between 1 and [`NUMBER_MAX`].
    #[must_use]
    pub const fn new(offset: u64) -> Option<Self> {
        if offset == 0 || offset > NUMBER_MAX { None } else { Some(Self(offset)) }
    }

    /// The bare offset.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The offset of the next event; `None` when a log can hold no more.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        Self::new(self.0.saturating_add(1))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PartitionOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_what_json_cannot_hold_are_no_numbers() {
        assert_eq!(Number::new(0), None);
        assert_eq!(Number::new(NUMBER_MAX).map(Number::get), Some(9_007_199_254_740_991));
        assert_eq!(Number::new(NUMBER_MAX + 1), None);
        assert_eq!(PartitionOffset::new(NUMBER_MAX).and_then(PartitionOffset::next), None);
        assert_eq!(PartitionOffset::FIRST.next(), PartitionOffset::new(2));
    }
}
