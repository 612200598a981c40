//! Memory budgets: bytes held on behalf of clients, of all connections together.
//!
//! One HTTP/2 connection carries hundreds of requests, each with a body and a response of up to a
//! megabyte or more. A limit per request or per connection would not bound their sum.
//!
//! ```text
//!  held_bytes_max ─┬─ 1/4 requests   bodies and messages received in part: refused if there is no room
//!                  ├─ 3/8 reading    reserved before a read begins, in turn, for a bounded time
//!                  └─ 3/8 unsent     large answers, from before they are read until they are sent
//!
//!  list ─► reserve unsent ─► reserve reading ─► read, write ─► give reading back ─► sent: give the rest back
//! ```
//!
//! They are separate so that none can starve another: a flood of reads refuses no commands, and clients
//! that do not read their lists keep nobody from a small read or from the receipt of a retry. What is
//! reserved for reading is given back within milliseconds, whatever clients do.
//!
//! **Invariant:** the reservations of a budget, less what was overdrawn, never exceed it. Whoever waits
//! for a reservation holds none, so those who hold one always finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use seriatim_api::code::ErrorCode;
use tokio::sync::Semaphore;

use crate::error::ApiError;

/// The `Retry-After` of a request that did not fit.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The budgets of a server.
#[derive(Debug, Clone)]
pub(crate) struct Budgets {
    /// For requests received in part.
    pub(crate) requests: Arc<MemoryBudget>,
    /// For reads that are under way.
    pub(crate) reading: Arc<MemoryBudget>,
    /// For large answers that are not sent yet.
    pub(crate) unsent: Arc<MemoryBudget>,
}

/// A number of bytes, of which some are reserved.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    what: &'static str,
    /// One permit for each byte. It is fair: permits that are given back go to whoever waits first.
    free: Semaphore,
    /// Bytes reserved beyond the budget, which come off what is given back next.
    overdrawn: AtomicUsize,
    max: usize,
}

/// Reserved bytes, given back on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<MemoryBudget>,
    bytes: AtomicUsize,
}

/// A value and the memory reserved for it.
#[derive(Debug)]
pub(crate) struct Reserved<T> {
    pub(crate) value: T,
    pub(crate) reservation: Reservation,
}

impl Budgets {
    pub(crate) fn new(held_bytes_max: usize) -> Self {
        let requests = held_bytes_max / 4;
        let reading = held_bytes_max.saturating_sub(requests) / 2;
        let unsent = held_bytes_max.saturating_sub(requests).saturating_sub(reading);
        Self {
            requests: MemoryBudget::new("requests received in part", requests),
            reading: MemoryBudget::new("reads", reading),
            unsent: MemoryBudget::new("answers that are not sent yet", unsent),
        }
    }
}

impl MemoryBudget {
    fn new(what: &'static str, max: usize) -> Arc<Self> {
        let max = max.min(Semaphore::MAX_PERMITS);
        let (free, overdrawn) = (Semaphore::new(max), AtomicUsize::new(0));
        Arc::new(Self { what, free, overdrawn, max })
    }

    /// Reserves bytes if they are free now and nobody waits for them.
    pub(crate) fn try_reserve(self: &Arc<Self>, bytes: usize) -> Result<Reservation, ApiError> {
        self.free.try_acquire_many(self.permits(bytes)).map_err(|_| self.full())?.forget();
        Ok(self.reserved(bytes))
    }

    /// Reserves bytes once they are free, first come, first served. More than the whole budget takes
    /// the whole budget: such a read is served alone instead of never.
    pub(crate) async fn reserve(
        self: &Arc<Self>,
        bytes: usize,
        within: Duration,
    ) -> Result<Reservation, ApiError> {
        let bytes = bytes.min(self.max);
        let free = self.free.acquire_many(self.permits(bytes));
        match tokio::time::timeout(within, free).await {
            Ok(Ok(permits)) => permits.forget(),
            Ok(Err(_)) | Err(_) => return Err(self.full()),
        }
        Ok(self.reserved(bytes))
    }

    /// Reserves bytes even beyond the budget, for what cannot be refused. Others wait until it is
    /// paid back.
    pub(crate) fn overdraw(self: &Arc<Self>, bytes: usize) -> Reservation {
        let taken = self.free.forget_permits(bytes);
        self.overdrawn.fetch_add(bytes.saturating_sub(taken), Ordering::Relaxed);
        self.reserved(bytes)
    }

    /// A reservation of nothing, to grow.
    pub(crate) fn empty(self: &Arc<Self>) -> Reservation {
        self.reserved(0)
    }

    fn reserved(self: &Arc<Self>, bytes: usize) -> Reservation {
        Reservation { budget: self.clone(), bytes: AtomicUsize::new(bytes) }
    }

