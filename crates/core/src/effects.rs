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
    /// The answer. A refusal writes nothing.
    pub outcome: Result<Outcome, Refusal>,
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

/// What came of an entry that was not refused: each kind of request has an outcome of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Of a command.
    Command(CommandOutcome),
    /// Of a wish for the kind of a workspace.
    Declare(DeclareOutcome),
    /// Of a definition.
    Define(DefineOutcome),
    /// Of a message from another partition.
    Delivery(DeliveryOutcome),
    /// Of a tick.
    Tick(TickOutcome),
    /// Messages that reached their partition were removed from the outbox.
    Delivered,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandOutcome {
    /// It was carried out.
    Committed(Receipt),
    /// It was carried out before; its receipt is rebuilt from these events.
    Duplicate {
        /// The first event.
        first: PartitionOffset,
        /// How many there are.
        count: u32,
    },
}

/// A workspace has the kind that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeclareOutcome {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Whether it came into being.
    pub is_new: bool,
}

/// An app has the definition that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefineOutcome {
    /// The app.
    pub app: AppId,
    /// The version of its definitions.
    pub version: u64,
    /// Whether anything changed.
    pub is_new: bool,
}

/// What came of a message from another partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// It was taken in, or is known already.
    Received {
        /// Whether it did something.
        is_new: bool,
    },
    /// It came before one that it follows. Nothing was done.
    OutOfOrder {
        /// The number of the message that comes next.
        expected: u64,
    },
}

/// What a tick has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TickOutcome {
    /// How many entities.
    pub entities: u32,
    /// How many idempotency keys.
    pub keys: u32,
}

impl Outcome {
    /// The outcome of a command.
    ///
    /// # Panics
    ///
    /// If it is that of another request.
    #[must_use]
    pub fn of_command(self) -> CommandOutcome {
        let Self::Command(outcome) = self else {
            unreachable!("a command has an outcome of its own")
        };
        outcome
    }

    /// The outcome of a wish for the kind of a workspace.
    ///
    /// # Panics
    ///
    /// If it is that of another request.
    #[must_use]
    pub fn of_declare(self) -> DeclareOutcome {
        let Self::Declare(declared) = self else {
            unreachable!("a declaration has an outcome of its own")
        };
        declared
    }

    /// The outcome of a message from another partition.
    ///
    /// # Panics
    ///
    /// If it is that of another request.
    #[must_use]
    pub fn of_delivery(self) -> DeliveryOutcome {
        let Self::Delivery(outcome) = self else {
            unreachable!("a delivery has an outcome of its own")
        };
        outcome
    }

    /// The outcome of a definition.
    ///
    /// # Panics
    ///
    /// If it is that of another request.
    #[must_use]
    pub fn of_define(self) -> DefineOutcome {
        let Self::Define(defined) = self else {
            unreachable!("a definition has an outcome of its own")
        };
        defined
    }
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
    /// A refusal.
    pub(crate) fn refused(refusal: Refusal) -> Self {
        Self { outcome: Err(refusal), ..Self::only(Outcome::Delivered) }
    }

    /// An outcome that writes nothing.
    pub(crate) fn only(outcome: Outcome) -> Self {
        Self {
            outcome: Ok(outcome),
            writes: Vec::new(),
            events: Vec::new(),
            nodes: Vec::new(),
            messages: Vec::new(),
            ticket: None,
        }
    }
}
