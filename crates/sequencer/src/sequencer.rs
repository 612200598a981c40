//! The machine: rows in memory, what is staged, what waits for a checkpoint.
//!
//! ```text
//!  cache      the latest rows, as many as fit            may forget anything at any time
//!  staged     decided, their events not yet committed    in order of the log
//!  unflushed  committed, not in a checkpoint yet         bounded by admission
//! ```
//!
//! A row is looked up in this order; only when none has it, it must be read from storage. So the
//! cache decides nothing: with room for one row the numbers are the same.

use std::collections::{BTreeMap, VecDeque};

use hashlink::LruCache;
use seriatim_planted::{self as planted, Bug};
use seriatim_types::{KindId, Number, PartitionOffset, SequenceId};

use crate::counters::Counters;
use crate::log::{LogEvent, ObserveError};
use crate::row::{Row, RowKey, RowsRead, Series, Stamp};
use crate::sequences::{DefineError, Sequence, Sequences, built_in};
use crate::settings::{Settings, SettingsError};
use crate::transaction::{Begin, BeginError, Draws, EventOffsets, Transaction};

/// A hasher whose keys are given: the same run twice does the same twice.
type FixedHash = foldhash::fast::FixedState;

/// Gives numbers to one partition. See the [crate's page](crate).
#[derive(Debug)]
pub struct Sequencer {
    sequences: Sequences,
    settings: Settings,
    phase: Phase,
    cache: LruCache<RowKey, Row, FixedHash>,
    staged: VecDeque<Staged>,
    /// The latest of the staged rows, each with the transaction that it is from. Looking through
    /// all that is staged would make a large batch slow.
    staged_rows: BTreeMap<RowKey, (PartitionOffset, Row)>,
    unflushed: BTreeMap<RowKey, Row>,
    /// The last event that was staged, committed and covered by a checkpoint; `None` before
    /// the first.
    staged_through: Option<PartitionOffset>,
    committed_through: Option<PartitionOffset>,
    checkpointed_through: Option<PartitionOffset>,
    checkpoint_is_out: bool,
    /// How often the log was begun to be read. Tickets and draws of an earlier reading are void.
    reading: u64,
    stamp: Stamp,
    counters: Counters,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is known; the log is to be read.
    Forgotten,
    Actualizing(Progress),
    Serving,
}

#[derive(Debug)]
struct Staged {
    through: PartitionOffset,
    rows: Vec<(RowKey, Row)>,
}

/// How far the log has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Events that were read.
    pub done: u64,
    /// Events that are to be read, as far as is known.
    pub total: u64,
}

/// Why a request is not taken now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Numbers are being read from the log.
    #[error("numbers are being read from the log: {} of {} events", .0.done, .0.total)]
    Actualizing(Progress),
    /// Too many rows wait for a checkpoint.
    #[error("{rows} rows wait for a checkpoint, more than {rows_max}")]
    Unflushed {
        /// How many wait.
        rows: usize,
        /// How many may.
        rows_max: usize,
    },
}

/// Stands for a staged transaction whose events are being committed.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a staged transaction is flushed once it is committed, or everything is actualized"]
pub struct Ticket {
    through: PartitionOffset,
    reading: u64,
}

/// A call that does not fit the state. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{call} came out of turn: {why}")]
pub struct OutOfTurn {
    /// The call.
    pub call: &'static str,
    /// What it does not fit.
    pub why: &'static str,
}

/// Draws that were begun before something else was staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("other numbers were staged since offset {first} was drawn")]
pub struct StaleDraws {
    /// The first event of the draws.
    pub first: PartitionOffset,
}

/// Why numbers could not be flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FlushError {
    /// The numbers were forgotten since, and read from the log again.
    #[error("the numbers up to offset {through} were read from the log since they were staged")]
    Forgotten {
        /// The last event of the transaction.
        through: PartitionOffset,
    },
    /// An earlier transaction is not flushed yet.
    #[error("offset {first} is staged and not flushed, and comes before {through}")]
    OutOfOrder {
        /// The last event of the earliest staged transaction.
        first: PartitionOffset,
        /// The last event of the one that was handed in.
        through: PartitionOffset,
    },
}

