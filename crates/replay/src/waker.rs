//! The waker of a run's root future, and how a foreign wake shows.
//!
//! ```text
//!  machine: deliver, poll ───── inside ─────►  wake: poll once more
//!  anything else: a timer of a runtime, another thread ─► wake: foreign, the run stops
//! ```
//!
//! **Invariant:** every wake that replay can repeat happens while the machine delivers or polls, on
//! its own thread. So no list of sources is needed, and no combinator is taken for foreign.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

thread_local! {
    /// The waker of the machine that runs on this thread, by its address.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Wakes the root future.
#[derive(Debug)]
pub(crate) struct RootWaker {
    is_woken: AtomicBool,
    is_foreign: AtomicBool,
}

/// While this lives, the machine delivers or polls on this thread.
pub(crate) struct Inside {
    previous: usize,
}

impl RootWaker {
    /// A waker that is woken already: code begins without a delivery.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { is_woken: AtomicBool::new(true), is_foreign: AtomicBool::new(false) })
    }

    pub(crate) fn enter(self: &Arc<Self>) -> Inside {
        Inside { previous: INSIDE.replace(self.address()) }
    }

    pub(crate) fn take_woken(&self) -> bool {
        self.is_woken.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn was_foreign(&self) -> bool {
        self.is_foreign.load(Ordering::Relaxed)
    }

    fn address(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self) as usize
    }
}

impl Wake for RootWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A thread that is ending has no inside any more.
        let is_inside = INSIDE.try_with(Cell::get).is_ok_and(|it| it == self.address());
        let flag = if is_inside { &self.is_woken } else { &self.is_foreign };
        flag.store(true, Ordering::Relaxed);
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.previous);
    }
}
