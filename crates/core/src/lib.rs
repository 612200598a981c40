//! The heart: commands in, numbered events out.
//!
//! ```text
//!           ┌ decide: shape, numbers, state ─► events ─┐
//!  entry ──►│                                          ├─► evolve ─► writes ─► effects
//!           └ refusal, or a repetition                 ┘
//! ```
//!
//! A [`Machine`] is one partition. It takes committed entries one after the other and says what
//! is to be written, answered and sent. It does no I/O, has no clock and no randomness: the same
//! entries give the same bytes, on every node and on every replay.
//!
//! **Invariants**
//! - A number is given only while an entry is carried out that is carried out whole. A refused
//!   command leaves no trace.
//! - What is decided is in the event. [`Machine::evolve`] needs the event and the rows that it
//!   changes, and nothing else.
//! - Nothing is read that [`Machine::read_set`] did not name.
//!
//! **Deliberately absent:** JSON (the edge makes canonical bytes with holes), storage, threads,
//! receipts for repetitions (they are rebuilt from the events, outside of apply).

mod apply;
mod change;
mod committed;
mod decide;
mod defined;
mod effects;
mod evolve;
mod home;
mod machine;
mod read_set;
mod receipt;
mod refusal;
mod rows;

pub use committed::Committed;
pub use defined::{DEFAULT_KIND, Defined, StepError};
pub use effects::{
    CommandOutcome, DeclareOutcome, DefineOutcome, DeliveryOutcome, Effects, Fault, Outcome,
    Outgoing, TickOutcome, TreeNode,
};
pub use home::{SYSTEM_APP, SYSTEM_NAME, partition_of_id, partition_of_name};
pub use machine::{ActualizeError, Machine, OpenError, system_settings};
pub use read_set::ReadSet;
pub use receipt::{RECEIPT_VERSION, receipt};
pub use refusal::{Current, CurrentValue, Exhausted, NoApp, Refusal, Subject};
pub use rows::{RowChange, RowId, Rows, Unreadable, Write};
