//! What is known of rows without asking the store. Rows of workspaces that were read before: nearly
//! every command asks for one, and hardly any changes it. And of most new idempotency keys, that they
//! are new.
//!
//! **Invariant:** a row is as it is known, since the last commit. A partition alone writes its rows, so
//! whoever commits says here what has changed, and forgets everything when a commit fails.

use bytes::Bytes;
use hashlink::LruCache;
use seriatim_codec::{KeyBytes, Table};
use seriatim_core::{RowId, Write};
use seriatim_planted::{self as planted, Bug};

use crate::absent_keys::AbsentKeys;
use crate::metrics::Cache;

/// The rows that were used last, and the clients.
pub(crate) struct RowCache {
    rows: LruCache<KeyBytes, Bytes>,
    pub(crate) keys: AbsentKeys,
}

impl RowCache {
    pub(crate) fn new(rows_max: usize) -> Self {
        Self { rows: LruCache::new(rows_max), keys: AbsentKeys::new(rows_max) }
    }

    /// The cache that may know rows of a table.
    pub(crate) fn of(table: Table) -> Option<Cache> {
        let known = [(CACHED, Cache::Workspaces), (Table::Keys, Cache::AbsentKeys)];
        known.into_iter().find_map(|(its, cache)| (its == table).then_some(cache))
    }

    pub(crate) fn get(&mut self, row: &RowId) -> Option<Bytes> {
        if row.table == CACHED { self.rows.get(&row.key).cloned() } else { None }
    }

    /// A row was read.
    pub(crate) fn read(&mut self, row: &RowId, value: Option<&Bytes>) {
        if let Some(value) = value.filter(|_| row.table == CACHED) {
            self.rows.insert(row.key.clone(), copy(value));
        }
    }

    /// A row is about to be written.
    pub(crate) fn write(&mut self, write: &Write) {
        self.keys.write(&write.row);
        if write.row.table == CACHED && !planted::is(Bug::StaleRowCache) {
            match write.change.value() {
                Some(value) if self.rows.contains_key(&write.row.key) => {
                    self.rows.insert(write.row.key.clone(), copy(value));
                }
                Some(_) => {}
                None => _ = self.rows.remove(&write.row.key),
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.keys.clear();
    }
}

/// What is kept for long must not keep more in memory than itself: rows that were read are often
/// pieces of a larger buffer.
fn copy(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// The table that has the rows of workspaces and their names.
const CACHED: Table = Table::Partition;
