//! The core's rows in a store's tables.

use std::sync::Arc;

use seriatim_codec::Table as RowTable;
use seriatim_core::RowId;
use seriatim_storage::{Schema, Store, Table};

/// The tables that a node's store has.
///
/// # Panics
///
/// Never: the names are good ones.
#[must_use]
pub fn schema() -> Schema {
    Schema::new(RowTable::ALL.map(RowTable::name)).expect("the tables have good names")
}

/// A store with the handles of its tables.
#[derive(Clone)]
pub(crate) struct Tables {
    pub(crate) store: Arc<dyn Store>,
    handles: [Table; RowTable::ALL.len()],
}

impl Tables {
    /// # Panics
    ///
    /// When the store was opened with another schema.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let handle = |table: RowTable| store.schema().table(table.name());
        let handles = RowTable::ALL.map(|table| handle(table).expect("a store of a node's schema"));
        Self { store, handles }
    }

    pub(crate) fn handle(&self, table: RowTable) -> Table {
        let index = RowTable::ALL.iter().position(|known| *known == table);
        let handle = index.and_then(|index| self.handles.get(index));
        *handle.expect("every table has a handle")
    }

    pub(crate) fn place<'r>(&self, row: &'r RowId) -> (Table, &'r [u8]) {
        (self.handle(row.table), &row.key)
    }
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}
