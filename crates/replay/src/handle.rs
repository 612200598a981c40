//! What code awaits: futures written by hand, one for everything that settles, one for signals.
//!
//! **Invariant:** dropping a handle takes nothing back. The command is created, and its outcome is
//! delivered to nobody.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

use seriatim_types::Name;

use crate::scope::{Scope, Serial};
use crate::{CommandId, Settlement, Source};

/// A task, a timer, a child, a step or a promise that code can await.
#[derive(Debug)]
#[must_use = "the command is created, and nobody would see what comes of it"]
pub struct Handle {
    scope: Rc<Scope>,
    id: CommandId,
}

/// The next signal of a name that nobody else takes.
#[derive(Debug)]
#[must_use = "a signal is taken only when it is awaited"]
pub struct SignalHandle {
    scope: Rc<Scope>,
    name: Name,
    serial: Serial,
}

impl Handle {
    pub(crate) const fn new(scope: Rc<Scope>, id: CommandId) -> Self {
        Self { scope, id }
    }

    /// What this is the handle of.
    #[must_use]
    pub const fn id(&self) -> CommandId {
        self.id
    }

    /// Which delivery settled it, if one did. Of several that are settled, the lowest came first.
    #[must_use]
    pub fn delivery(&self) -> Option<u64> {
        self.scope.with(|inner| inner.leaves.delivery(self.id))
    }

    /// Cancels a task or a timer that is not settled yet: it settles as cancelled at once. A child
    /// is asked to cancel, and settles when it has. Others are not changed.
    #[track_caller]
    pub fn cancel(&self) {
        let source = Source::here();
        let waker = self.scope.with_code(&source, |inner| inner.cancel(self.id, source.clone()));
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl SignalHandle {
    pub(crate) const fn new(scope: Rc<Scope>, name: Name, serial: Serial) -> Self {
        Self { scope, name, serial }
    }
}

impl Future for Handle {
    type Output = Settlement;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Settlement> {
        self.scope.poll_leaf(self.id, cx)
    }
}

impl Future for SignalHandle {
    type Output = Settlement;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Settlement> {
        self.scope.poll_signal(&self.name, self.serial, cx)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.scope.drop_leaf(self.id);
    }
}

impl Drop for SignalHandle {
    fn drop(&mut self) {
        self.scope.drop_signal(&self.name, self.serial);
    }
}
