//! A workspace: commands go in, numbers come out.

use std::sync::Arc;

use seriatim_api::CommandJson;
use seriatim_core::Refusal;
use seriatim_json::header;
use seriatim_node::Log;
use seriatim_types::{Key, Name, Time, WorkspaceRef};

use crate::error::{ReadError, WriteError, refusal_of};

use crate::opened::Opened;
use crate::sent::{Sent, Submitted};
use crate::subscription::Subscription;
use crate::{key, service};

/// A workspace of an app. Clones are handles to the same, and threads may share one.
#[derive(Clone)]
pub struct Workspace {
    pub(crate) opened: Arc<Opened>,
    pub(crate) app: Name,
    pub(crate) workspace: WorkspaceRef,
}

impl Workspace {
    /// Has a command carried out, and waits until it is durable. All of it happens, or nothing.
    ///
    /// The command is a [`Command`](crate::Command), or JSON as in the HTTP contract: `{"events":
    /// [{"name": …, "args": …, "changes": […]}]}`. The client is whoever asks: its commands are
    /// counted, and its keys are its own. Sent again with the same key, a command that was carried
    /// out is answered with its first receipt.
    ///
    /// # Errors
    ///
    /// It was refused, not written, or nobody knows yet: see [`WriteError`].
    pub fn submit(
        &self,
        client: &str,
        key: Key,
        command: impl Into<CommandJson>,
    ) -> Result<Submitted, WriteError> {
        self.send(client, key, command).wait()
    }

    /// Sends a command without waiting for its answer. [`Sent`] is a future for tasks on any
    /// runtime, and [`Sent::wait`] is for threads. Commands to one workspace are carried out in the
    /// order in which they were sent.
    pub fn send(&self, client: &str, key: Key, command: impl Into<CommandJson>) -> Sent {
        let sent = Sent::new(self.clone());
        if let Err(error) = self.try_send(client, key, command.into(), &sent) {
            sent.answer(Err(error));
        }
        sent
    }

    fn try_send(
        &self,
        client: &str,
        key: Key,
        command: CommandJson,
        sent: &Sent,
    ) -> Result<(), WriteError> {
        let client = header::client(client).map_err(refusal_of)?;
        let key = key::check(key)?;
        let (json, deadline) = command.into_parts().map_err(|invalid| {
            Refusal::InvalidArgument { field: invalid.field, why: invalid.why }
        })?;
        let body = seriatim_json::command(&json).map_err(refusal_of)?;
        let include_proof = body.include_proof;
        let (workspace, deadline) = (self.workspace.clone(), deadline.map(Time::from));
        let command = service::command(workspace, client, key, deadline, body);
        let answer = sent.answer_later(include_proof);
        self.opened.with(|node| node.submit(&self.app, command, answer))??;
        Ok(())
    }

    /// Follows the log from an offset on: first what is stored, then what is added, without a hole
    /// and without a repetition. 0 and 1 are the beginning.
    ///
    /// # Errors
    ///
    /// When it was closed.
    pub fn subscribe(&self, from: u64) -> Result<Subscription, ReadError> {
        let log = Log::Workspace(self.workspace.clone());
        let inner = self.opened.with(|node| node.subscribe(&self.app, log, from))??;
        Ok(Subscription::new(inner))
    }
}
