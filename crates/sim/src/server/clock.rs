//! The server's clock: ahead or behind, set by somebody now and then, and believed by the node's own
//! guard.

use std::cell::RefCell;
use std::time::Duration;

use seriatim_node::parts::{AHEAD_MAX, ClockGuard, Reading};
use seriatim_node::{ClockAhead, ClockSettings};
use seriatim_types::Time;

use crate::agenda::Moment;

/// When every run begins: a few seconds before a year ends at +01:00, so that most see it turn.
const BEGIN: u64 = 1_798_761_600_000 - 3_600_000 - 4_000;

/// A clock, in milliseconds.
#[derive(Debug)]
pub(crate) struct Clock {
    /// How far it is ahead of the world's.
    ahead: i64,
    /// Whether a time service runs beside the process, which the kernel believes.
    is_served: bool,
    guard: RefCell<ClockGuard>,
    /// How far times may be ahead of the world's while nobody errs who vouches for them.
    lead_max: u64,
}

impl Default for Clock {
    fn default() -> Self {
        let guard = RefCell::new(ClockGuard::new(ClockSettings::default()));
        Self { ahead: 0, is_served: false, guard, lead_max: 0 }
    }
}

impl Clock {
    /// A process begins, on a store with this newest time.
    pub(crate) fn begin(
        &mut self,
        now: Moment,
        newest: Option<Time>,
        settings: ClockSettings,
        is_served: bool,
    ) {
        self.is_served = is_served;
        let mut guard = ClockGuard::new(settings);
        guard.start(newest, self.reading(now), || self.is_synchronised());
        self.guard = RefCell::new(guard);
        let world = world_time(now).0;
        let lead = newest.map_or(0, |newest| newest.0.saturating_sub(world));
        let allowed = AHEAD_MAX.saturating_add(settings.jump_max.unwrap_or(Duration::MAX));
        let allowed = u64::try_from(allowed.as_millis()).unwrap_or(u64::MAX);
        // In a store without entries any time is as good as another.
        self.lead_max = match newest {
            Some(_) => lead.saturating_add(allowed),
            None => u64::MAX,
        };
    }

    /// Somebody sets it.
    pub(crate) fn set(&mut self, ahead: i64) {
        self.ahead = ahead;
    }

    /// The time, if the clock is believed.
    pub(crate) fn now(&self, now: Moment) -> Result<Time, ClockAhead> {
        self.guard.borrow_mut().now(self.reading(now), || self.is_synchronised())
    }

    /// Somebody who has looked at it vouches for it.
    pub(crate) fn accept(&self, now: Moment) {
        assert!(self.is_right(), "an operator vouches for a clock that is right");
        self.guard.borrow_mut().accept(self.reading(now));
    }

    pub(crate) fn is_right(&self) -> bool {
        self.ahead == 0
    }

    /// The kernel does not err.
    pub(crate) fn is_synchronised(&self) -> bool {
        self.is_served && self.is_right()
    }

    /// How far times may be ahead of the world's, in milliseconds.
    pub(crate) fn lead_max(&self) -> u64 {
        self.lead_max
    }

    fn reading(&self, now: Moment) -> Reading {
        let wall = Time(world_time(now).0.saturating_add_signed(self.ahead));
        Reading { wall, passed: now }
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

/// A time by which nobody's keys are left.
pub(crate) const LONG_JUMP: Duration = Duration::from_secs(60 * 24 * 60 * 60);
