//! Messages from one partition to another: definitions, and that they have arrived.
//!
//! ```text
//!  system: decided, durable ─► carry ─► target: applied, durable ─► "delivered" ─► system forgets it
//!                                 └ not taken? everything in the outbox goes again, in order,
//!                                   as soon as the target serves
//! ```
//!
//! **Invariant:** a message stays in its outbox until it is durable where it belongs, and a
//! partition that begins to serve is sent everything that is there for it. So nothing needs a
//! timer, and nothing is lost by a crash at any point.

use std::sync::{Arc, Weak};

use seriatim_core::{Outcome, Outgoing};
use seriatim_planted::{self as planted, Bug};
use seriatim_storage::Schema;
use seriatim_types::{AppSettings, Body, Delivered, PartitionRef};

use crate::direct::Post;
use crate::hosted::{Hosted, SYSTEM, partitions_of, prefix_of};
use crate::partition::View;
use crate::reads::{ReadFailed, Reader};
use crate::reply::Reply;

/// Carries messages between the partitions of a process.
pub(crate) struct Carrier {
    hosted: Weak<Hosted>,
}

impl Carrier {
    pub(crate) fn new(hosted: &Arc<Hosted>) -> Self {
        Self { hosted: Arc::downgrade(hosted) }
    }
}

impl Post for Carrier {
    fn carry(&self, messages: Vec<Outgoing>) {
        if let Some(hosted) = self.hosted.upgrade() {
            messages.into_iter().for_each(|message| hosted.deliver(message));
        }
    }

    fn serves(&self, partition: PartitionRef) {
        let Some(hosted) = self.hosted.upgrade() else { return };
        if partition == SYSTEM {
            hosted.resume_apps();
        } else {
            hosted.deliver_outbox(partition, None);
        }
    }
}

impl Hosted {
    /// Starts the partitions of all apps. Those that serve already are sent what is in the outbox.
    fn resume_apps(self: &Arc<Self>) {
        // Where they cannot be read, the reader has stopped the system partition.
        let Ok(apps) = self.apps() else { return };
        for definitions in apps {
            let AppSettings { app, partitions, .. } = definitions.app;
            for partition in partitions_of(app, partitions) {
                if self.start(partition).shared.serves() {
                    self.deliver_outbox(partition, None);
                }
            }
        }
        self.resumed();
    }

    /// Delivers what is in the outbox for a partition.
    fn deliver_outbox(self: &Arc<Self>, target: PartitionRef, expected: Option<u64>) {
        let view = self.running(SYSTEM).and_then(|system| system.shared.view());
        let Some(view) = view else { return };
        // Where it cannot be read, the reader has stopped the system partition.
        let Ok(messages) = outbox_of(&view, self.store.schema(), target, expected) else { return };
        messages.into_iter().for_each(|message| self.deliver(message));
    }

    /// Delivers a message, and tells its source when it is durable where it belongs.
    fn deliver(self: &Arc<Self>, message: Outgoing) {
        let Outgoing { target, delivery } = message;
        let number = delivery.number;
        let hosted = Arc::downgrade(self);
        let answer = move |reply| {
            let Some(hosted) = Weak::upgrade(&hosted) else { return };
            match after(target, number, &reply) {
                Next::Tell(delivered) => {
                    if let Some(system) = hosted.running(SYSTEM) {
                        system.request(Body::Delivered(delivered), |_| ());
                    }
                }
                Next::Again { expected } => hosted.deliver_outbox(target, Some(expected)),
                Next::Wait => {}
            }
        };
        self.start(target).request(Body::Delivery(delivery), answer);
    }
}

/// What follows when a message was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Its source is told.
    Tell(Delivered),
    /// It has overtaken others, which the partition was sent when it began to serve: the outbox
    /// goes again.
    Again {
        /// The message that the partition waits for.
        expected: u64,
    },
    /// It stays in the outbox until the partition serves.
    Wait,
}

/// What follows when a message was answered.
#[must_use]
pub fn after(target: PartitionRef, number: u64, reply: &Reply) -> Next {
    let tell = Next::Tell(Delivered { target, first: number, through: number });
    match reply {
        Reply::Applied(Outcome::Received { .. }) => tell,
        Reply::Applied(Outcome::OutOfOrder { expected }) => Next::Again { expected: *expected },
        Reply::Applied(_)
        | Reply::Busy(_)
        | Reply::NotWritten { .. }
        | Reply::Unknown { .. }
        | Reply::Stopped(_) => {
            if planted::is(Bug::OutboxForgets) {
                tell
            } else {
                Next::Wait
            }
        }
    }
}

/// What is in the outbox for a partition, in order, if it begins with the message that the
/// partition waits for: without that one, the others would all be out of order.
///
/// # Errors
///
/// When it cannot be read.
pub fn outbox_of(
    view: &View,
    schema: &Schema,
    target: PartitionRef,
    expected: Option<u64>,
) -> Result<Vec<Outgoing>, ReadFailed> {
    let mut messages = Reader::new(view, prefix_of(SYSTEM), schema).outbox(target)?;
    if planted::is(Bug::OutboxNotSentAgain) && expected.is_none() {
        messages.clear();
    }
    if planted::is(Bug::OutboxFirstOnly) {
        messages.truncate(1);
    }
    let first = messages.first().map(|first| first.delivery.number);
    let is_wanted = expected.is_none_or(|expected| first.is_some_and(|first| first <= expected));
    Ok(if is_wanted { messages } else { Vec::new() })
}
