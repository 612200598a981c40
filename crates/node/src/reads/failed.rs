//! Why something that may be there could not be read.

use seriatim_codec::NumberRowError;
use seriatim_core::{RowId, StepError, Unreadable};
use seriatim_storage::ReadError;
use seriatim_types::PartitionOffset;

use crate::partition::{failed, unusable};
use crate::reply::Reason;

/// Why a read gave no answer. What is merely not there is no failure.
///
/// There is no conversion from what caused it: a reader makes one by `Reader::failed`, which reports it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadFailed {
    /// The store gave no answer.
    #[error(transparent)]
    Store(ReadError),
    /// A stored row cannot be read.
    #[error(transparent)]
    Unreadable(Unreadable),
    /// A stored row of numbers cannot be read.
    #[error("a row of table {:?} cannot be read, key {:?}", row.table.name(), row.key)]
    Numbers {
        /// The row.
        row: Box<RowId>,
        /// What is wrong with it.
        #[source]
        source: NumberRowError,
    },
    /// The stored definitions cannot be used.
    #[error("the stored definitions cannot be used")]
    Definitions(#[source] StepError),
    /// A row to which others point is not there.
    #[error("a row of table {:?} is missing, key {:?}", row.table.name(), row.key)]
    Missing {
        /// The row.
        row: Box<RowId>,
    },
    /// A receipt of a form that only a newer release can write.
    #[error("a receipt has version {version}, which this version of Seriatim does not know")]
    Newer {
        /// Its version.
        version: u32,
    },
    /// Events that were to be those of one command are not.
    #[error("{count} events from {first} on are not those of one command")]
    NotOneCommand {
        /// The first event.
        first: PartitionOffset,
        /// How many there were to be.
        count: u32,
    },
}

impl ReadFailed {
    /// Why a partition stops for which this is found.
    #[must_use]
    pub fn reason(&self) -> Reason {
        match self {
            Self::Store(error) => failed(error),
            Self::Unreadable(_)
            | Self::Numbers { .. }
            | Self::Definitions(_)
            | Self::Missing { .. }
            | Self::Newer { .. }
            | Self::NotOneCommand { .. } => unusable(self),
        }
    }
}
