//! Bytes in, bytes out: the contract that every storage backend keeps.
//!
//! ```text
//!             commit(batch)                      sync()
//!  caller ───────────────────► visible to reads ─────────► durable
//!             all or nothing        │                 shared by all callers
//!                                   └─ lost by a crash before the sync, whole batches
//!                                      at a time, the latest first
//! ```
//!
//! A [`Store`] has named tables of sorted byte keys. [`Store::commit`] takes one
//! [`Batch`] over any tables and applies it atomically, or refuses it and changes nothing.
//! It does not wait for the disk; [`Store::sync`] does, and concurrent callers share one.
//!
//! The contract, each line proven for every backend by [`conformance`]:
//!
//! - **Atomic.** No reader and no crash ever shows a part of a batch.
//! - **Serial.** Batches happen one after another; the operations of a batch happen in the
//!   order in which they were added, and a condition sees the operations before it.
//! - **Durable.** What was committed before a successful `sync` began survives everything
//!   but the loss of the disk. A crash keeps a prefix of the commits, never a later one
//!   without an earlier one.
//! - **Consistent reads.** Each call sees one point in time, a [`Snapshot`] the same point
//!   for as long as it lives.
//! - **Exact ends.** A scan says why it ended. A cancelled one is an error.
//! - **Loud.** After a failed write or sync the store is poisoned: every later call fails
//!   and names the first failure. Nothing is retried on a file whose state is unknown.
//!
//! **Deliberately absent:** transactions that stay open, secondary indexes, expiry, merge
//! operators, asynchronous methods. Calls block; they belong on threads that may block.

mod batch;
mod copy;
mod error;
mod key_range;
mod poison;
mod scan;
mod schema;
mod stats;
mod store;
mod sync_group;

pub mod conformance;
pub mod faulty;
pub mod hooked;
pub mod memory;

pub use batch::{Batch, Write};
pub use copy::{CopyError, CopyReport, copy_prefix};
pub use error::{
    CommitError, ConditionFailed, Expected, OpenError, Outcome, Poisoned, ReadError, ScanError,
    SyncError, TooLarge,
};
pub use key_range::KeyRange;
pub use poison::PoisonCell;
pub use scan::{Cancel, Direction, Row, Scan, ScanEnd, visit_rows};
pub use schema::{Schema, SchemaError, Table};
pub use stats::{Stats, TableStats};
pub use store::{Read, Snapshot, Store};
pub use sync_group::SyncGroup;
