//! What applying an entry asks for. Apply itself does none of it.

use seriatim_merkle::NodeId;
use seriatim_sequencer::Ticket;
use seriatim_types::{
    AppId, Delivery, Event, Hash, PartitionOffset, PartitionRef, Receipt, WorkspaceId,
};

use crate::defined::StepError;
use crate::refusal::Refusal;
use crate::rows::{Unreadable, Write};

/// What applying an entry asks for.
#[derive(Debug)]
pub struct Effects {
    /// The answer.
    pub outcome: Outcome,
    /// Rows to be written, all of them or none.
    pub writes: Vec<Write>,
    /// The events that it made.
    pub events: Vec<Event>,
    /// Nodes of the workspace's tree, to be written with a checkpoint that covers the events.
    pub nodes: Vec<TreeNode>,
    /// Messages for other partitions, once they are durable. They are in the outbox too.
    pub messages: Vec<Outgoing>,
    /// For [`Sequencer::flush`](seriatim_sequencer::Sequencer::flush) once the rows are committed.
    pub ticket: Option<Ticket>,
}

/// What came of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A command was carried out.
    Committed(Receipt),
    /// A command was carried out before; its receipt is rebuilt from these events.
    Duplicate {
        /// The first event.
        first: PartitionOffset,
        /// How many there are.
        count: u32,
    },
    /// Nothing was done.
    Refused(Refusal),
    /// A workspace has the kind that was asked for.
    Declared {
        /// The workspace.
        workspace: WorkspaceId,
        /// Whether it came into being.
        is_new: bool,
    },
    /// A tick removed what was due.
    Swept {
        /// How many entities.
        entities: u32,
        /// How many idempotency keys.
        keys: u32,
    },
    /// A message was taken in, or is known already.
    Received {
        /// Whether it did something.
        is_new: bool,
    },
    /// A message came before one that it follows. Nothing was done.
    OutOfOrder {
        /// The number of the message that comes next.
        expected: u64,
    },
    /// Messages that reached their partition were removed from the outbox.
    Removed,
    /// An app has the definition that was asked for.
    Defined {
        /// The app.
        app: AppId,
        /// The version of its definitions.
        version: u64,
        /// Whether anything changed.
        is_new: bool,
    },
}

/// A node of the tree over a workspace's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeNode {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Which node.
    pub node: NodeId,
    /// Its hash.
    pub hash: Hash,
}

/// A message on its way to another partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Where to.
    pub target: PartitionRef,
    /// What is to be applied there.
    pub delivery: Delivery,
}

/// Why a partition cannot go on. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A stored row cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// A delivered definition does not follow.
    #[error("a delivered definition does not follow")]
    Definitions(#[from] StepError),
    /// A stored event changes what is not there.
    #[error("event {} does not follow from the rows: {why}", event.get())]
    Unfounded {
        /// The event.
        event: PartitionOffset,
        /// What is missing.
        why: &'static str,
    },
    /// A workspace's stored rows contradict each other.
    #[error("what is stored of workspace {} does not fit: {why}", workspace.0)]
    Workspace {
        /// The workspace.
        workspace: WorkspaceId,
        /// What is wrong.
        why: String,
    },
    /// The log does not end where it should.
    #[error("the log ends with event {read:?}, and the last that was committed is {committed:?}")]
    Log {
        /// The last event that was committed.
        committed: Option<PartitionOffset>,
        /// The last event that was read.
        read: Option<PartitionOffset>,
    },
}

impl Effects {
    /// An outcome that writes nothing.
    pub(crate) fn only(outcome: Outcome) -> Self {
        Self {
            outcome,
            writes: Vec::new(),
            events: Vec::new(),
            nodes: Vec::new(),
            messages: Vec::new(),
            ticket: None,
        }
    }
}
