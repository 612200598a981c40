//! What a client is told, for what the node has replied. Its code, and which of the three answers it is,
//! are the node's own words; the server writes them into its bodies.

use seriatim_client::parts::{Failure, Outcome as Told};
use seriatim_core::{CommandOutcome, Outcome};
use seriatim_node::parts::{Shared, prefix_of};
use seriatim_node::{Reader, Reply, RequestError, Written};
use seriatim_storage::Schema;
use seriatim_types::{PartitionRef, Receipt};

use crate::client;

/// An answer to a command.
pub(crate) type Answer = Result<Receipt, Failure>;

/// The answer to a command. A repetition's receipt is made anew, from what is durable.
pub(crate) fn answer(
    reply: Reply,
    include_proof: bool,
    partition: PartitionRef,
    shared: Option<&Shared>,
    schema: &Schema,
) -> Answer {
    let unread = || failure_of(&RequestError::Unknown { why: String::new() });
    match reply.map(Outcome::of_command) {
        Ok(CommandOutcome::Committed(receipt)) => Ok(receipt),
        Ok(CommandOutcome::Duplicate { first, count }) => {
            let view = shared.and_then(Shared::view).ok_or_else(unread)?;
            let reader = Reader::new(&view, prefix_of(partition), schema);
            reader.repeated(first, count, include_proof).map_err(|_| unread())
        }
        Err(error) => Err(failure_of(&error)),
    }
}

/// What a client is sent for an error.
fn failure_of(error: &RequestError) -> Failure {
    let outcome = match error.written() {
        Written::Refused => Told::Refused,
        Written::NotWritten => Told::NotWritten,
        Written::Unknown => Told::Unknown,
    };
    let reason = error.busy_reason().unwrap_or_default();
    client::error(error.code(), outcome, error.is_retryable(), reason)
}
