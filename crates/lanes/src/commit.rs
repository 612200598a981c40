//! The barrier: runs are committed in the order of their places.
//!
//! ```text
//!  begin_commit(lowest) ─► extend_commit(next) … ─► one SQL transaction ─► committed ─► Wake of the next
//!                                                            └ rolled back ─► not_committed ─► Ready again
//! ```
//!
//! **Invariants**
//! - The high-water mark moves here alone, by runs that lie side by side above it. So a place is
//!   either applied or [passed](Commit::pass), and never skipped by time.
//! - One call wakes at most one holder, and looks at one run beyond those that it commits.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::iter;

use seriatim_types::Time;

use crate::error::{BeginError, Fenced, PassError};
use crate::lanes::Lanes;
use crate::lease::{Fence, Lease, Ready, Token, WorkerId};
use crate::place::{Place, after, count};
use crate::run::Stage;
use crate::window::Ended;

/// Runs whose turn has come, on their way into one transaction.
///
/// The transaction compares the [fence](Commit::fence) first, or the tokens where leases are rows,
/// and writes every [passed](Commit::passed) place as a dead letter. Its outcome is said once:
///
/// ```compile_fail,E0382
/// # use seriatim_lanes::{Commit, Lanes};
/// # use seriatim_types::Time;
/// fn twice(lanes: &mut Lanes, commit: Commit) {
///     let _ = lanes.committed(Time(1), commit);
///     let _ = lanes.not_committed(commit);
/// }
/// ```
#[derive(Debug)]
#[must_use = "a commit that is dropped blocks its projection: say whether it was committed"]
pub struct Commit {
    first: Ready,
    more: Vec<Ready>,
    passed: BTreeMap<Place, Resolution>,
}

/// By which decision a place is passed. It is recorded with the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The projection's policy: later editions try the event again.
    Policy,
    /// An operator's: it holds in every later edition.
    Skip,
}

/// What follows from a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "whoever is not woken waits for ever"]
pub struct Committed {
    /// The last place in the read model.
    pub through: Place,
    /// Whose turn it is now, if its work is finished. Nobody else has to be woken.
    pub wake: Option<Wake>,
    /// Whether an offer was refused before and there is room now.
    pub has_room: bool,
}

/// A holder of finished work whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// The first place of its run.
    pub first: Place,
    /// Its token.
    pub token: Token,
    /// The worker that had the lease.
    pub worker: WorkerId,
}

impl Lanes {
    /// Begins with the lowest run that is not committed.
    ///
    /// # Errors
    ///
    /// When its turn has not come: the work comes back. When somebody else may have the run.
    pub fn begin_commit(&mut self, ready: Ready) -> Result<Commit, BeginError> {
        let first = self.enter(self.committed, ready)?;
        Ok(Commit { first, more: Vec::new(), passed: BTreeMap::new() })
    }

    /// Takes the next run into the same transaction.
    ///
    /// # Errors
    ///
    /// When it does not follow, or the machine began anew since the commit did: the work comes back.
    /// When somebody else may have the run.
    pub fn extend_commit(&mut self, commit: &mut Commit, ready: Ready) -> Result<(), BeginError> {
        if self.held(&commit.last_ready().lease, &[Stage::Committing]).is_err() {
            return Err(BeginError::CommitLost { ready });
        }
        commit.more.push(self.enter(Some(commit.last()), ready)?);
        Ok(())
    }

    /// The transaction is committed: the high-water mark moves.
    ///
    /// # Errors
    ///
    /// When the machine began anew or was reloaded in between. The rows then say what is committed.
    pub fn committed(&mut self, now: Time, commit: Commit) -> Result<Committed, Fenced> {
        self.check_held(&commit, &[Stage::Committing])?;
        let through = commit.last();
        for ready in commit.readies() {
            let run = self.runs.remove(ready.first());
            assert_eq!(run.last, ready.last(), "a run that is being committed keeps its places");
            assert!(self.is_turn(ready.first()), "runs are committed in the order of their places");
            self.committed = Some(run.last);
            self.counts.committed = self.counts.committed.saturating_add(1);
            let wait_ms = now.0.saturating_sub(ready.since.0);
            let (used_ms, leased_ms) = (ready.used_ms, ready.leased_ms);
            self.window.push(Ended::Committed { wait_ms, used_ms, leased_ms });
        }
        let passed = u64::try_from(commit.passed.len()).unwrap_or(u64::MAX);
        self.counts.passed = self.counts.passed.saturating_add(passed);
        self.debug_check();
        Ok(self.after_commit(through))
    }

    /// The transaction is rolled back, and nothing of it is in the database. The runs come back in
    /// order; the turn of the first stays.
    ///
    /// # Errors
    ///
    /// When somebody else may have a run, or has committed it: the work is worth nothing.
    pub fn not_committed(&mut self, commit: Commit) -> Result<Vec<Ready>, Fenced> {
        // A reload has forgotten that a commit began, and nothing else.
        self.check_held(&commit, &[Stage::Ready, Stage::Committing])?;
        for ready in commit.readies() {
            self.set_stage(ready.first(), Stage::Ready);
        }
        self.debug_check();
        let mut readies = vec![commit.first];
        readies.extend(commit.more);
        Ok(readies)
    }

    /// The barrier: marks a run as being committed, if it is the one after all of these.
    fn enter(&mut self, through: Option<Place>, ready: Ready) -> Result<Ready, BeginError> {
        self.held(&ready.lease, &[Stage::Ready])?;
        let expected = after(through).expect("a run above it was offered");
        if expected != ready.first() {
            return Err(BeginError::NotItsTurn { ready, expected });
        }
        self.set_stage(expected, Stage::Committing);
        self.debug_check();
        Ok(ready)
    }

    fn check_held(&self, commit: &Commit, stages: &[Stage]) -> Result<(), Fenced> {
        commit.readies().try_for_each(|ready| self.held(&ready.lease, stages).map(|_| ()))
    }
}

impl Commit {
    /// Passes a place: nothing of its event is in the transaction but the record of this.
    ///
    /// # Errors
    ///
    /// When the place is not in this commit, or was passed before.
    pub fn pass(&mut self, place: Place, by: Resolution) -> Result<(), PassError> {
        let (first, last) = (self.first(), self.last());
        if place < first || last < place {
            return Err(PassError::Outside { place, first, last });
        }
        match self.passed.entry(place) {
            Entry::Occupied(_) => Err(PassError::Already { place }),
            Entry::Vacant(entry) => {
                entry.insert(by);
                Ok(())
            }
        }
    }

    /// The places that are passed, in order.
    pub fn passed(&self) -> impl Iterator<Item = (Place, Resolution)> {
        self.passed.iter().map(|(place, by)| (*place, *by))
    }

    /// The first place.
    #[must_use]
    pub const fn first(&self) -> Place {
        self.first.first()
    }

    /// The last place.
    #[must_use]
    pub fn last(&self) -> Place {
        self.last_ready().last()
    }

    /// How many places there are.
    #[must_use]
    pub fn places(&self) -> u64 {
        count(self.first(), self.last())
    }

    /// What the projection's row must hold, or somebody else owns the projection.
    #[must_use]
    pub const fn fence(&self) -> Fence {
        self.first.lease.token.fence()
    }

    /// The runs in order: where leases are rows, each must still be there with its token.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.readies().map(Ready::lease)
    }

    fn readies(&self) -> impl Iterator<Item = &Ready> {
        iter::once(&self.first).chain(&self.more)
    }

    fn last_ready(&self) -> &Ready {
        self.more.last().unwrap_or(&self.first)
    }
}
