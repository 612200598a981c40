//! What comes before a gRPC method: only gRPC gets there, and what cannot even be read is told as
//! clearly as everything else.
//!
//! The framework says `Internal` of a message that it cannot decode, as if the server were at
//! fault. Errors of ours have details and its own have none, so nothing has to be guessed.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Version, header};
use axum::middleware::Next;
use axum::response::Response;
use seriatim_api::code::ErrorCode;
use tonic::{Code, Status};

use super::error::{status, status_of, unreadable};
use super::timeout::timeout;
use crate::context::Context;
use crate::error::{ApiError, response};
use crate::overload::slow_messages::Timed;

/// A command has its own end in time, and says for certain whether it was written.
const SUBMIT: &str = "/Submit";

/// Methods whose requests are streams: between their messages they have no end in time.
const STREAMS: [&str; 2] = ["/SubmitStream", "/ServerReflectionInfo"];

/// With what the names of methods begin that write something.
const WRITES: &str = "Submit";

/// Lets gRPC through, and explains what the framework has refused.
pub(super) async fn guard(
    State(context): State<Arc<Context>>,
    request: Request,
    next: Next,
) -> Response {
    if !is_grpc(request.headers()) {
        let why = "must be application/grpc: only gRPC is spoken here";
        return response(ApiError::invalid("Content-Type", why));
    }
    if request.version() < Version::HTTP_2 {
        return response(ApiError::invalid("version", "gRPC takes HTTP/2"));
    }
    let path = request.uri().path().to_owned();
    let is_stream = STREAMS.iter().any(|method| path.ends_with(method));
    let timed = |body| Body::new(Timed::new(body, is_stream, &context));
    let patience = match timeout(request.headers()) {
        Ok(patience) => patience,
        Err(error) => return refused(&path, error),
    };
    let answered = next.run(request.map(timed));
    let response = match patience.filter(|_| !path.ends_with(SUBMIT)) {
        None => answered.await,
        // The answer of a stream begins at once, and its caller ends it when it likes.
        Some(within) => match tokio::time::timeout(within, answered).await {
            Ok(response) => response,
            Err(_) => return refused(&path, given_up(within)),
        },
    };
    match Status::from_header_map(response.headers()) {
        Some(status) if status.code() != Code::Ok && status.details().is_empty() => {
            explained(&path, status)
        }
        Some(_) | None => response,
    }
}

/// Whether a request says that it is gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// The caller waits no longer, and can ask again: commands have an end in time of their own.
fn given_up(within: Duration) -> ApiError {
    let within = within.as_millis();
    ApiError::unsent(format!("not answered within {within} ms, as was asked for"))
}

/// There is no such method.
pub(crate) fn unknown(path: &str) -> Response {
    written(status(no_method(path)))
}

/// Why a method is not called.
pub(crate) fn refused(path: &str, error: ApiError) -> Response {
    written(status(told(path, error)))
}

/// What a method says of an error.
fn told(path: &str, error: ApiError) -> ApiError {
    if is_write(path) { error.of_write() } else { error }
}

fn is_write(path: &str) -> bool {
    let method = path.rsplit('/').next().unwrap_or_default();
    method.starts_with(WRITES)
}

fn explained(path: &str, status: Status) -> Response {
    match (status.code(), status.message()) {
        (Code::Unimplemented, "") => refused(path, no_method(path)),
        // Compression that is not supported has to have this code, and a header that says what is.
        (Code::Unimplemented, _) => {
            let why = "messages are read as they are: send them without compression";
            let error = told(path, ApiError::invalid("grpc-encoding", why));
            let (code, metadata) = (status.code(), status.metadata().clone());
            written(status_of(code, error, metadata))
        }
        _ => refused(path, unreadable(&status)),
    }
}

fn no_method(path: &str) -> ApiError {
    let path: String = path.chars().take(200).collect();
    ApiError::new(ErrorCode::MethodNotAllowed, format!("there is no method {path}"))
}

fn written(status: Status) -> Response {
    status.into_http::<Body>()
}
