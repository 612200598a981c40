//! The loop of one partition, as a step function.
//!
//! ```text
//!  take(request) ─► queue ─► run(now): one commit's worth of entries
//!                              fetch ─► apply, one by one ─► commit ─► flush ─► Flight
//!                                                                                 │ the caller syncs,
//!  landed() ◄─────────────────────────────────────────────────────────────────────┘ then answers
//! ```
//!
//! The clock is an argument, storage is injected, and nobody is answered in here: whoever drives
//! the loop syncs the store and then lets the flight's replies go. So the same code runs on a
//! thread of its own and under a simulator.
//!
//! **Invariants**
//! - What is answered was durable before. A flight carries its replies until its sync returned.
//! - After a commit that failed, the machine is thrown away: it is ahead of what is stored.
//! - A partition that stopped writes nothing.

mod actualize;
mod commit;
mod due;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use seriatim_codec::PartitionPrefix;
use seriatim_core::{Effects, Machine, Outgoing, TreeNode, Write};
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::{Busy as SequencerBusy, Counters, Progress};
use seriatim_storage::{Snapshot, Store};
use seriatim_types::{Body, Entry, PartitionOffset, Time, WorkspaceId};

use crate::damage::Damage;
use crate::reply::{Busy, Reason, Reply};
use crate::row_cache::RowCache;
use crate::settings::Settings;
use crate::tables::Tables;

use actualize::Reading;

pub use actualize::causes;
pub(crate) use actualize::{failed, unusable};

/// How long a partition whose commit failed waits before it reads its log again.
const PAUSE: Duration = Duration::from_millis(100);

/// One partition. `R` is whatever its driver answers a request by.
pub struct Partition<R> {
    tables: Tables,
    prefix: PartitionPrefix,
    settings: Settings,
    hash_seed: u64,
    phase: Phase,
    /// Requests, and entries of the partition's own that nobody waits for.
    queue: VecDeque<(Body, Option<R>)>,
    in_flight: usize,
    /// Empty: room for the writes of the next commit.
    writes: Vec<Write>,
    cache: RowCache,
    /// Nodes of trees whose events are committed and that no checkpoint holds yet.
    nodes: Vec<TreeNode>,
    checkpointed_at: Time,
    ticked_at: Time,
    /// Whether the last tick was full, so that more is due.
    has_more_due: bool,
    /// When a commit failed and left the store as it was, and what it was answered.
    failed: Option<(Time, Reply)>,
    observer: Option<Observer>,
}

/// Told of every entry as it is applied, before anything is written: for a simulator that does the
/// same once more, in its own way.
pub type Observer = Box<dyn FnMut(&Entry, &Effects) + Send>;

