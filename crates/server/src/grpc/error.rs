//! Errors as gRPC tells them: a status, and behind it what HTTP has in the body.
//!
//! ```text
//!  grpc-status, grpc-message        for everybody
//!  grpc-status-details-bin          google.rpc.Status
//!    ├─ seriatim.v1.Error           the whole error, as the body over HTTP
//!    ├─ google.rpc.ErrorInfo        for clients that know nothing of Seriatim
//!    └─ google.rpc.RetryInfo        when it is known how long to wait
//! ```

use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use seriatim_api::code::ErrorCode;
use seriatim_api::grpc::rpc::{self, Any, ErrorInfo, RetryInfo};
use seriatim_api::grpc::{Error, Outcome as OutcomeWord};
use seriatim_node::Written;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::MESSAGE_BYTES_MAX;
use crate::answer;
use crate::error::{ApiError, Fact};
use crate::overload::memory_budget::rate_limited;

/// A status is sent in headers, of which clients take some kilobytes. So its sentence is cut, which
/// stands in it four times, and facts that are longer are left out: what an entity or a record is now
/// can be read by its key.
const STATUS_MESSAGE_BYTES_MAX: usize = 768;
const BODY_BYTES_MAX: usize = 4 * 1024;

const DOMAIN: &str = "seriatim";

/// An error as a status.
pub(super) fn status(error: ApiError) -> Status {
    status_of(error.code.grpc(), error, MetadataMap::new())
}

/// An error under a code of gRPC.
pub(super) fn status_of(code: Code, error: ApiError, metadata: MetadataMap) -> Status {
    let retry_after = error.retry_after;
    let told = message(shortened(error));
    let info = ErrorInfo { reason: told.code.clone(), domain: DOMAIN.to_owned() };
    let mut details =
        vec![Any::of("seriatim.v1.Error", &told), Any::of("google.rpc.ErrorInfo", &info)];
    if let Some(after) = retry_after {
        let retry_delay = Some(duration(after));
        details.push(Any::of("google.rpc.RetryInfo", &RetryInfo { retry_delay }));
    }
    let message = told.message;
    let status = rpc::Status { code: code as i32, message: message.clone(), details };
    let details = Bytes::from(status.encode_to_vec());
    Status::with_details_and_metadata(code, message, details, metadata)
}

fn shortened(mut error: ApiError) -> ApiError {
    error.message.truncate(error.message.floor_char_boundary(STATUS_MESSAGE_BYTES_MAX));
    let is_long = |error: &ApiError| answer::body(error).len() > BODY_BYTES_MAX;
    if is_long(&error) {
        error.facts.retain(|(name, _)| *name != "current_value");
    }
    if is_long(&error) {
        error.facts.clear();
    }
    error
}

/// The error as a message of its own, which can hold any body.
pub(super) fn message(error: ApiError) -> Error {
    let outcome = match error.outcome {
        None => OutcomeWord::Unspecified,
        Some(Written::Refused) => OutcomeWord::Refused,
        Some(Written::NotWritten) => OutcomeWord::NotWritten,
        Some(Written::Unknown) => OutcomeWord::Unknown,
    };
    Error {
        body_json: answer::body(&error).into(),
        code: error.code.as_str().to_owned(),
        message: error.message,
        retryable: error.is_retryable,
        outcome: outcome.into(),
        retry_after_ms: error.retry_after.map_or(0, milliseconds),
    }
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

fn duration(duration: Duration) -> rpc::Duration {
    let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    let nanos = i32::try_from(duration.subsec_nanos()).expect("less than a thousand million");
    rpc::Duration { seconds, nanos }
}

/// What the framework could not read: it did not come, it is too large, or no message at all.
pub(super) fn unreadable(status: &Status) -> ApiError {
    let message = status.message();
    if status.code() == Code::DeadlineExceeded {
        return ApiError::unsent(message);
    }
    if status.code() == Code::Unavailable {
        return rate_limited(message);
    }
    let is_size = matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted);
    if is_size {
        let limit = Fact::Number(u64::try_from(MESSAGE_BYTES_MAX).unwrap_or(u64::MAX));
        ApiError::new(ErrorCode::TooLarge, message).with("limit", limit)
    } else {
        ApiError::invalid("message", message)
    }
}
