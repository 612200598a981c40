//! Everything that can be asked of one partition, from what is durable.
//!
//! ```text
//!  log, records, entities, keys, workspaces      written with each commit: read as they are
//!  numbers, tree                                 written with checkpoints: they lag behind
//!      └ brought up to date from the log of the workspace, which is as of the same moment
//! ```
//!
//! **Invariant:** a reader sees its [`View`] and nothing else, so all its answers are of one
//! moment, and none passes the last durable commit.
//!
//! **Invariant:** whatever a reader fails on is [reported](crate::damage) to the partition before the
//! reader returns: every `ReadFailed` passes through `Reader::failed`. A read that the store fails is
//! tried a second time first, so that one transient error of the disk stops nothing.
//!
//! **Deliberately absent:** waiting. Whoever wants a later offset waits for a later view.

mod failed;
mod log;
mod numbers;
mod proofs;
mod receipts;
mod rows;
mod system;

use std::ops::{Bound, ControlFlow};

use bytes::Bytes;
use seriatim_codec::{DecodeError, PartitionPrefix, Stored, Table as RowTable};
use seriatim_core::{RowId, Unreadable};
use seriatim_storage::{KeyRange, ReadError, Row, Scan, ScanError, Schema, Table};
use seriatim_types::Time;

pub use failed::ReadFailed;
pub use numbers::{ClientState, SequenceState};
pub use proofs::{Consistency, Head, ProofFailed};
pub use rows::Workspace;

use crate::partition::View;

/// Reads one partition as of one view.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    view: &'a View,
    prefix: PartitionPrefix,
    schema: &'a Schema,
}

impl<'a> Reader<'a> {
    /// A reader of the partition whose keys begin with a prefix. The schema is that of the store
    /// that the view is of, and has all of a node's [tables](crate::schema).
    #[must_use]
    pub fn new(view: &'a View, prefix: PartitionPrefix, schema: &'a Schema) -> Self {
        Self { view, prefix, schema }
    }

    /// The time of the last entry, or a later one: what is over for the partition is over for
    /// readers too, whatever their clock shows.
    fn latest(&self, now: Time) -> Time {
        self.view.time.map_or(now, |time| time.max(now))
    }

    /// Reports why a read gives no answer.
    fn failed(&self, failed: ReadFailed) -> ReadFailed {
        if let Some(damage) = &self.view.damage {
            damage.report(&failed);
        }
        failed
    }

    fn unreadable(&self, row: RowId, source: DecodeError) -> ReadFailed {
        self.failed(ReadFailed::Unreadable(Unreadable::new(row, source)))
    }

    fn missing(&self, row: RowId) -> ReadFailed {
        self.failed(ReadFailed::Missing { row: row.into() })
    }

    /// Asks the store, and once more if it could not read something: a damaged row fails each time.
    fn ask<T>(&self, ask: impl Fn() -> Result<T, ReadError>) -> Result<T, ReadFailed> {
        let answer = match ask() {
            Err(ReadError::Failed { .. }) => ask(),
            first => first,
        };
        answer.map_err(|error| self.failed(ReadFailed::Store(error)))
    }

    fn get(&self, row: &RowId) -> Result<Option<Bytes>, ReadFailed> {
        self.ask(|| self.view.snapshot.get(self.handle(row.table), &row.key))
    }

    /// The value of a row that must be there.
    fn existing(&self, row: &RowId) -> Result<Bytes, ReadFailed> {
        self.get(row)?.ok_or_else(|| self.missing(row.clone()))
    }

    fn read<T: Stored>(&self, row: RowId) -> Result<Option<T>, ReadFailed> {
        self.get(&row)?.map(|bytes| self.decode(row, &bytes)).transpose()
    }

    /// The values of rows that must be there, in their order.
    fn follow(&self, rows: Vec<RowId>) -> Result<Vec<(RowId, Bytes)>, ReadFailed> {
        let keys: Vec<_> = rows.iter().map(|row| (self.handle(row.table), &*row.key)).collect();
        let values = self.ask(|| self.view.snapshot.get_many(&keys))?;
        let found = rows.into_iter().zip(values).map(|(row, value)| match value {
            Some(value) => Ok((row, value)),
            None => Err(self.missing(row)),
        });
        found.collect()
    }

    /// At most so many rows whose keys begin with `within`, from a row on.
    fn rows_from(&self, from: &RowId, within: &[u8], limit: usize) -> Result<Vec<Row>, ReadFailed> {
        let range = KeyRange::new(Bound::Included(&from.key), KeyRange::prefix(within).end());
        self.scan(&Scan::new(self.handle(from.table), range).limit(limit))
    }

    fn scan(&self, scan: &Scan) -> Result<Vec<Row>, ReadFailed> {
        self.scan_bytes(scan, usize::MAX)
    }

    /// The rows of a scan, up to the one with which their values come to so many bytes.
    fn scan_bytes(&self, scan: &Scan, bytes_max: usize) -> Result<Vec<Row>, ReadFailed> {
        self.ask(|| {
            let mut rows = Vec::new();
            let mut bytes = 0_usize;
            let scanned = self.view.snapshot.scan(scan, &mut |row| {
                bytes = bytes.saturating_add(row.value.len());
                rows.push(row);
                if bytes < bytes_max { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            match scanned {
                Ok(_) => Ok(rows),
                Err(ScanError::Read(error)) => Err(error),
                Err(ScanError::Cancelled { .. }) => unreachable!("nobody has this scan's token"),
            }
        })
    }

    fn decode<T: Stored>(&self, row: RowId, bytes: &Bytes) -> Result<T, ReadFailed> {
        T::from_bytes(bytes).map_err(|source| self.unreadable(row, source))
    }

    fn handle(&self, table: RowTable) -> Table {
        self.schema.table(table.name()).expect("the schema of a node's store")
    }
}
