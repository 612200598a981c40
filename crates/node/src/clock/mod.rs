//! What time it is, as far as proposing entries goes.

mod guard;
mod kernel;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use seriatim_types::Time;

pub use guard::{AHEAD_MAX, Ahead, ClockAhead, ClockGuard, ClockSettings, Jump, Reading};

/// Where entries get their time from.
pub trait Clock: Send + Sync {
    /// The time now.
    ///
    /// # Errors
    ///
    /// While the clock cannot be believed. Nothing is proposed then.
    fn now(&self) -> Result<Time, ClockAhead>;

    /// A store was opened in which this is the newest time; nothing is proposed before. A clock that
    /// is always right needs not know.
    fn start(&self, newest: Option<Time>) {
        let _ = newest;
    }

    /// Somebody vouches for the clock as it is now. Returns the time that is believed from now on.
    ///
    /// # Errors
    ///
    /// When this clock takes nobody's word.
    fn accept(&self) -> Result<Time, ClockAhead> {
        self.now()
    }
}

/// The machine's clock, as far as its [guard](ClockGuard) believes it.
#[derive(Debug)]
pub struct SystemClock(Mutex<ClockGuard>);

impl SystemClock {
    /// The clock, with the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::with(ClockSettings::default())
    }

    /// The clock with these settings.
    #[must_use]
    pub fn with(settings: ClockSettings) -> Self {
        Self(Mutex::new(ClockGuard::new(settings)))
    }

    /// The last jump that was believed although nobody vouches for it. It is told once.
    pub fn take_jump(&self) -> Option<Jump> {
        self.guard().take_jump()
    }

    fn guard(&self) -> MutexGuard<'_, ClockGuard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Result<Time, ClockAhead> {
        // Read under the lock: a reading that waited would be held against a later estimate.
        let mut guard = self.guard();
        guard.now(read(), kernel::is_synchronised)
    }

    fn start(&self, newest: Option<Time>) {
        self.guard().start(newest, read(), kernel::is_synchronised);
    }

    fn accept(&self) -> Result<Time, ClockAhead> {
        Ok(self.guard().accept(read()))
    }
}

fn read() -> Reading {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall = Time(u64::try_from(wall.as_millis()).unwrap_or(u64::MAX));
    Reading { wall, passed: since_boot() }
}

/// Time that has passed for sure, also while the machine was asleep.
fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let whole = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    whole.saturating_add(Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0)))
}
