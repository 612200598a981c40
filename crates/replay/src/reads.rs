//! What code may ask a book at any time: everything as of the position that it was shown.
//!
//! **Invariant:** an answer depends on what was delivered and on what code has created before, and
//! on nothing else.

use seriatim_types::{Name, Time};

use crate::{Book, Offset, Payload, Source, Work};

impl Book {
    /// The time of the last thing that code was shown.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The last offset that code was shown.
    #[must_use]
    pub fn seen(&self) -> Offset {
        self.seen
    }

    /// A value of the run's state, as code has set it.
    #[must_use]
    pub fn state(&self, key: &Name) -> Option<Payload> {
        self.state.get(key).cloned()
    }

    /// Whether somebody wants this run to end.
    #[must_use]
    pub fn is_cancel_requested(&self) -> bool {
        self.is_cancel_requested
    }

    /// A random number, the same on every replay.
    pub fn random(&mut self, source: &Source) -> u64 {
        self.check_recording(source);
        self.random.number()
    }

    /// A UUID of version 4, the same on every replay.
    pub fn uuid(&mut self, source: &Source) -> [u8; 16] {
        self.check_recording(source);
        self.random.uuid()
    }

    /// A key for an idempotent request, the same on every replay.
    pub fn key(&mut self, source: &Source) -> [u8; 16] {
        self.check_recording(source);
        self.random.key()
    }

    /// Takes a signal that was delivered. Its time is what code sees from now on.
    pub fn take_signal(&mut self, name: &Name, source: &Source) -> Option<Payload> {
        self.check_recording(source);
        if !self.is_open() {
            return None;
        }
        let signal = self.signals.take(name)?;
        self.now = self.now.max(signal.at);
        Some(signal.input)
    }

    /// How much has been done so far, in units that do not depend on the machine.
    #[must_use]
    pub fn work(&self) -> Work {
        self.work
    }
}
