//! The body of a request whose messages have to come in time, and count until they are whole.
//!
//! ```text
//!  … length │ message │ length │ mess…
//!                     └ begun: it has a time to be whole, and what has come of it is held
//! ```
//!
//! A request of one message has begun it with its head. One of many may be silent in between.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use tonic::Status;

use crate::asked::late;
use crate::context::Context;
use crate::overload::memory_budget::Reservation;

/// What stands before a message: whether it is compressed, and how long it is.
const HEAD_BYTES: u8 = 5;

/// A body that fails when a message is waited for longer than it may take, or when there is no room
/// for what has come of it.
pub(crate) struct Timed {
    body: Body,
    is_stream: bool,
    begun: Begun,
    held: Reservation,
    within: Duration,
    is_waiting: bool,
    late: Pin<Box<Sleep>>,
}

/// The message that is not whole yet.
#[derive(Debug)]
struct Begun {
    /// Bytes of its head that are to come.
    head_left: u8,
    /// Bytes that are to come behind the head, once that is whole.
    left: u32,
    /// Bytes that have come.
    bytes: usize,
}

impl Timed {
    pub(crate) fn new(body: Body, is_stream: bool, context: &Context) -> Self {
        let within = context.settings.body_within;
        Self {
            body,
            is_stream,
            begun: Begun::none(),
            held: context.budgets.requests.empty(),
            within,
            is_waiting: !is_stream,
            late: Box::pin(tokio::time::sleep(within)),
        }
    }

    fn read(&mut self, data: &[u8]) {
        let bytes = self.begun.bytes.saturating_add(data.len());
        let has_ended = self.begun.read(data);
        if !self.is_stream {
            // It is kept until the request ends.
            self.begun.bytes = bytes;
        } else if has_ended {
            self.is_waiting = false;
        }
    }

    /// Nothing has come. An error, if that is too long already or too much.
    fn wait(&mut self, task: &mut TaskContext<'_>) -> Poll<Status> {
        if self.is_stream && self.begun.bytes == 0 {
            self.held.shrink_to(0);
            return Poll::Pending;
        }
        if let Err(error) = self.held.set(self.begun.bytes) {
            return Poll::Ready(Status::unavailable(error.message));
        }
        if !self.is_waiting {
            self.is_waiting = true;
            let now = Instant::now();
            self.late.as_mut().reset(now.checked_add(self.within).unwrap_or(now));
        }
        let is_late = self.late.as_mut().poll(task);
        is_late.map(|()| Status::deadline_exceeded(late("message", self.within)))
    }
}

impl Begun {
    fn none() -> Self {
        Self { head_left: HEAD_BYTES, left: 0, bytes: 0 }
    }

    /// Reads some bytes of the body. Returns whether a message has ended with them.
    fn read(&mut self, mut data: &[u8]) -> bool {
        let mut has_ended = false;
        while let Some((&byte, behind)) = data.split_first() {
            if self.head_left > 0 {
                self.head_left = self.head_left.saturating_sub(1);
                // Of five bytes the last four remain.
                self.left = self.left.wrapping_shl(8) | u32::from(byte);
                self.bytes = self.bytes.saturating_add(1);
                data = behind;
            } else {
                let left = usize::try_from(self.left).unwrap_or(usize::MAX);
                let (own, behind) = data.split_at(left.min(data.len()));
                let read = u32::try_from(own.len()).expect("no longer than what is left");
                self.left = self.left.saturating_sub(read);
                self.bytes = self.bytes.saturating_add(own.len());
                data = behind;
            }
            if self.head_left == 0 && self.left == 0 {
                *self = Self::none();
                has_ended = true;
            }
        }
        has_ended
    }
}

impl http_body::Body for Timed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(task) else {
            return self.wait(task).map(|status| Some(Err(status)));
        };
        if let Some(data) = frame.as_ref().and_then(|it| it.as_ref().ok()?.data_ref()) {
            self.read(data);
        }
        let broken = |_| Status::deadline_exceeded("the message breaks off");
        Poll::Ready(frame.map(|frame| frame.map_err(broken)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_followed_through_all_pieces_that_it_comes_in() {
        let body = [&[0, 0, 0, 0, 3][..], b"abc", &[0, 0, 0, 1, 2], &[7; 258], &[0, 0, 0, 0, 0]];
        let body = body.concat();
        let ends = [8, 271, 276];
        for pieces in 1..=9 {
            let mut begun = Begun::none();
            let mut at = 0;
            for piece in body.chunks(pieces) {
                let before = at;
                at += piece.len();
                let ended = ends.iter().any(|end| (before + 1..=at).contains(end));
                assert_eq!(begun.read(piece), ended, "behind {at} bytes in pieces of {pieces}");
                let begins = ends.iter().rev().find(|end| **end <= at).unwrap_or(&0);
                assert_eq!(begun.bytes, at - begins, "behind {at} bytes in pieces of {pieces}");
            }
        }
    }
}
