//! What can go wrong, one enum per operation.

use std::fmt;

use bytes::Bytes;
use seriatim_types::limits::{
    BATCH_BYTES_MAX, BATCH_RANGES_MAX, BATCH_ROWS_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX,
};

/// Opening a store failed. Nothing was changed on disk.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process, or another handle of this one, has the store open.
    #[error("the store at {path} is in use: stop the process that has it open")]
    InUse {
        /// Where the store is.
        path: String,
    },
    /// There is no store, and none is to be made.
    #[error("there is no store in {path}")]
    Missing {
        /// Where it should be.
        path: String,
    },
    /// There is no store, and none is made beside what somebody else keeps there.
    #[error(
        "there is no store in {path}, and none is made there because it holds {found}: name a \
         folder that is empty or not there yet"
    )]
    Occupied {
        /// Where it should be.
        path: String,
        /// A file or folder that is no part of a store.
        found: String,
    },
    /// The folder of a store, every file of which was to be checked, holds something else. Nothing is
    /// known to be damaged.
    #[error(
        "every file in {path} was to be checked as a part of one store, and {found} is none: nothing \
         was checked"
    )]
    Foreign {
        /// Where the store is.
        path: String,
        /// A file or folder that is no part of a store.
        found: String,
    },
    /// The store has a table that the schema does not list.
    #[error(
        "the store at {path} has a table {table} that this build does not know: \
         it was written by a newer build, open it with that one"
    )]
    UnknownTable {
        /// Where the store is.
        path: String,
        /// The table that is there and not in the schema.
        table: String,
    },
    /// Bytes that were once durable are damaged. Opening would drop acknowledged commits.
    #[error(
        "the store at {path} is damaged: {what}; restore it from a copy, \
         nothing was changed"
    )]
    Damaged {
        /// Where the store is.
        path: String,
        /// What is damaged, with file and position.
        what: String,
    },
    /// The files could not be read or written.
    #[error("the store at {path} could not be opened: {cause}")]
    Failed {
        /// Where the store is.
        path: String,
        /// What the engine or the operating system said.
        cause: String,
    },
}

/// The store stopped at its first failed write or sync. What had not been synced by then may
/// or may not be there when the store is opened again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store has stopped, because a {operation} failed: {cause}")]
pub struct Poisoned {
    /// What failed.
    pub operation: &'static str,
    /// Why.
    pub cause: String,
}

/// A read gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The store has stopped.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
    /// The bytes could not be read, or are damaged. The store goes on.
    #[error("a row of table {table} could not be read: {cause}")]
    Failed {
        /// The table that was read.
        table: String,
        /// What the engine or the operating system said.
        cause: String,
    },
}

/// A scan did not reach any of its own ends. The rows that it showed are right, but there
/// may be more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// Its token was cancelled.
    #[error("the scan was cancelled after {visited} rows")]
    Cancelled {
        /// How many rows it had shown.
        visited: usize,
    },
    /// A row could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A sync did not happen. Whether earlier commits are durable is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// This sync failed and has stopped the store.
    #[error(transparent)]
    Failed(Poisoned),
    /// The store had stopped before.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
}

/// A commit did not happen, or may not have happened: see [`CommitError::outcome`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A condition of the batch does not hold. Nothing was written.
    #[error(transparent)]
    Condition(#[from] ConditionFailed),
    /// The batch is over a limit. Nothing was written.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// There is too little room to go on safely. Nothing was written, and the store accepts
    /// commits again as soon as there is room.
    #[error(
        "the disk is almost full: {free_bytes} bytes are free and {reserve_bytes} are kept \
         in reserve; make room, then try again"
    )]
    Full {
        /// Bytes that are free.
        free_bytes: u64,
        /// Bytes that the store does not touch.
        reserve_bytes: u64,
    },
    /// A row that a condition is about could not be read. Nothing was written.
    #[error("a condition could not be checked")]
    Unchecked(#[source] ReadError),
    /// Writing this batch failed and has stopped the store. Only the reopened store can tell
    /// whether the batch is there; it is there whole or not at all.
    #[error(transparent)]
    Failed(Poisoned),
    /// The store had stopped before. Nothing was written.
    #[error(transparent)]
    Poisoned(#[from] Poisoned),
}

/// Whether a batch that was not acknowledged can be there all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Certainly not written, now or later.
    NotWritten,
    /// The reopened store shows it whole or not at all.
    Unknown,
}

impl CommitError {
    /// What the caller may conclude about the batch.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Failed(_) => Outcome::Unknown,
            Self::Condition(_)
            | Self::TooLarge(_)
            | Self::Full { .. }
            | Self::Unchecked(_)
            | Self::Poisoned(_) => Outcome::NotWritten,
        }
    }
}

/// The first condition of a batch, in the order of its operations, that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("table {table}, key {}: {expected}", key.escape_ascii())]
pub struct ConditionFailed {
    /// The table.
    pub table: String,
    /// The key; for a range, its lowest key that is there.
    pub key: Bytes,
    /// What was expected of it.
    pub expected: Expected,
}

/// What a condition asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// The key is absent.
    Absent,
    /// No key of the range is there.
    EmptyRange,
    /// The key has the given value.
    SameValue,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absent => "expected no row, found one",
            Self::EmptyRange => "expected no row in the range, found this one",
            Self::SameValue => "expected another value",
        })
    }
}

/// Something is over a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TooLarge {
    /// A key.
    #[error("a key has {bytes} bytes, the limit is {KEY_BYTES_MAX}")]
    Key {
        /// Its length.
        bytes: usize,
    },
    /// A value.
    #[error("a value has {bytes} bytes, the limit is {VALUE_BYTES_MAX}")]
    Value {
        /// Its length.
        bytes: usize,
    },
    /// The keys and values of a batch.
    #[error("a batch has {bytes} bytes of keys and values, the limit is {BATCH_BYTES_MAX}")]
    BatchBytes {
        /// Their length added up.
        bytes: usize,
    },
    /// The ranges that a batch asks to be empty.
    #[error("a batch checks {ranges} ranges, the limit is {BATCH_RANGES_MAX}")]
    BatchRanges {
        /// How many there are.
        ranges: usize,
    },
    /// The rows of a batch.
    #[error("a batch writes {rows} rows, the limit is {BATCH_ROWS_MAX}")]
    BatchRows {
        /// How many there are.
        rows: usize,
    },
}
