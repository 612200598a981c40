//! What a request is answered, and what follows for whoever has sent it.
//!
//! ```text
//!  Refused      never written          something has to change first
//!  NotWritten   not by this attempt    send it again
//!  Unknown      perhaps written        send it again with the same key: that resolves it
//! ```
//!
//! **Invariant:** which of the three an answer is, its code, and when to try again are said here and
//! nowhere else: the server, the embedding API and the simulator ask [`RequestError`].

use std::time::Duration;

use seriatim_core::{Outcome, Refusal};
use seriatim_sequencer::Progress;
use seriatim_types::Name;

use crate::clock::ClockAhead;

/// The answer to a request: what it came to, or why nobody can say. Both are said when what they were
/// decided on is durable.
pub type Reply<T = Outcome> = Result<T, RequestError>;

/// Why a request has no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// It was refused: never written, and it left no trace.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It was not taken. Try again after a while.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// It was not written, and never will be by this attempt. Safe to send again.
    #[error("{why}")]
    NotWritten {
        /// Why.
        why: String,
    },
    /// It may have been written. Send it again with the same key: that resolves it.
    #[error("{why}: it may have been written, so send the same again, with the same key")]
    Unknown {
        /// Why.
        why: String,
    },
    /// The partition does not serve.
    #[error("{0}")]
    Stopped(Reason),
}

/// What is known of a request that has no outcome: the three answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Never, and the same will be refused again unless something changes.
    Refused,
    /// Not by this attempt.
    NotWritten,
    /// Perhaps.
    Unknown,
}

/// How long to wait before trying again. What keeps a partition busy takes less, or nobody knows
/// how long.
pub const RETRY_AFTER: Duration = Duration::from_millis(50);

/// How long to wait for room for keys, which comes as old ones end.
pub const ROOM_AFTER: Duration = Duration::from_secs(1);

impl RequestError {
    /// The same with the name of the app that was asked for, where it is missing.
    #[must_use]
    pub fn of_app(self, app: &Name) -> Self {
        if let Self::Refused(refusal) = self {
            return Self::Refused(refusal.of_app(app));
        }
        self
    }

    /// Which of the three answers it is.
    #[must_use]
    pub fn written(&self) -> Written {
        match self {
            // With another deadline, or when there is room for its key, the same can be carried out.
            Self::Refused(Refusal::DeadlineExceeded { .. } | Refusal::KeyWindowFull { .. }) => {
                Written::NotWritten
            }
            Self::Refused(_) => Written::Refused,
            Self::Busy(_) | Self::NotWritten { .. } | Self::Stopped(_) => Written::NotWritten,
            Self::Unknown { .. } => Written::Unknown,
        }
    }

    /// The stable code of the contract.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.code(),
            // It was taken and did not come to be written: as if the partition had been busy.
            Self::Busy(_) | Self::NotWritten { .. } => "BUSY",
            Self::Unknown { .. } => "OUTCOME_UNKNOWN",
            Self::Stopped(_) => "PARTITION_STOPPED",
        }
    }

    /// The reason in a `BUSY`.
    #[must_use]
    pub fn busy_reason(&self) -> Option<&'static str> {
        match self {
            Self::Busy(busy) => Some(busy.reason()),
            Self::NotWritten { .. } => Some("interrupted"),
            Self::Refused(_) | Self::Unknown { .. } | Self::Stopped(_) => None,
        }
    }

    /// Whether sending the same again with the same key helps by itself.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.is_retryable(),
            Self::Busy(_) | Self::NotWritten { .. } | Self::Unknown { .. } => true,
            Self::Stopped(_) => false,
        }
    }

    /// How long to wait before that, if it is known.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(refusal) => refusal.is_retryable().then_some(ROOM_AFTER),
            Self::Busy(_) | Self::NotWritten { .. } => Some(RETRY_AFTER),
            Self::Unknown { .. } | Self::Stopped(_) => None,
        }
    }
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

impl Busy {
    /// The reason, as the contract says it.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Actualizing(_) => "actualizing",
            Self::Unflushed => "unflushed",
            Self::Clock(_) => "clock",
            Self::DiskFull { .. } => "disk_full",
            Self::Behind => "behind",
            Self::QueueFull { .. } | Self::QueueLarge { .. } => "queue_full",
        }
    }
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
