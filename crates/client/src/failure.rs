//! What came of one attempt, as the server or the connection tells it.
//!
//! An error of Seriatim is the body of an answer over HTTP. Over gRPC the same body stands in the
//! first detail of a status, or by itself in a stream. Whatever else ends a call comes from what lies
//! between: it says nothing of what was written.

use std::time::Duration;

use prost::Message;
use serde_json::{Map, Value};
use seriatim_api::grpc as api;
use seriatim_api::grpc::rpc;
use tonic::{Code, Status};

use crate::error::{Error, Outcome};

/// An attempt that came to nothing, or perhaps not.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Why.
    pub error: Error,
    /// What this attempt has written. Only of interest for what writes.
    pub outcome: Outcome,
}

impl Failure {
    /// The error that a body tells; `None` if it tells none.
    #[must_use]
    pub fn of_body(body: &[u8], retry_after: Option<Duration>) -> Option<Self> {
        let mut members: Map<String, Value> = serde_json::from_slice(body).ok()?;
        let mut take = |name| members.remove(name);
        let (Value::String(code), Value::String(message)) = (take("code")?, take("message")?)
        else {
            return None;
        };
        let is_retryable = take("retryable") == Some(Value::Bool(true));
        let outcome = match take("outcome").as_ref().and_then(Value::as_str) {
            Some("refused") => Outcome::Refused,
            Some("not_written") => Outcome::NotWritten,
            // Also one that a later server says.
            Some(_) | None => Outcome::Unknown,
        };
        let error = Error::new(code, message).with_facts(members);
        let error = if is_retryable { error.retryable(retry_after) } else { error };
        Some(Self { error, outcome })
    }
}

impl From<api::Error> for Failure {
    fn from(error: api::Error) -> Self {
        let after = Duration::from_millis(error.retry_after_ms.into());
        let after = (!after.is_zero()).then_some(after);
        Self::of_body(&error.body_json, after).unwrap_or_else(|| Self {
            error: Error::bad_answer(format!("an error that cannot be read: {}", error.message)),
            outcome: Outcome::Unknown,
        })
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

fn first_detail(status: &Status) -> Option<api::Error> {
    let details = rpc::Status::decode(status.details()).ok()?.details;
    let detail = details.into_iter().find(|it| it.type_url.ends_with("/seriatim.v1.Error"))?;
    api::Error::decode(detail.value.as_slice()).ok()
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

    const BODY: &str = r#"{"code":"BUSY","message":"too many wait","retryable":true,"outcome":"not_written","reason":"queue_full"}"#;

    fn busy() -> api::Error {
        api::Error { retry_after_ms: 50, body_json: BODY.into(), ..api::Error::default() }
    }

    fn status(code: Code, type_url: &str) -> Status {
        let value = busy().encode_to_vec();
        let details = vec![rpc::Any { type_url: type_url.to_owned(), value }];
        let details = rpc::Status { details, ..rpc::Status::default() };
        Status::with_details(code, "too many wait", details.encode_to_vec().into())
    }

    #[test]
    fn the_first_detail_of_a_status_is_the_error_itself() {
        let status = status(Code::Unavailable, "type.googleapis.com/seriatim.v1.Error");
        let failure = Failure::from(status);
        assert_eq!(failure, Failure::from(busy()));
        assert_eq!(Some(&failure), Failure::of_body(BODY.as_bytes(), Some(MS50)).as_ref());
        assert_eq!(failure.outcome, Outcome::NotWritten);
        assert_eq!(failure.error.to_string(), "BUSY: too many wait");
        assert_eq!(failure.error.retry_after(), Some(MS50));
        assert_eq!(failure.error.facts()["reason"], "queue_full");
        assert_eq!(failure.error.facts().len(), 1);
    }

    const MS50: Duration = Duration::from_millis(50);

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
    fn an_outcome_that_is_not_said_or_not_known_is_unknown() {
        for outcome in ["", r#","outcome":"later""#, r#","outcome":null"#] {
            let body = format!(r#"{{"code":"BUSY","message":"m"{outcome}}}"#);
            let failure = Failure::of_body(body.as_bytes(), None).unwrap();
            assert_eq!(failure.outcome, Outcome::Unknown);
        }
        for body in ["", "<html>", "[]", "{}", r#"{"code":1,"message":"m"}"#] {
            assert_eq!(Failure::of_body(body.as_bytes(), None), None, "{body}");
        }
        let unread = Failure::from(api::Error::default());
        assert_eq!((unread.error.code(), unread.outcome), ("BAD_ANSWER", Outcome::Unknown));
    }
}
