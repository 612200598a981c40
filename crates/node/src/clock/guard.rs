//! Whether the machine's clock is believed.
//!
//! Times of entries never go back. One entry with a time that is far ahead ends every idempotency
//! key, every expiry and every year before it for good. So a clock that is further ahead than can be
//! explained is not believed until somebody vouches for it:
//!
//! ```text
//!            estimate = the last time that was believed + what has passed since
//!               │
//!  ─────────────┼── 10 min ──┼─────────── jump_max ───────────┼──────────────► wall clock
//!   behind:     │  believed  │  believed: ordinary downtime,  │  not believed, unless
//!   believed    │            │  once                          │  the kernel or an operator vouches
//! ```
//!
//! At a start the estimate is the newest time in the store: how long the server was down is not
//! known. While it runs, a clock that does not stop says how much time has passed.
//!
//! **Invariant:** without somebody who vouches, the times of a process exceed its estimate at the
//! start by ten minutes and `jump_max` at most, however often the clock is set.

use std::time::Duration;

use seriatim_planted::{self as planted, Bug};
use seriatim_types::Time;

/// How far the clock may be ahead of the estimate without further ado.
pub const AHEAD_MAX: Duration = Duration::from_secs(600);

/// When a clock is believed that is far ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSettings {
    /// How far the clock may be ahead of the newest time in the store, for as long as the server may
    /// have been down; `None` for any time.
    pub jump_max: Option<Duration>,
    /// Whether a clock is believed that the kernel calls synchronised.
    pub trust_kernel: bool,
}

impl Default for ClockSettings {
    fn default() -> Self {
        Self { jump_max: Some(Duration::from_secs(24 * 60 * 60)), trust_kernel: true }
    }
}

/// The clock is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the machine's clock is {} ahead of the newest time that is known, and nobody vouches for it: \
     set it right, or accept it with `seriatim clock accept`", Ahead(*.time, *.last_time)
)]
pub struct ClockAhead {
    /// What the clock shows.
    pub time: Time,
    /// The newest time in the store, or the last one that was believed since.
    pub last_time: Time,
}

/// The clock was believed although it is far ahead and nobody vouches for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// The newest time before.
    pub from: Time,
    /// The time that is believed.
    pub to: Time,
}

/// What the machine says of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// What the clock shows, which anybody may set.
    pub wall: Time,
    /// How much time has passed since some moment, which nobody can set.
    pub passed: Duration,
}

/// Decides whether the clock is believed. Pure: what the machine says is an argument.
#[derive(Debug)]
pub struct ClockGuard {
    settings: ClockSettings,
    /// A time that is believed, and when it was.
    anchor: Option<(Time, Duration)>,
    /// What is left of `jump_max`.
    jump_left: Option<Duration>,
    /// The newest time that is believed.
    last_time: Time,
    jump: Option<Jump>,
}

impl ClockGuard {
    /// A guard that knows of no time yet: the first one is believed.
    #[must_use]
    pub fn new(settings: ClockSettings) -> Self {
        let jump_left = settings.jump_max;
        Self { settings, anchor: None, jump_left, last_time: Time(0), jump: None }
    }

    /// A store was opened in which this is the newest time.
    pub fn start(
        &mut self,
        newest: Option<Time>,
        reading: Reading,
        is_synchronised: impl FnOnce() -> bool,
    ) {
        self.jump_left = self.settings.jump_max;
        self.jump = None;
        self.last_time = newest.unwrap_or(Time(0));
        let is_trusting = planted::is(Bug::ClockTrustedAtStart);
        self.anchor = newest.filter(|_| !is_trusting).map(|newest| (newest, reading.passed));
        // From here on the estimate follows the clock, if that can be believed.
        if self.now(reading, is_synchronised).is_ok() {
            self.anchor_at(reading);
        }
    }

