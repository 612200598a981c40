//! Values that are a number or two.
//!
//! ```text
//!  number          │ 01 │ u64 │                             of a log, a name, an inbox, an outbox
//!  outbox pointer  │ 01 │ partition offset u64 │ change u32 │
//! ```
//!
//! All numbers are big-endian.

use bytes::Bytes;
use seriatim_types::PartitionOffset;

use crate::{DecodeError, Problem};

const VERSION: u8 = 1;

/// The message that an outbox row stands for: a change of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxPointer {
    /// The event.
    pub event: PartitionOffset,
    /// Which of its changes, from 0.
    pub change: u32,
}

impl OutboxPointer {
    /// The stored bytes.
    #[must_use]
    pub fn encode(self) -> Bytes {
        let (event, change) = (self.event.get().to_be_bytes(), self.change.to_be_bytes());
        Bytes::from([[VERSION].as_slice(), &event, &change].concat())
    }

    /// Reads the stored bytes.
    ///
    /// # Errors
    ///
    /// When they are something else.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let error = |problem| DecodeError { message: "outbox pointer", field: None, problem };
        let (event, change) = versioned(bytes).map_err(error)?;
        let event = PartitionOffset::new(u64::from_be_bytes(event))
            .ok_or_else(|| error(Problem::Invalid("of an event")))?;
        Ok(Self { event, change: u32::from_be_bytes(change) })
    }
}

/// The stored bytes of a number.
#[must_use]
pub fn encode_number(number: u64) -> Bytes {
    Bytes::from([[VERSION].as_slice(), &number.to_be_bytes()].concat())
}

/// Reads the stored bytes of a number.
///
/// # Errors
///
/// When they are something else.
pub fn decode_number(bytes: &[u8]) -> Result<u64, DecodeError> {
    let error = |problem| DecodeError { message: "number", field: None, problem };
    let (number, []) = versioned(bytes).map_err(error)?;
    Ok(u64::from_be_bytes(number))
}

/// What is behind the version: two parts, and nothing more.
fn versioned<const N: usize, const M: usize>(bytes: &[u8]) -> Result<([u8; N], [u8; M]), Problem> {
    let (one, other) = match bytes.split_first() {
        Some((&VERSION, rest)) => rest.split_first_chunk().ok_or(Problem::CutOff)?,
        Some((version, _)) => return Err(Problem::Version(*version)),
        None => return Err(Problem::CutOff),
    };
    let other = other.try_into().map_err(|_| Problem::Invalid("as long as such a value is"))?;
    Ok((*one, other))
}
