//! Every limit of the system, in one place. Nothing is unbounded.
//!
//! A limit is checked where bytes enter and asserted where they are used. Raising one is
//! allowed; lowering one can make stored data unreadable and needs a migration.

/// Longest key of a stored row. Far above any key that we build, and below the 65,535
/// bytes at which storage engines stop.
pub const KEY_BYTES_MAX: usize = 8 * 1024;

/// Longest value of a stored row.
pub const VALUE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Keys and values of one storage batch, added up. A batch is held in memory whole and
/// becomes visible whole, so it must stay well below the memory of a small machine.
pub const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Rows that one storage batch may write.
pub const BATCH_ROWS_MAX: usize = 1024 * 1024;

/// Ranges that one storage batch may ask to be empty. Each is looked up while all other
/// writers wait.
pub const BATCH_RANGES_MAX: usize = 16 * 1024;

/// Tables of one store.
pub const TABLES_MAX: usize = 64;

/// Longest name of a table.
pub const TABLE_NAME_BYTES_MAX: usize = 64;

/// Longest name of a client.
pub const CLIENT_ID_BYTES_MAX: usize = 255;

/// Sequences that one kind of workspaces may have, the built-in ones included. They are kept
/// in one row and searched one by one.
pub const SEQUENCES_PER_KIND_MAX: usize = 64;

/// Ranges of one sequence.
pub const RANGES_MAX: usize = 16;

/// Longest presentation of a sequence, as it is written in its definition.
pub const FORMAT_BYTES_MAX: usize = 128;

/// Record kinds of an app that are singletons: as many as there are fixed ids.
pub const SINGLETONS_MAX: usize = 512;
