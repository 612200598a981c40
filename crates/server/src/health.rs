//! `GET /livez`, `/readyz` and `/version`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use seriatim::service::describe_clock;
use seriatim_api::message::{Live, Ready, Version};

use crate::answer;
use crate::context::Context;
use crate::error::ErrorResponse;
use crate::partitions::states;

/// That the process answers.
pub(crate) async fn live() -> Response {
    answer::ok(&Live { live: true })
}

/// Whether every partition takes commands, and the disk answers.
pub(crate) async fn ready(State(context): State<Arc<Context>>) -> Result<Response, ErrorResponse> {
    let look = |context: &Context| {
        let node = &context.node;
        // Each is looked at once: what was found is the answer, also if it has passed meanwhile.
        let clock = node.time().err().map(describe_clock);
        let full = node.room().err().map(|full| full.to_string());
        let stalled = node.check_sync().err().map(|stalled| stalled.to_string());
        let reason = clock.or(full).or(stalled);
        Ok((node.is_serving() && reason.is_none(), states(context), reason))
    };
    let (ready, partitions, reason) = context.ask(look).await?;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(answer::json(status, &Ready { ready, partitions, reason }))
}

/// What is running.
pub(crate) async fn version() -> Response {
    let (name, version) = ("seriatim".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    answer::ok(&Version { name, version })
}
