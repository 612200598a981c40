//! The server's clock: ahead or behind, and set by somebody now and then.

use std::time::Duration;

use seriatim_types::Time;

use crate::agenda::Moment;

/// When every run begins: a few seconds before a year ends at +01:00, so that most see it turn.
const BEGIN: u64 = 1_798_761_600_000 - 3_600_000 - 4_000;

/// How far it may be ahead of the time that has passed and is still believed.
const AHEAD_MAX: i64 = 600_000;

/// A clock, in milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    /// How far it is ahead of the world's.
    ahead: i64,
    /// How far it was when its process began.
    ahead_at_begin: i64,
}

impl Clock {
    /// A process begins and believes the clock as it is.
    pub(crate) fn begin(&mut self) {
        self.ahead_at_begin = self.ahead;
    }

    /// Somebody sets it.
    pub(crate) fn set(&mut self, ahead: i64) {
        self.ahead = ahead;
    }

    /// The time, if the clock can be believed.
    pub(crate) fn now(self, now: Moment) -> Option<Time> {
        let is_believed = self.ahead.saturating_sub(self.ahead_at_begin) <= AHEAD_MAX;
        is_believed.then(|| Time(world_time(now).0.saturating_add_signed(self.ahead)))
    }
}

/// The time by a clock that is right.
pub(crate) fn world_time(now: Moment) -> Time {
    let passed = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    Time(BEGIN.saturating_add(passed))
}

/// Times by which clocks are set wrong.
pub(crate) const JUMPS: [Duration; 5] = [
    Duration::from_millis(1),
    Duration::from_secs(1),
    Duration::from_secs(30),
    Duration::from_secs(400),
    Duration::from_secs(4_000),
];
