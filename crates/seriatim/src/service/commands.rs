//! What the node's reply to a command comes to.
//!
//! ```text
//!  reply ─► settle ─┬─► committed ─► receipt
//!                   ├─► Look ─┬─► duplicate ─► receipt, rebuilt from the events
//!                   │         └─► key reused ─► refused, with what the key belongs to
//!                   └─► refused, not written, unknown
//! ```

use seriatim_codec::fingerprint;
use seriatim_core::{CommandOutcome, Refusal};
use seriatim_json::CommandBody;
use seriatim_node::{ReadFailed, Reader, Reply, RequestError, Written};
use seriatim_types::{
    ClientId, Command, Hash, Key, Name, Number, PartitionOffset, Receipt, Time, WorkspaceRef,
};

use super::error::{ApiError, Fact};

/// The command that a body becomes.
#[must_use]
pub fn command(
    workspace: WorkspaceRef,
    client: ClientId,
    key: Key,
    deadline: Option<Time>,
    body: CommandBody,
) -> Command {
    let CommandBody { events, if_offset, include_proof } = body;
    let fingerprint = fingerprint(&events, if_offset);
    Command { workspace, client, key, fingerprint, deadline, if_offset, include_proof, events }
}

/// What a reply comes to.
#[derive(Debug)]
pub enum Settled {
    /// It was carried out now.
    Committed(Receipt),
    /// The store has to be asked for the rest.
    Look(Look),
}

/// What the store has to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The receipt of a repetition.
    Repeated {
        /// The first event of the command.
        first: PartitionOffset,
        /// How many events it has.
        count: u32,
        /// Whether its receipt comes with a proof.
        include_proof: bool,
    },
    /// What a reused key belongs to.
    Reused {
        /// The first event of the command that has used it.
        first: PartitionOffset,
    },
}

/// What the store has said.
#[derive(Debug)]
pub enum Looked {
    /// It was carried out before.
    Repeated(Receipt),
    /// It is refused.
    Reused(Reused),
}

/// The refusal of a reused key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reused {
    /// The first event of the command that the key belongs to, in the partition's log.
    pub first: PartitionOffset,
    /// The same event in the workspace's log, with its hash; `None` if it could not be read.
    pub original: Option<(Number, Hash)>,
}

/// What the node's reply to a command of an app comes to.
///
/// # Errors
///
/// The command was refused, not written, or nobody knows.
pub fn settle(
    app: &Name,
    include_proof: bool,
    reply: Reply<CommandOutcome>,
) -> Result<Settled, RequestError> {
    match reply {
        Ok(CommandOutcome::Committed(receipt)) => Ok(Settled::Committed(receipt)),
        Ok(CommandOutcome::Duplicate { first, count }) => {
            Ok(Settled::Look(Look::Repeated { first, count, include_proof }))
        }
        Err(RequestError::Refused(Refusal::KeyReused { first })) => {
            Ok(Settled::Look(Look::Reused { first }))
        }
        Err(error) => Err(error.of_app(app)),
    }
}

impl Look {
    /// Asks the store.
    ///
    /// # Errors
    ///
    /// When the receipt of a repetition could not be read. Something was committed then, so the caller is
    /// left without knowing: see [`ApiError::unread`].
    pub fn look(self, reader: &Reader<'_>) -> Result<Looked, ReadFailed> {
        match self {
            Self::Repeated { first, count, include_proof } => {
                Ok(Looked::Repeated(reader.repeated(first, count, include_proof)?))
            }
            // It is refused, whether or not the original can be shown.
            Self::Reused { first } => {
                Ok(Looked::Reused(Reused { first, original: reader.committed_hash(first).ok() }))
            }
        }
    }
}

impl From<Reused> for ApiError {
    fn from(Reused { first, original }: Reused) -> Self {
        let refused = Self::from(Refusal::KeyReused { first }).with_outcome(Written::Refused);
        match original {
            Some((offset, hash)) => refused
                .with("committed_offset", Fact::Number(offset.get()))
                .with("committed_hash", Fact::Hash(hash.into())),
            None => refused,
        }
    }
}
