//! One commit: entries in, rows out.

use std::sync::Arc;

use bytes::Bytes;
use seriatim_codec::{
    CheckpointHead, PartitionPrefix, Stored as _, Table as RowTable, encode_row, head_key,
    position_key, tree_node_key,
};
use seriatim_core::{
    Effects, Machine, Outcome, Outgoing, Refusal, RowChange, RowId, Rows, TreeNode, Write,
};
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::{Checkpoint, RowKey, RowsRead, Series, Ticket};
use seriatim_storage::{Batch as WriteBatch, CommitError, Outcome as CommitOutcome};
use seriatim_types::{
    Body, Entry, Epoch, PartitionRow, Position, PositionRow, Time, Unknown, WorkspaceId,
};

use super::actualize::{failed, number_key, read_numbers, unusable};
use super::{Applier, Batch, Phase, Waiting, causes};
use crate::absent_keys::Look;
use crate::metrics::{BatchLookups, Cache};
use crate::partition::{Flight, Replies, View, has_passed};
use crate::reply::{Busy, Reason, RequestError};
use crate::row_cache::RowCache;
use crate::tables::Tables;
use crate::writes::batch_of;

/// Room for so many writes is kept from one commit to the next: for the system, new memory of that
/// size is pages to be cleared. A full commit of commands with one event needs half of it; for more,
/// each of a thousand partitions would keep a mebibyte.
const KEPT_WRITES_MAX: usize = 2048;

/// What was applied and waits to be committed.
struct Applied {
    /// What each entry came to.
    outcomes: Vec<Result<Outcome, Refusal>>,
    writes: Vec<Write>,
    tickets: Vec<Ticket>,
    nodes: Vec<TreeNode>,
    wake: Wake,
    /// Whether the partition's own row has changed, apart from its time: a tick may find that keys
    /// are gone already, which writes nothing but how far was looked.
    is_moved: bool,
    /// The position of the last entry.
    position: Option<Position>,
}

/// Who is told once a commit is durable.
#[derive(Default)]
pub(super) struct Wake {
    touched: Vec<WorkspaceId>,
    messages: Vec<Outgoing>,
}

impl Applied {
    /// Nothing yet, with room for writes and what so many entries come to.
    fn new(writes: Vec<Write>, entries: usize) -> Self {
        let (outcomes, tickets) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        let (nodes, wake) = (Vec::new(), Wake::default());
        Self { outcomes, writes, tickets, nodes, wake, is_moved: false, position: None }
    }

    fn add(&mut self, effects: Effects) {
        let Effects { outcome, writes, events, nodes, messages, ticket } = effects;
        self.outcomes.push(outcome);
        self.writes.extend(writes);
        self.tickets.extend(ticket);
        self.nodes.extend(nodes);
        // All events of an entry are of one workspace.
        self.wake.touched.extend(events.first().map(|event| event.workspace));
        self.wake.messages.extend(messages);
    }
}

impl<R> Applier<R> {
    /// Applies what is in the backlog, up to one commit.
    pub(in crate::partition) fn commit_next(&mut self, now: Time) -> Batch<R> {
        self.pass_over();
        if self.entries.is_empty() {
            let is_due = self.is_checkpoint_due(now) && !self.is_idle();
            return if is_due { self.commit_checkpoint(now) } else { Batch::idle() };
        }
        match self.apply() {
            Ok(applied) => self.commit(now, applied),
            Err(reason) => self.fault(reason),
        }
    }

    /// Drops payloads that a replicated log gives again after a start.
    fn pass_over(&mut self) {
        let is_applied = |it: &Waiting<R>| it.position.is_some() && it.position <= self.position;
        let count = self.waiting.iter().take_while(|it| is_applied(it)).count();
        if count > 0 {
            self.entries.drain(..count);
            self.waiting.drain(..count);
        }
    }

