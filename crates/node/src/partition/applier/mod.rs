//! The applying half of a partition: entries in their order in, commits out.
//!
//! ```text
//!  extend(entries) ─► backlog ─► commit_next: fetch ─► apply, one by one ─► commit ─► Flight
//!                        ▲                                  │
//!                        └── entries that do not fit stay ──┘
//! ```
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
use seriatim_types::{Entry, Time};

use super::{Flight, Held, Observer, Replies, State};
use crate::reply::{Busy, Reason, Reply};
use crate::row_cache::RowCache;
use crate::settings::Settings;
use crate::tables::Tables;

use actualize::Reading;

pub use actualize::causes;
pub(crate) use actualize::{failed, unusable};

/// How long a partition whose commit failed waits before it reads its log again.
const PAUSE: Duration = Duration::from_millis(100);

/// The applying half of a partition.
pub(super) struct Applier<R> {
    pub(super) tables: Tables,
    pub(super) prefix: PartitionPrefix,
    pub(super) settings: Settings,
    hash_seed: u64,
    phase: Phase,
    /// Entries that are not applied yet, and beside each whoever waits for it.
    entries: VecDeque<Entry>,
    handles: VecDeque<Option<R>>,
    /// Empty: room for the writes of the next commit.
    writes: Vec<Write>,
    cache: RowCache,
    /// Nodes of trees whose events are committed and that no checkpoint holds yet.
    nodes: Vec<TreeNode>,
    checkpointed_at: Time,
    /// When a commit failed and left the store as it was, and what it was answered.
    failed: Option<(Time, Reply)>,
    observer: Option<Observer>,
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
    pub(super) dropped: Option<Reply>,
}

impl<R> Batch<R> {
    fn idle() -> Self {
        Self { replies: Vec::new(), flight: None, has_more: false, dropped: None }
    }
}

impl<R> Applier<R> {
    pub(super) fn new(store: Arc<dyn Store>, prefix: PartitionPrefix, settings: Settings) -> Self {
        Self {
            tables: Tables::new(store),
            prefix,
            settings,
            hash_seed: 0,
            phase: Phase::Actualizing(Box::default()),
            entries: VecDeque::new(),
            handles: VecDeque::new(),
            writes: Vec::new(),
            cache: RowCache::new(settings.cached_workspaces_max),
            nodes: Vec::new(),
            checkpointed_at: Time(0),
            failed: None,
            observer: None,
        }
    }

    pub(super) fn set_hash_seed(&mut self, hash_seed: u64) {
        self.hash_seed = hash_seed;
    }

    pub(super) fn set_observer(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// Whether a request may be proposed. What comes from another partition is not refused because
    /// of load.
    pub(super) fn admit(&mut self, is_told: bool) -> Result<(), Reply> {
        match &mut self.phase {
            Phase::Stopped(reason) => Err(Reply::Stopped(reason.clone())),
            // Why it reads its log again is what the caller should know.
            Phase::Actualizing(reading) => Err(match &self.failed {
                Some((_, reply)) => reply.clone(),
                None => Reply::Busy(Busy::Actualizing(reading.progress())),
            }),
            Phase::Serving(machine) => match machine.sequencer_mut().admit() {
                Err(SequencerBusy::Actualizing(progress)) => {
                    Err(Reply::Busy(Busy::Actualizing(progress)))
                }
                Err(SequencerBusy::Unflushed { .. }) if !is_told => {
                    Err(Reply::Busy(Busy::Unflushed))
                }
                Ok(()) | Err(SequencerBusy::Unflushed { .. }) => Ok(()),
            },
        }
    }

    /// Takes entries, behind those that it has.
    pub(super) fn extend(&mut self, entries: impl Iterator<Item = (Entry, Option<R>)>) {
        for (entry, handle) in entries {
            self.entries.push_back(entry);
            self.handles.push_back(handle);
        }
    }

    /// How many entries are not applied yet.
    pub(super) fn backlog_len(&self) -> usize {
        self.entries.len()
    }

    /// Lets the next step write a checkpoint, whatever the clock shows.
    pub(super) fn want_checkpoint(&mut self) {
        self.checkpointed_at = Time(0);
    }

    /// Forgets everything in memory and reads the log again. What waits gets the answer.
    pub(super) fn restart(&mut self, reply: &Reply) -> Replies<R> {
        self.failed = None;
        self.phase = Phase::Actualizing(Box::default());
        self.nodes.clear();
        if !planted::is(Bug::RestartKeepsCache) {
            self.cache.clear();
        }
        self.drain(reply)
    }

    /// Stops for good, as when the store has. What waits is answered.
    pub(super) fn stop(&mut self, reason: Reason) -> Replies<R> {
        let reply = Reply::Stopped(reason.clone());
        self.phase = Phase::Stopped(reason);
        self.drain(&reply)
    }

    /// The same, as what came of a unit of work.
    pub(super) fn fault(&mut self, reason: Reason) -> Batch<R> {
        self.fault_after(reason, Vec::new())
    }

    fn fault_after(&mut self, reason: Reason, mut replies: Replies<R>) -> Batch<R> {
        let dropped = Some(Reply::Stopped(reason.clone()));
        replies.extend(self.stop(reason));
        Batch { replies, dropped, ..Batch::idle() }
    }

    fn drain(&mut self, reply: &Reply) -> Replies<R> {
        self.entries.clear();
        let handles = self.handles.drain(..).flatten();
        handles.map(|handle| (handle, reply.clone())).collect()
    }

    pub(super) fn state(&self) -> State {
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
