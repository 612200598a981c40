//! What a caller learns when something was not done, and what to do then.
//!
//! ```text
//!  Refused      never written          something has to change first; its key is still free
//!  NotWritten   by no attempt of this  send it again; with the same key, if an earlier call has
//!               call                   left open what came of it
//!  Unknown      perhaps written        send it again with the same key: that resolves it
//! ```

use std::borrow::Cow;
use std::time::Duration;

use serde_json::{Map, Value};
use seriatim_api::InvalidCommand;

use crate::key::Key;

/// Why a command was not carried out, or may not have been: the three answers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SubmitError {
    /// It was never written and left no trace. The same will be refused again unless something
    /// changes; code and facts say what.
    #[error("refused: {error}")]
    Refused {
        /// The command's key.
        key: Key,
        /// Why.
        error: Error,
    },
    /// It was not written by any attempt of this call. Send it again, with any key; but with the same
    /// one if an earlier call with it was [`Unknown`](Self::Unknown) or got no answer: this says
    /// nothing of that call's attempts. Only a receipt or a refusal settles those.
    #[error("not written: {error}")]
    NotWritten {
        /// The command's key.
        key: Key,
        /// Why.
        error: Error,
    },
    /// It may have been written. Send the same command again with this key: that resolves it.
    #[error("perhaps written, to be sent again with the key {key}: {error}")]
    Unknown {
        /// The command's key.
        key: Key,
        /// Why nobody knows.
        error: Error,
    },
}

/// Why a request was not answered as was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Error {
    code: Cow<'static, str>,
    message: String,
    is_retryable: bool,
    retry_after: Option<Duration>,
    outcome: Option<Outcome>,
    facts: Map<String, Value>,
}

/// What has come of something that was to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was never written, and the same will be refused again unless something changes.
    Refused,
    /// It was not written.
    NotWritten,
    /// Nobody knows.
    Unknown,
}

impl SubmitError {
    /// The stable code: see [`Error::code`].
    #[must_use]
    pub fn code(&self) -> &str {
        self.error().code()
    }

    /// The command's key.
    #[must_use]
    pub fn key(&self) -> Key {
        let (Self::Refused { key, .. } | Self::NotWritten { key, .. } | Self::Unknown { key, .. }) =
            self;
        *key
    }

    /// What is behind it.
    #[must_use]
    pub fn error(&self) -> &Error {
        let (Self::Refused { error, .. }
        | Self::NotWritten { error, .. }
        | Self::Unknown { error, .. }) = self;
        error
    }
}

impl Error {
    /// The server could not be reached, or the connection broke before the answer.
    pub const UNAVAILABLE: &str = "UNAVAILABLE";

    /// The client's deadline has passed before there was an answer.
    pub const DEADLINE_EXCEEDED: &str = "DEADLINE_EXCEEDED";

    /// What the server said cannot be: an answer without its parts, a log with a hole.
    pub const BAD_ANSWER: &str = "BAD_ANSWER";

    pub(crate) const INVALID_ARGUMENT: &str = "INVALID_ARGUMENT";

    /// The stable code of the HTTP contract, or one of those that only a client can find:
    /// [`UNAVAILABLE`](Self::UNAVAILABLE), [`BAD_ANSWER`](Self::BAD_ANSWER), or what is next to it
    /// when it is not Seriatim that answers.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.code
    }

    /// A sentence for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same can succeed later without anybody changing anything.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.is_retryable
    }

    /// How long the server asks to wait before that.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// What has come of a definition, by this attempt and all before it. Of a read it says nothing:
    /// that can always be asked again.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// What else there is to know, by name: the other members of the error's body.
    #[must_use]
    pub fn facts(&self) -> &Map<String, Value> {
        &self.facts
    }

    pub(crate) fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            is_retryable: false,
            retry_after: None,
            outcome: None,
            facts: Map::new(),
        }
    }

    pub(crate) fn invalid(field: &str, why: impl std::fmt::Display) -> Self {
        let error = Self::new(Self::INVALID_ARGUMENT, format!("{field}: {why}"));
        error.with("field", field)
    }

    /// That a name is missing.
    pub(crate) fn empty(field: &str) -> Self {
        Self::invalid(field, "must not be empty")
    }

    pub(crate) fn of_command(invalid: &InvalidCommand) -> Self {
        Self::invalid(&invalid.field, &invalid.why)
    }

    pub(crate) fn bad_answer(message: impl Into<String>) -> Self {
        Self::new(Self::BAD_ANSWER, message)
    }

    pub(crate) fn retryable(mut self, after: Option<Duration>) -> Self {
        self.is_retryable = true;
        self.retry_after = after;
        self
    }

    pub(crate) fn with(mut self, name: &str, fact: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    pub(crate) fn with_outcome(self, outcome: Outcome) -> Self {
        Self { outcome: Some(outcome), ..self }
    }

    pub(crate) fn with_facts(self, facts: Map<String, Value>) -> Self {
        Self { facts, ..self }
    }
}
