//! What the system partition holds: apps with their definitions, and messages on their way.

use seriatim_codec::{
    OutboxPointer, Table as RowTable, apps_prefix, decode_outbox_key, outbox_prefix,
};
use seriatim_core::{Outgoing, RowId};
use seriatim_storage::{KeyRange, Row, Scan};
use seriatim_types::{Change, Definitions, Delivery, Event, Message, PartitionRef};

use super::{ReadFailed, Reader};
use crate::host::SYSTEM;

impl Reader<'_> {
    /// All apps with their definitions, by name.
    ///
    /// # Errors
    ///
    /// When they cannot be read.
    pub fn apps(&self) -> Result<Vec<Definitions>, ReadFailed> {
        let rows = self.rows_of(&apps_prefix(self.prefix))?;
        rows.into_iter().map(|row| self.decode(row_of(&row), &row.value)).collect()
    }

    /// The messages to a partition that are in the outbox, in their order.
    pub(crate) fn outbox(&self, target: PartitionRef) -> Result<Vec<Outgoing>, ReadFailed> {
        let rows = self.rows_of(&outbox_prefix(self.prefix, target))?;
        rows.iter().map(|row| self.outgoing(target, row)).collect()
    }

    fn outgoing(&self, target: PartitionRef, row: &Row) -> Result<Outgoing, ReadFailed> {
        let unreadable = |source| self.unreadable(row_of(row), source);
        let (_, number) = decode_outbox_key(&row.key).map_err(unreadable)?;
        let pointer = OutboxPointer::decode(&row.value).map_err(unreadable)?;
        let event = self.event_row(pointer.event);
        let bytes = self.existing(&event)?;
        let Event { offset, changes, .. } = self.decode(event.clone(), &bytes)?;
        let index = usize::try_from(pointer.change).unwrap_or(usize::MAX);
        let Some(Change::Define(definition)) = changes.into_iter().nth(index) else {
            return Err(self.missing(event));
        };
        let message = Message::Definition { version: offset.get(), definition };
        Ok(Outgoing { target, delivery: Delivery { source: SYSTEM, number, message } })
    }

    fn rows_of(&self, prefix: &[u8]) -> Result<Vec<Row>, ReadFailed> {
        self.scan(&Scan::new(self.handle(RowTable::Partition), KeyRange::prefix(prefix)))
    }
}

fn row_of(row: &Row) -> RowId {
    RowId { table: RowTable::Partition, key: row.key.clone().into() }
}
