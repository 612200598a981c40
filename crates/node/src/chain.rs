//! Commands that are written in the order in which they were sent, or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seriatim_planted::{self as planted, Bug};

use crate::reply::Reply;

/// Commands for one partition that keep their order: once one of them is not taken or not written,
/// no later one is, and each is answered with [`Busy::Behind`](crate::Busy::Behind). Whoever sent
/// them can send them again in their order, as a new chain.
///
/// A refusal breaks nothing: it is an answer for good.
#[derive(Debug, Clone, Default)]
pub struct Chain(Arc<Places>);

#[derive(Debug)]
struct Places {
    next: AtomicU64,
    /// The first command that was not written.
    broken_at: AtomicU64,
}

impl Default for Places {
    fn default() -> Self {
        Self { next: AtomicU64::new(0), broken_at: AtomicU64::new(u64::MAX) }
    }
}

impl Chain {
    /// A chain without commands.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The place of the next command.
    #[doc(hidden)]
    #[must_use]
    pub fn link(&self) -> Link {
        Link { places: self.0.clone(), place: self.0.next.fetch_add(1, Ordering::Relaxed) }
    }
}

/// The place of a command in its chain.
#[derive(Debug, Clone)]
pub struct Link {
    places: Arc<Places>,
    place: u64,
}

impl Link {
    /// Whether a command before it was not written. The thread that owns the partition asks in the
    /// order of the commands, and it is the one that turns them away; one that was turned away before
    /// it got there has said so before the next one was sent.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.places.broken_at.load(Ordering::Acquire) < self.place
    }

    /// An answer that breaks the chain before it is given.
    pub(crate) fn watch(
        &self,
        answer: impl FnOnce(Reply) + Send + 'static,
    ) -> impl FnOnce(Reply) + Send + 'static {
        let link = self.clone();
        move |reply| {
            link.answered(&reply);
            answer(reply);
        }
    }

    /// An answer is about to be given, and breaks the chain if the command was not written.
    pub fn answered(&self, reply: &Reply) {
        match reply {
            Reply::Applied(_) => {}
            Reply::Stopped(_) if planted::is(Bug::StoppedDoesNotBreak) => {}
            Reply::Busy(_)
            | Reply::NotWritten { .. }
            | Reply::Unknown { .. }
            | Reply::Stopped(_) => {
                if !planted::is(Bug::ChainNotBroken) {
                    self.places.broken_at.fetch_min(self.place, Ordering::AcqRel);
                }
            }
        }
    }
}