    /// The time, if the clock can be believed. Whether the kernel calls it synchronised is asked
    /// only if that matters.
    ///
    /// # Errors
    ///
    /// When it cannot.
    pub fn now(
        &mut self,
        reading: Reading,
        is_synchronised: impl FnOnce() -> bool,
    ) -> Result<Time, ClockAhead> {
        let Reading { wall, passed } = reading;
        let Some((time, at)) = self.anchor else {
            self.anchor_at(reading);
            return Ok(wall);
        };
        let estimate = time.0.saturating_add(milliseconds(passed.saturating_sub(at)));
        let ahead = Duration::from_millis(wall.0.saturating_sub(estimate));
        if ahead > AHEAD_MAX {
            if self.settings.trust_kernel
                && is_synchronised()
                && !planted::is(Bug::ClockNeverTrusted)
            {
                self.anchor_at(reading);
            } else if self.jump_left.is_none_or(|left| ahead <= left) {
                self.jump_left = self.jump_left.map(|left| left.saturating_sub(ahead));
                self.jump = Some(Jump { from: self.last_time, to: wall });
                self.anchor_at(reading);
            } else {
                return Err(ClockAhead { time: wall, last_time: self.last_time });
            }
        }
        self.last_time = self.last_time.max(wall);
        Ok(wall)
    }

    /// Somebody vouches for the clock as it is now. Returns the time that is believed from now on.
    pub fn accept(&mut self, reading: Reading) -> Time {
        self.anchor_at(reading);
        reading.wall
    }

    /// The last jump that was believed although nobody vouches for it. It is told once.
    pub fn take_jump(&mut self) -> Option<Jump> {
        self.jump.take()
    }

