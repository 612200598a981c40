//! What the threads of one life of the server tell each other.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much was acknowledged, and whether the server is being killed.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default, Clone, Copy)]
struct State {
    acknowledged: u64,
    /// New definitions that were acknowledged, in earlier lives too.
    defined: u64,
    is_over: bool,
}

impl Progress {
    pub(crate) fn acknowledged(&self) {
        self.state().acknowledged += 1;
        self.changed.notify_all();
    }

    pub(crate) fn defined(&self) -> u64 {
        self.state().defined
    }

    pub(crate) fn set_defined(&self, defined: u64) {
        self.state().defined = defined;
    }

    /// From now on a broken connection is no surprise. To be called before the kill.
    pub(crate) fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    /// Ends the life for all when one of its threads has failed.
    pub(crate) fn end_if_failed<T, E>(&self, result: Result<T, E>) -> Result<T, E> {
        if result.is_err() {
            self.end();
        }
        result
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().is_over
    }

    /// Waits for so many acknowledgements, for the end, or for the time to be over. Returns
    /// whether there were so many.
    pub(crate) fn wait_for(&self, acknowledged: u64, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        let mut state = self.state();
        while state.acknowledged < acknowledged && !state.is_over {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.acknowledged >= acknowledged
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
