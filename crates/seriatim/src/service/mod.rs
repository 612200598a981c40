//! The service layer: what is asked of a node and what is answered, once for the server and for embedders.
//!
//! ```text
//!  server: HTTP, gRPC, memory, waiting tasks ─┐
//!                                             ├─► service ─► node, reader, view
//!  App, Workspace: typed values, threads ─────┘
//! ```
//!
//! Everything here is synchronous, reads at most a few rows of a view that it is given, and keeps nothing.
//! Who calls it decides on which thread it runs, what memory it may take and how long to wait.
//!
//! **Invariant:** one thing is decided here once: what a workspace is that was never used, what a reply to a
//! command comes to, when a log has reached an offset, and which code, facts, outcome and retry hint an
//! error has.

mod apps;
mod clock;
mod commands;
mod embedded;
mod error;
mod proofs;
mod readiness;
mod records;
mod refusals;
mod wait;
mod workspaces;

pub use apps::{NotServing, SYSTEM, declare, define, find_app, find_partition, state, view};
pub use clock::{clock_ahead, describe_clock};
pub use commands::{Look, Looked, Reused, Settled, command, settle};
pub use error::{ApiError, Fact};
pub use proofs::{NotProven, Proven, consistency, inclusion};
pub use readiness::{Readiness, readiness};
pub(crate) use records::NOT_CLASS_C;
pub use records::{NotListed, check_listed};
pub use refusals::{late, not_asked, not_followed, not_serving};
pub use wait::{Last, OffsetWait, Step, last_of, not_yet};
pub use workspaces::{called, called_as_asked, called_by_id, find};
