//! What apply reads, and what it writes.
//!
//! ```text
//!  fetched before ─► Rows ◄── laid over: what earlier entries wrote
//!                     │ read                          ▲ kept, if the entry succeeds
//!                     ▼                               │
//!                   Draft: one entry's view and its writes
//!                     └ dropped, if it is refused: no trace
//! ```
//!
//! **Invariant:** nothing is read that was not fetched. A row that the read set forgot is a bug
//! and stops the process: taking it for absent would give a number twice.

use std::collections::BTreeMap;

use bytes::Bytes;
use foldhash::fast::FixedState;
use indexmap::IndexMap;
use seriatim_codec::{DecodeError, KeyBytes, Stored, Table};
use seriatim_sequencer::Stamp;
use seriatim_types::WorkspaceId;

/// A row of a partition.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// Its table.
    pub table: Table,
    /// Its key.
    pub key: KeyBytes,
}

/// A row to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The row.
    pub row: RowId,
    /// What becomes of it.
    pub change: RowChange,
}

/// What becomes of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowChange {
    /// It is written, whether or not there is one.
    Put(Bytes),
    /// It is written if there is none. If there is one, a number was given twice: the partition
    /// stops and overwrites nothing.
    Insert(Bytes),
    /// It is removed.
    Delete,
}

impl RowChange {
    /// The new value; `None` for a row that is removed.
    #[must_use]
    pub fn value(&self) -> Option<&Bytes> {
        match self {
            Self::Put(value) | Self::Insert(value) => Some(value),
            Self::Delete => None,
        }
    }
}

/// A stored row that cannot be read. The partition stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a stored row cannot be read, in table {:?}, key {:?}", row.table.name(), row.key)]
pub struct Unreadable {
    /// The row.
    pub row: Box<RowId>,
    /// What is wrong with it.
    #[source]
    pub source: DecodeError,
}

impl Unreadable {
    /// That a row cannot be read.
    #[must_use]
    pub fn new(row: RowId, source: DecodeError) -> Self {
        Self { row: Box::new(row), source }
    }
}

/// Rows as they are once every entry so far is written. They serve for entries that are
/// [fetched together](crate::Machine::fetched_together) and not for longer.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Looked up many times for each entry, and never gone through: its order decides nothing.
    known: IndexMap<RowId, Option<Bytes>, FixedState>,
    /// Workspaces that were given an id since the rows were fetched, and when. Nothing else is
    /// stored of them than what is known here, and of their numbers nothing at all.
    fresh: BTreeMap<WorkspaceId, Stamp>,
}

impl Rows {
    /// No rows.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with a [seed](seriatim_sequencer::Settings::hash_seed) for its hashes.
    pub(crate) fn seeded(seed: u64) -> Self {
        let known = IndexMap::with_hasher(FixedState::with_seed(seed));
        Self { known, fresh: BTreeMap::new() }
    }

    /// Adds a row as it is stored; `None` stands for one that is not.
    pub fn fetched(&mut self, row: RowId, value: Option<Bytes>) {
        self.known.insert(row, value);
    }

    /// Lays a write over what is stored: one of an earlier batch that is not committed yet. Do so
    /// before read sets are asked for, because they follow from it.
    pub fn write(&mut self, write: &Write) {
        self.known.insert(write.row.clone(), write.change.value().cloned());
    }

    /// Whether a row was fetched or written.
    #[must_use]
    pub fn knows(&self, row: &RowId) -> bool {
        self.known.contains_key(row)
    }

    /// A row, if it is known: `Some(None)` for one that is known to be absent.
    #[must_use]
    pub fn peek(&self, row: &RowId) -> Option<Option<&Bytes>> {
        self.known.get(row).map(Option::as_ref)
    }
}

/// One entry's view of the rows, and what it writes.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    rows: &'a Rows,
    writes: BTreeMap<RowId, RowChange>,
    /// Bytes that were written, also those that were written over.
    written: usize,
    fresh: Option<(WorkspaceId, Stamp)>,
}

