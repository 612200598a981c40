//! The machine: the runs of one projection from being offered to being committed.
//!
//! ```text
//!  committed │ Committing │ Ready  Working  Ready  Free  Working │ not offered yet
//!            └─ the barrier: only the lowest run may begin       └─ the window is full
//! ```
//!
//! Time decides when a run may be taken over, and nothing else. Who may commit is decided by tokens,
//! in which order by places. So a clock that is wrong costs work that is done twice, or a wait.

use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use seriatim_types::Time;
use seriatim_types::limits::{LANE_RUN_PLACES_MAX, LEASE_MS_MAX, LEASE_RENEWALS_MAX};

use crate::commit::{Committed, Wake};
use crate::durations::Durations;
use crate::error::{Fenced, Idle, OfferError, RenewError, SplitError};
use crate::failure::{DELAY_MS_MAX, Failure, Released, count_failure};
use crate::health::{Gauges, Health};
use crate::lease::{Fence, Lease, ProjectionId, Ready, Token, WorkerId};
use crate::place::{Place, after, count};
use crate::run::{Hold, Run, Stage, State};
use crate::runs::Runs;
use crate::settings::{Settings, Sharing};
use crate::window::{Ended, Window};

/// Debug builds check everything after each call up to so many runs; tests call for it themselves.
const CHECKED_RUNS_MAX: usize = 128;

/// Gives the places of one projection to workers, and their turn to commit. See the
/// [crate's page](crate).
#[derive(Debug)]
pub struct Lanes {
    pub(crate) projection: ProjectionId,
    pub(crate) fence: Fence,
    pub(crate) settings: Settings,
    /// The high-water mark: all places up to here are in the read model.
    pub(crate) committed: Option<Place>,
    /// The last place that was offered.
    pub(crate) offered: Option<Place>,
    pub(crate) runs: Runs,
    pub(crate) tokens_drawn: u64,
    /// Whether an offer was refused since the last time that somebody was told of room.
    pub(crate) offer_waits: bool,
    pub(crate) durations: Durations,
    pub(crate) window: Window,
    pub(crate) counts: Counts,
}

/// Counted since the machine began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Leases that were committed.
    pub committed: u64,
    /// Leases that expired.
    pub expired: u64,
    /// Leases that were released.
    pub released: u64,
    /// Places that were passed by a resolution.
    pub passed: u64,
    /// Offers that were refused because the window was full.
    pub refused_full: u64,
}

/// Whether finished work may be committed.
#[derive(Debug)]
#[must_use = "finished work that is dropped is never committed"]
pub enum Turn {
    /// Yes: everything below is committed.
    Now(Ready),
    /// Not yet. The commit of the run before it returns a [`Wake`] with its token.
    Later(Ready),
}

/// A lease whose deadline has passed. Its run is free again, at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expired {
    /// The first place of the run.
    pub first: Place,
    /// The last place of the run.
    pub last: Place,
    /// The token, which is worth nothing from now on.
    pub token: Token,
    /// Who had it.
    pub worker: WorkerId,
    /// When it expired.
    pub deadline: Time,
    /// How often leases of this run have expired.
    pub expiries: u32,
}

impl Lanes {
    /// A machine that goes on behind the last place in the read model. The fence is the one that the
    /// caller has just raised in the projection's row, so no earlier machine has it.
    #[must_use]
    pub fn resume(
        projection: ProjectionId,
        committed: Option<Place>,
        fence: Fence,
        settings: Settings,
    ) -> Self {
        Self {
            projection,
            fence,
            settings,
            committed,
            offered: committed,
            runs: Runs::new(settings.sharing == Sharing::ManyProcesses),
            tokens_drawn: 0,
            offer_waits: false,
            durations: Durations::new(),
            window: Window::default(),
            counts: Counts::default(),
        }
    }

