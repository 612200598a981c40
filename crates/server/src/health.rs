//! `GET /livez`, `/readyz` and `/version`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use seriatim_api::message::{Live, Ready, Version};

use crate::answer;
use crate::clock;
use crate::context::Context;
use crate::error::ApiError;
use crate::partitions::states;

/// That the process answers.
pub(crate) async fn live() -> Response {
    answer::ok(&Live { live: true })
}

/// Whether every partition takes commands, and the disk answers.
pub(crate) async fn ready(State(context): State<Arc<Context>>) -> Result<Response, ApiError> {
    let look = |context: &Context| {
        let node = &context.node;
        let stalled = node.check_sync().err().map(|stalled| stalled.to_string());
        let full = node.room().err().map(|full| full.to_string());
        // What was found is the answer, also if it has passed meanwhile.
        let is_ready = node.is_ready() && stalled.is_none();
        Ok((is_ready, states(context), full.or(stalled)))
    };
    let (is_ready, partitions, disk) = context.ask(look).await?;
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let clock = context.node.time().err().map(clock::describe);
    Ok(answer::json(status, &Ready { ready: is_ready, partitions, reason: clock.or(disk) }))
}

/// What is running.
pub(crate) async fn version() -> Response {
    let (name, version) = ("seriatim".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    answer::ok(&Version { name, version })
}
