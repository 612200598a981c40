//! What a caller learns when something was not done, and what to do then.
//!
//! ```text
//!  Refused      never written          something has to change first; its key is still free
//!  NotWritten   not by this attempt    send it again
//!  Unknown      perhaps written        send it again with the same key: that resolves it
//! ```

use std::time::Duration;

use seriatim_api::code::ErrorCode;
use seriatim_core::Refusal;
use seriatim_json::{Invalid, Problem};
use seriatim_node::{
    AskError, Busy, RETRY_AFTER, ReadFailed, Reason, RequestError, State, Written,
};

use crate::service::{ApiError, NOT_CLASS_C, NotListed, NotProven, NotServing};

/// Why a command or a definition was not written, or may not have been: the three answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// It was never written and left no trace. The same will be refused again unless something
    /// changes; the refusal says what.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It was not written, and this attempt never will be. Send it again, with any key.
    #[error(transparent)]
    NotWritten(#[from] NotWritten),
    /// It may have been written. Send the same command again with the same key, or ask for the
    /// same definition again: that always resolves it.
    #[error(transparent)]
    Unknown(#[from] Unknown),
}

/// Why an attempt was not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotWritten {
    /// The partition takes no more at the moment.
    #[error("{busy}: send it again after {} ms", retry_after.as_millis())]
    Busy {
        /// What keeps it busy.
        busy: Busy,
        /// When to send it again.
        retry_after: Duration,
    },
    /// It was taken and then given up, as when the disk was full.
    #[error("not written: {why}; send it again")]
    GivenUp {
        /// Why.
        why: String,
    },
    /// It was refused as things are: its deadline had passed, or there was no room for its key. The
    /// same can be carried out later.
    #[error(transparent)]
    Refused(Refusal),
    /// The partition has stopped, and others go on. When the folder is opened again, it reads its
    /// log and serves, or stops again with the same reason.
    #[error("the partition has stopped: see why, then open the folder again")]
    Stopped(#[source] Reason),
    /// Closed, or about to be.
    #[error("it is closed: open the folder again")]
    Closed,
}

/// Why nobody knows yet whether it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unknown {
    /// No answer came in time.
    #[error("no answer within {} ms: send it again with the same key", waited.as_millis())]
    TimedOut {
        /// How long was waited.
        waited: Duration,
    },
    /// Something failed in the middle of it. If the store has stopped, the folder has to be
    /// opened again first.
    #[error("it may have been written: {why}; send it again with the same key")]
    Interrupted {
        /// What failed.
        why: String,
    },
}

/// Why a read gave no answer. What is merely not there is no failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It cannot be asked like that.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no such thing.
    #[error("{what}")]
    NotFound {
        /// What there is instead.
        what: String,
    },
    /// The log has not reached an offset in time.
    #[error("the last offset is {last}, not yet {offset}")]
    NotReached {
        /// The offset that was waited for.
        offset: u64,
        /// The last one of the log.
        last: u64,
    },
    /// The partition has not served yet.
    #[error("the partition has not served yet: ask again")]
    NotYet,
    /// The partition had stopped before anything could be read.
    #[error("the partition has stopped: see why, then open the folder again")]
    Stopped(#[source] Reason),
    /// What is stored could not be read. The partition has stopped for it.
    #[error(transparent)]
    Failed(#[from] ReadFailed),
    /// Closed.
    #[error("it is closed: open the folder again")]
    Closed,
}

/// Why a subscription gives no more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubscribeError {
    /// It had caught up, and has fallen too far behind since. A new one from the given offset on
    /// misses nothing.
    #[error("the subscription is {behind} events behind: go on from {resume_from} with a new one")]
    Lagged {
        /// The first event that was not given.
        resume_from: u64,
        /// How many there are from that one on.
        behind: u64,
    },
    /// What is stored could not be read. The partition has stopped for it.
    #[error(transparent)]
    Failed(#[from] ReadFailed),
    /// The partition has stopped, and everything before was given.
    #[error("the partition has stopped: see why, then open the folder again")]
    Stopped(#[source] Reason),
    /// Closed, and everything before was given.
    #[error("it is closed, and everything before was given")]
    Closed,
}

impl WriteError {
    /// The stable code of the contract.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ApiError::from(self).code
    }

    /// How long to wait before sending the same again with the same key; `None` when that does not
    /// help as things are.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        // The folder has to be opened again first.
        if let Self::NotWritten(NotWritten::Closed) | Self::Unknown(Unknown::Interrupted { .. }) =
            self
        {
            return None;
        }
        let error = ApiError::from(self);
        error.is_retryable.then(|| error.retry_after.unwrap_or(RETRY_AFTER))
    }
}

impl ReadError {
    /// The stable code of the contract.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ApiError::from(self).code
    }
}

