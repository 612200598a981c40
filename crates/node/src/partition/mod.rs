//! The loop of one partition, as a step function, in two halves.
//!
//! ```text
//!  take(request) ─► Proposer: queue ─► entries, each with its time ─► Applier: backlog
//!                                                                       │ work(now): one commit
//!                              fetch ─► apply, one by one ─► commit ─► flush ─► Flight
//!                                                                                 │ the caller syncs,
//!  landed() ◄─────────────────────────────────────────────────────────────────────┘ then replies
//! ```
//!
//! The proposer turns requests into entries; an entry keeps its time from then on. The applier takes
//! entries in their order and uses as many commits as they need. This type joins the two directly:
//! what was proposed is applied at once. Between them there is room for a replicated log.
//!
//! The clock is an argument, storage is injected, and nothing is answered in here: the driver syncs
//! the store and then sends the flight's replies. So the same code runs on a thread of its own and
//! in a simulator.
//!
//! **Invariants**
//! - What is answered was durable before. A flight carries its replies until its sync returned.
//! - An entry is never put back: its time is decided once.
//! - After a commit that failed, the machine is dropped: it is ahead of what is stored.
//! - A partition that stopped writes nothing.

mod applier;
mod due;
mod proposer;

use std::sync::Arc;
use std::time::Duration;

use seriatim_codec::PartitionPrefix;
use seriatim_core::{Effects, Outgoing};
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::Progress;
use seriatim_storage::{Snapshot, Store};
use seriatim_types::{Body, Entry, PartitionOffset, Time, WorkspaceId};

use crate::damage::Damage;
use crate::metrics::{LagRows, NodeCounters};
use crate::reply::{Busy, Reason, Reply, RequestError};
use crate::settings::Settings;

use applier::Batch;
use proposer::Proposer;

pub use applier::{Applier, causes};
pub(crate) use applier::{failed, unusable};

/// One partition, its two halves joined. `R` is whatever its driver answers a request by.
pub struct Partition<R> {
    proposer: Proposer<R>,
    applier: Applier<R>,
    /// Commits that wait for the disk.
    in_flight: usize,
    commits_in_flight_max: usize,
    counters: Arc<NodeCounters>,
    lag_rows: LagRows,
}

/// Told of every entry as it is applied, before anything is written: for a simulator that does the
/// same once more, in its own way.
pub type Observer = Box<dyn FnMut(&Entry, &Effects) + Send>;

/// Requests with their answers.
type Replies<R> = Vec<(R, Reply)>;

/// What a partition is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It reads its log.
    Actualizing(Progress),
    /// It takes requests.
    Serving,
    /// It does nothing until it is restarted.
    Stopped(Reason),
}

impl State {
    /// What a request is answered that needs a view of a partition that has none yet.
    #[must_use]
    pub fn unreadable(self) -> RequestError {
        match self {
            Self::Stopped(reason) => RequestError::Stopped(reason),
            Self::Actualizing(progress) => RequestError::Busy(Busy::Actualizing(progress)),
            Self::Serving => RequestError::Busy(Busy::Actualizing(Progress { done: 0, total: 0 })),
        }
    }
}

/// What a partition holds in memory.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub queued: usize,
    pub unflushed_rows: usize,
    pub unflushed_rows_max: usize,
    pub cached_rows: usize,
    pub cached_workspaces: usize,
    pub known_clients: usize,
    pub waiting_nodes: usize,
}

/// What a step has done and asks for.
pub struct Work<R> {
    /// Answers that need no sync.
    pub replies: Vec<(R, Reply)>,
    /// A commit that must be synced before its replies go.
    pub flight: Option<Flight<R>>,
    /// Whether there is more to do at once.
    pub has_more: bool,
}

/// A commit on its way to the disk, with everything that waits for it.
pub struct Flight<R> {
    /// Answers, once it is durable.
    pub replies: Vec<(R, Reply)>,
    /// The workspaces that have new events.
    pub touched: Vec<WorkspaceId>,
    /// Messages for other partitions.
    pub messages: Vec<Outgoing>,
    /// What readers may see from then on.
    pub view: View,
    /// Whether the partition has read its log and serves: once this is durable, it is sent what is
    /// there for it.
    pub begins: bool,
}

/// What readers may see: everything up to a durable commit.
#[derive(Clone)]
pub struct View {
    /// The store as of the commit.
    pub snapshot: Arc<dyn Snapshot>,
    /// The last event of the partition's log.
    pub offset: Option<PartitionOffset>,
    /// The time of the last entry.
    pub time: Option<Time>,
    /// Where readers report rows that they cannot read.
    #[doc(hidden)]
    pub damage: Option<Arc<Damage>>,
}

impl<R> Partition<R> {
    /// A partition of a store that has all of a node's [tables](crate::schema).
    #[must_use]
    pub fn new(store: Arc<dyn Store>, prefix: PartitionPrefix, settings: Settings) -> Self {
        let settings = settings.with_least();
        let counters = Arc::<NodeCounters>::default();
        Self {
            proposer: Proposer::new(settings),
            applier: Applier::new(store, prefix, settings),
            in_flight: 0,
            commits_in_flight_max: settings.commits_in_flight_max,
            lag_rows: LagRows::new(counters.clone()),
            counters,
        }
    }

    /// The same, with a [seed](seriatim_sequencer::Settings::hash_seed) for its hashes.
    #[must_use]
    pub(crate) fn seeded(mut self, hash_seed: u64) -> Self {
        self.applier.set_hash_seed(hash_seed);
        self
    }

