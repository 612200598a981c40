//! The bytes on disk and on the wire.
//!
//! What is written once is read for ever, so every encoding here has a drawing in
//! `docs/formats.md`, a golden file in `golden/` and a test that fails when either stops
//! being true. Decoding takes any bytes and never panics.
//!
//! **Invariant:** the order of encoded keys is the order of the values they encode.
//!
//! **Deliberately absent:** I/O, and any knowledge of which table a key lives in.

mod event_numbers;
mod number_rows;
mod partition_prefix;

pub use event_numbers::{EventNumbers, event_numbers_key};
pub use number_rows::{
    CheckpointHead, NumberRowError, SeriesLast, client_key, decode_row, encode_row, head_key,
    workspace_key,
};
pub use partition_prefix::{PartitionPrefix, PrefixError};