    /// The estimate never goes back: a clock that is behind may be set right later.
    fn anchor_at(&mut self, Reading { wall, passed }: Reading) {
        let estimate = self.anchor.map_or(Time(0), |(time, at)| {
            Time(time.0.saturating_add(milliseconds(passed.saturating_sub(at))))
        });
        self.anchor = Some((estimate.max(wall), passed));
        self.last_time = self.last_time.max(wall);
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How far a time is ahead of another, in words.
pub struct Ahead(pub Time, pub Time);

impl std::fmt::Display for Ahead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [(u64, &str); 3] = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
        let seconds = self.0.0.saturating_sub(self.1.0) / 1000;
        let unit = UNITS.iter().find(|(size, _)| seconds >= size.saturating_mul(2));
        let (size, name) = unit.copied().unwrap_or((1, "seconds"));
        write!(f, "{} {name}", seconds.checked_div(size).unwrap_or(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;
    const DAY: u64 = 24 * HOUR;
    /// When the store was last written.
    const NEWEST: u64 = 1000 * DAY;

    const STRICT: ClockSettings =
        ClockSettings { jump_max: Some(Duration::ZERO), trust_kernel: true };

    /// The wall clock and what has passed since the start, in milliseconds.
    fn at(wall: u64, passed: u64) -> Reading {
        Reading { wall: Time(wall), passed: Duration::from_millis(passed) }
    }

    fn started(settings: ClockSettings, wall: u64) -> ClockGuard {
        let mut guard = ClockGuard::new(settings);
        guard.start(Some(Time(NEWEST)), at(wall, 0), || false);
        guard
    }

    fn ahead(time: u64, last_time: u64) -> Result<Time, ClockAhead> {
        Err(ClockAhead { time: Time(time), last_time: Time(last_time) })
    }

    /// A server was started while the clock was sixty days ahead. Nobody wrote, the sweeps ran, and
    /// the keys of all commands were forgotten.
    #[test]
    fn clock_far_ahead_at_a_start_is_not_believed() {
        let wrong = NEWEST + 60 * DAY;
        let mut guard = started(ClockSettings::default(), wrong);
        assert_eq!(guard.now(at(wrong, 0), || false), ahead(wrong, NEWEST));
        assert_eq!(guard.now(at(wrong + HOUR, HOUR), || false), ahead(wrong + HOUR, NEWEST));
        // It is set right.
        let right = NEWEST + 2 * HOUR;
        assert_eq!(guard.now(at(right, 2 * HOUR), || false), Ok(Time(right)));
    }

    #[test]
    fn ordinary_downtime_is_believed_up_to_jump_max_and_told_once() {
        let limit = NEWEST + DAY;
        let mut guard = started(ClockSettings::default(), limit);
        assert_eq!(guard.now(at(limit, 0), || false), Ok(Time(limit)));
        let jump = Jump { from: Time(NEWEST), to: Time(limit) };
        assert_eq!((guard.take_jump(), guard.take_jump()), (Some(jump), None));
        let mut guard = started(ClockSettings::default(), limit + 1);
        assert_eq!(guard.now(at(limit + 1, 0), || false), ahead(limit + 1, NEWEST));
    }

    #[test]
    fn ten_minutes_ahead_are_believed_and_no_more() {
        let limit = NEWEST + 600_000;
        let mut guard = started(STRICT, limit);
        assert_eq!(guard.now(at(limit, 0), || false), Ok(Time(limit)));
        assert_eq!(guard.take_jump(), None);
        let mut guard = started(STRICT, limit + 1);
        assert_eq!(guard.now(at(limit + 1, 0), || false), ahead(limit + 1, NEWEST));
    }

    #[test]
    fn kernel_vouches_for_a_clock_unless_its_word_is_not_wanted() {
        let wrong = NEWEST + 60 * DAY;
        let mut guard = started(STRICT, wrong);
        assert_eq!(guard.now(at(wrong, 0), || true), Ok(Time(wrong)));
        assert_eq!(guard.now(at(wrong + 1, 1), || false), Ok(Time(wrong + 1)), "it was believed");
        let mut guard = started(ClockSettings { trust_kernel: false, ..STRICT }, wrong);
        assert_eq!(guard.now(at(wrong, 0), || true), ahead(wrong, NEWEST));
    }

    #[test]
    fn clock_that_was_accepted_is_believed_from_then_on() {
        let far = NEWEST + 60 * DAY;
        let mut guard = started(STRICT, far);
        assert_eq!(guard.accept(at(far, 5)), Time(far));
        assert_eq!(guard.now(at(far + 600_000, 5), || false), Ok(Time(far + 600_000)));
        assert_eq!(guard.now(at(far + 600_010, 5), || false), ahead(far + 600_010, far + 600_000));
    }

    /// A machine boots before its time service has set the clock: every command was BUSY until
    /// somebody restarted the server.
    #[test]
    fn clock_that_is_behind_at_a_start_and_set_right_later_is_believed() {
        let behind = NEWEST - HOUR;
        for settings in [STRICT, ClockSettings::default()] {
            let mut guard = started(settings, behind);
            assert_eq!(
                guard.now(at(behind, 0), || false),
                Ok(Time(behind)),
                "apply takes the later"
            );
            let right = NEWEST + 60_000;
            assert_eq!(guard.now(at(right, 60_000), || false), Ok(Time(right)));
        }
        // Down for an hour and started an hour behind: that is the downtime, seen later.
        let mut guard = started(ClockSettings::default(), NEWEST);
        let right = NEWEST + HOUR;
        assert_eq!(guard.now(at(right + 1000, 1000), || false), Ok(Time(right + 1000)));
    }

    #[test]
    fn step_ahead_while_running_follows_the_same_rule_and_all_steps_share_jump_max() {
        let mut guard = started(ClockSettings::default(), NEWEST);
        let once = NEWEST + 20 * HOUR;
        assert_eq!(guard.now(at(once, 0), || false), Ok(Time(once)));
        let twice = once + 20 * HOUR;
        assert_eq!(guard.now(at(twice, 0), || false), ahead(twice, once), "4 hours are left");
        assert_eq!(guard.now(at(twice, 0), || true), Ok(Time(twice)), "the kernel vouches for it");
    }

    #[test]
    fn without_a_limit_and_in_a_new_store_every_time_is_believed() {
        let far = NEWEST + 60 * DAY;
        let mut guard = started(ClockSettings { jump_max: None, trust_kernel: true }, far);
        assert_eq!(guard.now(at(far, 0), || false), Ok(Time(far)));
        assert!(guard.take_jump().is_some(), "which is told");
        let mut guard = ClockGuard::new(STRICT);
        guard.start(None, at(far, 0), || false);
        assert_eq!(guard.now(at(far, 0), || false), Ok(Time(far)));
        assert_eq!(guard.take_jump(), None);
        assert_eq!(guard.now(at(far + DAY, 0), || false), ahead(far + DAY, far));
    }

    #[test]
    fn distances_are_told_in_a_unit_that_people_use() {
        let say = |ms| Ahead(Time(NEWEST + ms), Time(NEWEST)).to_string();
        let said = [60 * DAY, 25 * HOUR, 11 * 60_000, 90_000].map(say);
        assert_eq!(said, ["60 days", "25 hours", "11 minutes", "90 seconds"]);
    }
}
