//! `GET /livez`, `/readyz` and `/version`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use seriatim::service::{Readiness, readiness};
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
        let Readiness { is_ready, reason } = readiness(&context.node);
        Ok((is_ready, states(context), reason))
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
