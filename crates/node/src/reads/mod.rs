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
use seriatim_codec::{PartitionPrefix, Stored, Table as RowTable};
use seriatim_core::{RowId, Unreadable};
use seriatim_storage::{KeyRange, Row, Scan, ScanError, Schema, Table};
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

    fn get(&self, row: &RowId) -> Result<Option<Bytes>, ReadFailed> {
        Ok(self.view.snapshot.get(self.handle(row.table), &row.key)?)
    }

    /// The value of a row that must be there.
    fn existing(&self, row: &RowId) -> Result<Bytes, ReadFailed> {
        self.get(row)?.ok_or_else(|| ReadFailed::Missing { row: row.clone().into() })
    }

    fn read<T: Stored>(&self, row: RowId) -> Result<Option<T>, ReadFailed> {
        self.get(&row)?.map(|bytes| decode(row, &bytes)).transpose()
    }

    /// The values of rows that must be there, in their order.
    fn follow(&self, rows: Vec<RowId>) -> Result<Vec<(RowId, Bytes)>, ReadFailed> {
        let keys: Vec<_> = rows.iter().map(|row| (self.handle(row.table), &*row.key)).collect();
        let values = self.view.snapshot.get_many(&keys)?;
        let found = rows.into_iter().zip(values).map(|(row, value)| match value {
            Some(value) => Ok((row, value)),
            None => Err(ReadFailed::Missing { row: row.into() }),
        });
        found.collect()
    }

    /// At most so many rows whose keys begin with `within`, from a row on.
    fn rows_from(&self, from: &RowId, within: &[u8], limit: usize) -> Result<Vec<Row>, ReadFailed> {
        let range = KeyRange::new(Bound::Included(&from.key), KeyRange::prefix(within).end());
        self.scan(&Scan::new(self.handle(from.table), range).limit(limit))
    }

    fn scan(&self, scan: &Scan) -> Result<Vec<Row>, ReadFailed> {
        let mut rows = Vec::new();
        self.visit(scan, &mut |row| {
            rows.push(row);
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    fn visit(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), ReadFailed> {
        match self.view.snapshot.scan(scan, visit) {
            Ok(_) => Ok(()),
            Err(ScanError::Read(error)) => Err(error.into()),
            Err(ScanError::Cancelled { .. }) => unreachable!("nobody has this scan's token"),
        }
    }

    fn handle(&self, table: RowTable) -> Table {
        self.schema.table(table.name()).expect("the schema of a node's store")
    }
}

fn decode<T: Stored>(row: RowId, bytes: &Bytes) -> Result<T, ReadFailed> {
    Ok(T::from_bytes(bytes).map_err(|source| Unreadable::new(row, source))?)
}
