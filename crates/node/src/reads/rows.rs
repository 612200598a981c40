//! What is stored as it is asked for: workspaces, definitions, records, entities.

use seriatim_codec::{
    Table as RowTable, decode_number, decode_record_of_kind_key, definitions_key, entity_key,
    record_key, record_of_kind_key, records_of_kind_prefix, workspace_name_key, workspace_row_key,
};
use seriatim_core::RowId;
use seriatim_planted::{self as planted, Bug};
use seriatim_types::{
    Definitions, EntityKey, EntityRow, KindId, Name, Number, RecordRow, Time, WorkspaceId,
    WorkspaceRef, WorkspaceRow,
};

use super::log::PAGE_BYTES;
use super::{ReadFailed, Reader};

/// Records that are read in one call.
const RECORDS_AT_ONCE: usize = 4;

/// A workspace that came into being.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Its id.
    pub id: WorkspaceId,
    /// Its kind.
    pub kind: KindId,
    /// Its name, if it has one.
    pub name: Option<Name>,
}

impl Reader<'_> {
    /// A workspace, if it has an event or was declared.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn workspace(&self, asked: &WorkspaceRef) -> Result<Option<Workspace>, ReadFailed> {
        let id = match asked {
            WorkspaceRef::Id(id) => Some(*id),
            WorkspaceRef::Name(name) => self.workspace_of(name)?,
        };
        let Some(id) = id else { return Ok(None) };
        let key = workspace_row_key(self.prefix, id);
        let row: Option<WorkspaceRow> = self.read(RowId { table: RowTable::Partition, key })?;
        Ok(row.map(|row| Workspace { id, kind: row.kind, name: row.name }))
    }

    fn workspace_of(&self, name: &Name) -> Result<Option<WorkspaceId>, ReadFailed> {
        let key = workspace_name_key(self.prefix, name);
        let row = RowId { table: RowTable::Partition, key };
        let Some(bytes) = self.get(&row)? else { return Ok(None) };
        let unreadable = |source| self.unreadable(row, source);
        let id = decode_number(&bytes).map_err(unreadable)?;
        Ok(Some(WorkspaceId(id)))
    }

    /// The definitions that the partition goes by; `None` before the first was delivered.
    ///
    /// # Errors
    ///
    /// When they could not be read.
    pub fn definitions(&self) -> Result<Option<Definitions>, ReadFailed> {
        self.read(RowId { table: RowTable::Partition, key: definitions_key(self.prefix) })
    }

    /// A record.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn record(
        &self,
        workspace: WorkspaceId,
        id: Number,
    ) -> Result<Option<RecordRow>, ReadFailed> {
        self.read(self.record_row(workspace, id))
    }

    /// Records of a kind, those with the lowest ids from `from` on. Only kinds of class c are
    /// listed.
    ///
    /// # Errors
    ///
    /// When one could not be read.
    pub fn records(
        &self,
        workspace: WorkspaceId,
        kind: &Name,
        from: u64,
        limit: usize,
    ) -> Result<Vec<(Number, RecordRow)>, ReadFailed> {
        Ok(self.records_until(workspace, kind, from, (limit, usize::MAX))?.0)
    }

    /// The same, and fewer than the limit when they are large: then `true` is returned with them, and
    /// there may be more.
    ///
    /// # Errors
    ///
    /// When one could not be read.
    pub fn records_page(
        &self,
        workspace: WorkspaceId,
        kind: &Name,
        from: u64,
        limit: usize,
    ) -> Result<(Vec<(Number, RecordRow)>, bool), ReadFailed> {
        self.records_until(workspace, kind, from, (limit, PAGE_BYTES))
    }

    /// At most so many records, none after the one with which they come to so many bytes, and
    /// whether the bytes were what ended them.
    fn records_until(
        &self,
        workspace: WorkspaceId,
        kind: &Name,
        from: u64,
        (limit, bytes_max): (usize, usize),
    ) -> Result<(Vec<(Number, RecordRow)>, bool), ReadFailed> {
        let Some(from) = Number::new(from.max(1)) else { return Ok((Vec::new(), false)) };
        let table = RowTable::Records;
        let first = RowId { table, key: record_of_kind_key(self.prefix, workspace, kind, from) };
        let within = records_of_kind_prefix(self.prefix, workspace, kind);
        let mut ids = Vec::new();
        for listed in self.rows_from(&first, &within, limit)? {
            let read = decode_record_of_kind_key(&listed.key);
            let row = RowId { table, key: listed.key.into() };
            let unreadable = |source| self.unreadable(row, source);
            let (.., id) = read.map_err(unreadable)?;
            ids.push(id);
        }
        let mut records = Vec::with_capacity(ids.len());
        let mut bytes = 0_usize;
        // Read a few at a time: one call for all of them would hold up to a megabyte of each.
        for ids in ids.chunks(RECORDS_AT_ONCE) {
            if bytes >= bytes_max {
                return Ok((records, true));
            }
            let rows = ids.iter().map(|id| self.record_row(workspace, *id)).collect();
            for (id, (row, value)) in ids.iter().zip(self.follow(rows)?) {
                bytes = bytes.saturating_add(value.len());
                records.push((*id, self.decode(row, &value)?));
            }
        }
        Ok((records, false))
    }

    /// An entity, unless its time is over.
    ///
    /// # Errors
    ///
    /// When it could not be read.
    pub fn entity(
        &self,
        workspace: WorkspaceId,
        key: &EntityKey,
        now: Time,
    ) -> Result<Option<EntityRow>, ReadFailed> {
        let key = entity_key(self.prefix, workspace, key);
        let row: Option<EntityRow> = self.read(RowId { table: RowTable::Entities, key })?;
        let is_seen = planted::is(Bug::ReadSeesExpired);
        Ok(row.filter(|row| is_seen || row.is_present_at(self.latest(now))))
    }

    fn record_row(&self, workspace: WorkspaceId, id: Number) -> RowId {
        RowId { table: RowTable::Records, key: record_key(self.prefix, workspace, id) }
    }
}
