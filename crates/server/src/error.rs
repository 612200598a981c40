//! What a client is told when its request is not carried out.
//!
//! An error is plain data until it is written: the code, the facts and whether to try again are the
//! same for every protocol.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use seriatim_json::write::{self, Fact};
use seriatim_json::{Invalid, Problem};
use seriatim_node::Written;

use crate::answer;
use crate::codes::meaning;

/// Why a request was not carried out, or may not have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The stable code that clients go by.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// Whether the same request can succeed later without anybody changing anything.
    pub is_retryable: bool,
    /// How long to wait before trying again.
    pub retry_after: Option<Duration>,
    /// What came of a command or a definition.
    pub outcome: Option<Written>,
    /// What else there is to know, by name.
    pub facts: Vec<(&'static str, Fact)>,
}

impl ApiError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            is_retryable: false,
            retry_after: None,
            outcome: None,
            facts: Vec::new(),
        }
    }

    /// Something in the request cannot be taken as it is.
    pub(crate) fn invalid(field: &str, why: impl std::fmt::Display) -> Self {
        let error = Self::new("INVALID_ARGUMENT", format!("{field}: {why}"));
        error.with("field", Fact::Text(field.to_owned()))
    }

    /// A request did not come whole, so nobody has looked at it.
    pub(crate) fn unsent(why: impl Into<String>) -> Self {
        Self::new("DEADLINE_EXCEEDED", why).retryable()
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new("NOT_FOUND", message)
    }

    pub(crate) fn with(mut self, name: &'static str, fact: Fact) -> Self {
        self.facts.push((name, fact));
        self
    }

    pub(crate) fn retryable(mut self) -> Self {
        self.is_retryable = true;
        self
    }

    pub(crate) fn retryable_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self.retryable()
    }

    pub(crate) fn with_outcome(mut self, outcome: Written) -> Self {
        self.outcome = Some(outcome);
        self
    }

    /// The same as the answer to a command or a definition: it always says what came of it.
    pub(crate) fn of_write(self) -> Self {
        let outcome = self.outcome_of_write();
        self.with_outcome(outcome)
    }

    /// What it says of a command or a definition.
    pub(crate) fn outcome_of_write(&self) -> Written {
        // A partition that has stopped has not looked at it, so it is not refused for good.
        let is_undecided = self.is_retryable || self.code == "PARTITION_STOPPED";
        let unwritten = if is_undecided { Written::NotWritten } else { Written::Refused };
        self.outcome.unwrap_or(unwritten)
    }

    /// The status that the contract gives the code.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        meaning(self.code).status
    }

    /// The body, as JSON.
    pub(crate) fn body(&self) -> Vec<u8> {
        let outcome = self.outcome.map(|outcome| ("outcome", Fact::Text(word(outcome).to_owned())));
        let facts: Vec<_> = outcome.into_iter().chain(self.facts.iter().cloned()).collect();
        write::error(self.code, &self.message, self.is_retryable, &facts)
    }
}

fn word(written: Written) -> &'static str {
    match written {
        Written::Refused => "refused",
        Written::NotWritten => "not_written",
        Written::Unknown => "unknown",
    }
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        let error = Self::new(invalid.code(), invalid.to_string());
        // The request as a whole is no field.
        if let Problem::TooLarge { max, .. } = invalid.problem
            && invalid.field.is_empty()
        {
            return error.with("limit", Fact::Number(max.into()));
        }
        error.with("field", Fact::Text(invalid.field))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = answer::json(self.status(), self.body());
        if let Some(after) = self.retry_after {
            // The header has whole seconds, and earlier would be too early.
            let seconds = after.as_millis().div_ceil(1000);
            let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
