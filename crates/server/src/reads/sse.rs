//! Following the log of a workspace or of a partition over HTTP: server-sent events.
//!
//! ```text
//!  id: 13
//!  data: {"offset":13,…}
//! ```
//!
//! The id is the offset in the log that is followed, so a client that reconnects goes on behind the last event that it has seen.
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
use seriatim_node::Log;
use seriatim_types::Event;
use tokio::sync::mpsc;

use super::LogRead;
use super::follow::{Part, Shown, follow};
use crate::answer;
use crate::error::ErrorResponse;

/// Follows the log from an offset on.
pub(super) async fn stream(read: LogRead, from: u64) -> Result<Response, ErrorResponse> {
    let written = match &read.log {
        Log::Workspace(_) => written_of_workspace,
        Log::Partition(_) => written_of_partition,
    };
    let feed = follow(read, from, written).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::new(Feed(feed))).into_response())
}

fn written_of_workspace(part: &Part<'_>) -> (Bytes, usize) {
    written(part, |event| event.offset.get())
}

fn written_of_partition(part: &Part<'_>) -> (Bytes, usize) {
    written(part, |event| event.partition_offset.get())
}

fn written(part: &Part<'_>, id: fn(&Event) -> u64) -> (Bytes, usize) {
    match part {
        Part::Events([first, ..]) => (event(first, id), 1),
        Part::Events([]) => (Bytes::new(), 0),
        // A comment.
        Part::Alive => (Bytes::from_static(b":\n\n"), 0),
        Part::Failed(error) => {
            ([b"event: error\ndata: ", answer::body(error).as_slice(), b"\n\n"].concat().into(), 0)
        }
    }
}

fn event(shown: &Shown, id: fn(&Event) -> u64) -> Bytes {
    let (id, body) = (id(&shown.committed.event), answer::body(&shown.message()));
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
