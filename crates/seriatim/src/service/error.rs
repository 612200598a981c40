//! What is said of a request that was not carried out, in the words of the contract.
//!
//! An error is plain data: the code, the facts and whether to try again are the same for every protocol and
//! for embedders.

use std::fmt;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use seriatim_api::code::{ErrorCode, Outcome};
use seriatim_api::message::{Hash, Json, Timestamp};
use seriatim_json::{Invalid, Problem};
use seriatim_node::Written;

/// Why a request was not carried out, or may not have been.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    /// The stable code that clients go by.
    pub code: ErrorCode,
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

/// Something that an error says under a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Fact {
    /// A number of something.
    Number(u64),
    /// A name or a word.
    Text(String),
    /// A moment.
    Time(Timestamp),
    /// A hash.
    Hash(Hash),
    /// Something that is stored.
    Json(Json),
}

impl ApiError {
    /// An error of a code, which decides whether it can be tried again.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            is_retryable: code.retryable().unwrap_or(false),
            retry_after: None,
            outcome: None,
            facts: Vec::new(),
        }
    }

    /// Something in the request cannot be taken as it is.
    #[must_use]
    pub fn invalid(field: &str, why: impl fmt::Display) -> Self {
        let error = Self::new(ErrorCode::InvalidArgument, format!("{field}: {why}"));
        error.with("field", Fact::Text(field.to_owned()))
    }

    /// A request did not come whole, so nobody has looked at it.
    #[must_use]
    pub fn unsent(why: impl Into<String>) -> Self {
        Self::new(ErrorCode::DeadlineExceeded, why).retryable()
    }

    /// Something that was asked for is not there.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::NotFound, message)
    }

    /// With one fact more.
    #[must_use]
    pub fn with(mut self, name: &'static str, fact: Fact) -> Self {
        self.facts.push((name, fact));
        self
    }

    /// The same, if it can succeed later by itself.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.is_retryable = true;
        self
    }

    /// The same, with how long to wait before.
    #[must_use]
    pub fn retryable_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self.retryable()
    }

    /// The same, with what came of it.
    #[must_use]
    pub fn with_outcome(mut self, outcome: Written) -> Self {
        self.outcome = Some(outcome);
        self
    }

    /// The same as the answer to a command or a definition: it always says what came of it.
    #[must_use]
    pub fn of_write(self) -> Self {
        let outcome = self.outcome_of_write();
        self.with_outcome(outcome)
    }

    /// The same when something was committed and could not be read, so that the caller is left without
    /// knowing.
    #[must_use]
    pub fn unread(self) -> Self {
        let is_stopped = self.code == ErrorCode::PartitionStopped;
        let code = if is_stopped { ErrorCode::OutcomeUnknown } else { self.code };
        Self { code, ..self }.retryable().with_outcome(Written::Unknown)
    }

    /// What it says of a command or a definition.
    #[must_use]
    pub fn outcome_of_write(&self) -> Written {
        let of_code = || match self.code.outcome() {
            Some(Outcome::Refused) => Written::Refused,
            Some(Outcome::Unknown) => Written::Unknown,
            // Whoever knows more has said so. A partition that has stopped, for one, has not looked at it, so
            // it is not refused for good.
            Some(Outcome::NotWritten) | None => Written::NotWritten,
        };
        self.outcome.unwrap_or_else(of_code)
    }
}

/// As [`ErrorBody`](seriatim_api::error::ErrorBody) says. That struct is for readers: stored values pass
/// through here with all their digits.
impl Serialize for ApiError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("code", &self.code)?;
        body.serialize_entry("message", &self.message)?;
        body.serialize_entry("retryable", &self.is_retryable)?;
        if let Some(outcome) = self.outcome {
            body.serialize_entry("outcome", &word(outcome))?;
        }
        self.facts.iter().try_for_each(|(name, fact)| body.serialize_entry(name, fact))?;
        body.serialize_entry("help", self.code.help())?;
        body.end()
    }
}

fn word(written: Written) -> Outcome {
    match written {
        Written::Refused => Outcome::Refused,
        Written::NotWritten => Outcome::NotWritten,
        Written::Unknown => Outcome::Unknown,
    }
}

/// The code of something that another crate has refused, by the name that it knows. A test knows all of
/// the core's; any other name would be a fault of Seriatim's own, and no request is to bring the server
/// down by it.
pub(super) fn code_of(name: &str) -> ErrorCode {
    name.parse().unwrap_or(ErrorCode::PartitionStopped)
}

impl From<Invalid> for ApiError {
    fn from(invalid: Invalid) -> Self {
        let error = Self::new(code_of(invalid.code()), invalid.to_string());
        // The request as a whole is no field.
        if let Problem::TooLarge { max, .. } = invalid.problem
            && invalid.field.is_empty()
        {
            return error.with("limit", Fact::Number(max.into()));
        }
        error.with("field", Fact::Text(invalid.field))
    }
}

#[cfg(test)]
mod tests {
    use seriatim_core::Refusal;
    use seriatim_node::RequestError;

    use super::*;

    #[test]
    fn every_code_of_the_core_and_the_node_is_one_of_the_contract() {
        assert!(Refusal::CODES.len() > 20);
        for code in Refusal::CODES {
            assert_eq!(code.parse::<ErrorCode>().map(ErrorCode::as_str), Ok(*code));
        }
        let why = String::new;
        for error in [RequestError::NotWritten { why: why() }, RequestError::Unknown { why: why() }]
        {
            assert_eq!(code_of(error.code()).as_str(), error.code());
        }
        for problem in [Problem::TooDeep, Problem::TooMany { what: "x", max: 1 }] {
            let invalid = Invalid { field: String::new(), problem };
            assert_eq!(code_of(invalid.code()).as_str(), invalid.code());
        }
    }
}
