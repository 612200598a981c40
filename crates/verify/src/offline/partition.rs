//! All rows of one partition beside what its events come to.
//!
//! ```text
//!  row of the partition ─┐
//!  checkpoint's head ────┤
//!  log ─► Walk ──────────┴─► Expected ─► Compared: each row, both ways ─► derived rows ─► the rest
//! ```
//!
//! Two things about a partition do not follow from its events, and are taken as they are stored
//! within bounds: how far time has come, and how far keys and entities whose time is over have been
//! removed. Workspaces that were declared and have no event are taken as they are, if they can be.

use std::collections::BTreeMap;

use bytes::Bytes;
use seriatim_codec::{
    CheckpointHead, KeyBytes, PartitionPrefix, Stored, Table as RowTable, event_key, head_key,
    partition_key,
};
use seriatim_types::{Epoch, Event, PartitionOffset, PartitionRef, PartitionRow, Time};

use super::Options;
use super::compared::Compared;
use super::log::{check_end, walk_log};
use super::rows::{Cursor, Join, Tables, tags};
use super::totals::{Progress, Step, Totals};
use crate::difference::{Difference, Error, Kind, Place};
use crate::expected::is_over;
use crate::rules::Rules;
use crate::walk::Walk;

/// A row that must be there, or that may.
pub(crate) struct Single {
    pub(crate) value: Bytes,
    pub(crate) is_required: bool,
}

/// Rows that follow from more than the partition's own events, by key.
pub(crate) type Singles = BTreeMap<KeyBytes, Single>;

/// A partition that is checked.
pub(crate) struct Partition<'a> {
    pub(crate) tables: Tables<'a>,
    pub(crate) prefix: PartitionPrefix,
    pub(crate) rules: Rules,
    pub(crate) options: &'a Options,
}

/// What a partition says of itself.
pub(crate) struct Said {
    pub(crate) row: Option<PartitionRow>,
    pub(crate) head: Option<CheckpointHead>,
}

