//! Virtual time: what happens next, and when.
//!
//! **Invariant:** two things at the same time happen in the order in which they were entered.

use std::collections::BTreeMap;
use std::time::Duration;

/// A moment, as time since the beginning.
pub(crate) type Moment = Duration;

/// What will happen.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    now: Moment,
    entered: u64,
    waiting: BTreeMap<(Moment, u64), T>,
}

impl<T> Agenda<T> {
    pub(crate) fn new() -> Self {
        Self { now: Duration::ZERO, entered: 0, waiting: BTreeMap::new() }
    }

    pub(crate) fn now(&self) -> Moment {
        self.now
    }

    pub(crate) fn after(&mut self, delay: Duration, what: T) {
        self.at(self.now.saturating_add(delay), what);
    }

    /// At a moment; at once, if it has passed.
    pub(crate) fn at(&mut self, moment: Moment, what: T) {
        self.waiting.insert((moment.max(self.now), self.entered), what);
        self.entered = self.entered.saturating_add(1);
    }

    /// The next thing. It is that time then.
    pub(crate) fn next(&mut self) -> Option<T> {
        let ((moment, _), what) = self.waiting.pop_first()?;
        self.now = moment;
        Some(what)
    }
}