enum Phase {
    Actualizing(Box<Reading>),
    Serving(Box<Machine>),
    Stopped(Reason),
}

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
pub struct Step<R> {
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
        let tables = Tables::new(store);
        let settings = settings.with_least();
        Self {
            tables,
            prefix,
            settings,
            hash_seed: 0,
            phase: Phase::Actualizing(Box::default()),
            queue: VecDeque::new(),
            in_flight: 0,
            writes: Vec::new(),
            cache: RowCache::new(settings.cached_workspaces_max),
            nodes: Vec::new(),
            checkpointed_at: Time(0),
            ticked_at: Time(0),
            has_more_due: false,
            failed: None,
            observer: None,
        }
    }

    /// The same, with a [seed](seriatim_sequencer::Settings::hash_seed) for its hashes.
    #[must_use]
    pub(crate) fn seeded(self, hash_seed: u64) -> Self {
        Self { hash_seed, ..self }
    }

    /// The same, with somebody who is told of every entry that is applied.
    #[doc(hidden)]
    #[must_use]
    pub fn observed_by(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Takes a request into the queue, or gives it back with the reason.
    ///
    /// # Errors
    ///
    /// The request's handle and its answer.
    pub fn take(&mut self, body: Body, handle: R) -> Result<(), (R, Reply)> {
        // What another partition has decided is not turned away because of load: nobody would send
        // it again soon, and there is little of it.
        let is_told = is_told(&body);
        let refused = match &mut self.phase {
            Phase::Stopped(reason) => Some(Reply::Stopped(reason.clone())),
            // Why it reads its log again is what whoever asks should know.
            Phase::Actualizing(reading) => Some(match &self.failed {
                Some((_, reply)) => reply.clone(),
                None => Reply::Busy(Busy::Actualizing(reading.progress())),
            }),
            Phase::Serving(machine) => match machine.sequencer_mut().admit() {
                Ok(()) => None,
                Err(SequencerBusy::Actualizing(progress)) => {
                    Some(Reply::Busy(Busy::Actualizing(progress)))
                }
                Err(SequencerBusy::Unflushed { .. }) => {
                    (!is_told).then_some(Reply::Busy(Busy::Unflushed))
                }
            },
        };
        let queued = self.queue.len();
        let has_room = queued < self.settings.queue_max || planted::is(Bug::QueueUnbounded);
        let is_full = !has_room && !is_told;
        match refused.or_else(|| is_full.then_some(Reply::Busy(Busy::QueueFull { queued }))) {
            Some(reply) => Err((handle, reply)),
            None => {
                self.queue.push_back((body, Some(handle)));
                Ok(())
            }
        }
    }

    /// Does one unit of work: reads a part of the log, or carries out what is queued, up to one
    /// commit.
    pub fn run(&mut self, now: Time) -> Step<R> {
        match &self.phase {
            Phase::Stopped(_) => Step::idle(),
            // What made a commit fail lasts a while, such as a full disk.
            Phase::Actualizing(_)
                if self.failed.as_ref().is_some_and(|(at, _)| {
                    !has_passed(*at, now, PAUSE) || planted::is(Bug::PauseForEver)
                }) =>
            {
                Step::idle()
            }
            Phase::Actualizing(_) => self.actualize(now),
            Phase::Serving(_) if self.in_flight >= self.settings.commits_in_flight_max => {
                Step::idle()
            }
            Phase::Serving(_) => self.commit_next(now),
        }
    }

    /// A flight of this partition was synced, and its replies are gone.
    pub fn landed(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// How many commits are on their way to the disk.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Lets the next step write a checkpoint, whatever the clock shows.
    pub fn want_checkpoint(&mut self) {
        self.checkpointed_at = Time(0);
    }

    /// Forgets everything in memory and reads the log again. What is queued is answered.
    pub fn restart(&mut self) -> Vec<(R, Reply)> {
        self.failed = None;
        if planted::is(Bug::RestartLeaksFlight) {
            self.in_flight = self.in_flight.saturating_add(1);
        }
        self.phase = Phase::Actualizing(Box::default());
        self.nodes.clear();
        if !planted::is(Bug::RestartKeepsCache) {
            self.cache.clear();
        }
        let why = "the partition was restarted".to_owned();
        self.drain(&Reply::NotWritten { why })
    }

    /// Answers what callers have queued, and carries none of it out. Messages of other partitions
    /// stay.
    pub fn turn_away(&mut self, reply: &Reply) -> Vec<(R, Reply)> {
        let queue = std::mem::take(&mut self.queue);
        let (told, asked): (VecDeque<_>, VecDeque<_>) =
            queue.into_iter().partition(|(body, _)| is_told(body));
        self.queue = told;
        let handles = asked.into_iter().filter_map(|(_, handle)| handle);
        handles.map(|handle| (handle, reply.clone())).collect()
    }

    /// Stops for good, as when the store has. What is queued is answered.
    pub fn stop(&mut self, reason: Reason) -> Vec<(R, Reply)> {
        let reply = Reply::Stopped(reason.clone());
        self.phase = Phase::Stopped(reason);
        self.drain(&reply)
    }

    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> State {
        match &self.phase {
            Phase::Actualizing(reading) => State::Actualizing(reading.progress()),
            Phase::Serving(_) => State::Serving,
            Phase::Stopped(reason) => State::Stopped(reason.clone()),
        }
    }

    /// What it holds in memory, for whoever looks at its limits.
    #[doc(hidden)]
    #[must_use]
    pub fn held(&self) -> Held {
        let counters = match &self.phase {
            Phase::Serving(machine) => machine.sequencer().counters(),
            Phase::Actualizing(_) | Phase::Stopped(_) => Counters::default(),
        };
        Held {
            queued: self.queue.len(),
            unflushed_rows: counters.unflushed_rows,
            unflushed_rows_max: self.settings.sequencer(self.hash_seed).unflushed_rows_max,
            cached_rows: counters.cached_rows,
            cached_workspaces: self.cache.len(),
            known_clients: self.cache.keys.len(),
            waiting_nodes: self.nodes.len(),
        }
    }

    /// Whether nothing is queued and no numbers wait for a checkpoint.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let is_flushed = match &self.phase {
            Phase::Serving(machine) => machine.sequencer().counters().unflushed_rows == 0,
            Phase::Actualizing(_) => false,
            Phase::Stopped(_) => true,
        };
        self.queue.is_empty() && is_flushed
    }

    fn drain(&mut self, reply: &Reply) -> Vec<(R, Reply)> {
        let handles = self.queue.drain(..).filter_map(|(_, handle)| handle);
        handles.map(|handle| (handle, reply.clone())).collect()
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

impl<R> Step<R> {
    fn idle() -> Self {
        Self { replies: Vec::new(), flight: None, has_more: false }
    }
}