    /// Applies entries one by one. Those that do not fit into one commit stay in the backlog.
    fn apply(&mut self) -> Result<Applied, Reason> {
        let Phase::Serving(machine) = &mut self.phase else {
            unreachable!("only a partition that serves applies entries")
        };
        let entries = self.entries.make_contiguous();
        // What is read follows from the definitions, so a delivery is the last of its commit.
        let together = Machine::fetched_together(entries);
        let entries = entries.get(..together).expect("a part of them");
        let mut lookups = BatchLookups::default();
        let cache = (&mut self.cache, &mut lookups);
        let fetched = fetch(&self.tables, cache, self.prefix, machine, entries);
        let (mut rows, numbers) = fetched?;
        self.counters.count_lookups(&lookups);
        let before = machine.row().clone();
        let mut applied = Applied::new(std::mem::take(&mut self.writes), entries.len());
        let mut bytes = 0_usize;
        for entry in entries {
            let effects = machine.apply(entry, &mut rows, &numbers);
            let effects = effects.map_err(|fault| unusable(&fault))?;
            bytes = bytes.saturating_add(size_of_writes(&effects.writes));
            if let Some(observer) = &mut self.observer {
                observer(entry, &effects);
            }
            applied.add(effects);
            if bytes >= self.settings.commit_bytes {
                break;
            }
        }
        let last = applied.outcomes.len().checked_sub(1).and_then(|last| self.waiting.get(last));
        applied.position = last.and_then(|it| it.position);
        applied.is_moved = PartitionRow { time: machine.row().time, ..before } != *machine.row();
        Ok(applied)
    }

    /// Writes what was applied, and with it the numbers that wait for a checkpoint.
    fn commit(&mut self, now: Time, applied: Applied) -> Batch<R> {
        let Applied { outcomes, mut writes, mut tickets, nodes, wake, is_moved, position } =
            applied;
        if writes.is_empty() && !is_moved && position.is_none() {
            self.writes = writes;
            let replies = self.replies(outcomes);
            // Refusals and repetitions change nothing, but wait for what they were decided on.
            return match planted::is(Bug::RefusalBeforeSync) {
                true => Batch { replies, has_more: !self.entries.is_empty(), ..Batch::idle() },
                false => self.fly(replies, wake),
            };
        }
        if !planted::is(Bug::PartitionRowLater) {
            writes.push(self.machine().partition_write());
        }
        writes.iter().for_each(|write| self.cache.write(write));
        let mut batch = batch_of(&self.tables, &mut writes);
        if writes.capacity() <= KEPT_WRITES_MAX {
            self.writes = writes;
        }
        if let Some(position) = position {
            let row = PositionRow { position, unknown: Unknown::default() };
            let table = self.tables.handle(RowTable::Partition);
            batch.put(table, position_key(self.prefix).to_vec(), row.to_bytes());
        }
        let checkpoint = self.take_checkpoint(now, &mut batch);
        let mut committed = self.tables.store.commit(batch);
        if planted::is(Bug::PartitionRowLater) && committed.is_ok() {
            let mut own = vec![self.machine().partition_write()];
            committed = self.tables.store.commit(batch_of(&self.tables, &mut own));
        }
        self.report_checkpoint(now, checkpoint, committed.is_ok());
        if let Err(error) = committed
            && !planted::is(Bug::CommitErrorSwallowed)
        {
            return self.not_committed(now, &error, outcomes.len());
        }
        if planted::is(Bug::FlushBackwards) {
            tickets.reverse();
        }
        for ticket in tickets {
            let flushed = self.machine().sequencer_mut().flush(ticket);
            flushed.expect("transactions are flushed in their order");
        }
        self.nodes.extend(nodes);
        self.position = position.or(self.position);
        let replies = self.replies(outcomes);
        self.fly(replies, wake)
    }

    /// The oldest entries are committed, and these are their outcomes.
    fn replies(&mut self, outcomes: Vec<Result<Outcome, Refusal>>) -> Replies<R> {
        let count = outcomes.len();
        self.counters.count_batch(self.entries.iter().take(count).map(|entry| &entry.body));
        self.entries.drain(..count);
        if planted::is(Bug::BacklogReversed) {
            self.entries.make_contiguous().reverse();
            self.waiting.make_contiguous().get_mut(count..).expect("the rest").reverse();
        }
        let waiting = self.waiting.drain(..count).zip(outcomes);
        let reply = |(it, outcome): (Waiting<R>, Result<Outcome, Refusal>)| {
            Some((it.handle?, outcome.map_err(RequestError::Refused)))
        };
        let mut replies = Vec::with_capacity(count);
        replies.extend(waiting.filter_map(reply));
        replies
    }

    /// A commit of the numbers alone: when idle, after reading the log, on shutdown.
    pub(super) fn commit_checkpoint(&mut self, now: Time) -> Batch<R> {
        let mut batch = WriteBatch::new();
        self.want_checkpoint();
        let checkpoint = self.take_checkpoint(now, &mut batch);
        let committed = self.tables.store.commit(batch);
        self.report_checkpoint(now, checkpoint, committed.is_ok());
        match committed {
            // Nobody waits for it, so it needs no sync: a lost one costs a longer reading of the log.
            Ok(()) => Batch::idle(),
            Err(error) => match error.outcome() {
                // The numbers wait for the next one.
                CommitOutcome::NotWritten => Batch::idle(),
                CommitOutcome::Unknown => self.fault(Reason::Store { what: causes(&error) }),
            },
        }
    }

