//! The messages of the HTTP contract: one struct each, in the order of the members on the wire.
//!
//! Server, client and command line share them, and the schemas of `/openapi.json` are derived from
//! them. A message reads the same wherever it travels: as a body over HTTP, inside a message of
//! gRPC, or printed by `-o json`.
//!
//! **Invariants**
//! - Members are written in the order in which they stand here. Of a receipt that order is frozen:
//!   a repeated command is answered with the same bytes by every release.
//! - Members are only added. A reader takes what it knows and leaves the rest.
//! - Numbers are below 2^53.
//!
//! **Deliberately absent:** checking what clients send. What is refused needs the path of the
//! culprit, and is read by the parser of the server.

mod app;
mod command;
mod definition;
mod event;
mod json;
mod proof;
mod read;
mod receipt;
mod server;
mod text;

pub use app::{App, AppChange, Apps, NewApp, RecordIds};
pub use command::{
    ChangeInput, CommandDocument, Condition, CreateInput, DeleteInput, DrawInput, EventInput,
    SetInput, UnsetInput, UpdateInput,
};
pub use definition::{
    Declared, Defined, Definitions, Kind, NewRecordKind, NewSequence, NewWorkspace, RecordClass,
    RecordKind, Reset, SequenceDefinition,
};
pub use event::{
    Change, Created, DefinitionStep, Deleted, EntitySet, EntityUnset, Event, Events, KindStep,
    SequenceStep, Updated,
};
pub use json::Json;
pub use proof::{Consistency, Head, InclusionProof, Root};
pub use read::{ClientState, Entity, Record, Records, SequenceState};
pub use receipt::{NumberDrawn, Receipt};
pub use server::{
    ClockAccepted, Empty, Live, PartitionState, PartitionStatus, Partitions, Ready, Restarted,
    Version,
};
pub use text::{Hash, NotAHash, Timestamp};
