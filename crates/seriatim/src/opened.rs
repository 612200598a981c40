//! The node behind all handles, until it is closed.
//!
//! **Invariant:** whoever uses the node holds the lock for reading, so nobody uses it any more once
//! it was taken out, and the folder is free.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use seriatim_node::{Clock, Log, Node, NotEnded, Reader, RequestError};
use seriatim_types::{PartitionRef, Time};

use crate::error::{Closed, ReadError, WriteError};
use crate::service::{self, OffsetWait, Step, last_of};

/// A node that is open, or was.
pub(crate) struct Opened {
    node: RwLock<Option<Node>>,
    is_closing: AtomicBool,
    clock: Arc<dyn Clock>,
    pub(crate) answer_within: Duration,
    close_within: Duration,
}

impl Opened {
    pub(crate) fn new(
        node: Node,
        clock: Arc<dyn Clock>,
        answer_within: Duration,
        close_within: Duration,
    ) -> Arc<Self> {
        let (node, is_closing) = (RwLock::new(Some(node)), AtomicBool::new(false));
        Arc::new(Self { node, is_closing, clock, answer_within, close_within })
    }

    /// Does something with the node, unless it was closed.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&Node) -> T) -> Result<T, Closed> {
        let node = self.node.read().unwrap_or_else(PoisonError::into_inner);
        node.as_ref().map(act).ok_or(Closed)
    }

    /// Reads a partition as of now.
    pub(crate) fn read<T>(
        &self,
        partition: PartitionRef,
        read: impl FnOnce(&Reader<'_>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.with(|node| {
            let (view, prefix) = service::view(node, partition)?;
            read(&Reader::new(&view, prefix, node.schema()))
        })?
    }

    /// Waits on this thread until a log of a partition has an offset. Returns its last one.
    pub(crate) fn wait_for(
        &self,
        partition: PartitionRef,
        log: &Log,
        offset: u64,
        within: Duration,
    ) -> Result<u64, ReadError> {
        let now = Instant::now();
        let deadline = now.checked_add(within).unwrap_or(now);
        let mut wait = OffsetWait::new(partition, offset);
        loop {
            let step = self.with(|node| {
                let changed = wait.changed(node);
                let (view, prefix) = service::view(node, partition)?;
                let last = last_of(&Reader::new(&view, prefix, node.schema()), &view, log)?;
                Ok::<Step, ReadError>(wait.next(last, changed))
            })??;
            let (last, changed) = match step {
                Step::Reached(last) => return Ok(last),
                Step::LookAgain => continue,
                Step::Wait(last, changed) => (last, changed),
            };
            // Looked at after the change was asked for: a node that ends later tells of it.
            if self.is_closing.load(Ordering::Relaxed) {
                return Err(ReadError::Closed);
            }
            if !changed.wait_until(deadline) {
                return Err(ReadError::NotReached { offset, last });
            }
        }
    }

    /// The time for reads. A clock that cannot be believed leaves it to the partition's own.
    pub(crate) fn now(&self) -> Time {
        self.clock.now().unwrap_or(Time(0))
    }

    /// What was applied, or which of the three answers it is.
    pub(crate) fn applied<T>(&self, reply: Result<T, RequestError>) -> Result<T, WriteError> {
        reply.map_err(|error| {
            let is_given_up = matches!(error, RequestError::NotWritten { .. });
            let is_closed = is_given_up && self.is_closing.load(Ordering::Relaxed);
            if is_closed { Closed.into() } else { error.into() }
        })
    }

    /// Carries out what was sent, and ends the node. Closing twice is the same as once.
    pub(crate) fn close(&self) -> Result<(), NotEnded> {
        self.is_closing.store(true, Ordering::Relaxed);
        self.with(|node| node.shutdown(self.close_within)).unwrap_or(Ok(()))?;
        let node = self.node.write().unwrap_or_else(PoisonError::into_inner).take();
        drop(node);
        Ok(())
    }
}
