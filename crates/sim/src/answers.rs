//! What a client is told, for what the node has replied: as the server translates it.

use seriatim_api::Outcome as Told;
use seriatim_client::parts::Failure;
use seriatim_core::Outcome;
use seriatim_node::parts::{Shared, prefix_of};
use seriatim_node::{Busy, Reader, Reply};
use seriatim_storage::Schema;
use seriatim_types::{PartitionRef, Receipt};

use crate::client::error;

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
    match reply {
        Reply::Applied(Outcome::Committed(receipt)) => Ok(receipt),
        Reply::Applied(Outcome::Duplicate { first, count }) => {
            let unknown = || error("DEADLINE_EXCEEDED", Told::Unknown, true, "");
            let view = shared.and_then(Shared::view).ok_or_else(unknown)?;
            let reader = Reader::new(&view, prefix_of(partition), schema);
            reader.repeated(first, count, include_proof).map_err(|_| unknown())
        }
        Reply::Applied(Outcome::Refused(refusal)) => Err(match refusal.code() {
            code @ "DEADLINE_EXCEEDED" => error(code, Told::NotWritten, false, ""),
            code @ "KEY_WINDOW_FULL" => error(code, Told::NotWritten, true, ""),
            code => error(code, Told::Refused, false, ""),
        }),
        Reply::Applied(other) => unreachable!("no command comes to {other:?}"),
        Reply::Busy(Busy::Behind) => Err(error("BUSY", Told::NotWritten, true, "behind")),
        Reply::Busy(_) => Err(error("BUSY", Told::NotWritten, true, "other")),
        Reply::NotWritten { .. } => Err(error("BUSY", Told::NotWritten, true, "other")),
        Reply::Unknown { .. } => Err(error("PARTITION_STOPPED", Told::Unknown, true, "")),
        Reply::Stopped(_) => Err(error("PARTITION_STOPPED", Told::NotWritten, false, "")),
    }
}
