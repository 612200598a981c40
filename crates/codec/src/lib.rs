//! The bytes on disk and on the wire.
//!
//! What is written once is read for ever, so every encoding here has a drawing in
//! `docs/formats.md`, a golden file in `golden/` and a test that fails when either stops
//! being true. Decoding takes any bytes and never panics.
//!
//! **Invariant:** the order of encoded keys is the order of the values they encode.
//!
//! **Deliberately absent:** I/O.

mod change;
mod command;
mod definition;
mod entry;
mod error;
mod event;
mod event_numbers;
mod fingerprint;
mod key_bytes;
mod keys;
mod members;
mod number_rows;
mod partition_prefix;
mod pointers;
mod rows;
mod stored;
mod table;
mod typed;
mod wire;

pub use error::{DecodeError, Problem};
pub use event_numbers::{EventNumbers, event_numbers_key};
pub use fingerprint::fingerprint;
pub use key_bytes::KeyBytes;
pub use keys::{
    app_key, apps_prefix, decode_event_key, decode_expiry_key, decode_idempotency_key,
    decode_outbox_key, decode_record_of_kind_key, decode_workspace_log_key, definitions_key,
    entities_prefix, entity_key, event_key, events_prefix, expiries_prefix, expiry_key,
    idempotency_key, inbox_key, outbox_head_key, outbox_key, outbox_prefix, partition_key,
    position_key, record_key, record_of_kind_key, records_of_kind_prefix, tree_node_key,
    workspace_log_key, workspace_log_prefix, workspace_name_key, workspace_row_key,
};
pub use number_rows::{
    CheckpointHead, NumberRowError, SeriesLast, client_key, decode_row, encode_row, head_key,
    workspace_key,
};
pub use partition_prefix::{PartitionPrefix, PrefixError};
pub use pointers::{OutboxPointer, decode_number, encode_number};
pub use stored::Stored;
pub use table::Table;
