//! What the runtime asks of its surroundings.

use std::ops::ControlFlow;

use seriatim_sequencer::{Checkpoint, LogEvent, Row, RowKey};
use seriatim_storage::Cancel;
use seriatim_types::{Epoch, PartitionOffset};

/// Where the numbers of one partition are kept. Two partitions never share a key.
pub trait NumberStorage: Send + Sync {
    /// Makes the caller the owner: returns an epoch that is higher than any before, once that
    /// is durable.
    ///
    /// # Errors
    ///
    /// When it could not be written. It is tried again.
    fn claim(&self) -> Result<Epoch, StorageError>;

    /// The rows of the keys, in their order. An absent row means that no number was given yet.
    ///
    /// # Errors
    ///
    /// When one could not be read.
    fn read_rows(&self, keys: &[RowKey]) -> Result<Vec<Option<Row>>, StorageError>;

    /// The last event that the stored rows cover.
    ///
    /// # Errors
    ///
    /// When it could not be read. It is tried again.
    fn checkpointed_through(&self) -> Result<Option<PartitionOffset>, StorageError>;

    /// Writes rows and offset, at best in one step. An implementation that cannot do that
    /// writes the rows first and the offset last. A checkpoint without rows still moves the
    /// offset.
    ///
    /// # Errors
    ///
    /// When there is a newer owner, or it could not be written; the latter is tried again.
    fn write(&self, epoch: Epoch, checkpoint: &Checkpoint) -> Result<(), WriteError>;
}

/// The log of one partition, as far as its numbers are concerned.
pub trait EventLog: Send + Sync {
    /// The last event of the log.
    ///
    /// # Errors
    ///
    /// When it could not be read. It is tried again.
    fn last_offset(&self) -> Result<Option<PartitionOffset>, StorageError>;

    /// Shows every event behind `after`, in order, until the visitor breaks.
    ///
    /// # Errors
    ///
    /// When the token was cancelled, which is never taken for the end of the log; when an event
    /// could not be read, and reading goes on behind the last one that was shown; or when an
    /// event makes no sense, which stops the runtime.
    fn read(
        &self,
        after: Option<PartitionOffset>,
        cancel: &Cancel,
        visit: &mut dyn FnMut(LogEvent) -> ControlFlow<()>,
    ) -> Result<(), LogError>;
}

/// Storage did not do what was asked. It may do so when asked again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct StorageError {
    /// What it said.
    pub cause: String,
}

/// A checkpoint was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Another owner has come since. This one must not write again.
    #[error("epoch {} owns the numbers now", owner.0)]
    Fenced {
        /// The newer owner.
        owner: Epoch,
    },
    /// It could not be written.
    #[error(transparent)]
    Failed(#[from] StorageError),
}

/// The log was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The token was cancelled.
    #[error("reading the log was cancelled")]
    Cancelled,
    /// An event could not be read. It is tried again.
    #[error(transparent)]
    Failed(#[from] StorageError),
    /// An event is there and makes no sense. Trying again would not help.
    #[error("an event of the log makes no sense: {cause}")]
    Damaged {
        /// What is wrong with it.
        cause: String,
    },
}
