//! Errors as gRPC tells them: a status, and behind it what HTTP has in the body.
//!
//! ```text
//!  grpc-status, grpc-message        for everybody
//!  grpc-status-details-bin          google.rpc.Status
//!    ├─ seriatim.v1.Error           code, outcome, facts: the whole error
//!    ├─ google.rpc.ErrorInfo        for clients that know nothing of Seriatim
//!    └─ google.rpc.RetryInfo        when it is known how long to wait
//! ```

use bytes::Bytes;
use prost::Message;
use seriatim_api::{Error, Outcome as OutcomeWord};
use seriatim_json::write;
use tonic::{Code, Status};

use crate::codes::meaning;
use crate::error::{ApiError, Outcome};

/// A status is sent in headers, of which clients take some kilobytes. So its sentence is cut, and
/// facts that are longer are left out: what an entity or a record is now can be read by its key.
const MESSAGE_CHARS_MAX: usize = 500;
const FACTS_BYTES_MAX: usize = 3 * 1024;

const DOMAIN: &str = "seriatim";

impl From<ApiError> for Status {
    fn from(error: ApiError) -> Self {
        let code = meaning(error.code).grpc;
        let retry_after = error.retry_after;
        let told = message(shortened(error));
        let info = ErrorInfo { reason: told.code.clone(), domain: DOMAIN.to_owned() };
        let mut details = vec![any("seriatim.v1.Error", &told), any("google.rpc.ErrorInfo", &info)];
        if let Some(seconds) = retry_after {
            let delay = Duration { seconds: i64::from(seconds), nanos: 0 };
            let retry = RetryInfo { retry_delay: Some(delay) };
            details.push(any("google.rpc.RetryInfo", &retry));
        }
        let message = told.message;
        let status = RpcStatus { code: code as i32, message: message.clone(), details };
        Status::with_details(code, message, Bytes::from(status.encode_to_vec()))
    }
}

fn shortened(mut error: ApiError) -> ApiError {
    if let Some((end, _)) = error.message.char_indices().nth(MESSAGE_CHARS_MAX) {
        error.message.truncate(end);
    }
    let is_long = |error: &ApiError| write::facts(&error.facts).len() > FACTS_BYTES_MAX;
    if is_long(&error) {
        error.facts.retain(|(name, _)| *name != "current_value");
    }
    if is_long(&error) {
        error.facts.clear();
    }
    error
}

/// The error as a message of its own, which can hold any facts.
pub(super) fn message(error: ApiError) -> Error {
    let outcome = match error.outcome {
        None => OutcomeWord::Unspecified,
        Some(Outcome::Refused) => OutcomeWord::Refused,
        Some(Outcome::NotWritten) => OutcomeWord::NotWritten,
        Some(Outcome::Unknown) => OutcomeWord::Unknown,
    };
    Error {
        code: error.code.to_owned(),
        message: error.message,
        retryable: error.is_retryable,
        outcome: outcome.into(),
        retry_after_ms: error.retry_after.unwrap_or(0).saturating_mul(1000),
        facts_json: write::facts(&error.facts).into(),
    }
}

/// What the framework could not read: it is too large, or no message at all.
pub(super) fn unreadable(status: &Status) -> ApiError {
    let message = status.message();
    let is_size = matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted);
    if is_size {
        ApiError::new("TOO_LARGE", message)
    } else {
        ApiError::invalid("message", message)
    }
}

fn any(name: &str, message: &impl Message) -> Any {
    let type_url = format!("type.googleapis.com/{name}");
    Any { type_url, value: message.encode_to_vec() }
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.ErrorInfo`, without metadata.
#[derive(Clone, PartialEq, prost::Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, prost::Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Duration>,
}

/// `google.protobuf.Duration`.
#[derive(Clone, PartialEq, prost::Message)]
struct Duration {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}
