//! The events of the partition, and those of a workspace.

use std::ops::Bound;

use bytes::Bytes;
use seriatim_codec::{
    DecodeError, Problem, Table as RowTable, decode_number, decode_workspace_log_key, event_key,
    events_prefix, workspace_log_key, workspace_log_prefix,
};
use seriatim_core::{Committed, RowId};
use seriatim_merkle::leaf_hash;
use seriatim_storage::{KeyRange, Scan};
use seriatim_types::{Change, Event, Hash, Number, PartitionOffset, WorkspaceId};

use super::{ReadFailed, Reader};

/// Bytes of events at which a page takes no more of them.
pub(super) const PAGE_BYTES: usize = 1024 * 1024;

impl Reader<'_> {
    /// Events of the partition, from an offset on, without a hole. They begin with 1, and 0 means
    /// the same. Fewer than the limit when they are large.
    ///
    /// # Errors
    ///
    /// When one could not be read, or is not there.
    pub fn partition_events(&self, from: u64, limit: usize) -> Result<Vec<Committed>, ReadFailed> {
        let Some(from) = PartitionOffset::new(from.max(1)) else { return Ok(Vec::new()) };
        let within = KeyRange::prefix(&events_prefix(self.prefix));
        let first = self.event_row(from);
        let range = KeyRange::new(Bound::Included(&first.key), within.end());
        let scan = Scan::new(self.handle(RowTable::Log), range).limit(limit);
        let rows = self.scan_bytes(&scan, PAGE_BYTES)?;
        let mut events = Vec::with_capacity(rows.len());
        let mut next = Some(from);
        for row in rows {
            let expected = self.event_row(next.expect("a log ends before its numbers do"));
            if row.key != expected.key {
                return Err(self.missing(expected));
            }
            let event = self.committed(expected, row.value)?;
            next = event.event.partition_offset.next();
            events.push(event);
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
                return Err(self.missing(expected));
            }
            rows.push(self.event_at(expected, &place.value)?);
            next = Number::new(offset.get().saturating_add(1));
        }
        let mut events = Vec::new();
        let mut bytes = 0_usize;
        for row in rows {
            let value = self.existing(&row)?;
            bytes = bytes.saturating_add(value.len());
            events.push(self.committed(row, value)?);
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
        let row = RowId { table, key: last.key.into() };
        let (_, offset) = read.map_err(|source| self.unreadable(row, source))?;
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
        let offset = offset.map_err(|source| self.unreadable(place, source))?;
        Ok(self.event_row(offset))
    }

    pub(super) fn event_row(&self, offset: PartitionOffset) -> RowId {
        RowId { table: RowTable::Log, key: event_key(self.prefix, offset) }
    }

    fn workspace_log_row(&self, workspace: WorkspaceId, offset: Number) -> RowId {
        let key = workspace_log_key(self.prefix, workspace, offset);
        RowId { table: RowTable::WorkspaceLog, key }
    }

    /// A stored event, by its row and its bytes.
    pub(super) fn committed(&self, row: RowId, bytes: Bytes) -> Result<Committed, ReadFailed> {
        let event: Event = self.decode(row.clone(), &bytes)?;
        let mut draws = event.changes.iter().filter_map(|change| match change {
            Change::Draw { number } => Some(*number as usize),
            Change::Create { .. }
            | Change::Update { .. }
            | Change::Delete { .. }
            | Change::Set { .. }
            | Change::Unset { .. }
            | Change::Define(_) => None,
        });
        if draws.any(|number| number >= event.numbers.len()) {
            let problem = Problem::Invalid("one of the event's numbers");
            let source = DecodeError { message: "Event", field: None, problem };
            return Err(self.unreadable(row, source));
        }
        let leaf = leaf_hash(&bytes);
        Ok(Committed { event, bytes, leaf })
    }
}
