//! Errors of the embedding API in the words of the contract: they are made by the same conversions as the
//! server's.

use seriatim_api::code::ErrorCode;
use seriatim_node::{self as node, RequestError};

use super::error::{ApiError, Fact};
use super::refusals::{late, not_followed, not_serving};
use super::wait::not_yet;
use crate::error::{NotWritten, ReadError, SubscribeError, Unknown, WriteError};

impl From<&WriteError> for ApiError {
    fn from(error: &WriteError) -> Self {
        let error = match error {
            WriteError::Refused(refusal) | WriteError::NotWritten(NotWritten::Refused(refusal)) => {
                RequestError::Refused(refusal.clone())
            }
            WriteError::NotWritten(NotWritten::Busy { busy, .. }) => RequestError::Busy(*busy),
            WriteError::NotWritten(NotWritten::GivenUp { why }) => {
                RequestError::NotWritten { why: why.clone() }
            }
            WriteError::NotWritten(NotWritten::Stopped(reason)) => {
                RequestError::Stopped(reason.clone())
            }
            WriteError::Unknown(Unknown::Interrupted { why }) => {
                RequestError::Unknown { why: why.clone() }
            }
            WriteError::NotWritten(NotWritten::Closed) => return closed().of_write(),
            WriteError::Unknown(Unknown::TimedOut { .. }) => return late(error.to_string()),
        };
        error.into()
    }
}

impl From<&ReadError> for ApiError {
    fn from(error: &ReadError) -> Self {
        match error {
            ReadError::Refused(refusal) => refusal.clone().into(),
            ReadError::NotFound { .. } => Self::not_found(error.to_string()),
            ReadError::NotReached { last, offset } => not_yet(*last, *offset),
            ReadError::NotYet => not_serving(None),
            ReadError::Stopped(reason) => reason.clone().into(),
            ReadError::Failed(failed) => failed.clone().into(),
            ReadError::Closed => closed(),
        }
    }
}

impl From<&SubscribeError> for ApiError {
    fn from(error: &SubscribeError) -> Self {
        let error = match error {
            SubscribeError::Lagged { resume_from, behind } => {
                node::SubscribeError::Lagged { resume_from: *resume_from, behind: *behind }
            }
            SubscribeError::Failed(failed) => node::SubscribeError::Read(failed.clone()),
            SubscribeError::Stopped(reason) => node::SubscribeError::Stopped(reason.clone()),
            SubscribeError::Closed => node::SubscribeError::Ended,
        };
        not_followed(error).unwrap_or_else(closed)
    }
}

fn closed() -> ApiError {
    let closed = ApiError::new(ErrorCode::Busy, "it is closed: open the folder again");
    closed.with("reason", Fact::Text("interrupted".to_owned()))
}

#[cfg(test)]
mod tests {
    use seriatim_core::Refusal;
    use seriatim_node::{Busy, ClockAhead, Reason};
    use seriatim_types::{PartitionOffset, Time};

    use super::*;
    use crate::service::NotServing;

    fn reason() -> Reason {
        Reason::Unready { what: "it is a test".to_owned() }
    }

    fn busy() -> Vec<Busy> {
        let clock = ClockAhead { time: Time(2), last_time: Time(1) };
        vec![
            Busy::Unflushed,
            Busy::Clock(clock),
            Busy::DiskFull { free_bytes: 1, reserve_bytes: 2 },
            Busy::QueueFull { queued: 1 },
        ]
    }

    #[test]
    fn embedders_are_told_of_a_write_what_the_server_tells() {
        let why = || "it is a test".to_owned();
        let refusals = [
            Refusal::RecordNotFound { id: 7 },
            Refusal::KeyReused { first: PartitionOffset::new(3).unwrap() },
            Refusal::KeyWindowFull { max: 1, keys_expire: true },
            Refusal::DeadlineExceeded { deadline: Time(1), time: Time(2) },
        ];
        let errors = refusals.into_iter().map(RequestError::Refused);
        let errors = errors.chain(busy().into_iter().map(RequestError::Busy)).chain([
            RequestError::NotWritten { why: why() },
            RequestError::Unknown { why: why() },
            RequestError::Stopped(reason()),
        ]);
        for error in errors {
            let ours = ApiError::from(&WriteError::from(error.clone()));
            assert_eq!(ours, ApiError::from(error));
        }
    }

    #[test]
    fn embedders_are_told_of_a_read_what_the_server_tells() {
        for doing in [None, Some(node::State::Stopped(reason()))] {
            let told = ApiError::from(&ReadError::from(NotServing(doing.clone())));
            assert_eq!(told, not_serving(doing));
        }
        let lagged = node::SubscribeError::Lagged { resume_from: 3, behind: 4 };
        let ours = SubscribeError::Lagged { resume_from: 3, behind: 4 };
        assert_eq!(Some(ApiError::from(&ours)), not_followed(lagged));
    }

    #[test]
    fn what_is_closed_helps_nobody_who_tries_again() {
        let error = WriteError::from(NotWritten::Closed);
        assert_eq!((error.code(), error.retry_after()), (ErrorCode::Busy, None));
        assert_eq!(ReadError::Closed.code(), ErrorCode::Busy);
        assert_eq!(SubscribeError::Closed.code(), ErrorCode::Busy);
    }
}
