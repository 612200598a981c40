//! Write timeout and memory accounting of large response bodies.
//!
//! Over HTTP/2 each response has its own flow-control window, and a client that opens none makes the
//! server keep the body. So a large body counts against the memory budget, is written in pieces, and
//! a connection that drains none of one for too long is closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Response};
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::error::response;
use crate::overload::memory_budget::{MemoryBudget, Reservation};

/// Bodies up to this size are not counted.
pub(crate) const LARGE_BYTES: usize = 64 * 1024;

/// Bytes handed to the connection at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// How the response bodies of a connection are watched.
#[derive(Clone)]
pub(crate) struct Watch {
    pub(crate) budget: Arc<MemoryBudget>,
    /// How long a client may drain nothing of a body.
    pub(crate) within: Duration,
    /// Notified when one has not for that long.
    pub(crate) is_stalled: Arc<Notify>,
}

impl Watch {
    /// Watches a response whose body is large, or replaces it by RATE_LIMITED if it does not fit.
    pub(crate) fn watched(&self, method: &Method, mut answer: Response<Body>) -> Response<Body> {
        // Reads have reserved their memory before they began.
        let reservation = answer.extensions_mut().remove::<Arc<Reservation>>();
        let bytes = answer.body().size_hint().exact().and_then(|it| usize::try_from(it).ok());
        let reservation = match (reservation, bytes) {
            (Some(reservation), _) => reservation,
            (None, Some(bytes)) if bytes > LARGE_BYTES => match self.budget.try_reserve(bytes) {
                Ok(reservation) => Arc::new(reservation),
                // The receipt of a command that was committed is never withheld.
                Err(_) if method != Method::GET => Arc::new(self.budget.overdraw(bytes)),
                Err(error) => return response(error),
            },
            (None, _) => return answer,
        };
        answer.map(|body| Body::new(SlowBody::new(body, reservation, self)))
    }
}

/// A large body that is being written.
struct SlowBody {
    body: Body,
    /// Read from the body and not handed to the connection yet.
    rest: Bytes,
    reservation: Arc<Reservation>,
    has_moved: Arc<AtomicBool>,
    watch: JoinHandle<()>,
}

impl SlowBody {
    fn new(body: Body, reservation: Arc<Reservation>, watch: &Watch) -> Self {
        let has_moved = Arc::new(AtomicBool::new(false));
        let (moved, Watch { within, is_stalled, .. }) = (has_moved.clone(), watch.clone());
        let watch = tokio::spawn(async move {
            loop {
                tokio::time::sleep(within).await;
                if !moved.swap(false, Ordering::Relaxed) {
                    return is_stalled.notify_one();
                }
            }
        });
        Self { body, rest: Bytes::new(), reservation, has_moved, watch }
    }
}

/// Bytes that count as long as any part of them is in memory: also while the connection has the last
/// piece, which keeps all of them.
struct Counted {
    data: Bytes,
    _reservation: Arc<Reservation>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

impl http_body::Body for SlowBody {
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
                    Ok(data) => {
                        // The message that it was encoded from is gone.
                        self.reservation.shrink_to(data.len());
                        let reservation = self.reservation.clone();
                        self.rest = Bytes::from_owner(Counted { data, _reservation: reservation });
                    }
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

impl Drop for SlowBody {
    fn drop(&mut self) {
        self.watch.abort();
    }
}
