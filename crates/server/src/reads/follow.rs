//! Following a log, in any protocol.
//!
//! ```text
//!  subscription ─► events, off the async threads ─► written ─► a short queue ─► the client
//! ```
//!
//! A client that does not read costs a full queue and nothing else: what comes later stays in the
//! store until there is room.

use std::sync::Arc;

use seriatim_core::Committed;
use seriatim_json::write::Fact;
use seriatim_node::{Log, Reader, SubscribeError, Subscription};
use seriatim_types::{PartitionId, PartitionRef};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::events::Names;
use super::{LogRead, called, find};
use crate::context::Context;
use crate::error::ApiError;
use crate::metrics::Open;

/// What a follower is told.
pub(crate) enum Part<'p> {
    /// Events, in order, without hole or repeat.
    Events(&'p [Shown<'p>]),
    /// That there was nothing for a while.
    Alive,
    /// Why it cannot go on. Nothing comes behind it.
    Failed(&'p ApiError),
}

/// An event with what answers call its workspace.
pub(crate) struct Shown<'p> {
    pub(crate) committed: &'p Committed,
    pub(crate) workspace: &'p str,
    pub(crate) partition: PartitionId,
}

/// Follows a log from an offset on. What `write` makes of each part comes out of the queue, of
/// which so many may wait. A queue that ends without a failure is resumed by following again.
pub(crate) async fn follow<T: Send + 'static>(
    read: LogRead,
    from: u64,
    waiting_max: usize,
    write: impl Fn(&Part<'_>) -> Vec<T> + Send + 'static,
) -> Result<mpsc::Receiver<T>, ApiError> {
    read.wait().await?;
    let LogRead { context, app, log, partition, .. } = read;
    let permit = context.subscribe()?;
    let workspace = match log.clone() {
        Log::Partition(_) => None,
        Log::Workspace(asked) => {
            let look = move |reader: &Reader<'_>| Ok(called(&find(reader, &asked)?));
            Some(context.read(partition, look).await?)
        }
    };
    let subscription = context.node.subscribe(&app, log, from);
    let subscription = subscription.map_err(|error| context.not_asked(error))?;
    let (parts, queue) = mpsc::channel(waiting_max);
    let held = (permit, context.metrics.open_subscription());
    let source = Source { context: context.clone(), workspace, partition, subscription, write };
    let follower = Follower { context, parts, _held: held };
    tokio::spawn(follower.run(source));
    Ok(queue)
}

/// Where parts come from.
struct Source<W> {
    context: Arc<Context>,
    /// What the workspace is called; `None` when a partition is followed.
    workspace: Option<String>,
    partition: PartitionRef,
    subscription: Subscription,
    write: W,
}

impl<T, W: Fn(&Part<'_>) -> Vec<T>> Source<W> {
    /// What is there now, on a thread that may wait; `None` when nothing is. An error that has no
    /// more to say is none.
    fn take(&mut self) -> Result<Option<Vec<T>>, Option<ApiError>> {
        let events = self.subscription.take().map_err(|error| self.failed(error))?;
        if events.is_empty() {
            return Ok(None);
        }
        self.written(&events).map(Some).map_err(Some)
    }

    fn written(&self, events: &[Committed]) -> Result<Vec<T>, ApiError> {
        let partition = self.partition.partition;
        if let Some(workspace) = &self.workspace {
            let shown = |committed| Shown { committed, workspace, partition };
            let shown: Vec<Shown<'_>> = events.iter().map(shown).collect();
            return Ok((self.write)(&Part::Events(&shown)));
        }
        // The view is not older than the events, so it knows their workspaces.
        self.context.read_here(self.partition, |reader| {
            let mut names = Names::new(reader);
            let mut called = Vec::with_capacity(events.len());
            for committed in events {
                called.push(names.of(committed.event.workspace)?.to_owned());
            }
            let shown = events.iter().zip(&called);
            let shown =
                shown.map(|(committed, name)| Shown { committed, workspace: name, partition });
            Ok((self.write)(&Part::Events(&shown.collect::<Vec<_>>())))
        })
    }

    fn failed(&self, error: SubscribeError) -> Option<ApiError> {
        let message = error.to_string();
        Some(match error {
            SubscribeError::Lagged { resume_from, behind } => {
                self.context.metrics.lagged();
                ApiError::new("LAGGED", message)
                    .with("resume_from", Fact::Number(resume_from))
                    .with("behind", Fact::Number(behind))
                    .retryable()
            }
            SubscribeError::Read(failed) => failed.into(),
            SubscribeError::Stopped(reason) => reason.into(),
            SubscribeError::Ended => return None,
        })
    }
}

/// Carries parts to a client.
struct Follower<T> {
    context: Arc<Context>,
    parts: mpsc::Sender<T>,
    /// Given back when the client is gone.
    _held: (OwnedSemaphorePermit, Open),
}

impl<T: Send + 'static> Follower<T> {
    /// Runs until the client is gone, the server ends, or the log cannot be followed.
    async fn run<W: Fn(&Part<'_>) -> Vec<T> + Send + 'static>(self, mut source: Source<W>) {
        loop {
            // Asked for before taking, so that nothing comes in between.
            let changed = source.subscription.changed();
            let taken = tokio::task::spawn_blocking(move || {
                let taken = source.take();
                (source, taken)
            });
            let Ok((returned, taken)) = taken.await else { return };
            source = returned;
            let parts = match taken {
                Ok(Some(parts)) => parts,
                Ok(None) => tokio::select! {
                    () = changed => continue,
                    () = self.parts.closed() => return,
                    () = self.context.ended() => return,
                    // By this the loss of the client is noticed.
                    () = tokio::time::sleep(self.context.settings.keep_alive) => {
                        (source.write)(&Part::Alive)
                    }
                },
                Err(None) => return,
                Err(Some(error)) => {
                    self.send((source.write)(&Part::Failed(&error))).await;
                    return;
                }
            };
            if !self.send(parts).await {
                return;
            }
        }
    }

    /// Returns whether anybody listens still.
    async fn send(&self, parts: Vec<T>) -> bool {
        for part in parts {
            let is_sent = tokio::select! {
                sent = self.parts.send(part) => sent.is_ok(),
                () = self.context.ended() => false,
            };
            if !is_sent {
                return false;
            }
        }
        true
    }
}
