//! Stored rows that a reader could not read, reported to the partition that owns them.
//!
//! ```text
//!  reader: the row is unreadable ─► report ─► state is `Stopped` ─► the reader is answered
//!                                     └─► owner thread: stops the partition, answers its queue
//! ```
//!
//! Every [`View`](crate::View) of a partition carries its `Damage`, and a [`Reader`](crate::Reader)
//! reports to it whatever it fails on. So HTTP, gRPC, subscriptions, embedders and the node's own
//! reads report to the same place, and none of them can forget to.
//!
//! **Invariants**
//! - The partition's state is `Stopped` before the reader is answered.
//! - A command that is sent after that answer is not carried out: the report precedes it in the
//!   owner's queue.
//! - The first reason is kept until the partition is restarted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::reads::ReadFailed;
use crate::reply::Reason;

/// Tells the owner of a partition why to stop. Returns whether there is one.
type Owner = Box<dyn Fn(Reason) -> bool + Send + Sync>;

/// Where the readers of a partition report rows that they could not read.
#[derive(Default)]
pub struct Damage {
    /// `None` where nobody runs the partition.
    owner: Option<Owner>,
    /// Reported, and not yet handled by the owner thread.
    pending: Mutex<Option<Reason>>,
    /// Reads that found a stored row damaged or missing, of all partitions of the node.
    damaged_reads: Arc<AtomicU64>,
}

impl Damage {
    pub(crate) fn new(owner: Owner, damaged_reads: Arc<AtomicU64>) -> Self {
        Self { owner: Some(owner), pending: Mutex::default(), damaged_reads }
    }

    /// Stops the partition. A report that comes while another is pending is only counted.
    pub(crate) fn report(&self, failed: &ReadFailed) {
        let reason = failed.reason();
        if matches!(reason, Reason::Unreadable { .. }) {
            self.count();
        }
        let Some(owner) = &self.owner else { return };
        // Sent under the lock: the owner must not handle it before it is pending.
        let mut pending = self.lock();
        if pending.is_none() && owner(reason.clone()) {
            *pending = Some(reason);
        }
    }

    /// Counts a read that failed.
    pub(crate) fn count(&self) {
        self.damaged_reads.fetch_add(1, Ordering::Relaxed);
    }

    /// Why the partition is about to stop, if it is.
    pub(crate) fn pending(&self) -> Option<Reason> {
        self.lock().clone()
    }

    /// The partition's own state says it now.
    pub(crate) fn handled(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Reason>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Damage").field("pending", &self.pending()).finish_non_exhaustive()
    }
}
