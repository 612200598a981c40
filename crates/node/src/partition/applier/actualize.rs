//! Bringing numbers up to date: the log is read from the checkpoint on, in bounded parts.

use std::ops::ControlFlow;

use bytes::Bytes;
use seriatim_codec::{
    CheckpointHead, PartitionPrefix, Stored, Table as RowTable, decode_row, event_key,
    events_prefix, head_key, position_key,
};
use seriatim_core::Machine;
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::{Progress, Row, RowKey, RowsRead, Series};
use seriatim_storage::{KeyRange, ReadError, Scan, ScanError};
use seriatim_types::{Event, PartitionOffset, Position, PositionRow, Time};

use super::commit::Wake;
use super::{Applier, Batch, PAUSE, Phase};
use crate::metrics::{BatchLookups, Cache};
use crate::partition::has_passed;
use crate::reply::Reason;
use crate::tables::Tables;

/// How far the log was read.
#[derive(Default)]
pub(super) struct Reading {
    machine: Option<Machine>,
    /// How far a replicated log was applied.
    position: Option<Position>,
    /// The last event that was taken in, or that the checkpoint covers.
    through: Option<PartitionOffset>,
    progress: Progress,
}

impl Reading {
    pub(super) fn progress(&self) -> Progress {
        self.progress
    }
}

impl<R> Applier<R> {
    /// Reads the next part of the log. With the last one, the partition serves.
    pub(in crate::partition) fn actualize(&mut self, now: Time) -> Batch<R> {
        // What made a commit fail lasts a while, such as a full disk.
        let is_paused = self
            .failed
            .as_ref()
            .is_some_and(|(at, _)| !has_passed(*at, now, PAUSE) || planted::is(Bug::PauseForEver));
        if is_paused {
            return Batch::idle();
        }
        match self.read_part() {
            Ok(false) => Batch { has_more: true, ..Batch::idle() },
            Ok(true) => self.serve(now),
            Err(reason) => self.fault(reason),
        }
    }

    /// Returns whether that was the last part.
    fn read_part(&mut self) -> Result<bool, Reason> {
        let (prefix, settings, hash_seed) = (self.prefix, self.settings, self.hash_seed);
        let Phase::Actualizing(reading) = &mut self.phase else {
            unreachable!("only a partition that actualizes reads its log")
        };
        let tables = &self.tables;
        if reading.machine.is_none() {
            **reading = open(tables, prefix, settings.sequencer(hash_seed))?;
            return Ok(false);
        }
        let machine = reading.machine.as_mut().expect("it was just opened");
        let events = read_events(tables, prefix, reading.through, settings.actualize_events)?;
        let is_last = events.len() < settings.actualize_events;
        let mut keys = Vec::new();
        for (event, _) in &events {
            keys.extend(machine.numbers_of(event).row_keys());
        }
        let users = (events.len(), &mut BatchLookups::default());
        let read = read_numbers(tables, prefix, machine, keys, users)?;
        for (event, bytes) in &events {
            let nodes = machine.observe(event, bytes, &read).map_err(|error| unusable(&error))?;
            self.nodes.extend(nodes);
            reading.through = Some(event.partition_offset);
            reading.progress.done = reading.progress.done.saturating_add(1);
        }
        if is_last {
            machine.serve().map_err(|fault| unusable(&fault))?;
        }
        Ok(is_last)
    }

    /// The whole log was read.
    fn serve(&mut self, now: Time) -> Batch<R> {
        let Phase::Actualizing(reading) = &mut self.phase else {
            unreachable!("only a partition that actualizes begins to serve")
        };
        let machine = reading.machine.take().expect("the log was read");
        self.position = reading.position;
        self.phase = Phase::Serving(Box::new(machine));
        let checkpointed = self.commit_checkpoint(now);
        if matches!(self.phase, Phase::Stopped(_)) {
            return checkpointed;
        }
        // What was found may not be on the disk yet: the process may have died before its sync.
        let mut batch = self.fly(Vec::new(), Wake::default());
        batch.flight.iter_mut().for_each(|flight| flight.begins = true);
        batch
    }
}

/// What is stored of a partition, before its log is read.
fn open(
    tables: &Tables,
    prefix: PartitionPrefix,
    settings: seriatim_sequencer::Settings,
) -> Result<Reading, Reason> {
    let row = Machine::partition_row_id(prefix);
    let definitions = Machine::definitions_row_id(prefix);
    let head = head_key(prefix);
    let position = position_key(prefix);
    let keys = [
        tables.place(&row),
        tables.place(&definitions),
        (tables.handle(RowTable::Numbers), head.as_slice()),
        (tables.handle(RowTable::Partition), &position),
    ];
    let stored = tables.store.get_many(&keys).map_err(|error| failed(&error))?;
    let [row, definitions, head, position] =
        <[Option<Bytes>; 4]>::try_from(stored).expect("four were asked");
    let position = position.map(|bytes| PositionRow::from_bytes(&bytes)).transpose();
    let position = position.map_err(|error| unusable(&error))?.map(|row| row.position);
    let row = row.map(|bytes| Stored::from_bytes(&bytes)).transpose();
    let definitions = definitions.map(|bytes| Stored::from_bytes(&bytes)).transpose();
    let head = head.map(|bytes| CheckpointHead::decode(&bytes)).transpose();
    let row = row.map_err(|error| unusable(&error))?;
    let definitions = definitions.map_err(|error| unusable(&error))?;
    let through = head.map_err(|error| unusable(&error))?.and_then(|head| head.through);
    let machine = Machine::open(prefix, row, definitions, settings);
    let mut machine = machine.map_err(|error| unusable(&error))?;
    let count = |offset: Option<PartitionOffset>| offset.map_or(0, PartitionOffset::get);
    let total = count(machine.row().offset).saturating_sub(count(through));
    let resumed = machine.sequencer_mut().resume(through, total);
    resumed.expect("a new sequencer has read nothing");
    let progress = Progress { done: 0, total };
    Ok(Reading { machine: Some(machine), position, through, progress })
}

