//! Following a workspace's log: server-sent events.
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
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Frame;
use seriatim_core::Committed;
use seriatim_json::write::{self, Fact};
use seriatim_node::{Log, SubscribeError, Subscription};
use seriatim_types::{NUMBER_MAX, PartitionId};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::{WorkspaceRead, called, find};
use crate::asked::whole;
use crate::context::Context;
use crate::error::ApiError;
use crate::metrics::Open;

/// Parts of a stream that may wait for a slow reader. Further ones stay in the store.
const WAITING_MAX: usize = 4;

/// Follows the log from an offset on, or from behind the last event that the client has seen.
pub(super) async fn follow(
    read: WorkspaceRead,
    from: u64,
    last_seen: Option<&str>,
) -> Result<Response, ApiError> {
    let from = match last_seen {
        Some(id) => whole("Last-Event-ID", id, 0..=NUMBER_MAX)?.saturating_add(1),
        None => from,
    };
    read.wait_for_min_offset().await?;
    let WorkspaceRead { context, app, asked, partition, .. } = read;
    let permit = context.subscriptions.clone().try_acquire_owned().map_err(|_| {
        let most = context.settings.subscriptions_max;
        let error = ApiError::new("RATE_LIMITED", format!("{most} subscriptions are open"));
        error.retryable_after(1)
    })?;
    let workspace = asked.clone();
    let look = move |reader: &seriatim_node::Reader<'_>| Ok(called(&find(reader, &workspace)?));
    let workspace = context.read(partition, look).await?;
    let subscription = context.node.subscribe(&app, Log::Workspace(asked), from);
    let subscription = subscription.map_err(|error| context.not_asked(error))?;
    let (parts, feed) = mpsc::channel(WAITING_MAX);
    let open = context.metrics.open_subscription();
    let partition = partition.partition;
    let follower = Follower { context, workspace, partition, parts, _held: (permit, open) };
    tokio::spawn(follower.run(subscription));
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::new(Feed(feed))).into_response())
}

/// Carries events from a subscription to a client.
struct Follower {
    context: Arc<Context>,
    workspace: String,
    partition: PartitionId,
    parts: mpsc::Sender<Bytes>,
    /// Given back when the stream ends.
    _held: (OwnedSemaphorePermit, Open),
}

impl Follower {
    /// Runs until the client is gone, the server ends, or the log cannot be followed.
    async fn run(self, mut subscription: Subscription) {
        loop {
            // Asked for before taking, so that nothing comes in between.
            let changed = subscription.changed();
            // The store is read off the async threads.
            let taken = tokio::task::spawn_blocking(move || {
                let events = subscription.take();
                (subscription, events)
            });
            let Ok((returned, events)) = taken.await else { return };
            subscription = returned;
            match events {
                Ok(events) if events.is_empty() => {
                    tokio::select! {
                        () = changed => {}
                        () = self.parts.closed() => return,
                        () = self.context.ended() => return,
                        () = tokio::time::sleep(self.context.settings.keep_alive) => {
                            // A comment, by which the loss of the client is noticed.
                            if !self.send(Bytes::from_static(b":\n\n")).await {
                                return;
                            }
                        }
                    }
                }
                Ok(events) => {
                    for event in &events {
                        if !self.send(self.part(event)).await {
                            return;
                        }
                    }
                }
                Err(SubscribeError::Ended) => return,
                Err(error) => {
                    self.fail(error).await;
                    return;
                }
            }
        }
    }

    fn part(&self, committed: &Committed) -> Bytes {
        let Committed { event, leaf, .. } = committed;
        let body = write::event(event, &self.workspace, self.partition, leaf);
        let id = event.offset;
        [format!("id: {id}\ndata: ").as_bytes(), &body, b"\n\n"].concat().into()
    }

    async fn fail(&self, error: SubscribeError) {
        let message = error.to_string();
        let error = match error {
            SubscribeError::Lagged { resume_from, behind } => {
                self.context.metrics.lagged();
                ApiError::new("LAGGED", message)
                    .with("resume_from", Fact::Number(resume_from))
                    .with("behind", Fact::Number(behind))
                    .retryable()
            }
            SubscribeError::Read(failed) => failed.into(),
            SubscribeError::Stopped(reason) => reason.into(),
            SubscribeError::Ended => return,
        };
        let part = [b"event: error\ndata: ", error.body().as_slice(), b"\n\n"].concat();
        self.send(part.into()).await;
    }

    /// Returns whether anybody listens still.
    async fn send(&self, part: Bytes) -> bool {
        tokio::select! {
            sent = self.parts.send(part) => sent.is_ok(),
            () = self.context.ended() => false,
        }
    }
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
