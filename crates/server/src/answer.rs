//! Answers that are JSON.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::memory_budget::Reserved;
use crate::slow_clients::LARGE_BYTES;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer with a body of JSON.
pub(crate) fn json(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// That, with status 200.
pub(crate) fn ok(body: Vec<u8>) -> Response {
    json(StatusCode::OK, body)
}

/// The same for a body that was reserved for a read, which is over: if it is large, it counts from here
/// on as an answer that is not sent yet.
pub(crate) fn read(body: Reserved<Vec<u8>>) -> Response {
    ok(body.value)
}

/// The same for a body that has its memory until it is sent. From here on it counts with its own size.
pub(crate) fn reserved(body: Reserved<Vec<u8>>) -> Response {
    let Reserved { value: body, reservation } = body;
    if body.len() <= LARGE_BYTES {
        return ok(body);
    }
    reservation.shrink_to(body.capacity());
    let mut response = ok(body);
    response.extensions_mut().insert(Arc::new(reservation));
    response
}