impl Partition<'_> {
    /// Reads the log, and returns what its events come to. `visit` is shown the events.
    pub(crate) fn walk(
        &self,
        visit: &mut dyn FnMut(&Event) -> Result<(), Error>,
    ) -> Result<(Walk, Said, Totals), Error> {
        let said = self.said()?;
        let mut walk = Walk::new(self.rules.clone(), self.prefix, self.options.memory_bytes);
        let totals = walk_log(self.tables, self.prefix, &mut walk, visit)?;
        check_end(self.place(), &walk, said.row.as_ref())?;
        self.check_head(&said, &walk)?;
        Ok((walk, said, totals))
    }

    /// Compares everything that is stored with what the events come to.
    pub(crate) fn compare(
        &self,
        (walk, said): (Walk, Said),
        mut singles: Singles,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Totals, Error> {
        let last = walk.last();
        let covered = said.head.and_then(|head| head.through);
        let mut row = said.row.unwrap_or_default();
        self.check_times(&row, last.map(|(_, time)| time))?;
        let expected = walk.finish()?;
        let report = &mut |done, total| progress(Progress { step: Step::Rows, done, total });
        let mut compared = Compared::new(self, &row, report);
        expected.visit(covered, &mut compared)?;
        let (mut totals, named) = compared.finish()?;
        totals.newest = row.time;
        row.offset = last.map(|(offset, _)| offset);
        row.keys = totals.keys;
        row.names = named;
        row.unknown = seriatim_types::Unknown::default();
        // A row that says nothing was never written.
        if row != PartitionRow::default() {
            let single = Single { value: row.to_bytes(), is_required: true };
            singles.insert(partition_key(self.prefix), single);
        }
        if let Some(head) = said.head {
            let head = CheckpointHead { epoch: Epoch(0), ..head };
            let single = Single { value: head.encode().into(), is_required: true };
            singles.insert(head_key(self.prefix).into(), single);
        }
        for (table, first, last) in SINGLES {
            totals.add(self.compare_singles(table, (first, last), &singles)?);
        }
        Ok(totals)
    }

    /// Rows that are few enough to be held in memory.
    fn compare_singles(
        &self,
        table: RowTable,
        (first, last): (u8, u8),
        singles: &Singles,
    ) -> Result<Totals, Error> {
        let range = tags(self.prefix, first, last);
        let mut join = self.join(table, first, last);
        for (key, single) in singles.iter().filter(|(key, _)| range.contains(key)) {
            if single.is_required {
                join.expect(key, &single.value)?;
            } else {
                join.allow(key, &single.value)?;
            }
        }
        join.end()?;
        Ok(Totals { rows: join.rows, bytes: join.bytes, ..Totals::default() })
    }

    pub(crate) fn join(&self, table: RowTable, first: u8, last: u8) -> Join<'_> {
        let cursor = Cursor::new(self.tables, table, tags(self.prefix, first, last));
        Join::new(cursor, self.place())
    }

    pub(crate) fn place(&self) -> Place {
        let PartitionPrefix { app, partition, .. } = self.prefix;
        Place::of(PartitionRef { app, partition })
    }

    fn said(&self) -> Result<Said, Error> {
        let key = partition_key(self.prefix);
        let row = self.tables.get(RowTable::Partition, &key)?;
        let row = row.map(|bytes| PartitionRow::from_bytes(&bytes)).transpose();
        let row = row.map_err(|error| self.unreadable(RowTable::Partition, &key, &error))?;
        let key = head_key(self.prefix);
        let head = self.tables.get(RowTable::Numbers, &key)?;
        let head = head.map(|bytes| CheckpointHead::decode(&bytes)).transpose();
        let head = head.map_err(|error| self.unreadable(RowTable::Numbers, &key, &error))?;
        Ok(Said { row, head })
    }

    pub(crate) fn unreadable(
        &self,
        table: RowTable,
        key: &[u8],
        error: &dyn std::error::Error,
    ) -> Error {
        let place = self.place().row(table, key);
        Difference::error(Kind::RowUnreadable, place, "a row that can be read", error)
    }

    /// A checkpoint covers no more than there is.
    fn check_head(&self, said: &Said, walk: &Walk) -> Result<(), Error> {
        let last = walk.last().map(|(offset, _)| offset);
        let through = said.head.and_then(|head| head.through);
        if through <= last {
            return Ok(());
        }
        let show = |offset: Option<PartitionOffset>| offset.map_or(0, PartitionOffset::get);
        let place = self.place().row(RowTable::Numbers, &head_key(self.prefix));
        let expected = format!("events up to {} at most", show(last));
        Err(Difference::error(Kind::CheckpointAhead, place, expected, show(through)))
    }

    /// What does not follow from the events lies within its bounds.
    fn check_times(&self, row: &PartitionRow, last: Option<Time>) -> Result<(), Error> {
        let place = || self.place().row(RowTable::Partition, &partition_key(self.prefix));
        if row.time < last {
            let show = |time: Option<Time>| time.map_or("none".to_owned(), |it| it.0.to_string());
            let expected = format!("{} or later", show(last));
            return Err(Difference::error(Kind::Time, place(), expected, show(row.time)));
        }
        let Some(through) = row.keys_through else { return Ok(()) };
        let event = self.tables.get(RowTable::Log, &event_key(self.prefix, through))?;
        let event = event.and_then(|bytes| Event::from_bytes(&bytes).ok());
        let now = row.time.unwrap_or(Time(0));
        let is_swept = event.is_some_and(|it| is_over(self.rules.retention, it.time, now));
        if is_swept {
            return Ok(());
        }
        let expected = "that keys were removed up to an event whose retention is over";
        Err(Difference::error(Kind::Time, place(), expected, format!("event {through}")))
    }
}

/// Where such rows are: table, first and last tag.
const SINGLES: [(RowTable, u8, u8); 3] = [
    (RowTable::Numbers, 0x01, 0x01),
    (RowTable::Partition, 0x0c, 0x0d),
    (RowTable::Partition, 0x10, 0x13),
];
