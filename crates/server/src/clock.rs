//! A clock that is not believed: what is said of it, and `POST /v1/clock/accept`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use seriatim_api::code::ErrorCode;
use seriatim_api::message::{ClockAccepted, Timestamp};
use seriatim_json::define;
use seriatim_node::{ClockAhead, RETRY_AFTER};
use seriatim_types::Time;

use crate::answer;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::{ApiError, Fact};

/// Believes the clock as it is now, because an operator vouches for it.
pub(crate) async fn accept(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ApiError> {
    asked.query()?;
    define::nothing(&asked.body(body, &context).await?)?;
    let time = accepted(&context)?;
    Ok(answer::ok(&ClockAccepted { time: time.into() }))
}

/// The same in any protocol. Returns the time that is believed from now on.
pub(crate) fn accepted(context: &Context) -> Result<Time, ApiError> {
    context.node.accept_clock().map_err(busy)
}

/// The error of a request that is given no time.
pub(crate) fn busy(ahead: ClockAhead) -> ApiError {
    ApiError::new(ErrorCode::Busy, describe(ahead))
        .with("reason", Fact::Text("clock".to_owned()))
        .with("time", Fact::Time(ahead.time.into()))
        .with("last_time", Fact::Time(ahead.last_time.into()))
        .retryable_after(RETRY_AFTER)
}

/// Why the clock is not believed, with both times.
#[must_use]
pub fn describe(ahead: ClockAhead) -> String {
    let [time, last_time] = [ahead.time, ahead.last_time].map(Timestamp::from);
    format!("{ahead}. It shows {time}, and the newest time is {last_time}")
}
