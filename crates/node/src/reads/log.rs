//! The events of the partition, and those of a workspace.

use bytes::Bytes;
use seriatim_codec::{
    DecodeError, Problem, Table as RowTable, decode_number, decode_workspace_log_key, event_key,
    events_prefix, workspace_log_key, workspace_log_prefix,
};
use seriatim_core::{Committed, RowId, Unreadable};
use seriatim_merkle::leaf_hash;
use seriatim_storage::{KeyRange, Scan};
use seriatim_types::{Hash, Number, PartitionOffset, WorkspaceId};

use super::{ReadFailed, Reader, decode};

/// Bytes of events at which a page takes no more of them.
const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// Events that are read at a time.
const PART_EVENTS: usize = 64;

impl Reader<'_> {
    /// Events of the partition, from an offset on, without a hole. They begin with 1, and 0 means
    /// the same. Fewer than the limit when they are large.
    ///
    /// # Errors
    ///
    /// When one could not be read, or is not there.
    pub fn partition_events(&self, from: u64, limit: usize) -> Result<Vec<Committed>, ReadFailed> {
        let Some(from) = PartitionOffset::new(from.max(1)) else { return Ok(Vec::new()) };
        let mut events: Vec<Committed> = Vec::new();
        let mut bytes = 0_usize;
        let mut next = Some(from);
        // A part at a time: a page of large events is cut before all of them are in memory.
        while let Some(at) = next.filter(|_| events.len() < limit && bytes < PAGE_BYTES) {
            let wanted = limit.saturating_sub(events.len()).min(PART_EVENTS);
            let part = self.rows_from(&self.event_row(at), &events_prefix(self.prefix), wanted)?;
            let is_last = part.len() < wanted;
            for row in part {
                bytes = bytes.saturating_add(row.value.len());
                let expected = self.event_row(next.expect("a log ends before its numbers do"));
                let found = RowId { table: RowTable::Log, key: row.key };
                if found != expected {
                    return Err(ReadFailed::Missing { row: expected });
                }
                let event = committed(found, row.value)?;
                next = event.event.partition_offset.next();
                events.push(event);
            }
            if is_last {
                break;
            }
        }
        Ok(events)
    }

    /// Events of a workspace, from an offset of its log on, without a hole. They begin with 1, and
    /// 0 means the same. Fewer than the limit when they are large.
    ///
    /// # Errors
    ///
    /// When one could not be read, or is not there.
    pub fn events(
        &self,
        workspace: WorkspaceId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Committed>, ReadFailed> {
        let Some(from) = Number::new(from.max(1)) else { return Ok(Vec::new()) };
        let within = workspace_log_prefix(self.prefix, workspace);
        let places = self.rows_from(&self.workspace_log_row(workspace, from), &within, limit)?;
        let mut rows = Vec::with_capacity(places.len());
        let mut next = Some(from);
        for place in places {
            let offset = next.expect("a log ends before its numbers do");
            let expected = self.workspace_log_row(workspace, offset);
            if place.key != expected.key {
                return Err(ReadFailed::Missing { row: expected });
            }
            rows.push(self.event_at(expected, &place.value)?);
            next = Number::new(offset.get().saturating_add(1));
        }
        let mut events = Vec::with_capacity(rows.len());
        let mut bytes = 0_usize;
        for part in rows.chunks(PART_EVENTS) {
            for (row, value) in self.follow(part.to_vec())? {
                bytes = bytes.saturating_add(value.len());
                events.push(committed(row, value)?);
            }
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        Ok(events)
    }

    /// The last offset of a workspace; 0 when it has no event.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn last_offset(&self, workspace: WorkspaceId) -> Result<u64, ReadFailed> {
        let table = RowTable::WorkspaceLog;
        let range = KeyRange::prefix(&workspace_log_prefix(self.prefix, workspace));
        let last = self.scan(&Scan::new(self.handle(table), range).backward().limit(1))?.pop();
        let Some(last) = last else { return Ok(0) };
        let read = decode_workspace_log_key(&last.key);
        let unreadable = |source| Unreadable { row: RowId { table, key: last.key }, source };
        let (_, offset) = read.map_err(unreadable)?;
        Ok(offset.get())
    }

    /// The leaf hash of an event that must be there.
    pub(super) fn leaf(&self, workspace: WorkspaceId, offset: Number) -> Result<Hash, ReadFailed> {
        let place = self.workspace_log_row(workspace, offset);
        let pointer = self.existing(&place)?;
        let event = self.event_at(place, &pointer)?;
        Ok(leaf_hash(&self.existing(&event)?))
    }

    /// The row of the event at a place in a workspace's log.
    fn event_at(&self, place: RowId, pointer: &[u8]) -> Result<RowId, ReadFailed> {
        let offset = decode_number(pointer).and_then(|offset| {
            let problem = Problem::Invalid("an offset");
            let none = DecodeError { message: "workspace log", field: None, problem };
            PartitionOffset::new(offset).ok_or(none)
        });
        let offset = offset.map_err(|source| Unreadable { row: place, source })?;
        Ok(self.event_row(offset))
    }

    pub(super) fn event_row(&self, offset: PartitionOffset) -> RowId {
        RowId { table: RowTable::Log, key: event_key(self.prefix, offset) }
    }

    fn workspace_log_row(&self, workspace: WorkspaceId, offset: Number) -> RowId {
        let key = workspace_log_key(self.prefix, workspace, offset);
        RowId { table: RowTable::WorkspaceLog, key }
    }
}

/// A stored event, by its row and its bytes.
pub(super) fn committed(row: RowId, bytes: Bytes) -> Result<Committed, ReadFailed> {
    let event = decode(row, &bytes)?;
    let leaf = leaf_hash(&bytes);
    Ok(Committed { event, bytes, leaf })
}
