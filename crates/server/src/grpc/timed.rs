//! The body of a request that has to come in time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;
use tonic::Status;

use crate::asked::late;

/// A body that fails when it is waited for longer than it may take.
pub(super) struct Timed {
    body: Body,
    within: Duration,
    late: Pin<Box<Sleep>>,
}

impl Timed {
    pub(super) fn new(body: Body, within: Duration) -> Self {
        Self { body, within, late: Box::pin(tokio::time::sleep(within)) }
    }
}

impl http_body::Body for Timed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(task) {
            let broken = |_| Status::deadline_exceeded("the message breaks off");
            return Poll::Ready(frame.map(|frame| frame.map_err(broken)));
        }
        let within = self.within;
        let is_late = self.late.as_mut().poll(task);
        is_late.map(|()| Some(Err(Status::deadline_exceeded(late("message", within)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
