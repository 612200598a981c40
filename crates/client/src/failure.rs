//! What came of one attempt, as the server or the connection tells it.
//!
//! An error of Seriatim is the first detail of a gRPC status, or stands by itself in a stream.
//! Whatever else ends a call comes from what lies between: it says nothing of what was written.

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use seriatim_api as api;
use tonic::{Code, Status};

use crate::error::Error;

/// An attempt that came to nothing, or perhaps not.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Why.
    pub error: Error,
    /// What this attempt has written. Only of interest for commands.
    pub outcome: Outcome,
}

/// What a command that came to nothing has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing, and it will be the same again.
    Refused,
    /// Nothing.
    NotWritten,
    /// Nobody knows.
    Unknown,
}

impl From<api::Error> for Failure {
    fn from(error: api::Error) -> Self {
        let outcome = match error.outcome() {
            api::Outcome::Refused => Outcome::Refused,
            api::Outcome::NotWritten => Outcome::NotWritten,
            api::Outcome::Unknown | api::Outcome::Unspecified => Outcome::Unknown,
        };
        // Facts that cannot be read are no reason to hide the error that they belong to.
        let facts = serde_json::from_slice(&error.facts_json).unwrap_or_default();
        let after = Duration::from_millis(error.retry_after_ms.into());
        let after = (!after.is_zero()).then_some(after);
        let is_retryable = error.retryable;
        let error = Error::new(error.code, error.message).with_facts(facts);
        Self { error: if is_retryable { error.retryable(after) } else { error }, outcome }
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        match first_detail(&status) {
            Some(error) => error.into(),
            None => Self { error: between(&status), outcome: Outcome::Unknown },
        }
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Failure::from(status).error
    }
}

/// The details of a status as Google's API guide has them: the status itself once more.
#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
}

fn first_detail(status: &Status) -> Option<api::Error> {
    let details = Details::decode(status.details()).ok()?.details;
    let detail = details.into_iter().find(|it| it.type_url.ends_with("/seriatim.v1.Error"))?;
    api::Error::decode(detail.value).ok()
}

/// The error for a status that is not of Seriatim's making.
fn between(status: &Status) -> Error {
    let message = match std::error::Error::source(status) {
        Some(source) => format!("{}: {}", status.message(), innermost(source)),
        None => status.message().to_owned(),
    };
    match status.code() {
        // A connection that breaks shows in any of these, and so does a proxy that gives up.
        Code::Unavailable
        | Code::Unknown
        | Code::Internal
        | Code::Cancelled
        | Code::Aborted
        | Code::DeadlineExceeded
        | Code::ResourceExhausted
        | Code::Ok => Error::new(Error::UNAVAILABLE, message).retryable(None),
        Code::Unimplemented => Error::new("UNIMPLEMENTED", message),
        Code::Unauthenticated => Error::new("UNAUTHENTICATED", message),
        Code::PermissionDenied => Error::new("PERMISSION_DENIED", message),
        Code::OutOfRange => Error::new("TOO_LARGE", message),
        Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::FailedPrecondition
        | Code::DataLoss => Error::new(Error::BAD_ANSWER, message),
    }
}

/// The last of a chain of causes says most: "connection refused", not "transport error".
fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> api::Error {
        api::Error {
            code: "BUSY".to_owned(),
            message: "too many wait".to_owned(),
            retryable: true,
            outcome: api::Outcome::NotWritten.into(),
            retry_after_ms: 50,
            facts_json: Bytes::from_static(br#"{"reason":"queue_full"}"#),
        }
    }

    fn status(code: Code, type_url: &str) -> Status {
        let value = busy().encode_to_vec().into();
        let details = Details { details: vec![Any { type_url: type_url.to_owned(), value }] };
        Status::with_details(code, "too many wait", details.encode_to_vec().into())
    }

    #[test]
    fn the_first_detail_of_a_status_is_the_error_itself() {
        let status = status(Code::Unavailable, "type.googleapis.com/seriatim.v1.Error");
        let failure = Failure::from(status);
        assert_eq!(failure, Failure::from(busy()));
        assert_eq!(failure.outcome, Outcome::NotWritten);
        assert_eq!(failure.error.to_string(), "BUSY: too many wait");
        assert_eq!(failure.error.retry_after(), Some(Duration::from_millis(50)));
        assert_eq!(failure.error.facts()["reason"], "queue_full");
    }

    #[test]
    fn a_status_from_elsewhere_says_nothing_of_what_was_written() {
        for (code, expected, is_retryable) in [
            (Code::Unavailable, "UNAVAILABLE", true),
            (Code::Internal, "UNAVAILABLE", true),
            (Code::Unimplemented, "UNIMPLEMENTED", false),
            (Code::NotFound, "BAD_ANSWER", false),
        ] {
            let failure = Failure::from(status(code, "type.googleapis.com/google.rpc.Help"));
            assert_eq!(failure.outcome, Outcome::Unknown);
            assert_eq!(failure.error.code(), expected);
            assert_eq!(failure.error.is_retryable(), is_retryable);
        }
    }

    #[test]
    fn an_outcome_that_is_not_said_is_unknown() {
        let error = api::Error { outcome: 0, ..busy() };
        assert_eq!(Failure::from(error).outcome, Outcome::Unknown);
        let later = api::Error { outcome: 77, ..busy() };
        assert_eq!(Failure::from(later).outcome, Outcome::Unknown);
    }
}
