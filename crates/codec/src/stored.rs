//! What is stored under keys: a version, then the fields of a message.
//!
//! ```text
//!  │ 01 │ fields … │
//! ```
//!
//! **Invariant:** a value has one encoding. `from_bytes(to_bytes(value))` is the value, and bytes
//! that `from_bytes` takes are those that `to_bytes` makes.

use bytes::Bytes;
use seriatim_types::{
    Definition, Definitions, EntityRow, Entry, Event, KeyRow, PartitionRow, PositionRow, RecordRow,
    WorkspaceRow,
};

use crate::wire::{Message, Reader, Writer};
use crate::{DecodeError, Problem};

const VERSION: u8 = 1;

/// A value that is stored.
pub trait Stored: Sized {
    /// The stored bytes.
    ///
    /// # Panics
    ///
    /// When the fields of a record do not ascend, or what is defined does not.
    fn to_bytes(&self) -> Bytes;

    /// Reads the stored bytes. Values within share them.
    ///
    /// # Errors
    ///
    /// When they are anything but what [`to_bytes`](Self::to_bytes) makes, or what a later
    /// version makes of a value whose new fields can be kept.
    fn from_bytes(bytes: &Bytes) -> Result<Self, DecodeError>;
}

macro_rules! stored {
    ($($message:ty),*) => { $(
        impl Stored for $message {
            fn to_bytes(&self) -> Bytes {
                encode(self)
            }

            fn from_bytes(bytes: &Bytes) -> Result<Self, DecodeError> {
                decode(bytes)
            }
        }
    )* };
}

stored!(
    Event,
    RecordRow,
    EntityRow,
    KeyRow,
    WorkspaceRow,
    PartitionRow,
    PositionRow,
    Definitions,
    Definition,
    Entry
);

fn encode<M: Message>(message: &M) -> Bytes {
    let mut to = Writer::new(VERSION);
    message.write(&mut to);
    to.finish()
}

fn decode<M: Message>(bytes: &Bytes) -> Result<M, DecodeError> {
    let problem = match bytes.split_first() {
        Some((&VERSION, fields)) => return Reader::read(bytes, fields, M::NAME, M::read),
        Some((version, _)) => Problem::Version(*version),
        None => Problem::CutOff,
    };
    Err(DecodeError { message: M::NAME, field: None, problem })
}
