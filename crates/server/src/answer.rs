//! Answers that are JSON.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer with a body of JSON.
pub(crate) fn json(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// That, with status 200.
pub(crate) fn ok(body: Vec<u8>) -> Response {
    json(StatusCode::OK, body)
}
