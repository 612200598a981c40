//! Answers that are JSON.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::overload::memory_budget::Reserved;
use crate::overload::slow_responses::LARGE_BYTES;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A message as the body of an answer.
pub(crate) fn body(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).expect("a message of the contract becomes JSON")
}

/// The body of a page whose rows are written already. They stand where `empty`, the same page
/// without rows, has its empty list. Memory is taken once, of the size of the page: a buffer that grows by doubling
/// would be up to three times as much.
pub(crate) fn page(empty: &impl Serialize, rows: &[Vec<u8>]) -> Vec<u8> {
    let frame = body(empty);
    let list = frame.windows(2).position(|pair| pair == b"[]").expect("an empty page has a list");
    let (before, behind) = frame.split_at(list.saturating_add(1));
    let sizes = rows.iter().flat_map(|row| [row.len(), 1]);
    let mut page = Vec::with_capacity(sizes.chain([frame.len()]).sum());
    page.extend_from_slice(before);
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            page.push(b',');
        }
        page.extend_from_slice(row);
    }
    page.extend_from_slice(behind);
    page
}

/// An answer with a message.
pub(crate) fn json(status: StatusCode, message: &impl Serialize) -> Response {
    written(status, body(message))
}

/// That, with status 200.
pub(crate) fn ok(message: &impl Serialize) -> Response {
    json(StatusCode::OK, message)
}

/// An answer whose body is written already.
pub(crate) fn written(status: StatusCode, body: Vec<u8>) -> Response {
    (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
}

/// The same for a body that was reserved for a read, which is over: if it is large, it counts from here
/// on as an answer that is not sent yet.
pub(crate) fn read(body: Reserved<Vec<u8>>) -> Response {
    written(StatusCode::OK, body.value)
}

/// The same for a body that has its memory until it is sent. From here on it counts with its own size.
pub(crate) fn reserved(body: Reserved<Vec<u8>>) -> Response {
    let Reserved { value: body, reservation } = body;
    if body.len() <= LARGE_BYTES {
        return written(StatusCode::OK, body);
    }
    reservation.shrink_to(body.capacity());
    let mut response = written(StatusCode::OK, body);
    response.extensions_mut().insert(Arc::new(reservation));
    response
}
