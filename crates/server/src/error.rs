//! What a client is told when its request is not carried out.
//!
//! ```text
//!  handler, guard, fallback ─► ApiError ─► response that carries it ─► finish: does the method write?
//!                                                                        └─► body with outcome and help
//! ```
//!
//! An error is plain data of the [service layer](seriatim::service) until the answer leaves the router:
//! only there it is known for all of them alike what was asked.
//!
//! **Invariant:** every error has `help`, and one of a request that was to write has `outcome`, whichever
//! layer has made it.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
pub(crate) use seriatim::service::{ApiError, Fact};

use crate::answer::{self, JSON};

/// What a handler answers with when it has an error: a response that carries it until it is
/// [finished](finish).
#[derive(Debug)]
pub(crate) struct ErrorResponse(ApiError);

impl<E: Into<ApiError>> From<E> for ErrorResponse {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        response(self.0)
    }
}

/// A response that carries an error.
pub(crate) fn response(error: ApiError) -> Response {
    let status = StatusCode::from_u16(error.code.status()).expect("codes have statuses of HTTP");
    let mut response = status.into_response();
    response.extensions_mut().insert(error);
    response
}

/// Writes the error that a response carries, if it does. Its status and headers stay.
pub(crate) fn finish(mut response: Response, writes: bool) -> Response {
    let Some(error) = response.extensions_mut().remove::<ApiError>() else { return response };
    // Of a read there is nothing to say, also if a definition would have been told the same.
    let error = if writes { error.of_write() } else { ApiError { outcome: None, ..error } };
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_TYPE, JSON);
    if let Some(after) = error.retry_after {
        // The header has whole seconds, and earlier would be too early.
        let seconds = after.as_millis().div_ceil(1000);
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    *response.body_mut() = Body::from(answer::body(&error));
    response
}
