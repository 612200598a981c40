//! The memory budget: bytes held on behalf of clients, of all connections together.
//!
//! One HTTP/2 connection carries hundreds of requests, each with a body and a response of up to a
//! megabyte or more. A limit per request or per connection would not bound their sum.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::error::ApiError;

/// The `Retry-After` of a request that did not fit.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// A number of bytes, of which some are reserved.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    used: AtomicUsize,
    max: usize,
}

/// Reserved bytes, given back on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl MemoryBudget {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), max })
    }

    /// Reserves bytes if they are free now.
    pub(crate) fn try_reserve(self: &Arc<Self>, bytes: usize) -> Result<Reservation, ApiError> {
        let mut reservation = Reservation { budget: self.clone(), bytes: 0 };
        reservation.grow_to(bytes)?;
        Ok(reservation)
    }

    /// Reserves bytes even beyond the limit, for what cannot be refused.
    pub(crate) fn overdraw(self: &Arc<Self>, bytes: usize) -> Reservation {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Reservation { budget: self.clone(), bytes }
    }
}

impl Reservation {
    /// Grows to a total, if the difference is free.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let more = bytes.saturating_sub(self.bytes);
        let MemoryBudget { used, max } = &*self.budget;
        let is_too_much = used.fetch_add(more, Ordering::Relaxed).saturating_add(more) > *max;
        if is_too_much && more > 0 {
            used.fetch_sub(more, Ordering::Relaxed);
            let message = format!("{max} bytes are held for clients that are slow, as many as may");
            return Err(rate_limited(message));
        }
        self.bytes = self.bytes.saturating_add(more);
        Ok(())
    }

    /// Grows or shrinks to a total, if the difference is free.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), ApiError> {
        if bytes < self.bytes {
            self.clear();
        }
        self.grow_to(bytes)
    }

    /// Gives everything back.
    pub(crate) fn clear(&mut self) {
        if self.bytes > 0 {
            self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
            self.bytes = 0;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The refusal of what does not fit now.
pub(crate) fn rate_limited(message: impl Into<String>) -> ApiError {
    ApiError::new("RATE_LIMITED", message).retryable_after(RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_are_bounded_and_given_back() {
        let budget = MemoryBudget::new(100);
        let mut one = budget.try_reserve(60).unwrap();
        let mut other = budget.try_reserve(0).unwrap();
        other.grow_to(40).unwrap();
        assert_eq!(other.grow_to(41).unwrap_err().code, "RATE_LIMITED");
        other.grow_to(10).expect("it has more already");
        one.clear();
        other.grow_to(100).unwrap();
        assert_eq!(budget.try_reserve(1).unwrap_err().code, "RATE_LIMITED");
        let beyond = budget.overdraw(50);
        drop(other);
        assert_eq!(budget.try_reserve(51).unwrap_err().code, "RATE_LIMITED");
        drop(beyond);
        drop((budget.try_reserve(100).unwrap(), one));
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
    }
}
