//! A workspace: commands go in, numbers come out.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use seriatim_api::CommandJson;
use seriatim_api::message::{Declared, NewWorkspace, Timestamp};
use seriatim_api::method::MethodId;

use crate::client::Client;
use crate::error::{Error, Outcome, SubmitError};
use crate::failure::Failure;
use crate::http::Request;
use crate::key::Key;
use crate::receipt::Submitted;
use crate::submitter::{Answer, Job, Taken, Target};
use crate::subscription::{Log, Subscription};

/// The longest command that is sent. The server refuses one that is longer; one that it cannot even
/// take would end the stream that all commands share.
const COMMAND_BYTES_MAX: usize = 1024 * 1024;

/// A workspace of an app. Clones are handles to the same.
#[derive(Debug, Clone)]
pub struct Workspace {
    pub(crate) client: Client,
    pub(crate) target: Arc<Target>,
    pub(crate) min_offset: u64,
}

/// A command that was submitted. Awaited, it says what came of it.
///
/// It is on its way whether or not it is awaited. One that is dropped before its answer has come is
/// not sent again; whether it was carried out, only sending it again with the same key tells.
#[derive(Debug)]
#[must_use = "only its answer tells whether the command was carried out"]
pub struct Submission {
    key: Key,
    state: State,
    /// Answers come as long as the client lives.
    _client: Client,
}

#[derive(Debug)]
enum State {
    Taken(Taken),
    /// It was never sent; taken when it is told.
    Refused(Option<Error>),
}

impl Workspace {
    /// Has a command carried out, under a key of its own that is made here. All of it happens, or
    /// nothing; when the answer is `Ok`, it is durable. The command is a [`Command`](crate::Command)
    /// or its JSON.
    ///
    /// The commands of a client to one workspace are carried out in the order in which `submit` was
    /// called, whether or not the answers of earlier ones were awaited. What can be tried again is, with
    /// the same key, until the client's deadline.
    ///
    /// The key is in the answer, also in an error. It does not outlive the process: whoever must
    /// not issue an invoice twice after a crash brings one, with
    /// [`submit_with_key`](Self::submit_with_key).
    pub fn submit(&self, command: impl Into<CommandJson>) -> Submission {
        self.submit_with_key(Key::random(), command)
    }

    /// The same under a key of the caller's. Sent again with the same key and by the same client id,
    /// a command that was carried out is answered with its first receipt.
    pub fn submit_with_key(&self, key: Key, command: impl Into<CommandJson>) -> Submission {
        let state = match self.job(key, command.into()) {
            Ok(job) => State::Taken(self.client.inner.submitter.submit(self.target.clone(), job)),
            Err(error) => State::Refused(Some(error)),
        };
        Submission { key, state, _client: self.client.clone() }
    }

    /// Follows the log from an offset on: see [`Subscription`].
    #[must_use]
    pub fn subscribe(&self, from: u64) -> Subscription {
        Subscription::new(self.client.clone(), Log::Workspace((*self.target).clone()), from)
    }

    /// Settles that the workspace is of a kind other than `default`. Needed once, before its first
    /// use.
    ///
    /// # Errors
    ///
    /// `KIND_CONFLICT` when it has another kind, or `UNKNOWN_KIND`.
    pub async fn declare(&self, kind: &str) -> Result<Declared, Error> {
        let workspace = NewWorkspace { kind: Some(kind.to_owned()) };
        self.client.ask(self.request(MethodId::DeclareWorkspace, &[])?.body(&workspace)).await
    }

    /// A request about the workspace.
    pub(crate) fn request(
        &self,
        method: MethodId,
        parts: &[(&str, &str)],
    ) -> Result<Request, Error> {
        let Target { app, workspace } = &*self.target;
        Request::of(method, &[&[("app", app.as_str()), ("ws", workspace)], parts].concat())
    }

    fn job(&self, key: Key, command: CommandJson) -> Result<Job, Error> {
        // On the wire, what is empty is what it was in the request before.
        let Target { app, workspace } = &*self.target;
        let names =
            [("app", app), ("workspace", workspace), ("client", &self.client.inner.client_id)];
        if let Some((field, _)) = names.iter().find(|(_, name)| name.is_empty()) {
            return Err(Error::empty(field));
        }
        let (command, deadline) = command.into_parts().map_err(|it| Error::of_command(&it))?;
        if command.len() > COMMAND_BYTES_MAX {
            let message = format!("the command has more than {COMMAND_BYTES_MAX} bytes");
            return Err(Error::new("TOO_LARGE", message).with("limit", COMMAND_BYTES_MAX));
        }
        let deadline_ms = deadline.map(Timestamp::as_millis);
        Ok(Job { key, deadline_ms, command })
    }
}

impl Submission {
    /// The key that the command was sent with.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key
    }

    fn open(&self, answer: Answer) -> Result<Submitted, SubmitError> {
        let key = self.key;
        let done = answer.and_then(|response| {
            let is_replayed = response.replayed;
            let receipt = serde_json::from_slice(&response.receipt_json);
            // It was carried out, and the numbers that it was given are for another attempt to tell.
            let unread = |error| Failure {
                error: Error::bad_answer(format!("a receipt that cannot be read: {error}")),
                outcome: Outcome::Unknown,
            };
            Ok(Submitted { key, receipt: receipt.map_err(unread)?, is_replayed })
        });
        done.map_err(|Failure { error, outcome }| match outcome {
            Outcome::Refused => SubmitError::Refused { key, error },
            Outcome::NotWritten => SubmitError::NotWritten { key, error },
            Outcome::Unknown => SubmitError::Unknown { key, error },
        })
    }
}

impl Future for Submission {
    type Output = Result<Submitted, SubmitError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = match &mut self.state {
            State::Taken(taken) => std::task::ready!(Pin::new(taken).poll(context)),
            State::Refused(error) => {
                let error = error.take().expect("a future is not polled again after its end");
                Err(Failure { error, outcome: Outcome::Refused })
            }
        };
        Poll::Ready(self.open(answer))
    }
}
