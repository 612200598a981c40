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

use seriatim_core::{DeliveryOutcome, Outgoing};
use seriatim_planted::{self as planted, Bug};
use seriatim_storage::Schema;
use seriatim_types::{Delivered, PartitionRef};

use super::directory::{SYSTEM, prefix_of};
use crate::partition::View;
use crate::reads::{ReadFailed, Reader};
use crate::reply::{Reply, RequestError};

/// What follows when a message was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
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
pub(super) fn after(target: PartitionRef, number: u64, reply: &Reply<DeliveryOutcome>) -> After {
    let tell = After::Tell(Delivered { target, first: number, through: number });
    match reply {
        Ok(DeliveryOutcome::Received { .. }) => tell,
        Ok(DeliveryOutcome::OutOfOrder { expected }) => After::Again { expected: *expected },
        Err(
            RequestError::Refused(_)
            | RequestError::Busy(_)
            | RequestError::NotWritten { .. }
            | RequestError::Unknown { .. }
            | RequestError::Stopped(_),
        ) => {
            if planted::is(Bug::OutboxForgets) {
                tell
            } else {
                After::Wait
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
