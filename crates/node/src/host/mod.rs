//! The Host: everything that is decided between a request and its answer, as a few state machines.
//!
//! ```text
//!  caller ─► Address: room? ─► PartitionHost: take, work ─► Landing ─► Syncer: one sync for all
//!                                   ▲       │ a lone one is synced         │ that wait
//!                                   │       └ where it was committed       ▼
//!                                   ├────────────── landed ◄──── land: view, answers, messages
//!                                   │                                      │
//!                                Directory ◄── messages, "serves", "stopped" ─────┘
//! ```
//!
//! Each is owned by one driver thread, or all of them by one simulator. They send each other messages,
//! and share only what callers see of a partition. A driver receives, calls, sleeps and sends; it decides
//! nothing. Time, storage, starting of threads and sending are injected.
//!
//! **Invariants**
//! - What a commit says is given away after its sync has returned, in the order of the commits.
//! - A request is answered once. One that is dropped unanswered breaks the chain it is in.
//! - A message between partitions stays in its outbox until it is durable where it belongs.

mod address;
mod definitions;
mod directory;
mod events;
mod outbox;
mod partition;
mod syncer;

use std::sync::Arc;
use std::time::Duration;

use seriatim_core::{DefineOutcome, DeliveryOutcome, Outcome, Outgoing};
use seriatim_types::{Body, Define, PartitionRef};

use crate::reply::{Reason, Reply, RequestError};

pub use address::{Address, Mailbox, Ticket};
pub(crate) use events::stopped;

pub use directory::{AppHome, Directory, Routes, SYSTEM, Start, partitions_of, prefix_of};
pub use outbox::outbox_of;
pub use partition::{Next, PartitionHost, SyncBy};
pub use syncer::{Landing, Syncer};

/// Whoever waits for an answer.
pub trait Caller: Sized {
    /// Gives it to them.
    fn answer(self, reply: Reply);
}

/// Where the answer to a request goes.
pub enum ReplyTo<C> {
    /// To whoever has sent it.
    Caller(Ticket, C),
    /// To the directory, which has delivered a message.
    Outbox {
        /// The partition that the message is for.
        target: PartitionRef,
        /// The message's number.
        number: u64,
    },
    /// To the directory, for whoever waits for a definition.
    Definition(Ticket, u64),
    /// Nobody waits.
    Nobody,
}

/// What a partition is told.
pub enum ToPartition<C> {
    /// Something to carry out.
    Request(Body, ReplyTo<C>),
    /// Its oldest commit on the way to the disk is durable.
    Landed,
    /// The store has stopped.
    Stop(Reason),
    /// A reader could not read one of its rows.
    Damaged(Reason),
    /// Forget everything and read the log again.
    Restart,
    /// Carry out what is queued, write a checkpoint, then end; at that time in any case.
    Shutdown {
        /// The latest time.
        by: Duration,
    },
}

/// What the directory is told.
pub enum ToDirectory<C> {
    /// Messages for other partitions, which are durable where they come from.
    Carry(Vec<Outgoing>),
    /// The partition serves, for the first time or again. What is durable in it can be seen.
    Serves(PartitionRef),
    /// The partition has stopped.
    Stopped(PartitionRef),
    /// A message was answered.
    Answered {
        /// The partition that it was for.
        target: PartitionRef,
        /// Its number.
        number: u64,
        /// The answer.
        reply: Reply<DeliveryOutcome>,
    },
    /// The system partition has answered a request for a definition.
    Defined {
        /// The directory's number for it.
        number: u64,
        /// The answer.
        reply: Reply<DefineOutcome>,
    },
    /// Somebody asks for a definition.
    Define {
        /// What is asked for.
        define: Define,
        /// When whoever asks waits no longer.
        by: Duration,
        /// Who asks.
        caller: C,
    },
    /// Start a partition anew whose driver has ended.
    Revive(PartitionRef),
    /// The node ends. Nothing is carried from one partition to another any more.
    Shutdown,
}

/// How the directory is told something.
pub type DirectoryMailbox<C> = Arc<dyn Fn(ToDirectory<C>) + Send + Sync>;

/// Gives answers away.
fn give<C: Caller>(replies: Vec<(ReplyTo<C>, Reply)>, directory: &DirectoryMailbox<C>) {
    for (to, reply) in replies {
        match to {
            ReplyTo::Caller(ticket, caller) => {
                ticket.settle(&reply);
                caller.answer(reply);
            }
            ReplyTo::Outbox { target, number } => {
                let reply = reply.map(Outcome::of_delivery);
                directory(ToDirectory::Answered { target, number, reply });
            }
            ReplyTo::Definition(ticket, number) => {
                ticket.settle(&reply);
                let reply = reply.map(Outcome::of_define);
                directory(ToDirectory::Defined { number, reply });
            }
            ReplyTo::Nobody => {}
        }
    }
}

/// The answer to what comes too late.
#[must_use]
pub fn shutting_down() -> RequestError {
    RequestError::NotWritten { why: "the node is shutting down".to_owned() }
}