    /// So many more places exist: they become a run. The caller ends it where a command ends.
    ///
    /// # Errors
    ///
    /// When the window is full: a later commit says that it has room. When a run of this size
    /// cannot be.
    pub fn offer(
        &mut self,
        places: NonZeroU32,
        bytes: u64,
    ) -> Result<RangeInclusive<Place>, OfferError> {
        let (places, places_max) = (places.get(), LANE_RUN_PLACES_MAX);
        if places > places_max {
            return Err(OfferError::TooManyPlaces { places, places_max });
        }
        let first = after(self.offered).ok_or(OfferError::Exhausted)?;
        let last = first.get().saturating_add(u64::from(places)).saturating_sub(1);
        let last = Place::new(last).ok_or(OfferError::Exhausted)?;
        if !self.has_room(bytes) {
            self.offer_waits = true;
            self.counts.refused_full = self.counts.refused_full.saturating_add(1);
            return Err(OfferError::Full { runs: self.runs.len(), bytes: self.runs.bytes() });
        }
        self.runs.insert(first, Run::new(last, bytes));
        self.offered = Some(last);
        self.debug_check();
        Ok(first..=last)
    }

    /// Leases the lowest run that is free, whether it is new or was taken back.
    ///
    /// # Errors
    ///
    /// When there is nothing to do.
    pub fn lease(&mut self, now: Time, worker: WorkerId) -> Result<Lease, Idle> {
        self.runs.free_due(now, DELAY_MS_MAX);
        let Some(first) = self.runs.lowest_free() else {
            let until = self.runs.next_time();
            return Err(if self.has_room(0) {
                Idle::Empty { until }
            } else {
                Idle::Full { until }
            });
        };
        let token = self.draw_token();
        let mut granted = None;
        let durations = &self.durations;
        self.runs.set(first, |run| {
            run.tries.attempts = run.tries.attempts.saturating_add(1);
            let lease_ms = durations.lease_ms(count(first, run.last), run.tries.expiries);
            let deadline = Time(now.0.saturating_add(lease_ms));
            let stage = Stage::Working;
            run.state =
                State::Held(Hold { token, worker, leased_at: now, deadline, renewals: 0, stage });
            granted = Some((run.last, deadline, run.tries.attempts));
        });
        let (last, deadline, attempt) = granted.expect("the change was made");
        self.debug_check();
        Ok(Lease { projection: self.projection, first, last, token, deadline, attempt })
    }

    /// Moves the deadline of unfinished work, at most six times.
    ///
    /// # Errors
    ///
    /// When somebody else may have the run, or the work is taken for hung.
    pub fn renew(&mut self, now: Time, lease: &mut Lease) -> Result<Time, RenewError> {
        let hold = self.held(lease, &[Stage::Working])?;
        if hold.renewals >= LEASE_RENEWALS_MAX {
            let (deadline, renewals) = (hold.deadline, hold.renewals);
            return Err(RenewError::TooOften { renewals, deadline });
        }
        Ok(self.extend(now, lease, true))
    }

    /// Moves the deadline of finished work that waits. Waiting for others is not hanging, so this is
    /// counted only once its turn has come.
    ///
    /// # Errors
    ///
    /// When somebody else may have the run, or its turn came long ago.
    pub fn renew_ready(&mut self, now: Time, ready: &mut Ready) -> Result<Time, RenewError> {
        let hold = self.held(&ready.lease, &[Stage::Ready])?;
        let is_turn = self.is_turn(ready.lease.first);
        if is_turn && hold.renewals >= LEASE_RENEWALS_MAX {
            let (deadline, renewals) = (hold.deadline, hold.renewals);
            return Err(RenewError::TooOften { renewals, deadline });
        }
        Ok(self.extend(now, &mut ready.lease, is_turn))
    }

    /// The work is done. Checking whether its turn has come and registering to be woken are one
    /// step, so no wake-up is lost.
    ///
    /// # Errors
    ///
    /// When somebody else may have the run: the work is worth nothing.
    pub fn finish(&mut self, now: Time, lease: Lease) -> Result<Turn, Fenced> {
        let hold = self.held(&lease, &[Stage::Working])?;
        let took_ms = now.0.saturating_sub(hold.leased_at.0);
        let leased_ms = hold.leased_ms();
        self.durations.record(lease.places(), took_ms);
        let used_ms = took_ms.min(leased_ms);
        self.set_stage(lease.first, Stage::Ready);
        self.debug_check();
        let is_turn = self.is_turn(lease.first);
        let ready = Ready { lease, since: now, used_ms, leased_ms };
        Ok(if is_turn { Turn::Now(ready) } else { Turn::Later(ready) })
    }