impl SubscribeError {
    /// The stable code of the contract.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ApiError::from(self).code
    }
}

/// It was closed, or is about to be.
#[derive(Debug)]
pub(crate) struct Closed;

impl From<Closed> for WriteError {
    fn from(_: Closed) -> Self {
        NotWritten::Closed.into()
    }
}

impl From<Closed> for ReadError {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl From<Busy> for NotWritten {
    fn from(busy: Busy) -> Self {
        Self::Busy { busy, retry_after: RETRY_AFTER }
    }
}

impl From<RequestError> for WriteError {
    fn from(error: RequestError) -> Self {
        let written = error.written();
        match error {
            RequestError::Refused(refusal) if written == Written::NotWritten => {
                NotWritten::Refused(refusal).into()
            }
            RequestError::Refused(refusal) => refusal.into(),
            RequestError::Busy(busy) => NotWritten::from(busy).into(),
            RequestError::NotWritten { why } => NotWritten::GivenUp { why }.into(),
            RequestError::Unknown { why } => Unknown::Interrupted { why }.into(),
            RequestError::Stopped(reason) => NotWritten::Stopped(reason).into(),
        }
    }
}

impl From<AskError> for WriteError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::TimedOut { waited } => Unknown::TimedOut { waited }.into(),
            AskError::AppsUnknown => NotWritten::GivenUp { why: error.to_string() }.into(),
            AskError::AppNotFound(no_app) => Refusal::AppNotFound(Some(no_app)).into(),
            AskError::PartitionNotFound { .. } => Refusal::AppNotFound(None).into(),
            AskError::Unreadable(failed) => NotWritten::Stopped(failed.reason()).into(),
        }
    }
}

impl From<AskError> for ReadError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Unreadable(failed) => failed.into(),
            AskError::AppNotFound(no_app) => Refusal::AppNotFound(Some(no_app)).into(),
            AskError::PartitionNotFound { .. } => Self::NotFound { what: error.to_string() },
            AskError::AppsUnknown | AskError::TimedOut { .. } => Self::NotYet,
        }
    }
}

impl From<NotServing> for ReadError {
    fn from(NotServing(doing): NotServing) -> Self {
        match doing {
            Some(State::Stopped(reason)) => Self::Stopped(reason),
            Some(State::Actualizing(_) | State::Serving) | None => Self::NotYet,
        }
    }
}

impl From<NotProven> for ReadError {
    fn from(error: NotProven) -> Self {
        match error {
            NotProven::Failed(failed) => failed.into(),
            NotProven::NoEvent { .. } => Self::NotFound { what: error.to_string() },
            NotProven::NotAsMany { field, .. } => {
                let (field, why) = (field.to_owned(), error.to_string());
                Refusal::InvalidArgument { field, why }.into()
            }
        }
    }
}

impl From<NotListed> for ReadError {
    fn from(error: NotListed) -> Self {
        let field = "kind".to_owned();
        match error {
            NotListed::Failed(failed) => failed.into(),
            NotListed::NotClassC => {
                Refusal::InvalidArgument { field, why: NOT_CLASS_C.to_owned() }.into()
            }
            NotListed::NoKind(name) => Refusal::UnknownKind { name, field }.into(),
        }
    }
}

/// What cannot be taken as it was sent is a refusal like any other.
pub(crate) fn refusal_of(invalid: Invalid) -> Refusal {
    let Invalid { field, problem } = invalid;
    if let Problem::TooLarge { bytes, max } = problem {
        let found = u64::try_from(bytes).unwrap_or(u64::MAX);
        return Refusal::TooLarge { what: "bytes of a command", max: max.into(), found };
    }
    if let Problem::TooMany { what, max } = problem {
        let max = u64::from(max);
        return Refusal::TooLarge { what, max, found: max.saturating_add(1) };
    }
    let field = if field.is_empty() { "the document".to_owned() } else { field };
    Refusal::InvalidArgument { field, why: problem.to_string() }
}

#[cfg(test)]
mod tests {
    use seriatim_node::no_app;
    use seriatim_types::Name;

    use super::*;

    #[test]
    fn an_app_that_is_not_there_is_named() {
        let [asked, known] = ["shpo", "shop"].map(|text| Name::new(text).unwrap());
        let error = AskError::AppNotFound(no_app(&asked, [&known]));
        let WriteError::Refused(write) = error.clone().into() else { panic!("a refusal") };
        let ReadError::Refused(read) = error.into() else { panic!("a refusal") };
        for refusal in [write, read] {
            assert_eq!(refusal.code(), "APP_NOT_FOUND");
            assert_eq!(refusal.to_string(), "there is no app \"shpo\"; did you mean \"shop\"?");
        }
    }
}
