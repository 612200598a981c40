//! Following a workspace's log over HTTP: server-sent events.
//!
//! ```text
//!  id: 13
//!  data: {"offset":13,…}
//! ```
//!
//! The id is the offset, so a client that reconnects goes on behind the last event that it has seen.
//! A stream that cannot go on ends with an event named `error` whose data is the body of the
//! error; one that ends without is resumed by connecting again.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Frame;
use seriatim_json::write;
use tokio::sync::mpsc;

use super::LogRead;
use super::follow::{Part, Shown, follow};
use crate::error::ApiError;

/// Follows the log from an offset on.
pub(super) async fn stream(read: LogRead, from: u64) -> Result<Response, ApiError> {
    let feed = follow(read, from, written).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::new(Feed(feed))).into_response())
}

fn written(part: &Part<'_>) -> (Bytes, usize) {
    match part {
        Part::Events(events) => (events.first().map(event).unwrap_or_default(), 1),
        // A comment.
        Part::Alive => (Bytes::from_static(b":\n\n"), 0),
        Part::Failed(error) => {
            ([b"event: error\ndata: ", error.body().as_slice(), b"\n\n"].concat().into(), 0)
        }
    }
}

fn event(shown: &Shown) -> Bytes {
    let event = &shown.committed.event;
    let body = write::event(event, &shown.workspace, shown.partition, &shown.committed.leaf);
    let id = event.offset;
    [format!("id: {id}\ndata: ").as_bytes(), &body, b"\n\n"].concat().into()
}

/// The body of a stream.
struct Feed(mpsc::Receiver<Bytes>);

impl http_body::Body for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}