    /// The same, with what it does counted for a whole node.
    #[must_use]
    pub fn counted_by(mut self, counters: Arc<NodeCounters>) -> Self {
        self.applier.set_counters(counters.clone());
        self.lag_rows = LagRows::new(counters.clone());
        self.counters = counters;
        self
    }

    /// Where what it does is counted.
    pub(crate) fn counters(&self) -> &NodeCounters {
        &self.counters
    }

    /// The same, with an observer of every entry that is applied.
    #[doc(hidden)]
    #[must_use]
    pub fn observed_by(mut self, observer: Observer) -> Self {
        self.applier.set_observer(observer);
        self
    }

    /// Takes a request into the queue, or gives it back with the reason.
    ///
    /// # Errors
    ///
    /// The request's handle and its answer.
    pub fn take(&mut self, body: Body, handle: R) -> Result<(), (R, Reply)> {
        // What another partition has decided is not refused because of load: nobody would send it
        // again soon, and there is little of it.
        match self.applier.admit(is_told(&body)) {
            Ok(()) => {
                self.proposer.take(body, handle);
                Ok(())
            }
            Err(error) => Err((handle, Err(error))),
        }
    }

    /// Does one unit of work: reads a part of the log, or carries out what is queued, up to one
    /// commit.
    pub fn work(&mut self, now: Time) -> Work<R> {
        let batch = match self.applier.state() {
            State::Stopped(_) => return Work::idle(),
            State::Actualizing(_) => self.applier.actualize(now),
            State::Serving if self.in_flight >= self.commits_in_flight_max => return Work::idle(),
            State::Serving => self.propose_and_apply(now),
        };
        let Batch { mut replies, flight, has_more, dropped } = batch;
        // What is queued gets the answer of the batch that failed.
        if let Some(error) = dropped {
            replies.extend(self.proposer.drain(&error));
        }
        self.lag_rows.set(self.applier.unflushed_rows());
        self.in_flight = self.in_flight.saturating_add(usize::from(flight.is_some()));
        let is_more_waiting = flight.is_some() && self.proposer.has_more();
        Work { replies, flight, has_more: has_more || is_more_waiting }
    }

    /// What was proposed together is applied, in one commit or several, before more is proposed: a
    /// tick then never names what a tick before it is about to remove.
    fn propose_and_apply(&mut self, now: Time) -> Batch<R> {
        if self.applier.backlog_len() == 0 {
            if let Err(reason) = self.proposer.propose_tick(&self.applier, now) {
                return self.applier.fault(reason);
            }
            self.applier.extend(self.proposer.propose(now));
        }
        self.applier.commit_next(now)
    }

    /// A flight of this partition was synced, and its replies were sent.
    pub fn landed(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// How many commits wait for the disk.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Lets the next step write a checkpoint, whatever the clock shows.
    pub fn want_checkpoint(&mut self) {
        self.applier.want_checkpoint();
    }

    /// Forgets everything in memory and reads the log again. What is queued is answered.
    pub fn restart(&mut self) -> Vec<(R, Reply)> {
        if planted::is(Bug::RestartLeaksFlight) {
            self.in_flight = self.in_flight.saturating_add(1);
        }
        let error = RequestError::NotWritten { why: "the partition was restarted".to_owned() };
        let mut replies = self.applier.restart(&error);
        replies.extend(self.proposer.drain(&error));
        replies
    }

    /// Answers the requests that have no time yet, and carries none of them out. Messages of other
    /// partitions stay.
    pub fn turn_away(&mut self, error: &RequestError) -> Vec<(R, Reply)> {
        self.proposer.turn_away(error)
    }

    /// Carries out nothing more. What is queued, and what has a time and is not applied, is answered.
    pub fn end(&mut self, error: &RequestError) -> Vec<(R, Reply)> {
        let mut replies = self.applier.give_up(error);
        replies.extend(self.proposer.drain(error));
        replies
    }

    /// Stops for good, as when the store has. What is queued is answered.
    pub fn stop(&mut self, reason: Reason) -> Vec<(R, Reply)> {
        let error = RequestError::Stopped(reason.clone());
        let mut replies = self.applier.stop(reason);
        self.lag_rows.set(0);
        replies.extend(self.proposer.drain(&error));
        replies
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> State {
        self.applier.state()
    }

    /// What it holds in memory, for checks of its limits.
    #[doc(hidden)]
    #[must_use]
    pub fn held(&self) -> Held {
        let held = self.applier.held();
        Held { queued: held.queued.saturating_add(self.proposer.queued()), ..held }
    }

    /// Whether nothing is queued and no numbers wait for a checkpoint.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.proposer.queued() == 0 && self.applier.is_idle()
    }
}

/// Whether it comes from another partition.
pub(crate) fn is_told(body: &Body) -> bool {
    matches!(body, Body::Delivery(_) | Body::Delivered(_))
}

/// Whether it is time again. A clock that was set back would otherwise hold everything up until it
/// is where it was.
fn has_passed(last: Time, now: Time, interval: Duration) -> bool {
    now < last || u128::from(now.0.saturating_sub(last.0)) >= interval.as_millis()
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { snapshot: _, offset, time, damage: _ } = self;
        f.debug_struct("View").field("offset", offset).field("time", time).finish_non_exhaustive()
    }
}

impl<R> Work<R> {
    fn idle() -> Self {
        Self { replies: Vec::new(), flight: None, has_more: false }
    }
}
