//! Ids that stand at the front of every stored key.

use std::fmt;
use std::sync::Arc;

use crate::limits::CLIENT_ID_CHARS_MAX;

/// A tenant application. Drawn by the server when the app is created, never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppId(pub u32);

/// A partition within its app, from 0 to the app's partition count less one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartitionId(pub u16);

/// One life of a partition's data on a node. Installing a snapshot writes a new
/// incarnation beside the old one and then flips a single pointer row, so that a crash in
/// between leaves the old data whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u32);

/// A workspace. Ids below 2^40 are chosen by callers, those from there on belong to names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceId(pub u64);

/// A kind of workspaces: what sequences they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindId(pub u16);

/// A sequence within its app: built in, or defined by the app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId(pub u16);

/// A client of a workspace, by what it calls itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(Arc<[u8]>);

impl ClientId {
    /// The client, if its name has 1 to [`CLIENT_ID_CHARS_MAX`] characters. Of bytes that are no
    /// text, each counts as one.
    #[must_use]
    pub fn new(name: &[u8]) -> Option<Self> {
        let is_short = name.len() <= CLIENT_ID_CHARS_MAX
            || str::from_utf8(name).is_ok_and(|it| it.chars().count() <= CLIENT_ID_CHARS_MAX);
        (is_short && !name.is_empty()).then(|| Self(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for AppId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "app {}", self.0)
    }
}

impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "partition {}", self.0)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "incarnation {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_counted_in_characters() {
        for letter in ["x", "é", "語", "😀"] {
            let long = letter.repeat(CLIENT_ID_CHARS_MAX);
            assert_eq!(ClientId::new(long.as_bytes()).unwrap().as_bytes(), long.as_bytes());
            assert_eq!(ClientId::new(format!("{long}x").as_bytes()), None, "{letter}");
        }
        assert_eq!(ClientId::new(b""), None);
        assert!(ClientId::new(&[0xff; CLIENT_ID_CHARS_MAX]).is_some(), "bytes, one by one");
        assert_eq!(ClientId::new(&[0xff; CLIENT_ID_CHARS_MAX + 1]), None);
    }
}
