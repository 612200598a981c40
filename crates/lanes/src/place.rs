//! A place: the position of an event in a projection's order.

use std::fmt;

use seriatim_types::NUMBER_MAX;

/// The position of an event in a projection's order. The first one is 1, and there are no holes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place(u64);

impl Place {
    /// The place of the first event.
    pub const FIRST: Self = Self(1);

    /// The place, if it lies between 1 and [`NUMBER_MAX`].
    #[must_use]
    pub const fn new(place: u64) -> Option<Self> {
        if place == 0 || place > NUMBER_MAX { None } else { Some(Self(place)) }
    }

    /// The bare place.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The place of the next event; `None` when an order can hold no more.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        Self::new(self.0.saturating_add(1))
    }

    /// The place of the event before; `None` for the first.
    #[must_use]
    pub const fn previous(self) -> Option<Self> {
        Self::new(self.0.saturating_sub(1))
    }
}

/// The first place after all of these; `None` when an order can hold no more.
pub(crate) fn after(through: Option<Place>) -> Option<Place> {
    through.map_or(Some(Place::FIRST), Place::next)
}

/// How many places there are from one to another, both included.
pub(crate) fn count(first: Place, last: Place) -> u64 {
    last.0.saturating_sub(first.0).saturating_add(1)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_begin_at_one_and_end_where_json_loses_digits() {
        assert_eq!(Place::new(0), None);
        assert_eq!(Place::FIRST.previous(), None);
        let last = Place::new(NUMBER_MAX).unwrap();
        assert_eq!((last.next(), Place::new(NUMBER_MAX + 1)), (None, None));
        assert_eq!((after(None), after(Some(last))), (Some(Place::FIRST), None));
        assert_eq!(count(Place::FIRST, last), NUMBER_MAX);
    }
}
