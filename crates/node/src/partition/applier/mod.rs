//! The applying half of a partition: entries in their order in, commits out.
//!
//! ```text
//!  extend(entries) ─► backlog ─► commit_next: fetch ─► apply, one by one ─► commit ─► Flight
//!                        ▲                                  │
//!                        └── entries that do not fit stay ──┘
//! ```
//!
//! Entries come from the proposer of the same partition (*direct*), or from a replicated log with a
//! position each (*ordered*). An ordered entry is committed already, so it must be applied: its
//! position and the partition's row are written also if it is refused, a full disk is waited out, and
//! after a fault nobody is told that it was not written.
//!
//! **Invariants**
//! - An entry leaves the backlog when it was applied or its caller was answered, never otherwise.
//! - After a commit that failed the machine is dropped: it is ahead of what is stored.

mod actualize;
mod commit;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use seriatim_codec::PartitionPrefix;
use seriatim_core::{Machine, TreeNode, Write};
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::{Busy as SequencerBusy, Counters};
use seriatim_storage::Store;
use seriatim_types::{Entry, LogIndex, Position, Time};

use super::{Flight, Held, Observer, Replies, State, Work};
use crate::metrics::NodeCounters;
use crate::reply::{Busy, Reason, RequestError};
use crate::row_cache::RowCache;
use crate::settings::Settings;
use crate::tables::Tables;

use actualize::Reading;

pub use actualize::causes;
pub(crate) use actualize::{failed, unusable};

/// How long a partition whose commit failed waits before it reads its log again.
const PAUSE: Duration = Duration::from_millis(100);

/// The applying half of a partition.
pub struct Applier<R> {
    pub(super) tables: Tables,
    pub(super) prefix: PartitionPrefix,
    pub(super) settings: Settings,
    hash_seed: u64,
    phase: Phase,
    /// Entries that are not committed yet, and beside each its position and the handle of its
    /// request.
    entries: VecDeque<Entry>,
    waiting: VecDeque<Waiting<R>>,
    /// How far a replicated log was applied.
    position: Option<Position>,
    /// Empty: room for the writes of the next commit.
    writes: Vec<Write>,
    cache: RowCache,
    /// Nodes of trees whose events are committed and that no checkpoint holds yet.
    nodes: Vec<TreeNode>,
    checkpointed_at: Time,
    /// When a commit failed and left the store as it was, and what it was answered.
    failed: Option<(Time, RequestError)>,
    observer: Option<Observer>,
    counters: Arc<NodeCounters>,
}

struct Waiting<R> {
    position: Option<Position>,
    handle: Option<R>,
}

enum Phase {
    Actualizing(Box<Reading>),
    Serving(Box<Machine>),
    Stopped(Reason),
}

/// What came of one unit of work.
pub(super) struct Batch<R> {
    /// Answers that need no sync.
    pub(super) replies: Replies<R>,
    /// A commit that must be synced before its replies are sent.
    pub(super) flight: Option<Flight<R>>,
    /// Whether there is more to do at once.
    pub(super) has_more: bool,
    /// The machine was dropped, or has stopped: what is queued gets this answer.
    pub(super) dropped: Option<RequestError>,
}

impl<R> Batch<R> {
    fn idle() -> Self {
        Self { replies: Vec::new(), flight: None, has_more: false, dropped: None }
    }
}

impl<R> Applier<R> {
    /// The applying half of a partition of a store that has all of a node's [tables](crate::schema).
    #[must_use]
    pub fn new(store: Arc<dyn Store>, prefix: PartitionPrefix, settings: Settings) -> Self {
        Self {
            tables: Tables::new(store),
            prefix,
            settings,
            hash_seed: 0,
            phase: Phase::Actualizing(Box::default()),
            entries: VecDeque::new(),
            waiting: VecDeque::new(),
            position: None,
            writes: Vec::new(),
            cache: RowCache::new(settings.cached_workspaces_max),
            nodes: Vec::new(),
            checkpointed_at: Time(0),
            failed: None,
            observer: None,
            counters: Arc::default(),
        }
    }

    pub(super) fn set_hash_seed(&mut self, hash_seed: u64) {
        self.hash_seed = hash_seed;
    }

    pub(super) fn set_counters(&mut self, counters: Arc<NodeCounters>) {
        self.counters = counters;
    }

    pub(super) fn set_observer(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// Whether a request may be proposed. What comes from another partition is not refused because
    /// of load.
    pub(super) fn admit(&mut self, is_told: bool) -> Result<(), RequestError> {
        match &mut self.phase {
            Phase::Stopped(reason) => Err(RequestError::Stopped(reason.clone())),
            // Why it reads its log again is what the caller should know.
            Phase::Actualizing(reading) => Err(match &self.failed {
                Some((_, error)) => error.clone(),
                None => RequestError::Busy(Busy::Actualizing(reading.progress())),
            }),
            Phase::Serving(machine) => match machine.sequencer_mut().admit() {
                Err(SequencerBusy::Actualizing(progress)) => {
                    Err(RequestError::Busy(Busy::Actualizing(progress)))
                }
                Err(SequencerBusy::Unflushed { .. }) if !is_told => {
                    Err(RequestError::Busy(Busy::Unflushed))
                }
                Ok(()) | Err(SequencerBusy::Unflushed { .. }) => Ok(()),
            },
        }
    }

    /// Takes entries that no log orders, after those that it has.
    pub(super) fn extend(&mut self, entries: impl Iterator<Item = (Entry, Option<R>)>) {
        for (entry, handle) in entries {
            self.entries.push_back(entry);
            self.waiting.push_back(Waiting { position: None, handle });
        }
    }

    /// Takes the entries of a payload that a replicated log has committed. Payloads come in the order
    /// of their indices; after a start, some that were applied before may come again.
    ///
    /// # Panics
    ///
    /// If a payload comes out of order.
    pub fn order(
        &mut self,
        index: LogIndex,
        entries: impl IntoIterator<Item = (Entry, Option<R>)>,
    ) {
        let last = self.waiting.back().and_then(|it| it.position);
        assert!(last.is_none_or(|last| last.index < index), "payloads come in the log's order");
        for (entries, (entry, handle)) in (1..).zip(entries) {
            self.entries.push_back(entry);
            let position = Some(Position { index, entries });
            self.waiting.push_back(Waiting { position, handle });
        }
    }

    /// How far a replicated log was applied, committed or not yet; `None` before the first payload,
    /// or while the log of the partition is read.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        self.position
    }

