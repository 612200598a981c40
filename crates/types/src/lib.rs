//! What three or more crates share: ids and limits. Nothing here does anything.
//!
//! **Invariant:** no I/O, no clock, no randomness, no `async`; no dependency beyond `std`.
//!
//! **Deliberately absent:** everything that only one or two crates need. A shared crate
//! attracts code; this one is kept small enough to read in one go.

mod ids;
pub mod limits;
mod numbers;

pub use ids::{AppId, ClientId, Incarnation, KindId, PartitionId, SequenceId, WorkspaceId};
pub use numbers::{Epoch, NUMBER_MAX, Number, PartitionOffset, Time, Year};
