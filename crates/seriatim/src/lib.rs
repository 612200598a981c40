//! Gap-free numbers, exactly once, in your own process: Seriatim without a server.
//!
//! ```text
//!  Seriatim ─ app ─► App ─ define_… ─► sequences, kinds of records and of workspaces
//!                     ├─ partition ─► Partition ─ events, subscribe, state, restart
//!                     └─ workspace ─► Workspace ─┬─ submit, send ─► all numbers of the command
//!                                                ├─ record, entity, sequence, events, proof, …
//!                                                └─ subscribe ─► what is stored, then what comes
//! ```
//!
//! A folder belongs to one process at a time. Calls block until what they did is durable; what
//! takes long can be awaited instead, on any runtime. JSON goes in and comes out as bytes, in the
//! shape of the HTTP contract: which library reads and writes it is the caller's choice. The guide
//! is `docs/embedding.md`.
//!
//! **Invariants**
//! - What a call has acknowledged is durable, and every read that begins afterwards sees it.
//! - A command that is sent again with its key is carried out once, and answered with the same
//!   receipt.
//! - Nothing here makes a key for a command. Whoever sends it holds its key, so sending it again
//!   cannot become another command.

mod app;
mod error;
mod key;
mod open;
mod opened;
mod partition;
mod reads;
mod sent;
#[doc(hidden)]
pub mod service;
mod slot;
mod subscription;
mod workspace;

pub use app::{App, AppOptions, Numbering};
pub use error::{NotWritten, ReadError, SubscribeError, Unknown, WriteError};
pub use key::{parse_key, random_key};
pub use open::{OpenError, Options, Seriatim};
pub use partition::Partition;
pub use reads::{Entity, Record};
pub use sent::{Sent, Submitted};
pub use service::Readiness;
pub use subscription::Subscription;
pub use workspace::Workspace;

pub use seriatim_api::code::ErrorCode;
pub use seriatim_api::message::{Condition, Json};
pub use seriatim_api::{
    Command, CommandJson, InvalidCommand, NotJson, drawn, id_of, literal, next, next_text,
};
pub use seriatim_core::{Committed, Current, CurrentValue, Refusal, Subject};
pub use seriatim_node::{
    Busy, ClientState, Clock, ClockAhead, ClockSettings, Consistency, Head, Inclusion, NotEnded,
    ReadFailed, Reason, SequenceState, Settings as NodeSettings, State, SystemClock, schema,
};
pub use seriatim_storage_fjall::Settings as StorageSettings;
pub use seriatim_types::{
    AppSettings, Change, ClientId, Definitions, EntityKey, Event, FieldName, Fields, Hash, Key,
    Name, Number, NumberDrawn, Origin, PartitionId, PartitionOffset, PartitionRef, Receipt,
    RecordClass, RecordIdScheme, Reset, Retention, Time, TrustLevel, WorkspaceId, Year,
};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Guide;