    /// Does one unit of work: reads a part of the log, or applies entries, up to one commit.
    pub fn work(&mut self, now: Time) -> Work<R> {
        let Batch { replies, flight, has_more, dropped: _ } = match &self.phase {
            // What was ordered since is not applied here.
            Phase::Stopped(reason) => {
                let error = RequestError::Stopped(reason.clone());
                let replies = self.answer(self.waiting.len(), &error);
                Batch { replies, ..Batch::idle() }
            }
            Phase::Actualizing(_) => self.actualize(now),
            Phase::Serving(_) => self.commit_next(now),
        };
        Work { replies, flight, has_more }
    }

    /// How many entries are not applied yet.
    pub(super) fn backlog_len(&self) -> usize {
        self.entries.len()
    }

    /// Lets the next step write a checkpoint, whatever the clock shows.
    pub(super) fn want_checkpoint(&mut self) {
        self.checkpointed_at = Time(0);
    }

    /// Forgets everything in memory and reads the log again. Entries that a replicated log has
    /// committed stay; the others get the answer.
    pub(super) fn restart(&mut self, error: &RequestError) -> Replies<R> {
        self.failed = None;
        self.phase = Phase::Actualizing(Box::default());
        self.position = None;
        self.nodes.clear();
        if !planted::is(Bug::RestartKeepsCache) {
            self.cache.clear();
        }
        self.give_up(error)
    }

    /// Forgets entries that no log has committed, and gives them the answer.
    pub(super) fn give_up(&mut self, error: &RequestError) -> Replies<R> {
        if self.is_ordered() { Vec::new() } else { self.answer(self.waiting.len(), error) }
    }

    /// Stops for good, as when the store has. What waits is answered.
    pub fn stop(&mut self, reason: Reason) -> Replies<R> {
        let error = RequestError::Stopped(reason.clone());
        self.phase = Phase::Stopped(reason);
        self.answer(self.waiting.len(), &error)
    }

    /// The same, as what came of a unit of work.
    pub(super) fn fault(&mut self, reason: Reason) -> Batch<R> {
        self.fault_after(reason, Vec::new())
    }

    fn fault_after(&mut self, reason: Reason, mut replies: Replies<R>) -> Batch<R> {
        let dropped = Some(RequestError::Stopped(reason.clone()));
        replies.extend(self.stop(reason));
        Batch { replies, dropped, ..Batch::idle() }
    }

    /// Gives up the oldest entries, so many of them, which the partition has not applied. Of those
    /// that a replicated log has committed, other replicas and the next start know better.
    fn answer(&mut self, count: usize, error: &RequestError) -> Replies<R> {
        self.entries.drain(..count);
        let unknown = || match error {
            RequestError::Stopped(reason) => RequestError::Unknown { why: reason.to_string() },
            RequestError::Refused(_)
            | RequestError::Busy(_)
            | RequestError::NotWritten { .. }
            | RequestError::Unknown { .. } => error.clone(),
        };
        let answer = |Waiting { position, handle }: Waiting<R>| {
            let error = if position.is_some() { unknown() } else { error.clone() };
            handle.map(|handle| (handle, Err(error)))
        };
        self.waiting.drain(..count).filter_map(answer).collect()
    }

    /// Whether what waits was committed by a replicated log.
    fn is_ordered(&self) -> bool {
        self.waiting.front().is_some_and(|it| it.position.is_some())
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

    /// The machine, of a partition that serves.
    pub(super) fn serving(&self) -> Option<&Machine> {
        match &self.phase {
            Phase::Serving(machine) => Some(machine),
            Phase::Actualizing(_) | Phase::Stopped(_) => None,
        }
    }

    pub(super) fn held(&self) -> Held {
        let counters =
            self.serving().map_or_else(Counters::default, |it| it.sequencer().counters());
        Held {
            queued: self.entries.len(),
            unflushed_rows: counters.unflushed_rows,
            unflushed_rows_max: self.settings.sequencer(self.hash_seed).unflushed_rows_max,
            cached_rows: counters.cached_rows,
            cached_workspaces: self.cache.len(),
            known_clients: self.cache.keys.len(),
            waiting_nodes: self.nodes.len(),
        }
    }

    /// Rows of numbers that no checkpoint holds yet.
    pub(super) fn unflushed_rows(&self) -> usize {
        self.serving().map_or(0, |machine| machine.sequencer().counters().unflushed_rows)
    }

    /// Whether nothing waits to be applied and no numbers wait for a checkpoint.
    pub(super) fn is_idle(&self) -> bool {
        let is_flushed = match &self.phase {
            Phase::Serving(machine) => machine.sequencer().counters().unflushed_rows == 0,
            Phase::Actualizing(_) => false,
            Phase::Stopped(_) => true,
        };
        self.entries.is_empty() && is_flushed
    }
}
