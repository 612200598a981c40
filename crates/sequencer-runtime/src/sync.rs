//! The locks and threads of this crate. Its sources name them through this module, so that a
//! test can compile the same sources with primitives that try out interleavings.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
pub(crate) use std::thread::{Builder, JoinHandle};

use std::sync::PoisonError;
use std::time::Duration;

/// Waits for a notification, but not longer than `delay`.
pub(crate) fn wait_at_most<'a, T>(
    _: &'a Mutex<T>,
    changed: &Condvar,
    guard: MutexGuard<'a, T>,
    delay: Duration,
) -> MutexGuard<'a, T> {
    changed.wait_timeout(guard, delay).unwrap_or_else(PoisonError::into_inner).0
}