fn read_events(
    tables: &Tables,
    prefix: PartitionPrefix,
    through: Option<PartitionOffset>,
    limit: usize,
) -> Result<Vec<(Event, Bytes)>, Reason> {
    let next = match through {
        None => Some(PartitionOffset::FIRST),
        Some(through) => through.next(),
    };
    let Some(next) = next else { return Ok(Vec::new()) };
    let log = KeyRange::prefix(&events_prefix(prefix));
    let from = event_key(prefix, next);
    let range = KeyRange::new(std::ops::Bound::Included(&from), log.end());
    let scan = Scan::new(tables.handle(RowTable::Log), range).limit(limit);
    let mut events = Vec::new();
    let mut damaged = None;
    let scanned = tables.store.scan(&scan, &mut |row| match Event::from_bytes(&row.value) {
        Ok(event) => {
            events.push((event, row.value));
            ControlFlow::Continue(())
        }
        Err(error) => {
            damaged = Some(unusable(&error));
            ControlFlow::Break(())
        }
    });
    match (scanned, damaged) {
        (_, Some(reason)) => Err(reason),
        (Ok(_), None) => Ok(events),
        (Err(ScanError::Read(error)), None) => Err(failed(&error)),
        (Err(ScanError::Cancelled { .. }), None) => unreachable!("nobody has this scan's token"),
    }
}

/// Rows of numbers: those in memory and those that are stored. The ones in memory are taken along
/// when room may have to be made, because that could drop one before its turn. Each of the entries
/// or events that use them may add two rows, also one whose workspace has no id yet.
pub(super) fn read_numbers(
    tables: &Tables,
    prefix: PartitionPrefix,
    machine: &Machine,
    keys: impl IntoIterator<Item = RowKey>,
    (users, lookups): (usize, &mut BatchLookups),
) -> Result<RowsRead, Reason> {
    let sequencer = machine.sequencer();
    let stamp = sequencer.stamp();
    let is_room_made = sequencer.must_make_room_for(users.saturating_mul(2));
    let is_wanted = |key: &RowKey| is_room_made || !sequencer.holds(key);
    let mut used = 0_usize;
    let keys = keys.into_iter().inspect(|_| used = used.saturating_add(1));
    let mut keys: Vec<RowKey> = keys.filter(is_wanted).collect();
    keys.sort_unstable();
    keys.dedup();
    let (held, missing): (Vec<RowKey>, Vec<RowKey>) =
        keys.into_iter().partition(|key| sequencer.holds(key));
    lookups.count(Cache::Numbers, used.saturating_sub(missing.len()), missing.len());
    let stored: Vec<Vec<u8>> = missing.iter().map(|key| number_key(prefix, key)).collect();
    let table = tables.handle(RowTable::Numbers);
    let asked: Vec<_> = stored.iter().map(|key| (table, key.as_slice())).collect();
    let values = tables.store.get_many(&asked).map_err(|error| failed(&error))?;
    let mut rows = Vec::with_capacity(missing.len());
    for (key, value) in missing.into_iter().zip(values) {
        let row = value.map(|bytes| decode(&bytes)).transpose()?;
        rows.push((key, row));
    }
    if is_room_made {
        let copy = |key: RowKey| {
            let row = sequencer.row(&key).cloned();
            (key, row)
        };
        rows.extend(held.into_iter().map(copy));
    }
    Ok(RowsRead::new(stamp, rows))
}

fn decode(bytes: &[u8]) -> Result<Row, Reason> {
    let (series, frontier) = decode_row(bytes).map_err(|error| unusable(&error))?;
    let series = series.into_iter().map(|(sequence, year, last)| (Series { sequence, year }, last));
    Ok(Row::new(series).with_frontier(frontier))
}

pub(super) fn number_key(prefix: PartitionPrefix, key: &RowKey) -> Vec<u8> {
    match key {
        RowKey::Workspace(workspace) => seriatim_codec::workspace_key(prefix, *workspace),
        RowKey::Client(workspace, client) => seriatim_codec::client_key(prefix, *workspace, client),
    }
}

pub(crate) fn failed(error: &ReadError) -> Reason {
    match error {
        ReadError::Poisoned(poisoned) => Reason::Store { what: causes(poisoned) },
        ReadError::Failed { .. } => Reason::Unreadable { what: error.to_string() },
    }
}

pub(crate) fn unusable(error: &dyn std::error::Error) -> Reason {
    Reason::Unreadable { what: causes(error) }
}

/// An error with all that it comes from.
pub fn causes(error: &dyn std::error::Error) -> String {
    let mut what = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        what = format!("{what}: {cause}");
        source = cause.source();
    }
    what
}
