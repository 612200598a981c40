//! `GET /openapi.json`: every method, parameter, body and error of the HTTP contract, made of the table
//! of methods and the structs of the messages.

use std::sync::LazyLock;

use axum::http::StatusCode;
use axum::response::Response;
use seriatim_api::openapi;

use crate::answer;

static DOCUMENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let document = openapi::document(env!("CARGO_PKG_VERSION"));
    serde_json::to_vec_pretty(&document).expect("a tree of JSON becomes JSON")
});

/// Makes the document, so that the first to ask for it need not wait.
pub(crate) fn prepare() {
    LazyLock::force(&DOCUMENT);
}

/// The document.
pub(crate) async fn get() -> Response {
    answer::written(StatusCode::OK, DOCUMENT.clone())
}
