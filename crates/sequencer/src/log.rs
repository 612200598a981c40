//! What actualization takes from the log.

use seriatim_types::{ClientId, Hash, KindId, Number, PartitionOffset, SequenceId, WorkspaceId};

use crate::row::{RowKey, Series};

/// The numbers that one event holds. Values come in any order, and a series may occur several
/// times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEvent {
    /// Its place in the partition's log.
    pub offset: PartitionOffset,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The kind of the workspace, which says what its sequences are.
    pub kind: KindId,
    /// The numbers of the workspace's sequences, its place in the workspace's log included.
    pub values: Vec<(Series, Number)>,
    /// The client and its number, if a client sent the command. All events of a command have it.
    pub client: Option<(ClientId, Number)>,
    /// The frontier of the tree over the workspace's log behind the event, for whoever keeps one.
    pub frontier: Option<Vec<Hash>>,
}

impl LogEvent {
    /// The rows that the event's numbers belong to.
    pub fn row_keys(&self) -> impl Iterator<Item = RowKey> + '_ {
        let client =
            self.client.as_ref().map(|(client, _)| RowKey::Client(self.workspace, client.clone()));
        [RowKey::Workspace(self.workspace)].into_iter().chain(client)
    }
}

/// Why an event cannot be taken in. The numbers are as before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObserveError {
    /// The log has a hole, or is read in the wrong order.
    #[error("offset {expected} was to come next in the log, not {found}")]
    Hole {
        /// What follows the last event.
        expected: PartitionOffset,
        /// What was handed in.
        found: PartitionOffset,
    },
    /// A row of the event is not in memory, and was not read or read too early. Read it again.
    #[error("the row of an event was not read since the last checkpoint: {key:?}")]
    NotRead {
        /// The row.
        key: RowKey,
    },
    /// A kind that is not defined.
    #[error("workspace {} is of kind {}, which is not defined", workspace.0, kind.0)]
    UnknownKind {
        /// The workspace.
        workspace: WorkspaceId,
        /// Its kind.
        kind: KindId,
    },
    /// A number of a sequence that is not defined. Passed over, it could be given again once
    /// the sequence is.
    #[error("workspace {} has a number of sequence {}, which is not defined", workspace.0, sequence.0)]
    UnknownSequence {
        /// The workspace.
        workspace: WorkspaceId,
        /// The sequence.
        sequence: SequenceId,
    },
    /// Numbers are not being read from the log now.
    #[error("numbers are not being read from the log now")]
    NotActualizing,
}
