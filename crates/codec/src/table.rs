//! The tables of a partition's rows.

/// A table of a store. Every key begins with a partition's prefix, and its tag says what the row
/// is, so that a tag belongs to one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// Events by their place in the partition's log: tag 05.
    Log,
    /// Where the events of a workspace stand in the partition's log: 06.
    WorkspaceLog,
    /// Records, and which there are of a kind: 07, 08.
    Records,
    /// Entities, and when they expire: 09, 0a.
    Entities,
    /// Idempotency keys: 0b.
    Keys,
    /// What a partition knows of itself, its workspaces and its neighbours: 0c to 13.
    Partition,
    /// Rows of numbers: 01 to 03.
    Numbers,
    /// Interior nodes of the workspaces' Merkle trees: 14.
    Tree,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 8] = [
        Self::Log,
        Self::WorkspaceLog,
        Self::Records,
        Self::Entities,
        Self::Keys,
        Self::Partition,
        Self::Numbers,
        Self::Tree,
    ];

    /// What the store calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::WorkspaceLog => "workspace_log",
            Self::Records => "records",
            Self::Entities => "entities",
            Self::Keys => "keys",
            Self::Partition => "partition",
            Self::Numbers => "numbers",
            Self::Tree => "tree",
        }
    }
}
