//! An event as readers are given it.

use bytes::Bytes;
use seriatim_types::{Event, Hash};

/// An event of a log, with its stored bytes and its leaf hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The event.
    pub event: Event,
    /// Its stored bytes.
    pub bytes: Bytes,
    /// Their hash.
    pub leaf: Hash,
}