    /// Adds the numbers that wait for a checkpoint to a batch, if it is time.
    fn take_checkpoint(&mut self, now: Time, batch: &mut WriteBatch) -> Option<Checkpoint> {
        if !self.is_checkpoint_due(now) {
            return None;
        }
        let checkpoint = self.machine().sequencer_mut().take_checkpoint()?;
        let (tables, prefix) = (&self.tables, self.prefix);
        let numbers = tables.handle(RowTable::Numbers);
        batch.reserve(checkpoint.rows.len().saturating_add(self.nodes.len()).saturating_add(1));
        let is_kept = |key: &RowKey| {
            !planted::is(Bug::CheckpointForgetsClients) || matches!(key, RowKey::Workspace(_))
        };
        for (key, row) in checkpoint.rows.iter().filter(|(key, _)| is_kept(key)) {
            let series = row.iter().map(|(Series { sequence, year }, last)| (sequence, year, last));
            batch.put(numbers, number_key(prefix, key), encode_row(series, row.frontier()));
        }
        let through = match checkpoint.through {
            Some(last) if planted::is(Bug::CheckpointOneTooFar) => last.next(),
            last => last,
        };
        let head = CheckpointHead { epoch: Epoch(0), through };
        if planted::is(Bug::CheckpointHeadFirst) {
            let mut alone = WriteBatch::new();
            alone.put(numbers, head_key(prefix), head.encode());
            tables.store.commit(alone).ok();
        }
        batch.put(numbers, head_key(prefix), head.encode());
        for TreeNode { workspace, node, hash } in &self.nodes {
            let key = tree_node_key(prefix, *workspace, node.level, node.index);
            let hash = if planted::is(Bug::TreeNodeEmpty) { [0; 32] } else { hash.0 };
            batch.put(tables.handle(RowTable::Tree), key, Bytes::copy_from_slice(&hash));
        }
        Some(checkpoint)
    }

    fn report_checkpoint(&mut self, now: Time, checkpoint: Option<Checkpoint>, is_written: bool) {
        let Some(checkpoint) = checkpoint else { return };
        if is_written {
            self.machine().sequencer_mut().written(checkpoint);
            if !planted::is(Bug::NodesKept) {
                self.nodes.clear();
            }
            self.checkpointed_at = now;
        } else {
            self.machine().sequencer_mut().not_written(checkpoint);
        }
    }

    pub(super) fn is_checkpoint_due(&self, now: Time) -> bool {
        let waiting = match &self.phase {
            Phase::Serving(machine) => machine.sequencer().counters().unflushed_rows,
            Phase::Actualizing(_) | Phase::Stopped(_) => 0,
        };
        // Nobody is turned away for rows that only wait for their time.
        let is_half_full =
            waiting >= self.settings.sequencer(self.hash_seed).unflushed_rows_max / 2;
        let delay = self.settings.checkpoint_delay;
        let is_time = has_passed(self.checkpointed_at, now, delay);
        is_half_full || is_time && !planted::is(Bug::CheckpointHardlyEver)
    }

    /// What was committed waits for the disk.
    pub(super) fn fly(&mut self, replies: Replies<R>, wake: Wake) -> Batch<R> {
        let row = self.machine().row();
        let (offset, time) = (row.offset, row.time);
        let snapshot = match self.tables.store.snapshot() {
            Ok(snapshot) => Arc::from(snapshot),
            Err(error) => {
                let what = causes(&error);
                let unknown = RequestError::Unknown { why: what.clone() };
                let unknown = |(handle, _)| (handle, Err(unknown.clone()));
                let replies = replies.into_iter().map(unknown).collect();
                return self.fault_after(Reason::Store { what }, replies);
            }
        };
        let Wake { mut touched, messages } = wake;
        touched.sort_unstable();
        touched.dedup();
        let view = View { snapshot, offset, time, damage: None };
        let flight = Some(Flight { replies, touched, messages, view, begins: false });
        Batch { flight, has_more: !self.entries.is_empty(), ..Batch::idle() }
    }

