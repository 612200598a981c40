//! Commands that are written in the order in which they were sent, or not at all.
//!
//! ```text
//!  stream ─► StreamOrder: was a command of this generation not sent to any partition?
//!              └► PartitionOrder, one for each partition: a chain for each generation
//!                   └► Chain: was a command before it not written?
//! ```
//!
//! A client that learns that a command was not written sends it again with all behind it, in their
//! order, under the next generation.
//!
//! **Invariant:** behind a command that was not written, no later one of its chain is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seriatim_planted::{self as planted, Bug};

use crate::reply::{Busy, Reply, RequestError};

/// Up to which generation no command of a stream is sent, because one could not be sent to any
/// partition.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamOrder {
    not_sent: Option<u64>,
}

impl StreamOrder {
    /// Whether a command of a generation may be sent.
    ///
    /// # Errors
    ///
    /// A command of the same generation or of a later one was not.
    pub fn check(&self, generation: u64) -> Result<(), Busy> {
        if self.not_sent.is_some_and(|not_sent| generation <= not_sent) {
            return Err(Busy::Behind);
        }
        Ok(())
    }

    /// A command of a generation could not be sent to any partition.
    pub fn not_sent(&mut self, generation: u64) {
        self.not_sent = self.not_sent.max(Some(generation));
    }
}

/// The commands of one stream for one partition: a chain for each generation.
#[derive(Debug, Default)]
pub struct PartitionOrder {
    chain: Chain,
    /// The generation of the chain; `None` before the first.
    generation: Option<u64>,
    /// Whether a command of this generation could not be sent to the partition.
    is_behind: bool,
}

impl PartitionOrder {
    /// Begins with a command of a generation. The first one of a generation asks whether the partition
    /// serves; from then on the partition itself says whether it takes commands.
    ///
    /// # Errors
    ///
    /// The partition does not serve, or a command before this one could not be sent.
    pub fn begin<E: From<Busy>>(
        &mut self,
        generation: u64,
        check_serves: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        if Some(generation) > self.generation {
            self.generation = Some(generation);
            self.chain = Chain::new();
            let serves = check_serves();
            self.is_behind = serves.is_err();
            return serves;
        }
        if self.is_behind || Some(generation) < self.generation {
            return Err(Busy::Behind.into());
        }
        Ok(())
    }

    /// A command could not be sent to the partition, so no later one of its generation is.
    pub fn not_sent(&mut self) {
        self.is_behind = true;
    }

    /// The chain of the generation.
    #[must_use]
    pub fn chain(&self) -> &Chain {
        &self.chain
    }
}

/// Commands for one partition that keep their order: once one of them is not taken or not written,
/// no later one is, and each is answered with [`Busy::Behind`](crate::Busy::Behind). Whoever sent
/// them can send them again in their order, as a new chain.
///
/// A refusal breaks nothing: it is an answer for good.
#[derive(Debug, Clone, Default)]
pub struct Chain(Arc<State>);

#[derive(Debug)]
struct State {
    next: AtomicU64,
    /// The first command that was not written.
    broken_at: AtomicU64,
}

impl Default for State {
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

    /// The position of the next command.
    #[doc(hidden)]
    #[must_use]
    pub fn link(&self) -> Link {
        Link { state: self.0.clone(), position: self.0.next.fetch_add(1, Ordering::Relaxed) }
    }
}

/// The position of a command in its chain.
#[derive(Debug, Clone)]
pub struct Link {
    state: Arc<State>,
    position: u64,
}

impl Link {
    /// Whether a command before it was not written. The thread that owns the partition asks in the
    /// order of the commands, and it is the one that turns them away; one that was turned away before
    /// it got there has said so before the next one was sent.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.state.broken_at.load(Ordering::Acquire) < self.position
    }

    /// An answer is about to be given, and breaks the chain if the command was not written.
    pub fn answered(&self, reply: &Reply) {
        match reply {
            // A refusal is an answer for good.
            Ok(_) | Err(RequestError::Refused(_)) => {}
            Err(RequestError::Stopped(_)) if planted::is(Bug::StoppedDoesNotBreak) => {}
            Err(
                RequestError::Busy(_)
                | RequestError::NotWritten { .. }
                | RequestError::Unknown { .. }
                | RequestError::Stopped(_),
            ) => {
                if !planted::is(Bug::ChainNotBroken) {
                    self.state.broken_at.fetch_min(self.position, Ordering::AcqRel);
                }
            }
        }
    }
}
