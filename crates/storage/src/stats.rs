//! How large a store is and how much it has done.

/// Sizes and counters of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// One entry per table, in the order of the schema.
    pub tables: Vec<TableStats>,
    /// Bytes held by files that belong to no single table: the journal.
    pub journal_bytes: u64,
    /// Commits that succeeded since the store was opened.
    pub commits: u64,
    /// Calls of `sync` since the store was opened.
    pub sync_calls: u64,
    /// Waits for the disk that these calls shared among them.
    pub disk_syncs: u64,
}

/// The size of one table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableStats {
    /// The table's name.
    pub name: String,
    /// Rows, as far as the backend knows without counting. Engines that keep several
    /// versions of a row may report too many, never too few.
    pub rows_estimate: u64,
    /// Bytes held by the table, in memory or on disk.
    pub bytes: u64,
}

impl Stats {
    /// All bytes that the store holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.bytes).fold(self.journal_bytes, u64::saturating_add)
    }
}
