//! What time it is, as far as proposing entries goes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use seriatim_types::Time;

/// Where entries get their time from.
pub trait Clock: Send + Sync {
    /// The time now; `None` while the clock cannot be believed.
    fn now(&self) -> Option<Time>;
}

/// How far the wall clock may run ahead of the time that has passed since the start.
const AHEAD_MAX: Duration = Duration::from_secs(600);

/// The machine's clock. One that was set far ahead is not believed: entry times never go back, so
/// one wrong entry would end every key and every expiry for good.
#[derive(Debug)]
pub struct SystemClock {
    started: Duration,
    started_at: Duration,
}

impl SystemClock {
    /// The clock, believed as it is now.
    #[must_use]
    pub fn new() -> Self {
        Self { started: since_boot(), started_at: wall() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Option<Time> {
        believed(wall(), self.started_at, since_boot().saturating_sub(self.started))
    }
}

/// Time that has passed for sure, also while the machine was asleep.
fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let whole = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    whole.saturating_add(Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0)))
}

fn wall() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn believed(wall: Duration, started_at: Duration, elapsed: Duration) -> Option<Time> {
    let latest = started_at.saturating_add(elapsed).saturating_add(AHEAD_MAX);
    let ms = u64::try_from(wall.as_millis()).ok()?;
    (wall <= latest).then_some(Time(ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_far_ahead_is_not_believed() {
        let at = Duration::from_secs;
        assert_eq!(believed(at(1000), at(900), at(100)), Some(Time(1_000_000)));
        assert_eq!(believed(at(1600), at(900), at(100)), Some(Time(1_600_000)));
        assert_eq!(believed(at(1601), at(900), at(100)), None);
        assert_eq!(believed(at(10), at(900), at(100)), Some(Time(10_000)), "apply takes the later");
    }
}
