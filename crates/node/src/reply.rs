//! What a request is answered.

use seriatim_core::Outcome;
use seriatim_sequencer::Progress;

use crate::clock::ClockAhead;

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It was applied, and what it was decided on is durable.
    Applied(Outcome),
    /// It was not taken. Try again after a while.
    Busy(Busy),
    /// It was not written, and never will be by this attempt. Safe to send again.
    NotWritten {
        /// Why.
        why: String,
    },
    /// It may have been written. Send it again with the same key: that resolves it.
    Unknown {
        /// Why.
        why: String,
    },
    /// The partition does not serve.
    Stopped(Reason),
}

/// Why a request was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// Numbers are being read from the log.
    #[error("the partition reads its log: {} of {} events", .0.done, .0.total)]
    Actualizing(Progress),
    /// Too many rows of numbers wait for a checkpoint.
    #[error("too many rows of numbers wait for a checkpoint")]
    Unflushed,
    /// The machine's clock cannot be believed, so nothing is given a time.
    #[error(transparent)]
    Clock(ClockAhead),
    /// The disk has less room than the store keeps in reserve.
    #[error(
        "the disk is almost full: {free_bytes} bytes are free and {reserve_bytes} are kept in reserve; \
         make room, then try again"
    )]
    DiskFull {
        /// Bytes that are free.
        free_bytes: u64,
        /// Bytes that the store does not touch.
        reserve_bytes: u64,
    },
    /// An earlier command of the same [chain](crate::Chain) was not written.
    #[error("an earlier command was not written, and this one must not come before it")]
    Behind,
    /// Too many requests wait.
    #[error("{queued} requests wait for the partition, as many as may")]
    QueueFull {
        /// How many wait.
        queued: usize,
    },
    /// Requests of too many bytes wait.
    #[error("requests of {bytes} bytes wait for the partition, as many as may")]
    QueueLarge {
        /// How many bytes they hold in memory, or a little more.
        bytes: usize,
    },
}

/// Why a partition does not serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// A row was there that must not be: a number would have been given twice.
    #[error("a row is there that must not be, so a number would have been given twice: {what}")]
    Violation {
        /// Which row.
        what: String,
    },
    /// Something stored cannot be read or does not fit.
    #[error("what is stored cannot be used: {what}")]
    Unreadable {
        /// What is wrong.
        what: String,
    },
    /// It could not be run.
    #[error("it cannot be run: {what}")]
    Unready {
        /// Why.
        what: String,
    },
    /// The store has stopped, and with it the node.
    #[error("{what}")]
    Store {
        /// Why.
        what: String,
    },
}

impl From<Busy> for Reply {
    fn from(busy: Busy) -> Self {
        Self::Busy(busy)
    }
}
