//! Which worker may work on which places of a projection, and in which order they are committed.
//!
//! Places are leased in runs, worked on in parallel, and committed one after another. A lease is a
//! claim with a deadline and a fencing token. Expired work is taken over at the same place.
//!
//! ```text
//!  offer ─► lease ─────► finish ────────► begin_commit ─► SQL transaction ─► committed ─► Wake
//!    │        │ ▲          │ Turn::Later      ▲                                │
//!    │        │ │          └ waits ───────────┘ ◄──────── whose turn it is ────┘
//!    │        │ └─ renew
//!    │        └─ expire, release: free again, at the same place
//!    └ backpressure: the window is full
//! ```
//!
//! One machine serves one edition of a projection. In one process it lives in memory, and a restart
//! raises the [`Fence`]. Where processes share a projection, its runs are rows:
//! [`Lanes::reload`] and [`Lanes::stored`] stand at both ends of each transaction.
//!
//! **Invariants**
//! - A run is committed when all lower places are committed or passed by a recorded resolution.
//! - Whoever holds a token that is not current changes nothing.
//! - Neither depends on time: a wrong clock costs work that is done twice, or a wait.
//! - A commit wakes one holder at most, and none whose turn has come stays asleep.
//! - Memory is bounded by the window of runs in flight, not by places.
//!
//! **Deliberately absent:** skipping a place, giving a place another number, waiting, a lock. Events
//! and prepared work are the caller's, who keeps them by their first place.

mod commit;
mod durations;
mod error;
mod failure;
mod health;
mod lanes;
mod lease;
mod place;
mod run;
mod runs;
#[cfg(test)]
mod scale_tests;
mod settings;
mod stored;
mod window;

pub use commit::{Commit, Committed, Resolution, Wake};
pub use error::{
    BeginError, Fenced, Idle, OfferError, PassError, ReloadError, RenewError, SplitError,
};
pub use failure::{Failure, Released};
pub use health::{Alert, Health};
pub use lanes::{Counts, Expired, Lanes, Turn};
pub use lease::{Fence, Lease, ProjectionId, Ready, Token, WorkerId};
pub use place::Place;
pub use run::Tries;
pub use settings::{Settings, Sharing};
pub use stored::{Stored, StoredLease, StoredRun};
