//! A clock that is not believed, and what is said of it.

use seriatim_api::code::ErrorCode;
use seriatim_api::message::Timestamp;
use seriatim_node::{ClockAhead, RETRY_AFTER};

use super::error::{ApiError, Fact};

/// The error of a request that is given no time.
#[must_use]
pub fn clock_ahead(ahead: ClockAhead) -> ApiError {
    ApiError::new(ErrorCode::Busy, describe_clock(ahead))
        .with("reason", Fact::Text("clock".to_owned()))
        .with("time", Fact::Time(ahead.time.into()))
        .with("last_time", Fact::Time(ahead.last_time.into()))
        .retryable_after(RETRY_AFTER)
}

/// Why the clock is not believed, with both times.
#[must_use]
pub fn describe_clock(ahead: ClockAhead) -> String {
    let [time, last_time] = [ahead.time, ahead.last_time].map(Timestamp::from);
    format!("{ahead}. It shows {time}, and the newest time is {last_time}")
}