    fn give_back(&self, bytes: usize) {
        let mut free = bytes;
        let pay = |overdrawn: usize| Some(overdrawn.saturating_sub(bytes));
        if let Ok(before @ 1..) =
            self.overdrawn.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pay)
        {
            free = bytes.saturating_sub(before);
        }
        if free > 0 {
            self.free.add_permits(free);
        }
    }

    /// As a number of permits. No single answer or body has four gigabytes.
    fn permits(&self, bytes: usize) -> u32 {
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    fn full(&self) -> ApiError {
        let Self { what, max, .. } = self;
        rate_limited(format!("no memory is free for {what}: all {max} bytes are reserved"))
    }
}

impl Reservation {
    /// Grows to a total, if the difference is free now.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let own = self.bytes.get_mut();
        let more = bytes.saturating_sub(*own);
        if more > 0 {
            let permits = self.budget.permits(more);
            let free = self.budget.free.try_acquire_many(permits);
            free.map_err(|_| self.budget.full())?.forget();
            *own = bytes;
        }
        Ok(())
    }

    /// Grows or shrinks to a total, if the difference is free now.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), ApiError> {
        self.shrink_to(bytes);
        self.grow_to(bytes)
    }

    /// Gives back what is above a total.
    pub(crate) fn shrink_to(&self, bytes: usize) {
        let before = self.bytes.fetch_min(bytes, Ordering::Relaxed);
        if before > bytes {
            self.budget.give_back(before.saturating_sub(bytes));
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

impl<T> Reserved<T> {
    /// The same with another reservation. The one that it had is given back.
    pub(crate) fn kept_by(self, reservation: Reservation) -> Self {
        Self { value: self.value, reservation }
    }

    pub(crate) fn map<U>(self, map: impl FnOnce(T) -> U) -> Reserved<U> {
        Reserved { value: map(self.value), reservation: self.reservation }
    }
}

/// The refusal of what does not fit now.
pub(crate) fn rate_limited(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::RateLimited, message).retryable_after(RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn budget() -> Arc<MemoryBudget> {
        MemoryBudget::new("tests", 100)
    }

    fn code<T>(reserved: Result<T, ApiError>) -> Option<ErrorCode> {
        reserved.err().map(|error| error.code)
    }

    #[test]
    fn reservations_are_bounded_and_given_back() {
        let budget = budget();
        let one = budget.try_reserve(60).unwrap();
        let mut other = budget.empty();
        other.grow_to(40).unwrap();
        assert_eq!(code(other.grow_to(41)), Some(ErrorCode::RateLimited));
        other.grow_to(10).expect("it has more already");
        one.shrink_to(0);
        other.set(100).unwrap();
        assert_eq!(code(budget.try_reserve(1)), Some(ErrorCode::RateLimited));
        other.set(30).unwrap();
        drop((budget.try_reserve(70).unwrap(), other, one));
        assert_eq!(budget.free.available_permits(), 100);
    }

    #[test]
    fn overdrawn_bytes_are_paid_back_first() {
        let budget = budget();
        let one = budget.try_reserve(60).unwrap();
        let beyond = budget.overdraw(90);
        one.shrink_to(20);
        assert_eq!(budget.free.available_permits(), 0, "40 given back, 50 overdrawn");
        drop(one);
        assert_eq!(budget.free.available_permits(), 10);
        drop(beyond);
        assert_eq!(budget.free.available_permits(), 100);
    }

    #[tokio::test]
    async fn waiters_are_served_in_order_and_a_waiter_that_leaves_takes_nothing() {
        let budget = budget();
        let task = &mut Context::from_waker(Waker::noop());
        let all =
            budget.reserve(1000, LONG).await.expect("more than the budget is the whole budget");
        let mut large = Box::pin(budget.reserve(90, LONG));
        let mut small = pin!(budget.reserve(10, LONG));
        let mut last = pin!(budget.reserve(90, LONG));
        assert!(large.as_mut().poll(task).is_pending());
        assert!(small.as_mut().poll(task).is_pending());
        assert!(last.as_mut().poll(task).is_pending());
        all.shrink_to(50);
        assert!(small.as_mut().poll(task).is_pending(), "the large one is first in line");
        assert_eq!(
            code(budget.try_reserve(1)),
            Some(ErrorCode::RateLimited),
            "nobody passes the queue"
        );
        drop(large);
        let Poll::Ready(Ok(small)) = small.as_mut().poll(task) else { panic!("its turn") };
        drop((all, small));
        assert!(last.as_mut().poll(task).is_ready());
        assert_eq!(budget.free.available_permits(), 100, "the last one was dropped when it came");
    }

    #[tokio::test]
    async fn a_reservation_that_does_not_come_in_time_is_rate_limited() {
        let budget = budget();
        let _all = budget.try_reserve(100).unwrap();
        assert_eq!(code(budget.reserve(1, Duration::ZERO).await), Some(ErrorCode::RateLimited));
    }
}
