//! Large answers, which are held until their clients have read them.
//!
//! Over HTTP/2 a client opens a window for each answer, and one that opens none makes the server keep
//! it. So a large answer counts while it is there, goes out in pieces, and a connection that takes
//! no piece of one for too long is closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Response};
use axum::response::IntoResponse;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::room::{Held, Room};

/// What is smaller does not count.
pub(crate) const LARGE_BYTES: usize = 64 * 1024;

/// As much goes out at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// How answers of a connection are watched.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) room: Arc<Room>,
    /// How long a client may take none of an answer.
    pub(crate) within: Duration,
    /// Told when one has not.
    pub(crate) is_deaf: Arc<Notify>,
}

impl Watch {
    /// An answer as it goes out: one that is large is watched, or cannot be given now.
    pub(crate) fn watched(&self, method: &Method, mut answer: Response<Body>) -> Response<Body> {
        // What gRPC answers is not written yet, so that it says itself what it holds.
        let held = answer.extensions_mut().remove::<Arc<Held>>();
        let bytes = answer.body().size_hint().exact().and_then(|it| usize::try_from(it).ok());
        let held = match (held, bytes) {
            (Some(held), _) => held,
            (None, Some(bytes)) if bytes > LARGE_BYTES => match self.room.hold(bytes) {
                Ok(held) => Arc::new(held),
                // What was written is told in any case.
                Err(_) if method != Method::GET => Arc::new(self.room.hold_anyway(bytes)),
                Err(error) => return error.into_response(),
            },
            (None, _) => return answer,
        };
        answer.map(|body| Body::new(Unread::new(body, held, self)))
    }
}

/// A large answer on its way.
struct Unread {
    body: Body,
    /// Of the body, and not taken yet.
    rest: Bytes,
    _held: Arc<Held>,
    has_moved: Arc<AtomicBool>,
    watch: JoinHandle<()>,
}

impl Unread {
    fn new(body: Body, held: Arc<Held>, watch: &Watch) -> Self {
        let has_moved = Arc::new(AtomicBool::new(false));
        let (moved, Watch { within, is_deaf, .. }) = (has_moved.clone(), watch.clone());
        let watch = tokio::spawn(async move {
            loop {
                tokio::time::sleep(within).await;
                if !moved.swap(false, Ordering::Relaxed) {
                    return is_deaf.notify_one();
                }
            }
        });
        Self { body, rest: Bytes::new(), _held: held, has_moved, watch }
    }
}

impl http_body::Body for Unread {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.has_moved.store(true, Ordering::Relaxed);
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(task)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                ended => return Poll::Ready(ended),
            }
        }
        let piece = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let left = self.body.size_hint().exact().map(|body| body.saturating_add(rest));
        left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.watch.abort();
    }
}
