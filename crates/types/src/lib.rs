//! What three or more crates share: ids, numbers, commands, events, definitions, limits. Nothing
//! here does anything.
//!
//! ```text
//!  Entry { Command, Declare, Tick, Delivery, Delivered, Define }     what is applied
//!  Event { Change … }  ─► RecordRow, EntityRow, KeyRow, …            what comes of it
//!  Definitions                                                       what apply goes by
//! ```
//!
//! **Invariant:** no I/O, no clock, no randomness, no `async`; no dependency beyond `std` and
//! shared byte buffers.
//!
//! **Deliberately absent:** everything that only one or two crates need. A shared crate
//! attracts code; this one is kept small enough to read in one go.

mod command;
mod definition;
mod entry;
mod event;
mod ids;
mod keys;
pub mod limits;
mod names;
mod numbers;
mod receipt;
mod rows;
mod step;
mod template;

pub use command::{Command, CommandChange, CommandEvent, Condition, FieldTemplates, WorkspaceRef};
pub use definition::{
    AppSettings, CommandLimits, Definition, Definitions, KindDefinition, RecordClass,
    RecordDefinition, RecordIdScheme, Reset, Retention, SequenceDefinition, TrustLevel,
};
pub use entry::{
    Body, Declare, Define, DefineRequest, Delivered, Delivery, DueEntity, DueKey, Entry, Message,
    PartitionRef, RecordMembers, SequenceMembers, Tick,
};
pub use event::{Change, Event, Fields, Origin, Unknown};
pub use ids::{AppId, ClientId, Incarnation, KindId, PartitionId, SequenceId, WorkspaceId};
pub use keys::{Fingerprint, Hash, Key};
pub use names::{EntityKey, FieldName, Name, is_dots, utf16_order};
pub use numbers::{Epoch, NUMBER_MAX, Number, PartitionOffset, Time, Year};
pub use receipt::{Inclusion, Receipt};
pub use rows::{
    EntityRow, KeyRow, LogIndex, PartitionRow, Position, PositionRow, RecordRow, WorkspaceRow,
};
pub use step::Step;
pub use template::{Filler, Hole, NumberDrawn, Shown, Template};
