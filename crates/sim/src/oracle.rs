//! What should come of every entry, by the model: said once more, plainly, and compared.
//!
//! ```text
//!  settled: all that is durable ── line: committed, not known to be durable ── ahead: all of it
//! ```
//!
//! A commit that nobody waits for any more is a *maybe*: it was on its way when the process ended, or
//! the partition could not see what came of it. What is stored says which came true when somebody
//! reads it again: the first ones, all of each commit, or it is wrong. A loss of power may take what
//! a killed process has left behind, until it is synced by the next one.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use seriatim_codec::{
    CheckpointHead, PartitionPrefix, Stored as _, Table, head_key, partition_key,
};
use seriatim_core::RowId;
use seriatim_node::parts::prefix_of;
use seriatim_testkit::core::Model;
use seriatim_types::{
    Command, Event, Key, Origin, PartitionOffset, PartitionRef, PartitionRow, Time,
};

use crate::disk::Disk;
use crate::server::{Batch, Seen};

/// All partitions, as they should be.
#[derive(Default)]
pub(crate) struct Oracle {
    partitions: BTreeMap<PartitionRef, Tracked>,
}

struct Tracked {
    settled: Model,
    ahead: Model,
    /// The partition as it is behind each commit, in their order.
    line: VecDeque<Commit>,
    /// Commands that were answered as not written, and were found in what is stored.
    denied_and_stored: Vec<Key>,
}

struct Commit {
    behind: Model,
    /// Whether it is a maybe.
    is_maybe: bool,
    /// How many commands had arrived by then, of a maybe.
    arrived: u64,
    /// Commands in it that were answered as not written.
    denied: Vec<Key>,
}

impl Commit {
    fn new(behind: Model, is_maybe: bool) -> Self {
        Self { behind, is_maybe, arrived: 0, denied: Vec::new() }
    }
}

/// The rows of a partition that are no caches of the log.
type Rows = BTreeMap<RowId, Bytes>;

impl Oracle {
    /// Takes note of what was seen.
    ///
    /// # Errors
    ///
    /// Where the real code has come to something else.
    pub(crate) fn see(&mut self, seen: &Seen, disk: &Disk) -> Result<(), String> {
        match seen {
            Seen::Flew { partition, batch } => {
                let tracked = self.tracked(*partition);
                compare(&mut tracked.ahead, *partition, batch)?;
                let behind = tracked.ahead.clone();
                tracked.line.push_back(Commit::new(behind, false));
            }
            Seen::Decided { partition, batch } => {
                let tracked = self.tracked(*partition);
                compare(&mut tracked.ahead, *partition, batch)?;
                if !tracked.line.is_empty() {
                    let (partition, count) = (show(*partition), tracked.line.len());
                    return Err(format!(
                        "partition {partition} answers at once, and {count} commits that it has \
                         decided on are not durable"
                    ));
                }
            }
            Seen::Dropped { partition, batch, is_maybe, arrived } => {
                let tracked = self.tracked(*partition);
                let mut tried = tracked.ahead.clone();
                compare(&mut tried, *partition, batch)?;
                if *is_maybe {
                    let commit = Commit { arrived: *arrived, ..Commit::new(tried, true) };
                    tracked.line.push_back(commit);
                } else {
                    tracked.read_again(*partition, &rows_of(disk, *partition))?;
                }
            }
            Seen::Restarted { partition } => {
                let rows = rows_of(disk, *partition);
                self.tracked(*partition).read_again(*partition, &rows)?;
            }
            Seen::Unanswered { .. } => {}
            Seen::Landed { partition } => {
                let tracked = self.tracked(*partition);
                // What was committed before it is durable too.
                let flight = tracked.line.iter().position(|commit| !commit.is_maybe);
                let flight = flight.ok_or("a flight lands that never flew")?;
                let landed = tracked.line.drain(..=flight).next_back();
                tracked.settled = landed.expect("it was just found").behind;
            }
        }
        Ok(())
    }

    /// The process has ended: what is stored says which maybes came true. What is left is durable
    /// once the next one has begun.
    ///
    /// # Errors
    ///
    /// When it is none of what it may be.
    pub(crate) fn reopen(&mut self, disk: &Disk) -> Result<(), String> {
        for (partition, tracked) in &mut self.partitions {
            tracked.line.iter_mut().for_each(|commit| commit.is_maybe = true);
            tracked.read_again(*partition, &rows_of(disk, *partition))?;
            tracked.line.clear();
            tracked.settled = tracked.ahead.clone();
        }
        Ok(())
    }

    /// A command was answered as not written. If this attempt is in the last commit, and that is a maybe, it
    /// had better not come true.
    pub(crate) fn deny(&mut self, partition: PartitionRef, command: &Command, arrived: u64) {
        let tracked = self.tracked(partition);
        let before = tracked.ahead.log().len();
        let is_its = |commit: &&mut Commit| commit.is_maybe && arrived <= commit.arrived;
        let Some(last) = tracked.line.back_mut().filter(is_its) else { return };
        let mut tried = last.behind.log().iter().skip(before);
        let is_its = |origin: &Origin| {
            origin.key == command.key && origin.fingerprint == command.fingerprint
        };
        if tried.any(|event| event.origin.as_ref().is_some_and(is_its)) {
            last.denied.push(command.key);
        }
    }

    /// Commands that were answered as not written, and are stored.
    pub(crate) fn denied_and_stored(&self) -> impl Iterator<Item = &Key> {
        self.partitions.values().flat_map(|tracked| &tracked.denied_and_stored)
    }

