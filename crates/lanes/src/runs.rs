//! The runs in flight, in the order of their places, and what is looked up besides.
//!
//! ```text
//!  by_first    every run                          the barrier looks at the first
//!  free        may be leased now                  the lowest goes first
//!  retries     may be leased later, by time
//!  deadlines   may expire, by time
//! ```
//!
//! **Invariant:** the three indexes follow from the states of the runs. Only [`Runs::set`] and its
//! neighbours change either.

use std::collections::{BTreeMap, BTreeSet};

use seriatim_types::Time;

use crate::place::{Place, after};
use crate::run::{Run, Stage, State};

#[derive(Debug, Clone)]
pub(crate) struct Runs {
    by_first: BTreeMap<Place, Run>,
    free: BTreeSet<Place>,
    retries: BTreeSet<(Time, Place)>,
    deadlines: BTreeSet<(Time, Place)>,
    bytes: u64,
    /// Whether a run that waits for its turn can expire.
    ready_expires: bool,
    /// Runs that were looked at or changed: the cost of a call that does not depend on the machine.
    #[cfg(test)]
    pub(crate) looks: std::cell::Cell<u64>,
}

impl Runs {
    pub(crate) const fn new(ready_expires: bool) -> Self {
        Self {
            by_first: BTreeMap::new(),
            free: BTreeSet::new(),
            retries: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            bytes: 0,
            ready_expires,
            #[cfg(test)]
            looks: std::cell::Cell::new(0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_first.len()
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Place, &Run)> {
        self.by_first.iter().map(|(first, run)| (*first, run))
    }

    /// The run with the lowest places.
    pub(crate) fn first(&self) -> Option<(Place, &Run)> {
        self.look();
        self.by_first.first_key_value().map(|(first, run)| (*first, run))
    }

    pub(crate) fn get(&self, first: Place) -> Option<&Run> {
        self.look();
        self.by_first.get(&first)
    }

    pub(crate) fn insert(&mut self, first: Place, run: Run) {
        self.look();
        self.bytes = self.bytes.saturating_add(run.bytes);
        self.index(first, run.state);
        let before = self.by_first.insert(first, run);
        assert!(before.is_none(), "a place belongs to one run");
    }

    pub(crate) fn remove(&mut self, first: Place) -> Run {
        self.look();
        let run = self.by_first.remove(&first).expect("the caller has looked the run up");
        self.bytes = self.bytes.saturating_sub(run.bytes);
        self.unindex(first, run.state);
        run
    }

    /// Changes a run, and the indexes with it.
    pub(crate) fn set(&mut self, first: Place, change: impl FnOnce(&mut Run)) {
        self.look();
        let run = self.by_first.get_mut(&first).expect("the caller has looked the run up");
        let (before, bytes) = (run.state, run.bytes);
        change(run);
        let (after, bytes_after) = (run.state, run.bytes);
        self.bytes = self.bytes.saturating_sub(bytes).saturating_add(bytes_after);
        self.unindex(first, before);
        self.index(first, after);
    }

    /// The lowest run that may be leased.
    pub(crate) fn lowest_free(&self) -> Option<Place> {
        self.free.first().copied()
    }

    /// Runs whose delay is over become free. A delay that is longer than any there can be was set
    /// by a clock that has gone back since, and is shortened.
    pub(crate) fn free_due(&mut self, now: Time, delay_ms_max: u64) {
        let latest = Time(now.0.saturating_add(delay_ms_max));
        while let Some((_, first)) = self.retries.last().copied().filter(|(at, _)| *at > latest) {
            self.set(first, |run| run.state = State::Free { not_before: Some(latest) });
        }
        while let Some((_, first)) = self.retries.first().copied().filter(|(at, _)| *at <= now) {
            self.set(first, |run| run.state = State::Free { not_before: None });
        }
    }

    /// The run whose deadline has passed first. A deadline that is further away than any there can
    /// be was set by a clock that has gone back since, and is shortened.
    pub(crate) fn overdue(&mut self, now: Time, lease_ms_max: u64) -> Option<Place> {
        let latest = Time(now.0.saturating_add(lease_ms_max));
        while let Some((_, first)) = self.deadlines.last().copied().filter(|(at, _)| *at > latest) {
            self.set(first, |run| {
                if let State::Held(hold) = &mut run.state {
                    hold.deadline = latest;
                }
            });
        }
        self.deadlines.first().filter(|(at, _)| *at <= now).map(|(_, first)| *first)
    }

    /// When the next delay or lease ends.
    pub(crate) fn next_time(&self) -> Option<Time> {
        let firsts = [self.retries.first(), self.deadlines.first()];
        firsts.into_iter().flatten().map(|(at, _)| *at).min()
    }

    fn index(&mut self, first: Place, state: State) {
        match self.index_of(state) {
            Index::Free => self.free.insert(first),
            Index::Retry(at) => self.retries.insert((at, first)),
            Index::Deadline(at) => self.deadlines.insert((at, first)),
            Index::None => true,
        };
    }

    fn unindex(&mut self, first: Place, state: State) {
        let was_there = match self.index_of(state) {
            Index::Free => self.free.remove(&first),
            Index::Retry(at) => self.retries.remove(&(at, first)),
            Index::Deadline(at) => self.deadlines.remove(&(at, first)),
            Index::None => true,
        };
        assert!(was_there, "a run is in the index of its state");
    }

    fn index_of(&self, state: State) -> Index {
        match state {
            State::Free { not_before: None } => Index::Free,
            State::Free { not_before: Some(at) } => Index::Retry(at),
            State::Held(hold) => match hold.stage {
                Stage::Working => Index::Deadline(hold.deadline),
                Stage::Ready if self.ready_expires => Index::Deadline(hold.deadline),
                // What is in a transaction is not taken away: the transaction decides.
                Stage::Ready | Stage::Committing => Index::None,
            },
        }
    }

    /// Entries of the map and of its indexes.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> usize {
        let indexes = [self.free.len(), self.retries.len(), self.deadlines.len()];
        indexes.iter().fold(self.by_first.len(), |sum, entries| sum.saturating_add(*entries))
    }

    /// Runs lie side by side from the first uncommitted place on, and each is in its index.
    pub(crate) fn check_invariants(&self, committed: Option<Place>, offered: Option<Place>) {
        let mut through = committed;
        let (mut bytes, mut indexed) = (0_u64, 0_usize);
        for (first, run) in &self.by_first {
            assert_eq!(Some(*first), after(through), "runs have no gap and no overlap");
            assert!(*first <= run.last, "a run has a place");
            through = Some(run.last);
            bytes = bytes.saturating_add(run.bytes);
            let is_indexed = match self.index_of(run.state) {
                Index::Free => self.free.contains(first),
                Index::Retry(at) => self.retries.contains(&(at, *first)),
                Index::Deadline(at) => self.deadlines.contains(&(at, *first)),
                Index::None => continue,
            };
            assert!(is_indexed, "the run from {first} on is in the index of its state");
            indexed = indexed.saturating_add(1);
        }
        assert_eq!(through, offered, "the last run ends at the last place that was offered");
        assert_eq!(bytes, self.bytes, "bytes in flight are the bytes of the runs");
        let entries = [self.free.len(), self.retries.len(), self.deadlines.len()];
        assert_eq!(entries.iter().sum::<usize>(), indexed, "an index has nothing else");
    }

    fn look(&self) {
        #[cfg(test)]
        self.looks.set(self.looks.get().saturating_add(1));
    }
}

enum Index {
    Free,
    Retry(Time),
    Deadline(Time),
    None,
}