/// What an entry writes, once it is settled.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) writes: Vec<Write>,
    fresh: Option<(WorkspaceId, Stamp)>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(rows: &'a Rows) -> Self {
        Self { rows, writes: BTreeMap::new(), written: 0, fresh: None }
    }

    /// From now on, what is not known of this workspace is absent.
    pub(crate) fn set_fresh(&mut self, workspace: WorkspaceId, stamp: Stamp) {
        self.fresh = Some((workspace, stamp));
    }

    /// Since when nothing of a workspace is stored, if nothing is.
    pub(crate) fn fresh_since(&self, workspace: WorkspaceId) -> Option<Stamp> {
        let own = self.fresh.filter(|(fresh, _)| *fresh == workspace).map(|(_, stamp)| stamp);
        own.or_else(|| self.rows.fresh.get(&workspace).copied())
    }

    /// A row of a workspace, or of the partition itself.
    pub(crate) fn get(&self, of: Option<WorkspaceId>, row: &RowId) -> Option<&Bytes> {
        if let Some(change) = self.writes.get(row) {
            return change.value();
        }
        if let Some(known) = self.rows.known.get(row) {
            return known.as_ref();
        }
        let is_fresh = of.is_some_and(|of| self.fresh_since(of).is_some());
        assert!(is_fresh, "everything that apply reads was fetched: {row:?}");
        None
    }

    /// The same, decoded.
    pub(crate) fn read<T: Stored>(
        &self,
        of: Option<WorkspaceId>,
        row: &RowId,
    ) -> Result<Option<T>, Unreadable> {
        let decode = |bytes| T::from_bytes(bytes).map_err(|source| unreadable(row, source));
        self.get(of, row).map(decode).transpose()
    }

    /// The same, for rows that hold one number.
    pub(crate) fn read_number(
        &self,
        of: Option<WorkspaceId>,
        row: &RowId,
    ) -> Result<Option<u64>, Unreadable> {
        let decode = |bytes: &Bytes| {
            seriatim_codec::decode_number(bytes).map_err(|source| unreadable(row, source))
        };
        self.get(of, row).map(decode).transpose()
    }

    /// Bytes that were written, also those that were written over.
    pub(crate) fn written(&self) -> usize {
        self.written
    }

    pub(crate) fn put(&mut self, row: RowId, value: Bytes) {
        self.written = self.written.saturating_add(value.len());
        let change = match self.writes.get(&row) {
            // It is still a new row, and still must not be there.
            Some(RowChange::Insert(_)) => RowChange::Insert(value),
            Some(RowChange::Put(_) | RowChange::Delete) | None => RowChange::Put(value),
        };
        self.writes.insert(row, change);
    }

    /// Writes a row that must not be there yet, if the partition is told not to trust itself.
    pub(crate) fn insert(&mut self, row: RowId, value: Bytes, is_checked: bool) {
        self.written = self.written.saturating_add(value.len());
        // After a removal in the same entry the row is there until the entry is written.
        let is_checked = is_checked && !self.writes.contains_key(&row);
        let change = if is_checked { RowChange::Insert(value) } else { RowChange::Put(value) };
        self.writes.insert(row, change);
    }

    pub(crate) fn delete(&mut self, row: RowId) {
        self.writes.insert(row, RowChange::Delete);
    }

    pub(crate) fn settle(self) -> Settled {
        let write = |(row, change)| Write { row, change };
        Settled { writes: self.writes.into_iter().map(write).collect(), fresh: self.fresh }
    }
}

impl Settled {
    /// Lets later entries see it. Logs are written and never read by an entry.
    pub(crate) fn lay_over(&self, rows: &mut Rows) {
        let is_read = |write: &&Write| !matches!(write.row.table, Table::Log | Table::WorkspaceLog);
        self.writes.iter().filter(is_read).for_each(|write| rows.write(write));
        rows.fresh.extend(self.fresh);
    }
}

fn unreadable(row: &RowId, source: DecodeError) -> Unreadable {
    Unreadable::new(row.clone(), source)
}
