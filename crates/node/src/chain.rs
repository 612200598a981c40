//! Commands that are written in the order in which they were sent, or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::reply::Reply;

/// Commands for one partition that keep their order: once one of them is not taken or not written,
/// no later one is, and each is answered with [`Busy::Behind`](crate::Busy::Behind). Whoever sent
/// them can send them again in their order, as a new chain.
///
/// A refusal breaks nothing: it is an answer for good.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    is_broken: Arc<AtomicBool>,
}

impl Chain {
    /// A chain without commands.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread that owns the partition asks in the order of the commands, and it is the one that
    /// turns them away; one that was turned away before it got there has set this before the next
    /// one was sent.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    /// An answer that breaks the chain before it is given.
    pub(crate) fn link(
        &self,
        answer: impl FnOnce(Reply) + Send + 'static,
    ) -> impl FnOnce(Reply) + Send + 'static {
        let chain = self.clone();
        move |reply| {
            match reply {
                Reply::Applied(_) => {}
                Reply::Busy(_)
                | Reply::NotWritten { .. }
                | Reply::Unknown { .. }
                | Reply::Stopped(_) => chain.is_broken.store(true, Ordering::Release),
            }
            answer(reply);
        }
    }
}
