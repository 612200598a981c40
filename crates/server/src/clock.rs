//! A clock that is not believed: `POST /v1/clock/accept`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use seriatim::service::clock_ahead;
use seriatim_api::message::ClockAccepted;
use seriatim_json::define;
use seriatim_types::Time;

use crate::answer;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::{ApiError, ErrorResponse};

/// Believes the clock as it is now, because an operator vouches for it.
pub(crate) async fn accept(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    define::nothing(&asked.body(body, &context).await?)?;
    let time = accepted(&context)?;
    Ok(answer::ok(&ClockAccepted { time: time.into() }))
}

/// The same in any protocol. Returns the time that is believed from now on.
pub(crate) fn accepted(context: &Context) -> Result<Time, ApiError> {
    context.node.accept_clock().map_err(clock_ahead)
}