/// Rows to be written, and the offset up to which they hold. Both or neither.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a checkpoint is reported as written or as not written"]
pub struct Checkpoint {
    /// The last event that the rows cover; `None` when there is none.
    pub through: Option<PartitionOffset>,
    /// The rows, each with all its numbers.
    pub rows: Vec<(RowKey, Row)>,
}

impl Sequencer {
    /// A sequencer that has still to read the log: it is actualizing.
    ///
    /// # Errors
    ///
    /// When a setting is out of its range.
    pub fn new(sequences: Sequences, settings: Settings) -> Result<Self, SettingsError> {
        let settings = settings.check()?;
        let hasher = FixedHash::with_seed(settings.hash_seed);
        let cache = LruCache::with_hasher(settings.cached_rows_max, hasher);
        Ok(Self {
            sequences,
            settings,
            phase: Phase::Forgotten,
            cache,
            staged: VecDeque::new(),
            staged_rows: BTreeMap::new(),
            unflushed: BTreeMap::new(),
            staged_through: None,
            committed_through: None,
            checkpointed_through: None,
            checkpoint_is_out: false,
            reading: 0,
            stamp: Stamp::default(),
            counters: Counters::default(),
        })
    }

    /// Whether a request may be taken. Asked before it is proposed: what is committed is
    /// always applied.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn admit(&mut self) -> Result<(), Busy> {
        if let Some(progress) = self.progress() {
            self.counters.refused_actualizing = self.counters.refused_actualizing.saturating_add(1);
            return Err(Busy::Actualizing(progress));
        }
        // What is staged will wait for a checkpoint too.
        let rows = self.unflushed.len().saturating_add(self.staged_rows.len());
        let rows_max = self.settings.unflushed_rows_max;
        if rows > rows_max {
            self.counters.refused_unflushed = self.counters.refused_unflushed.saturating_add(1);
            return Err(Busy::Unflushed { rows, rows_max });
        }
        Ok(())
    }

    /// Whether a row is in memory. What is not must be handed to [`Sequencer::begin`].
    #[must_use]
    pub fn holds(&self, key: &RowKey) -> bool {
        self.row(key).is_some()
    }

    /// A row as later transactions will find it, if it is in memory.
    #[must_use]
    pub fn row(&self, key: &RowKey) -> Option<&Row> {
        self.cache.peek(key).or_else(|| self.find_beside_cache(key))
    }

    /// A row as it is in memory, or as it was read; `None` when it is neither.
    #[must_use]
    pub fn find(&self, key: &RowKey, read: &RowsRead) -> Option<Row> {
        self.row(key).cloned().or_else(|| read.get(key, self.stamp))
    }

    /// Whether so many rows more could push others out of the cache. Rows that are needed then
    /// must be handed in although they are [held](Self::holds) now.
    #[must_use]
    pub fn must_make_room_for(&self, rows: usize) -> bool {
        self.cache.len().saturating_add(rows) > self.settings.cached_rows_max
    }

    /// To be taken before rows are read.
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Opens a transaction and gives places to its first event. `read` holds the rows that are
    /// not in memory.
    ///
    /// # Errors
    ///
    /// When the kind is unknown, a row is missing, the log is full or being read.
    pub fn begin(
        &mut self,
        begin: Begin<'_>,
        read: &RowsRead,
    ) -> Result<Transaction<'_>, BeginError> {
        let draws = self.draw(begin, read)?;
        Ok(Transaction { sequencer: self, draws })
    }

    /// As [`Sequencer::begin`], for runtimes that keep the sequencer behind a lock.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn draw(&mut self, begin: Begin<'_>, read: &RowsRead) -> Result<Draws, BeginError> {
        if self.phase != Phase::Serving {
            return Err(BeginError::Actualizing);
        }
        let Begin { workspace, kind, client, time } = begin;
        if !self.sequences.has_kind(kind) {
            return Err(BeginError::UnknownKind { kind });
        }
        let partition = next_after(self.staged_through).ok_or(BeginError::LogFull)?;
        let key = RowKey::Workspace(workspace);
        let row = self.look_up(&key, read)?;
        let client = match client {
            None => None,
            Some(client) => {
                let key = RowKey::Client(workspace, client.clone());
                let row = self.look_up(&key, read)?;
                self.remember(key, &row);
                Some((client.clone(), row))
            }
        };
        self.remember(key, &row);
        // The first event's place in the workspace's log is drawn like all others.
        let event = EventOffsets { partition, workspace: Number::new(1).expect("one") };
        let (first, reading) = (partition, self.reading);
        let mut draws = Draws { workspace, kind, time, first, reading, row, client, event };
        let drawn = draws.draw(&self.sequences, built_in::WORKSPACE_OFFSETS);
        draws.event.workspace = drawn.map_err(|_| BeginError::LogFull)?.number;
        if planted::is(Bug::DrawForRefused) {
            self.cache.insert(RowKey::Workspace(workspace), draws.row.clone());
        }
        Ok(draws)
    }

    /// Tells that the events of a staged transaction are committed. Its numbers wait for a
    /// checkpoint now.
    ///
    /// # Errors
    ///
    /// When an earlier transaction is not flushed, or the numbers were forgotten since.
    pub fn flush(&mut self, ticket: Ticket) -> Result<(), FlushError> {
        let Ticket { through, reading } = ticket;
        if reading != self.reading {
            return Err(FlushError::Forgotten { through });
        }
        let first = self.staged.front().ok_or(FlushError::Forgotten { through })?.through;
        if first != through {
            return Err(FlushError::OutOfOrder { first, through });
        }
        let staged = self.staged.pop_front().expect("the first one was just seen");
        self.committed_through = Some(through);
        for (key, row) in staged.rows {
            if self.staged_rows.get(&key).is_some_and(|(latest, _)| *latest == through) {
                self.staged_rows.remove(&key);
            }
            self.unflushed.insert(key, row);
        }
        Ok(())
    }

    /// Forgets all numbers; they are to be read from the log again.
    ///
    /// # Errors
    ///
    /// While a checkpoint is out: it could undo on disk what is read now. Report it first.
    pub fn actualize(&mut self) -> Result<(), OutOfTurn> {
        if self.checkpoint_is_out {
            return Err(OutOfTurn { call: "actualize", why: "a checkpoint is out" });
        }
        self.reading = self.reading.saturating_add(1);
        self.stamp.advance();
        self.phase = Phase::Forgotten;
        self.cache.clear();
        self.staged.clear();
        self.staged_rows.clear();
        self.unflushed.clear();
        self.staged_through = None;
        self.committed_through = None;
        self.checkpointed_through = None;
        Ok(())
    }

    /// Begins to read the log behind a checkpoint. `total` is how many events are to come, as
    /// far as is known.
    ///
    /// # Errors
    ///
    /// When the log is being read already, or was.
    pub fn resume(
        &mut self,
        checkpointed_through: Option<PartitionOffset>,
        total: u64,
    ) -> Result<(), OutOfTurn> {
        if self.phase != Phase::Forgotten {
            return Err(OutOfTurn { call: "resume", why: "the numbers are not forgotten" });
        }
        self.phase = Phase::Actualizing(Progress { done: 0, total });
        self.checkpointed_through = checkpointed_through;
        self.committed_through = checkpointed_through;
        Ok(())
    }

    /// Takes in an event of the log. `read` holds its rows that are not in memory.
    ///
    /// # Errors
    ///
    /// When the log has a hole, a row is missing or the event's kind is unknown.
    pub fn observe(&mut self, event: &LogEvent, read: &RowsRead) -> Result<(), ObserveError> {
        let Phase::Actualizing(progress) = self.phase else {
            return Err(ObserveError::NotActualizing);
        };
        let expected = next_after(self.committed_through);
        if expected != Some(event.offset) {
            let expected = expected.unwrap_or(event.offset);
            return Err(ObserveError::Hole { expected, found: event.offset });
        }
        let (workspace, kind) = (event.workspace, event.kind);
        if !self.sequences.has_kind(kind) {
            return Err(ObserveError::UnknownKind { workspace, kind });
        }
        let not_read = |error| match error {
            BeginError::NotRead { key } => ObserveError::NotRead { key },
            BeginError::Actualizing | BeginError::UnknownKind { .. } | BeginError::LogFull => {
                unreachable!("looking up a row fails only for want of it")
            }
        };
        let key = RowKey::Workspace(workspace);
        let mut row = self.look_up(&key, read).map_err(not_read)?;
        let client = match &event.client {
            None => None,
            Some((client, number)) => {
                let key = RowKey::Client(workspace, client.clone());
                let row = self.look_up(&key, read).map_err(not_read)?;
                Some((key, row, *number))
            }
        };
        for (series, number) in &event.values {
            // Passing over a number whose sequence is defined later would give it again.
            let sequence = series.sequence;
            let definition = self.sequences.get(kind, sequence);
            let definition =
                definition.ok_or(ObserveError::UnknownSequence { workspace, sequence })?;
            if planted::is(Bug::LastWinsMerge) {
                row.set(*series, *number);
            } else {
                row.merge(*series, &definition.ranges, *number);
            }
        }
        if let Some(frontier) = &event.frontier {
            row.frontier_mut().clone_from(frontier);
        }
        self.keep(key, row);
        if let Some((key, mut row, number)) = client {
            let series = Series { sequence: built_in::CLIENT, year: None };
            row.merge(series, &self.sequences.client().ranges, number);
            // The workspace's row may be ahead of the event, so the event itself is asked.
            let offset =
                |(series, _): &&(Series, Number)| series.sequence == built_in::WORKSPACE_OFFSETS;
            if let Some((_, offset)) = event.values.iter().find(offset) {
                let series = Series { sequence: built_in::CLIENT_OFFSETS, year: None };
                row.merge(series, &self.sequences.client().ranges, *offset);
            }
            self.keep(key, row);
        }
        self.committed_through = Some(event.offset);
        self.counters.events_read = self.counters.events_read.saturating_add(1);
        let done = progress.done.saturating_add(1);
        self.phase = Phase::Actualizing(Progress { done, total: progress.total.max(done) });
        Ok(())
    }

    /// Whether a checkpoint must be written before more events are taken in.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.unflushed.len() > self.settings.unflushed_rows_max
    }

    /// The whole log was read: numbers can be given.
    ///
    /// # Errors
    ///
    /// When the log was not being read.
    pub fn serve(&mut self) -> Result<(), OutOfTurn> {
        let Phase::Actualizing(_) = self.phase else {
            return Err(OutOfTurn { call: "serve", why: "the log was not being read" });
        };
        self.staged_through = self.committed_through;
        self.phase = Phase::Serving;
        Ok(())
    }

    /// The rows that wait, to be written; `None` when there is nothing new or one is out.
    pub fn take_checkpoint(&mut self) -> Option<Checkpoint> {
        if self.checkpoint_is_out || self.committed_through == self.checkpointed_through {
            return None;
        }
        self.checkpoint_is_out = true;
        let rows = self.unflushed.iter().map(|(key, row)| (key.clone(), row.clone())).collect();
        Some(Checkpoint { through: self.committed_through, rows })
    }

    /// A checkpoint was written, rows and offset.
    pub fn written(&mut self, checkpoint: Checkpoint) {
        self.counters.checkpoints_written = self.counters.checkpoints_written.saturating_add(1);
        self.stamp.advance();
        self.checkpoint_is_out = false;
        self.checkpointed_through = checkpoint.through;
        for (key, row) in checkpoint.rows {
            // A row that has moved on since waits for the next one.
            if self.unflushed.get(&key) == Some(&row) {
                self.unflushed.remove(&key);
            }
        }
    }

    /// A checkpoint could not be written. Its rows still wait.
    pub fn not_written(&mut self, checkpoint: Checkpoint) {
        self.counters.checkpoints_failed = self.counters.checkpoints_failed.saturating_add(1);
        drop(checkpoint);
        // It may be there all the same: only its answer was lost.
        self.stamp.advance();
        self.checkpoint_is_out = false;
    }

    /// The sequences.
    #[must_use]
    pub fn sequences(&self) -> &Sequences {
        &self.sequences
    }

    /// As [`Sequences::add_kind`].
    pub fn add_kind(&mut self, kind: KindId) {
        self.sequences.add_kind(kind);
    }

    /// As [`Sequences::define`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn define(
        &mut self,
        kind: KindId,
        sequence: SequenceId,
        definition: Sequence,
    ) -> Result<(), DefineError> {
        self.sequences.define(kind, sequence, definition)
    }

    /// How far the reading of the log is; `None` when it is done.
    #[must_use]
    pub fn progress(&self) -> Option<Progress> {
        match self.phase {
            Phase::Forgotten => Some(Progress::default()),
            Phase::Actualizing(progress) => Some(progress),
            Phase::Serving => None,
        }
    }

    /// The last event that is committed.
    #[must_use]
    pub fn committed_through(&self) -> Option<PartitionOffset> {
        self.committed_through
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let get = |offset: Option<PartitionOffset>| offset.map_or(0, PartitionOffset::get);
        Counters {
            unflushed_rows: self.unflushed.len(),
            cached_rows: self.cache.len(),
            checkpoint_lag: get(self.committed_through)
                .saturating_sub(get(self.checkpointed_through)),
            ..self.counters
        }
    }

    /// As [`Transaction::stage`], for draws that do not borrow the sequencer.
    ///
    /// # Errors
    ///
    /// When something else was staged since they were begun: the numbers would be given twice.
    pub fn stage(&mut self, draws: Draws) -> Result<Ticket, StaleDraws> {
        let expected = next_after(self.staged_through);
        let is_current = draws.reading == self.reading && expected == Some(draws.first);
        if self.phase != Phase::Serving || !is_current {
            return Err(StaleDraws { first: draws.first });
        }
        let through = draws.event.partition;
        let mut rows = Vec::with_capacity(2);
        rows.push((RowKey::Workspace(draws.workspace), draws.row));
        if let Some((client, mut row)) = draws.client {
            let series = Series { sequence: built_in::CLIENT_OFFSETS, year: None };
            row.set(series, draws.event.workspace);
            rows.push((RowKey::Client(draws.workspace, client), row));
        }
        for (key, row) in &rows {
            self.cache.insert(key.clone(), row.clone());
            self.staged_rows.insert(key.clone(), (through, row.clone()));
        }
        self.staged_through = Some(through);
        self.staged.push_back(Staged { through, rows });
        Ok(Ticket { through, reading: self.reading })
    }

    fn keep(&mut self, key: RowKey, row: Row) {
        self.cache.insert(key.clone(), row.clone());
        self.unflushed.insert(key, row);
    }

    fn remember(&mut self, key: RowKey, row: &Row) {
        if !self.cache.contains_key(&key) {
            self.cache.insert(key, row.clone());
        }
    }

    /// A copy of a row: from memory, or as it was read. The cache is left as it is: making
    /// room for one row of a transaction must not evict the other, which was in memory when
    /// the caller asked.
    fn look_up(&mut self, key: &RowKey, read: &RowsRead) -> Result<Row, BeginError> {
        let in_memory = match self.cache.get(key) {
            Some(row) => Some(row.clone()),
            None => self.find_beside_cache(key).cloned(),
        };
        if let Some(row) = in_memory {
            self.counters.cache_hits = self.counters.cache_hits.saturating_add(1);
            return Ok(row);
        }
        self.counters.cache_misses = self.counters.cache_misses.saturating_add(1);
        read.get(key, self.stamp()).ok_or_else(|| BeginError::NotRead { key: key.clone() })
    }

    /// The latest of what is staged, or what waits for a checkpoint.
    fn find_beside_cache(&self, key: &RowKey) -> Option<&Row> {
        let staged = self.staged_rows.get(key).map(|(_, row)| row);
        let is_forgotten = planted::is(Bug::UnflushedForgotten);
        staged.or_else(|| self.unflushed.get(key).filter(|_| !is_forgotten))
    }
}

/// The offset behind the last one; `None` when the log is full.
fn next_after(last: Option<PartitionOffset>) -> Option<PartitionOffset> {
    last.map_or(Some(PartitionOffset::FIRST), PartitionOffset::next)
}
