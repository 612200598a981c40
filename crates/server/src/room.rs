//! Memory that is held for clients: what they have sent a part of, and what they have not read yet.
//!
//! One connection of HTTP/2 has hundreds of requests, each with a body and an answer of up to a
//! megabyte or more. So it is all of them together that are bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::error::ApiError;

/// How long to wait until others have read or sent what they hold.
const ROOM_AFTER: Duration = Duration::from_secs(1);

/// How many bytes are held.
#[derive(Debug)]
pub(crate) struct Room {
    used: AtomicUsize,
    max: usize,
}

/// Some of these bytes, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    room: Arc<Room>,
    bytes: usize,
}

impl Room {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), max })
    }

    /// Holds some bytes, if there is room.
    pub(crate) fn hold(self: &Arc<Self>, bytes: usize) -> Result<Held, ApiError> {
        let mut held = Held { room: self.clone(), bytes: 0 };
        held.grow_to(bytes)?;
        Ok(held)
    }

    /// Holds bytes that cannot be turned away.
    pub(crate) fn hold_anyway(self: &Arc<Self>, bytes: usize) -> Held {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Held { room: self.clone(), bytes }
    }
}

impl Held {
    /// Holds so many bytes in all, if there is room for those that are new.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let more = bytes.saturating_sub(self.bytes);
        let Room { used, max } = &*self.room;
        let is_too_much = used.fetch_add(more, Ordering::Relaxed).saturating_add(more) > *max;
        if is_too_much && more > 0 {
            used.fetch_sub(more, Ordering::Relaxed);
            let message = format!("{max} bytes are held for clients that are slow, as many as may");
            return Err(rate_limited(message));
        }
        self.bytes = self.bytes.saturating_add(more);
        Ok(())
    }

    /// Holds just so many bytes, if there is room.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), ApiError> {
        if bytes < self.bytes {
            self.clear();
        }
        self.grow_to(bytes)
    }

    /// Lets everything go.
    pub(crate) fn clear(&mut self) {
        if self.bytes > 0 {
            self.room.used.fetch_sub(self.bytes, Ordering::Relaxed);
            self.bytes = 0;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.clear();
    }
}

/// That there is no room now.
pub(crate) fn rate_limited(message: impl Into<String>) -> ApiError {
    ApiError::new("RATE_LIMITED", message).retryable_after(ROOM_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_bounded_and_given_back() {
        let room = Room::new(100);
        let mut one = room.hold(60).unwrap();
        let mut other = room.hold(0).unwrap();
        other.grow_to(40).unwrap();
        assert_eq!(other.grow_to(41).unwrap_err().code, "RATE_LIMITED");
        other.grow_to(10).expect("what it has is enough");
        one.clear();
        other.grow_to(100).unwrap();
        assert_eq!(room.hold(1).unwrap_err().code, "RATE_LIMITED");
        let beyond = room.hold_anyway(50);
        drop(other);
        assert_eq!(room.hold(51).unwrap_err().code, "RATE_LIMITED");
        drop(beyond);
        drop((room.hold(100).unwrap(), one));
        assert_eq!(room.used.load(Ordering::Relaxed), 0);
    }
}
