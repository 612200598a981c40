//! Where one answer is left, for a thread or a task that waits for it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Where an answer is left, once, and taken, once.
#[derive(Debug)]
pub(crate) struct Slot<T> {
    held: Mutex<Held<T>>,
    filled: Condvar,
}

#[derive(Debug)]
struct Held<T> {
    answer: Option<T>,
    waker: Option<Waker>,
}

impl<T> Slot<T> {
    pub(crate) fn new() -> Arc<Self> {
        let held = Mutex::new(Held { answer: None, waker: None });
        Arc::new(Self { held, filled: Condvar::new() })
    }

    pub(crate) fn fill(&self, answer: T) {
        let mut held = self.held();
        held.answer = Some(answer);
        let waker = held.waker.take();
        drop(held);
        self.filled.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for the answer on this thread; `None` if it did not come before the deadline.
    pub(crate) fn take_before(&self, deadline: Instant) -> Option<T> {
        let left = deadline.saturating_duration_since(Instant::now());
        let is_empty = |held: &mut Held<T>| held.answer.is_none();
        let waited = self.filled.wait_timeout_while(self.held(), left, is_empty);
        waited.unwrap_or_else(PoisonError::into_inner).0.answer.take()
    }

    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<T> {
        let mut held = self.held();
        match held.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                held.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn held(&self) -> MutexGuard<'_, Held<T>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
