//! Following a log, in any protocol.
//!
//! ```text
//!  subscription ─► a page of events, off the async threads ─► room? written, piece by piece ─► client
//! ```
//!
//! A client that does not read costs one piece that is written and one that the connection holds,
//! and nothing else: what is left of a page is given back after a moment and read again when there
//! is room, and what comes later stays in the store.
//!
//! **Invariant:** nothing is written before there is room for it. Written, events are larger, and a
//! whole page of them for each client that sleeps would add up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use seriatim::service::{called, find, not_followed};
use seriatim_api::message::Event;
use seriatim_core::Committed;
use seriatim_node::{Log, Reader, SubscribeError, Subscription};
use seriatim_types::{PartitionId, PartitionRef};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::LogRead;
use super::events::Names;
use crate::context::Context;
use crate::error::ApiError;
use crate::metrics::Open;

/// What a follower is told.
pub(crate) enum Part<'p> {
    /// Events, in order, without hole or repeat.
    Events(&'p [Shown]),
    /// That there was nothing for a while.
    Alive,
    /// Why it cannot go on. Nothing comes behind it.
    Failed(&'p ApiError),
}

/// An event with what answers call its workspace.
pub(crate) struct Shown {
    pub(crate) committed: Committed,
    pub(crate) workspace: Arc<str>,
    pub(crate) partition: PartitionId,
}

impl Shown {
    /// The event as answers have it.
    pub(crate) fn message(&self) -> Event {
        let Self { committed: Committed { event, leaf, .. }, workspace, partition } = self;
        Event::new(event, workspace, *partition, leaf)
    }
}

/// How long events that were read wait for a client that does not.
const HELD_FOR: Duration = Duration::from_secs(1);

/// What is sent of a part, or of its first events, and how many those are: at least one.
type Write<T> = fn(&Part<'_>) -> (T, usize);

/// Follows a log from an offset on. What `write` makes of it comes out of the queue, in which one
/// piece may wait. A queue that ends without a failure is resumed by following again.
pub(crate) async fn follow<T: Send + 'static>(
    read: LogRead,
    from: u64,
    write: Write<T>,
) -> Result<mpsc::Receiver<T>, ApiError> {
    read.wait().await?;
    let LogRead { context, app, log, partition, .. } = read;
    let permit = context.subscribe()?;
    let workspace = match log.clone() {
        Log::Partition(_) => None,
        Log::Workspace(asked) => {
            let look = move |reader: &Reader<'_>| Ok(called(&find(reader, &asked)?));
            Some(context.read(partition, look).await?.into())
        }
    };
    let subscription = context.node.subscribe(&app, log, from);
    let subscription = subscription.map_err(|error| context.not_asked(error))?;
    let (parts, queue) = mpsc::channel(1);
    let held = (permit, context.metrics.open_subscription());
    let source = Source { context: context.clone(), workspace, partition, subscription };
    let follower = Follower { context, parts, write, _held: held };
    tokio::spawn(follower.run(source));
    Ok(queue)
}

/// Where events come from.
struct Source {
    context: Arc<Context>,
    /// What the workspace is called; `None` when a partition is followed.
    workspace: Option<Arc<str>>,
    partition: PartitionRef,
    subscription: Subscription,
}

impl Source {
    /// What is there now, on a thread that may wait. An error that has no more to say is none.
    fn take(&mut self) -> Result<VecDeque<Shown>, Option<ApiError>> {
        let events = self.subscription.take().map_err(|error| self.failed(error))?;
        self.shown(events).map_err(Some)
    }

    fn shown(&self, events: Vec<Committed>) -> Result<VecDeque<Shown>, ApiError> {
        let partition = self.partition.partition;
        let shown = |committed, workspace| Shown { committed, workspace, partition };
        if let Some(workspace) = &self.workspace {
            return Ok(events.into_iter().map(|it| shown(it, workspace.clone())).collect());
        }
        // The view is not older than the events, so it knows their workspaces.
        self.context.read_here(self.partition, |reader| {
            let mut names = Names::new(reader);
            let events = events.into_iter().map(|committed| {
                let workspace = names.of(committed.event.workspace)?.into();
                Ok(shown(committed, workspace))
            });
            events.collect()
        })
    }

    fn failed(&self, error: SubscribeError) -> Option<ApiError> {
        if matches!(error, SubscribeError::Lagged { .. }) {
            self.context.metrics.lagged();
        }
        not_followed(error)
    }
}

/// Carries parts to a client.
struct Follower<T> {
    context: Arc<Context>,
    parts: mpsc::Sender<T>,
    write: Write<T>,
    /// Given back when the client is gone.
    _held: (OwnedSemaphorePermit, Open),
}

impl<T: Send + 'static> Follower<T> {
    /// Runs until the client is gone, the server ends, or the log cannot be followed.
    async fn run(self, mut source: Source) {
        loop {
            // Asked for before taking, so that nothing comes in between.
            let changed = source.subscription.changed();
            let taken = {
                // One write wakes all followers. They read in turn, on a bounded number of threads.
                let _turn = self.context.readers.turn().await;
                let take = move || {
                    let taken = source.take();
                    (source, taken)
                };
                self.context.readers.spawn(take).await
            };
            let Ok((returned, taken)) = taken else { return };
            source = returned;
            let is_heard = match taken {
                Ok(events) if events.is_empty() => tokio::select! {
                    () = changed => continue,
                    () = self.parts.closed() => return,
                    () = self.context.ended() => return,
                    // By this the loss of the client is noticed.
                    () = tokio::time::sleep(self.context.settings.keep_alive) => {
                        self.send(&Part::Alive).await.is_some()
                    }
                },
                Ok(events) => self.send_all(events, &mut source.subscription).await,
                Err(None) => return,
                Err(Some(error)) => {
                    self.send(&Part::Failed(&error)).await;
                    return;
                }
            };
            if !is_heard {
                return;
            }
        }
    }

    /// Sends events one piece after the other. A client that does not read for a moment is sent no
    /// more of them: the rest goes back to the subscription until there is room. Returns whether
    /// anybody listens still.
    async fn send_all(&self, mut events: VecDeque<Shown>, subscription: &mut Subscription) -> bool {
        let held_for = HELD_FOR.min(self.context.settings.keep_alive);
        while !events.is_empty() {
            let part = Part::Events(events.make_contiguous());
            match tokio::time::timeout(held_for, self.send(&part)).await {
                Ok(Some(count)) => drop(events.drain(..count)),
                Ok(None) => return false,
                Err(_) => {
                    subscription.give_back(events.len());
                    drop(events);
                    return self.room().await.is_some();
                }
            }
        }
        true
    }

    /// Sends a part, or the first events of it, once there is room. Returns how many those are;
    /// `None` when nobody listens any more.
    async fn send(&self, part: &Part<'_>) -> Option<usize> {
        let room = self.room().await?;
        let (written, count) = (self.write)(part);
        room.send(written);
        Some(count)
    }

    /// Room for a piece, once there is some; `None` when nobody listens any more.
    async fn room(&self) -> Option<mpsc::Permit<'_, T>> {
        tokio::select! {
            room = self.parts.reserve() => room.ok(),
            () = self.context.ended() => None,
        }
    }
}
