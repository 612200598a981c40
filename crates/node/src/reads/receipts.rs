//! Receipts, rebuilt from the events of their commands.

use seriatim_codec::{Table as RowTable, idempotency_key};
use seriatim_core::{Committed, RECEIPT_VERSION, RowId, receipt};
use seriatim_planted::{self as planted, Bug};
use seriatim_types::limits::EVENTS_PER_COMMAND_MAX;
use seriatim_types::{
    ClientId, Event, Hash, Key, KeyRow, Number, PartitionOffset, Receipt, Time, WorkspaceId,
};

use super::{ProofFailed, ReadFailed, Reader};

impl Reader<'_> {
    /// The receipt of the command that a client sent with a key, unless the key's retention is
    /// over.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn receipt(
        &self,
        workspace: WorkspaceId,
        client: &ClientId,
        key: Key,
        now: Time,
    ) -> Result<Option<Receipt>, ReadFailed> {
        let key = idempotency_key(self.prefix, workspace, client, key);
        let row: Option<KeyRow> = self.read(RowId { table: RowTable::Keys, key })?;
        let Some((row, definitions)) = row.zip(self.definitions()?) else { return Ok(None) };
        let is_over = definitions.app.retention.is_over(row.time, self.latest(now));
        if is_over { Ok(None) } else { self.receipt_of(row.first, row.count).map(Some) }
    }

    /// The receipt of the command that made these events.
    ///
    /// # Errors
    ///
    /// When they could not be read, or are not all events of one command.
    pub fn receipt_of(&self, first: PartitionOffset, count: u32) -> Result<Receipt, ReadFailed> {
        let not_one = || self.failed(ReadFailed::NotOneCommand { first, count });
        if count > EVENTS_PER_COMMAND_MAX {
            return Err(not_one());
        }
        let mut rows = Vec::new();
        let mut next = Some(first);
        for _ in 0..count {
            let offset = next.ok_or_else(not_one)?;
            rows.push(self.event_row(offset));
            next = offset.next();
        }
        let events = self.follow(rows)?.into_iter().map(|(row, bytes)| self.decode(row, &bytes));
        let events: Vec<Event> = events.collect::<Result<_, _>>()?;
        let receipt = receipt(&events).ok_or_else(not_one)?;
        if receipt.version > RECEIPT_VERSION {
            return Err(self.failed(ReadFailed::Newer { version: receipt.version }));
        }
        Ok(receipt)
    }

    /// The receipt of a command that is repeated, as it was the first time: with the proof of its
    /// last event, if that is asked for.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn repeated(
        &self,
        first: PartitionOffset,
        count: u32,
        include_proof: bool,
    ) -> Result<Receipt, ReadFailed> {
        let mut receipt = self.receipt_of(first, count)?;
        if include_proof {
            let last = receipt.last_offset;
            let size = match planted::is(Bug::ProofOfToday) {
                true => self.last_offset(receipt.workspace)?,
                false => last.get(),
            };
            match self.inclusion(receipt.workspace, last, size) {
                Ok(proof) => receipt.proof = Some(Box::new(proof)),
                Err(ProofFailed::Nodes(failed)) => return Err(failed),
                Err(ProofFailed::OutOfRange { .. }) => {
                    return Err(self.failed(ReadFailed::NotOneCommand { first, count }));
                }
            }
        }
        Ok(receipt)
    }

    /// The place of an event in its workspace's log, and its leaf hash.
    ///
    /// # Errors
    ///
    /// When it could not be read, or is not there.
    pub fn committed_hash(&self, offset: PartitionOffset) -> Result<(Number, Hash), ReadFailed> {
        let row = self.event_row(offset);
        let bytes = self.existing(&row)?;
        let Committed { event, leaf, .. } = self.committed(row, bytes)?;
        Ok((event.offset, leaf))
    }
}
