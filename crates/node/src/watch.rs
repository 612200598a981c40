//! Being told of what readers may see, by threads and by futures alike.
//!
//! ```text
//!  watch ─► look at the view ─► not enough? wait
//!    └──────────── a change from here on ends the wait
//! ```
//!
//! **Invariant:** a change after [`Changed`] was asked for ends its wait, whenever the wait begins.
//!
//! **Deliberately absent:** what has changed. Whoever is told looks for itself, at a view.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use seriatim_types::WorkspaceId;

use crate::shared::Shared;

/// What somebody wants to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interest {
    /// Any change of the partition.
    Partition,
    /// New events of a workspace.
    Workspace(WorkspaceId),
}

/// Ends once something of interest has changed, or the node has ended: a future for tasks, and
/// [`wait_until`](Self::wait_until) for threads.
#[derive(Debug)]
pub struct Changed {
    shared: Arc<Shared>,
    interest: Interest,
    number: u64,
    slot: Arc<Slot>,
}

impl Changed {
    pub(crate) fn new(shared: Arc<Shared>, interest: Interest) -> Self {
        let slot = Arc::new(Slot::default());
        let number = shared.add_watcher(interest, slot.clone());
        Self { shared, interest, number, slot }
    }

    /// Waits for it on this thread. Returns whether it came before the deadline.
    #[must_use]
    pub fn wait_until(self, deadline: Instant) -> bool {
        let mut told = self.slot.told();
        while !told.is_told {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.slot.changed.wait_timeout(told, left);
            told = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Future for Changed {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut told = self.slot.told();
        if told.is_told {
            return Poll::Ready(());
        }
        told.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        self.shared.remove_watcher(self.interest, self.number);
    }
}

/// Where one watcher is told.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Told {
    is_told: bool,
    waker: Option<Waker>,
}

impl Slot {
    pub(crate) fn tell(&self) {
        let mut told = self.told();
        told.is_told = true;
        let waker = told.waker.take();
        drop(told);
        self.changed.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everybody who waits for a partition.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    waiting: BTreeMap<(Interest, u64), Arc<Slot>>,
    next: u64,
}

impl Watchers {
    pub(crate) fn add(&mut self, interest: Interest, slot: Arc<Slot>) -> u64 {
        let number = self.next;
        self.next = self.next.checked_add(1).expect("nobody asks 2^64 times");
        self.waiting.insert((interest, number), slot);
        number
    }

    pub(crate) fn remove(&mut self, interest: Interest, number: u64) {
        self.waiting.remove(&(interest, number));
    }

    /// Those who wait for new events of these workspaces, and those who wait for anything.
    pub(crate) fn take(&mut self, workspaces: &[WorkspaceId]) -> Vec<Arc<Slot>> {
        let mut taken = Vec::new();
        let interests = workspaces.iter().map(|workspace| Interest::Workspace(*workspace));
        for interest in std::iter::once(Interest::Partition).chain(interests) {
            if self.waiting.is_empty() {
                break;
            }
            let range = (interest, u64::MIN)..=(interest, u64::MAX);
            let told: Vec<(Interest, u64)> =
                self.waiting.range(range).map(|(key, _)| *key).collect();
            taken.extend(told.iter().filter_map(|key| self.waiting.remove(key)));
        }
        taken
    }

    pub(crate) fn take_all(&mut self) -> Vec<Arc<Slot>> {
        std::mem::take(&mut self.waiting).into_values().collect()
    }
}
