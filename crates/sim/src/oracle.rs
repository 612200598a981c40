//! What should come of every entry, by the model: said once more, plainly, and compared.
//!
//! ```text
//!  settled: all that is durable ── flights: committed, not known to be durable ── ahead: all of it
//! ```
//!
//! An entry whose commit was on its way when the process ended is a *maybe*. What is stored then
//! says how many of them there are: the first ones, all of each commit, or it is wrong.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use seriatim_codec::{PartitionPrefix, Stored as _, Table, partition_key};
use seriatim_core::RowId;
use seriatim_node::parts::prefix_of;
use seriatim_testkit::core::Model;
use seriatim_types::{PartitionRef, PartitionRow, Time};

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
    /// The partition as it is behind each commit.
    flights: VecDeque<Model>,
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
                tracked.flights.push_back(tracked.ahead.clone());
            }
            Seen::Dropped { partition, batch, is_maybe } => {
                let tracked = self.tracked(*partition);
                let mut tried = tracked.ahead.clone();
                compare(&mut tried, *partition, batch)?;
                if *is_maybe {
                    tracked.flights.push_back(tried);
                } else {
                    // It is read again from what is stored.
                    tracked.ahead.set_time(stored_time(&rows_of(disk, *partition), *partition));
                }
            }
            Seen::Restarted { partition } => {
                let time = stored_time(&rows_of(disk, *partition), *partition);
                self.tracked(*partition).ahead.set_time(time);
            }
            Seen::Landed { partition } => {
                let tracked = self.tracked(*partition);
                let flight = tracked.flights.pop_front();
                tracked.settled = flight.ok_or("a flight lands that never flew")?;
            }
        }
        Ok(())
    }

    /// The process has ended: what is stored says which maybes came true.
    ///
    /// # Errors
    ///
    /// When it is none of what it may be.
    pub(crate) fn reopen(&mut self, disk: &Disk) -> Result<(), String> {
        for (partition, tracked) in &mut self.partitions {
            let rows = rows_of(disk, *partition);
            let mut candidates = vec![tracked.settled.clone()];
            candidates.extend(tracked.flights.drain(..));
            let mut why = String::new();
            let mut found = None;
            while let Some(candidate) = candidates.pop() {
                match difference(&candidate, *partition, &rows) {
                    None => {
                        found = Some(candidate);
                        break;
                    }
                    Some(difference) => why = difference,
                }
            }
            let mut found = found.ok_or_else(|| {
                format!("partition {} is none of what it may be: {why}", show(*partition))
            })?;
            found.set_time(stored_time(&rows, *partition));
            tracked.settled = found.clone();
            tracked.ahead = found;
        }
        Ok(())
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

    /// What is known to be durable.
    pub(crate) fn settled(&self) -> impl Iterator<Item = (PartitionRef, &Model)> {
        self.partitions.iter().map(|(name, tracked)| (*name, &tracked.settled))
    }

    fn tracked(&mut self, partition: PartitionRef) -> &mut Tracked {
        self.partitions.entry(partition).or_insert_with(|| Tracked {
            settled: Model::new(partition),
            ahead: Model::new(partition),
            flights: VecDeque::new(),
        })
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
                rows.insert(RowId { table, key }, value.clone());
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
