//! What a partition keeps beside its log. All of it follows from the log, the deliveries and the
//! declarations.

use bytes::Bytes;

use crate::{
    Fields, Fingerprint, KindId, Name, Number, PartitionOffset, RecordClass, Time, Unknown,
};

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordRow {
    /// Its kind.
    pub kind: Name,
    /// The class of its kind.
    pub class: RecordClass,
    /// The record that it belongs to.
    pub parent: Option<Number>,
    /// Counts its changes, from 1.
    pub version: u64,
    /// The event of the workspace's log that changed it last.
    pub offset: Number,
    /// Its fields.
    pub fields: Fields,
    /// Fields of a later version, as they were read.
    pub unknown: Unknown,
}

/// An entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityRow {
    /// Counts its changes, from 1.
    pub version: u64,
    /// From when on it is absent.
    pub expires_at: Option<Time>,
    /// The event of the workspace's log that wrote it.
    pub offset: Number,
    /// Its value: canonical JSON.
    pub value: Bytes,
    /// Fields of a later version, as they were read.
    pub unknown: Unknown,
}

impl EntityRow {
    /// Whether it is still there at a time.
    #[must_use]
    pub fn is_present_at(&self, time: Time) -> bool {
        self.expires_at.is_none_or(|expires_at| time < expires_at)
    }
}

/// An idempotency key, and the events of its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// The first event.
    pub first: PartitionOffset,
    /// How many events there are.
    pub count: u32,
    /// What was asked for.
    pub fingerprint: Fingerprint,
    /// The time of the entry.
    pub time: Time,
    /// Fields of a later version, as they were read.
    pub unknown: Unknown,
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceRow {
    /// Its kind.
    pub kind: KindId,
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// Fields of a later version, as they were read.
    pub unknown: Unknown,
}

/// How far a partition has applied its group's log: so many entries of the payload at an index, all
/// of those before it, and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The payload.
    pub index: LogIndex,
    /// How many of its entries.
    pub entries: u32,
}

/// Where a payload stands in the replicated log of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogIndex(pub u64);

/// A position, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionRow {
    /// The position.
    pub position: Position,
    /// Fields of a later version, as they were read.
    pub unknown: Unknown,
}

/// What a partition knows of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionRow {
    /// The time of the last entry.
    pub time: Option<Time>,
    /// The last event of its log.
    pub offset: Option<PartitionOffset>,
    /// How many idempotency keys it holds.
    pub keys: u64,
    /// Keys of events up to this one were looked at when their time was over.
    pub keys_through: Option<PartitionOffset>,
    /// How many workspaces were given an id for their name.
    pub names: u64,
    /// Fields of a later version, as they were read.
    pub unknown: Unknown,
}
