//! `GET /livez`, `/readyz` and `/version`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use seriatim_json::write::{self, Fact};

use crate::answer;
use crate::clock;
use crate::context::Context;
use crate::error::ApiError;
use crate::partitions::states;

/// That the process answers.
pub(crate) async fn live() -> Response {
    answer::ok(write::facts(&[("live", Fact::Flag(true))]))
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
    let mut facts = vec![("ready", Fact::Flag(is_ready)), ("partitions", Fact::List(partitions))];
    let clock = context.node.time().err().map(clock::describe);
    facts.extend(clock.or(disk).map(|reason| ("reason", Fact::Text(reason))));
    Ok(answer::json(status, write::facts(&facts)))
}

/// What is running.
pub(crate) async fn version() -> Response {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    answer::ok(write::facts(&[
        ("name", Fact::Text("seriatim".to_owned())),
        ("version", Fact::Text(version)),
    ]))
}
