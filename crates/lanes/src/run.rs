//! One run: places that are leased together, and who has them.
//!
//! ```text
//!            lease               finish            begin_commit
//!  Free ───────────────► Working ──────────► Ready ──────────────► Committing ──► gone
//!   ▲  expire, release      │   reopen, expire │    not_committed      │
//!   └───────────────────────┴──────────────────┘ ◄─────────────────────┘
//! ```

use seriatim_types::Time;

use crate::lease::{Token, WorkerId};
use crate::place::Place;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) last: Place,
    pub(crate) bytes: u64,
    pub(crate) tries: Tries,
    pub(crate) state: State,
}

/// What has been tried on a run. A take-over keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tries {
    /// How often it was leased.
    pub attempts: u32,
    /// How often its lease expired.
    pub expiries: u32,
    /// How often a handler failed.
    pub handler_failures: u32,
    /// How often the database failed.
    pub database_failures: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Free {
        /// Not before then, after a failure.
        not_before: Option<Time>,
    },
    Held(Hold),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hold {
    pub(crate) token: Token,
    pub(crate) worker: WorkerId,
    pub(crate) leased_at: Time,
    pub(crate) deadline: Time,
    pub(crate) renewals: u32,
    pub(crate) stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Working,
    Ready,
    Committing,
}

impl Run {
    pub(crate) fn new(last: Place, bytes: u64) -> Self {
        let state = State::Free { not_before: None };
        Self { last, bytes, tries: Tries::default(), state }
    }

    pub(crate) const fn hold(&self) -> Option<&Hold> {
        match &self.state {
            State::Held(hold) => Some(hold),
            State::Free { .. } => None,
        }
    }

    pub(crate) fn stage(&self) -> Option<Stage> {
        self.hold().map(|hold| hold.stage)
    }
}

impl Hold {
    pub(crate) const fn leased_ms(&self) -> u64 {
        self.deadline.0.saturating_sub(self.leased_at.0)
    }
}