    /// A commit of so many entries did not happen, or may not have.
    fn not_committed(&mut self, now: Time, error: &CommitError, count: usize) -> Batch<R> {
        let why = causes(error);
        let reason = match error {
            CommitError::Condition(condition) => Reason::Violation { what: condition.to_string() },
            CommitError::Failed(_) => {
                let error = match planted::is(Bug::FailedIsNotWritten) {
                    true => RequestError::NotWritten { why: why.clone() },
                    false => RequestError::Unknown { why: why.clone() },
                };
                let replies = self.answer(count, &error);
                return self.fault_after(Reason::Store { what: why }, replies);
            }
            CommitError::Poisoned(_) => Reason::Store { what: why },
            // Nothing was written. A row that a condition is about is damaged, and stays so.
            CommitError::Unchecked(unread) => failed(unread),
            CommitError::TooLarge(_) if self.is_ordered() => Reason::Unready { what: why },
            CommitError::TooLarge(_) => {
                return self.start_over(now, RequestError::NotWritten { why });
            }
            CommitError::Full { free_bytes, reserve_bytes } => {
                let (free_bytes, reserve_bytes) = (*free_bytes, *reserve_bytes);
                let full = Busy::DiskFull { free_bytes, reserve_bytes };
                return self.start_over(now, RequestError::Busy(full));
            }
        };
        self.fault(reason)
    }

    /// The machine is ahead of what is stored, so it is dropped. What is queued gets the answer.
    fn start_over(&mut self, now: Time, error: RequestError) -> Batch<R> {
        let replies = self.restart(&error);
        self.failed = Some((now, error.clone()));
        Batch { replies, has_more: true, dropped: Some(error), ..Batch::idle() }
    }

    fn machine(&mut self) -> &mut Machine {
        match &mut self.phase {
            Phase::Serving(machine) => machine,
            Phase::Actualizing(_) | Phase::Stopped(_) => {
                unreachable!("only a partition that serves gets here")
            }
        }
    }
}

/// Everything that the entries will read.
fn fetch(
    tables: &Tables,
    (cache, lookups): (&mut RowCache, &mut BatchLookups),
    prefix: PartitionPrefix,
    machine: &Machine,
    entries: &[Entry],
) -> Result<(Rows, RowsRead), Reason> {
    let mut rows = machine.no_rows();
    let mut waiting: Vec<&Entry> = entries.iter().collect();
    while !waiting.is_empty() {
        // The workspace and the key of a command.
        let mut wanted = Vec::with_capacity(waiting.len().saturating_mul(2));
        // What a tick names is there as a rule.
        let mut unknown = Vec::new();
        waiting.retain(|entry| {
            let set = machine.read_set(entry, &rows);
            let list = if let Body::Tick(_) = entry.body { &mut unknown } else { &mut wanted };
            list.extend(set.rows);
            !set.is_complete
        });
        wanted.retain(|row| !rows.knows(row));
        unknown.retain(|row| !rows.knows(row));
        for row in wanted {
            if let Some(value) = cache.get(&row) {
                lookups.count(Cache::Workspaces, 1, 0);
                rows.fetched(row, Some(value));
            } else if is_absent_key(tables, cache, &row)? {
                lookups.count(Cache::AbsentKeys, 1, 0);
                rows.fetched(row, None);
            } else {
                if let Some(cache) = RowCache::of(row.table) {
                    lookups.count(cache, 0, 1);
                }
                unknown.push(row);
            }
        }
        let keys: Vec<_> = unknown.iter().map(|row| tables.place(row)).collect();
        let values = tables.store.get_many(&keys).map_err(|error| failed(&error))?;
        for (row, value) in unknown.into_iter().zip(values) {
            cache.read(&row, value.as_ref());
            rows.fetched(row, value);
        }
    }
    let numbers = entries.iter().flat_map(|entry| machine.number_rows(entry, &rows));
    let users = (entries.len(), lookups);
    let numbers = read_numbers(tables, prefix, machine, numbers, users)?;
    Ok((rows, numbers))
}

/// Whether a row is that of an idempotency key which is surely not stored.
fn is_absent_key(tables: &Tables, cache: &mut RowCache, row: &RowId) -> Result<bool, Reason> {
    let mut look = cache.keys.look(row);
    if let Look::Ask(range) = look {
        let first = tables.store.first_key(tables.handle(row.table), &range);
        cache.keys.found(row, first.map_err(|error| failed(&error))?.as_ref());
        look = cache.keys.look(row);
    }
    Ok(matches!(look, Look::Absent))
}

fn size_of_writes(writes: &[Write]) -> usize {
    let size = |write: &Write| match &write.change {
        RowChange::Put(value) | RowChange::Insert(value) => {
            value.len().saturating_add(write.row.key.len())
        }
        RowChange::Delete => write.row.key.len(),
    };
    writes.iter().map(size).fold(0, usize::saturating_add)
}
