//! A command on its way, and what came of it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use seriatim_core::{CommandOutcome, Refusal};
use seriatim_node::Reply;
use seriatim_types::{Number, NumberDrawn, Receipt};

use crate::error::{ReadError, Unknown, WriteError};
use crate::service::{Look, Looked, Reused, Settled, settle};
use crate::slot::Slot;
use crate::workspace::Workspace;

/// A command that was sent. [Wait](Self::wait) for its answer, or await it: it needs no runtime of
/// a certain make, and may read a few rows when it is polled for the last time.
///
/// One that is dropped is carried out all the same. Whoever wants to know what came of it sends it
/// again with the same key.
#[must_use = "only its answer tells whether the command was carried out"]
pub struct Sent {
    workspace: Workspace,
    slot: Arc<Slot<Answer>>,
}

/// What the node says, and whether a proof is to come with it.
type Answer = Result<(Reply<CommandOutcome>, bool), WriteError>;

/// What came of a command that was carried out, now or when it was first sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submitted {
    /// All numbers that it was given. When the command has `"include_proof": true`, also the proof
    /// that its last event is in the log as it was right behind that event: of as many events as
    /// the receipt's last offset says.
    pub receipt: Receipt,
    /// Whether the command had been carried out before, so that nothing happened now.
    pub is_replayed: bool,
}

impl Submitted {
    /// The id of the record that the command created under a raw id.
    #[must_use]
    pub fn id(&self, raw: u16) -> Option<Number> {
        self.receipt.ids.iter().find(|(known, _)| *known == raw).map(|(_, id)| *id)
    }

    /// The first number that the command drew from a sequence.
    #[must_use]
    pub fn number(&self, sequence: &str) -> Option<&NumberDrawn> {
        self.receipt.numbers.iter().find(|drawn| drawn.name.as_str() == sequence)
    }
}

impl Sent {
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, slot: Slot::new() }
    }

    pub(crate) fn answer(&self, answer: Answer) {
        self.slot.fill(answer);
    }

    /// Takes the node's reply, whenever it comes.
    pub(crate) fn answer_later(
        &self,
        include_proof: bool,
    ) -> impl FnOnce(Reply<CommandOutcome>) + Send + 'static + use<> {
        let slot = self.slot.clone();
        move |reply| slot.fill(Ok((reply, include_proof)))
    }

    /// Waits for the answer on this thread, as long as [`Options`](crate::Options) say.
    ///
    /// # Errors
    ///
    /// It was refused, not written, or nobody knows yet.
    pub fn wait(self) -> Result<Submitted, WriteError> {
        let waited = self.workspace.opened.answer_within;
        let now = Instant::now();
        let deadline = now.checked_add(waited).unwrap_or(now);
        let timed_out = || Err(Unknown::TimedOut { waited }.into());
        self.open(self.slot.take_before(deadline).unwrap_or_else(timed_out))
    }

    fn open(&self, answer: Answer) -> Result<Submitted, WriteError> {
        let (reply, include_proof) = answer?;
        let settled = settle(&self.workspace.app, include_proof, reply);
        let look = match self.workspace.opened.applied(settled)? {
            Settled::Committed(receipt) => return Ok(Submitted { receipt, is_replayed: false }),
            // What the key belongs to is in the receipt under it, for whoever wants to know.
            Settled::Look(Look::Reused { first }) => {
                return Err(Refusal::KeyReused { first }.into());
            }
            Settled::Look(look) => look,
        };
        // It was carried out, so whatever cannot be read leaves the caller without knowing.
        let unknown = |error: ReadError| Unknown::Interrupted { why: error.to_string() };
        let looked = self.workspace.read_partition(|reader| Ok(look.look(reader)?));
        match looked.map_err(unknown)? {
            Looked::Repeated(receipt) => Ok(Submitted { receipt, is_replayed: true }),
            Looked::Reused(Reused { first, .. }) => Err(Refusal::KeyReused { first }.into()),
        }
    }
}

impl Future for Sent {
    type Output = Result<Submitted, WriteError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.slot.poll(context).map(|answer| self.open(answer))
    }
}