    /// What is stored now, of a server that has nothing to do, is what it should be.
    ///
    /// # Errors
    ///
    /// What is different.
    pub(crate) fn check_stored(&self, disk: &Disk) -> Result<(), String> {
        for (partition, tracked) in &self.partitions {
            let rows = rows_of(disk, *partition);
            if let Some(why) = difference(&tracked.settled, *partition, &rows) {
                return Err(format!("partition {}: {why}", show(*partition)));
            }
        }
        Ok(())
    }

    /// A partition with everything that was applied, durable or not.
    pub(crate) fn ahead(&mut self, partition: PartitionRef) -> &Model {
        &self.tracked(partition).ahead
    }

    /// The log of a partition, durable or not.
    pub(crate) fn log_ahead(&self, partition: PartitionRef) -> &[Event] {
        self.partitions.get(&partition).map_or(&[], |tracked| tracked.ahead.log())
    }

    /// The events that no checkpoint on the disk covers.
    pub(crate) fn behind_checkpoint(&self, disk: &Disk, partition: PartitionRef) -> &[Event] {
        let head = disk.row(Table::Numbers.name(), &head_key(prefix_of(partition)));
        let head = head.and_then(|bytes| CheckpointHead::decode(&bytes).ok());
        let covered = head.and_then(|head| head.through).map_or(0, PartitionOffset::get);
        let covered = usize::try_from(covered).unwrap_or(usize::MAX);
        self.log_ahead(partition).get(covered..).unwrap_or_default()
    }

    /// What is known to be durable.
    pub(crate) fn settled(&self) -> impl Iterator<Item = (PartitionRef, &Model)> {
        self.partitions.iter().map(|(name, tracked)| (*name, &tracked.settled))
    }

    fn tracked(&mut self, partition: PartitionRef) -> &mut Tracked {
        self.partitions.entry(partition).or_insert_with(|| Tracked {
            settled: Model::new(partition),
            ahead: Model::new(partition),
            line: VecDeque::new(),
            denied_and_stored: Vec::new(),
        })
    }
}

impl Tracked {
    /// Somebody reads what is stored, and goes on from there: maybes that did not come true are gone.
    fn read_again(&mut self, partition: PartitionRef, rows: &Rows) -> Result<(), String> {
        let mut found = loop {
            let last = self.line.back();
            let candidate = last.map_or(&self.settled, |commit| &commit.behind);
            let Some(why) = difference(candidate, partition, rows) else { break candidate.clone() };
            if last.is_none_or(|commit| !commit.is_maybe) {
                let partition = show(partition);
                return Err(format!("partition {partition} is none of what it may be: {why}"));
            }
            self.line.pop_back();
        };
        let denied = self.line.iter_mut().flat_map(|commit| std::mem::take(&mut commit.denied));
        self.denied_and_stored.extend(denied);
        found.set_time(stored_time(rows, partition));
        self.ahead = found;
        Ok(())
    }
}

/// Does the entries once more.
fn compare(model: &mut Model, partition: PartitionRef, batch: &Batch) -> Result<(), String> {
    for (entry, applied) in batch {
        let expected = model.apply(entry);
        if expected != *applied {
            return Err(format!(
                "partition {}: {entry:?} should come to {expected:?}, and came to {applied:?}",
                show(partition)
            ));
        }
    }
    Ok(())
}

fn rows_of(disk: &Disk, partition: PartitionRef) -> Rows {
    let prefix: [u8; PartitionPrefix::BYTES] = prefix_of(partition).encode();
    let mut rows = Rows::new();
    for table in Table::ALL.into_iter().filter(|it| !matches!(it, Table::Numbers | Table::Tree)) {
        disk.scan(table.name(), |key, value| {
            if key.starts_with(&prefix) {
                let key = Bytes::copy_from_slice(key);
                rows.insert(RowId { table, key: key.into() }, value.clone());
            }
        });
    }
    rows
}

/// The first difference, apart from the time: entries that were refused leave none.
fn difference(model: &Model, partition: PartitionRef, rows: &Rows) -> Option<String> {
    let own = own_row(partition);
    let mut expected = model.rows();
    let (row, stored) = (expected.remove(&own), rows.get(&own));
    let decode = |bytes: &Bytes| PartitionRow::from_bytes(bytes).ok();
    if let (Some(row), Some(stored)) = (row.as_ref().and_then(decode), stored.and_then(decode)) {
        let later = stored.time > row.time;
        if later || (PartitionRow { time: row.time, ..stored.clone() }) != row {
            return Some(format!("it is {stored:?} and should be {row:?}"));
        }
    }
    for (id, value) in &expected {
        match rows.get(id) {
            None => return Some(format!("{id:?} is missing")),
            Some(found) if found != value => {
                return Some(format!("{id:?} is {found:?} and should be {value:?}"));
            }
            Some(_) => {}
        }
    }
    let extra = rows.keys().find(|id| **id != own && !expected.contains_key(id));
    extra.map(|id| format!("{id:?} should not be there"))
}

fn stored_time(rows: &Rows, partition: PartitionRef) -> Time {
    let row = rows.get(&own_row(partition)).and_then(|bytes| PartitionRow::from_bytes(bytes).ok());
    row.and_then(|row| row.time).unwrap_or(Time(0))
}

fn own_row(partition: PartitionRef) -> RowId {
    RowId { table: Table::Partition, key: partition_key(prefix_of(partition)) }
}

/// A partition, as people read it.
pub(crate) fn show(partition: PartitionRef) -> String {
    format!("{}.{}", partition.app.0, partition.partition.0)
}
