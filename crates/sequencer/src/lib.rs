//! Gap-free numbers with bounded memory and a start-up that does not grow.
//!
//! A number is given while a transaction is open, belongs to an event of the log once that is
//! committed, and is written to a checkpoint some time later. The checkpoint is a cache of the
//! log: what it lacks is read from the log again.
//!
//! ```text
//!  admit ─► begin ─► next, next … ─► stage ─────► the event is committed ─► flush
//!                      │ dropped: nothing happened      │ failed                │
//!                      ▼                                ▼                       ▼
//!                   no trace                        actualize              unflushed rows
//!                                             forget, read the log     take_checkpoint │
//!                                                from the checkpoint   ◄───── written ─┘
//! ```
//!
//! Nothing here reads or writes: rows and events are handed in, checkpoints are handed out. One
//! owner calls; what wants threads is built around it.
//!
//! **Invariants**
//! - Numbers of a series follow each other without a hole and without a repeat, in the order in
//!   which transactions are staged.
//! - A checkpoint holds committed numbers only, and the offset up to which they are complete.
//! - Memory is bounded by the settings, not by the workspaces: see [`Settings`].
//!
//! **Deliberately absent:** reserving numbers ahead, giving numbers back, a lock.

mod counters;
mod format;
mod log;
mod period;
mod ranges;
mod row;
mod sequencer;
mod sequences;
mod settings;
mod transaction;

pub use counters::Counters;
pub use format::{Format, FormatError};
pub use log::{LogEvent, ObserveError};
pub use period::{UtcOffset, UtcOffsetError};
pub use ranges::{Ranges, RangesError};
pub use row::{Row, RowKey, RowsRead, Series, Stamp};
pub use sequencer::{
    Busy, Checkpoint, FlushError, OutOfTurn, Progress, Sequencer, StaleDraws, Ticket,
};
pub use sequences::{
    DefineError, IdClass, RecordIds, RecordIdsError, Sequence, Sequences, Singletons,
    SingletonsError, built_in,
};
pub use seriatim_types::{RecordClass, Reset};
pub use settings::{Settings, SettingsError};
pub use transaction::{
    Begin, BeginError, Drawn, Draws, EventOffsets, ImportError, NextError, Transaction,
};