    /// Gives unfinished work back. It keeps its place, and somebody else can take it.
    ///
    /// # Errors
    ///
    /// When somebody else may have the run already.
    pub fn release(
        &mut self,
        now: Time,
        lease: Lease,
        failure: Failure,
    ) -> Result<Released, Fenced> {
        self.held(&lease, &[Stage::Working])?;
        let mut released = Released::Free;
        let mut delay_ms = None;
        self.runs.set(lease.first, |run| {
            delay_ms = count_failure(failure, &mut run.tries);
            let Some(delay_ms) = delay_ms else { return };
            let not_before = (delay_ms > 0).then(|| Time(now.0.saturating_add(delay_ms)));
            run.state = State::Free { not_before };
            released = not_before.map_or(Released::Free, Released::Retry);
        });
        if delay_ms.is_none() {
            return Ok(Released::Poison(lease));
        }
        self.counts.released = self.counts.released.saturating_add(1);
        self.debug_check();
        Ok(released)
    }

    /// Gives a run back whose finished work is gone. It keeps its place, and somebody can do it again.
    ///
    /// # Errors
    ///
    /// When somebody else may have the run already.
    pub fn reopen(&mut self, ready: Ready) -> Result<(), Fenced> {
        self.held(&ready.lease, &[Stage::Ready])?;
        self.runs.set(ready.lease.first, |run| run.state = State::Free { not_before: None });
        self.counts.released = self.counts.released.saturating_add(1);
        self.debug_check();
        Ok(())
    }

    /// Makes two runs of one, so that what is before a place can be committed without it.
    ///
    /// # Errors
    ///
    /// When the place is not inside of the run, or somebody else may have the run.
    pub fn split(&mut self, ready: Ready, at: Place) -> Result<(Ready, Ready), SplitError> {
        let hold = *self.held(&ready.lease, &[Stage::Ready])?;
        let (first, last) = (ready.lease.first, ready.lease.last);
        let Some(before) = at.previous().filter(|before| first <= *before && at <= last) else {
            return Err(SplitError::NotInside { at, ready });
        };
        let token = self.draw_token();
        let run = self.runs.get(first).expect("it is held").clone();
        let hold = Hold { token, ..hold };
        // The bytes are let go with the upper part: until then too many are counted, not too few.
        self.runs.set(first, |run| (run.last, run.bytes) = (before, 0));
        self.runs.insert(at, Run { state: State::Held(hold), ..run });
        self.debug_check();
        let upper = Lease { first: at, last, token, ..ready.lease };
        let lower = Lease { last: before, ..ready.lease };
        Ok((Ready { lease: lower, ..ready }, Ready { lease: upper, ..ready }))
    }

    /// Takes back every run whose deadline has passed. To be called when [`Lanes::next_time`] has
    /// come, and at least every ten minutes: a clock that was set back moves deadlines closer only
    /// here.
    pub fn expire(&mut self, now: Time) -> Vec<Expired> {
        let mut expired = Vec::new();
        while let Some(first) = self.runs.overdue(now, LEASE_MS_MAX) {
            self.runs.set(first, |run| {
                let State::Held(hold) = run.state else { panic!("only a held run has a deadline") };
                run.tries.expiries = run.tries.expiries.saturating_add(1);
                run.state = State::Free { not_before: None };
                self.counts.expired = self.counts.expired.saturating_add(1);
                self.window.push(Ended::Expired { leased_ms: hold.leased_ms() });
                expired.push(Expired {
                    first,
                    last: run.last,
                    token: hold.token,
                    worker: hold.worker,
                    deadline: hold.deadline,
                    expiries: run.tries.expiries,
                });
            });
        }
        self.debug_check();
        expired
    }

    /// When the next delay or lease ends, so that [`Lanes::expire`] and [`Lanes::lease`] are worth
    /// calling.
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        self.runs.next_time()
    }

    /// The run whose turn it is, if its work is finished.
    #[must_use]
    pub fn next_ready(&self) -> Option<Wake> {
        let (first, run) = self.runs.first()?;
        let hold = run.hold().filter(|hold| hold.stage == Stage::Ready)?;
        Some(Wake { first, token: hold.token, worker: hold.worker })
    }

    /// The metrics. It looks at every run in flight.
    #[must_use]
    pub fn health(&self) -> Health {
        let mut now = Gauges {
            expired: self.counts.expired,
            committed: self.counts.committed,
            ..Gauges::default()
        };
        let mut unready = 0_u64;
        for (first, run) in self.runs.iter() {
            now.active = now.active.saturating_add(u64::from(run.hold().is_some()));
            match run.stage() {
                Some(Stage::Ready) => {
                    now.waiting = now.waiting.saturating_add(u64::from(!self.is_turn(first)));
                    now.gaps = unready;
                }
                Some(Stage::Committing) => now.gaps = unready,
                Some(Stage::Working) | None => unready = unready.saturating_add(1),
            }
        }
        Health::of(now, self.window.sums())
    }

    /// What was counted since the machine began.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// The last place in the read model.
    #[must_use]
    pub const fn committed_through(&self) -> Option<Place> {
        self.committed
    }

    /// The last place that was offered.
    #[must_use]
    pub const fn offered_through(&self) -> Option<Place> {
        self.offered
    }

    /// Runs that are offered and not committed.
    #[must_use]
    pub fn runs_in_flight(&self) -> usize {
        self.runs.len()
    }

    /// Panics if the machine contradicts itself. It looks at every run in flight.
    pub fn check_invariants(&self) {
        self.runs.check_invariants(self.committed, self.offered);
        self.window.check_invariants();
        let mut tokens: Vec<Token> = Vec::new();
        let mut is_lowest = true;
        for (_, run) in self.runs.iter() {
            if run.stage() == Some(Stage::Committing) {
                assert!(is_lowest, "what is being committed is below everything else");
            } else {
                is_lowest = false;
            }
            tokens.extend(run.hold().map(|hold| hold.token));
        }
        let held = tokens.len();
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens.len(), held, "no two runs have one token");
        let is_drawn =
            |token: &Token| token.fence() == self.fence && token.number() <= self.tokens_drawn;
        assert!(tokens.iter().all(is_drawn), "every token was drawn here");
    }

    /// What a holder has, if its token is current and its run is in one of these stages.
    pub(crate) fn held(&self, lease: &Lease, stages: &[Stage]) -> Result<&Hold, Fenced> {
        if lease.projection != self.projection {
            let (held, this) = (lease.projection, self.projection);
            return Err(Fenced::OtherProjection { held, this });
        }
        let hold = self.runs.get(lease.first).and_then(Run::hold);
        let is_current = |hold: &&Hold| hold.token == lease.token && stages.contains(&hold.stage);
        let (first, last, token) = (lease.first, lease.last, lease.token);
        hold.filter(is_current).ok_or(Fenced::Lost { first, last, token })
    }

    /// Whether all lower places are committed. While the runs below are in a transaction, they are
    /// not.
    pub(crate) fn is_turn(&self, first: Place) -> bool {
        after(self.committed) == Some(first)
    }

    pub(crate) fn set_stage(&mut self, first: Place, stage: Stage) {
        self.runs.set(first, |run| {
            if let State::Held(hold) = &mut run.state {
                hold.stage = stage;
            }
        });
    }

    /// What follows once the high-water mark has moved: whose turn it is, and whether there is room.
    pub(crate) fn after_commit(&mut self, through: Place) -> Committed {
        let has_room = self.offer_waits && self.has_room(0);
        self.offer_waits &= !has_room;
        Committed { through, wake: self.next_ready(), has_room }
    }

    pub(crate) fn debug_check(&self) {
        if cfg!(debug_assertions) && self.runs.len() <= CHECKED_RUNS_MAX {
            self.check_invariants();
        }
    }

    fn extend(&mut self, now: Time, lease: &mut Lease, is_counted: bool) -> Time {
        let durations = &self.durations;
        let mut deadline = lease.deadline;
        self.runs.set(lease.first, |run| {
            let lease_ms = durations.lease_ms(lease.places(), run.tries.expiries);
            deadline = Time(now.0.saturating_add(lease_ms));
            if let State::Held(hold) = &mut run.state {
                hold.deadline = deadline;
                hold.renewals = hold.renewals.saturating_add(u32::from(is_counted));
            }
        });
        lease.deadline = deadline;
        self.debug_check();
        deadline
    }

    fn has_room(&self, bytes: u64) -> bool {
        let bytes = self.runs.bytes().saturating_add(bytes);
        let has_runs = self.runs.len() < self.settings.runs_max.get();
        self.runs.len() == 0 || (has_runs && bytes <= self.settings.bytes_max.get())
    }

    fn draw_token(&mut self) -> Token {
        let number = self.tokens_drawn.checked_add(1);
        self.tokens_drawn = number.expect("a lease a nanosecond for five hundred years");
        Token::new(self.fence, self.tokens_drawn)
    }
}
