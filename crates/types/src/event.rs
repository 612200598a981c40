//! What was committed.

use bytes::Bytes;

use crate::{
    ClientId, Definition, EntityKey, FieldName, Fingerprint, Key, KindId, Name, Number,
    NumberDrawn, PartitionOffset, RecordClass, Time, WorkspaceId,
};

/// What was committed, with everything that was decided about it: nothing has to be looked up
/// to know what it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its place in the partition's log.
    pub partition_offset: PartitionOffset,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// The kind of its workspace.
    pub kind: KindId,
    /// Its place in the workspace's log.
    pub offset: Number,
    /// The time of its entry.
    pub time: Time,
    /// The name of its workspace. Only the first event of a named workspace has it.
    pub workspace_name: Option<Name>,
    /// How a receipt is made of it.
    pub receipt_version: u32,
    /// Its place in its command, from 0.
    pub index: u32,
    /// How many events its command made.
    pub count: u32,
    /// Who sent the command. Events of the system have none.
    pub origin: Option<Origin>,
    /// What it is called.
    pub name: Name,
    /// What it says: canonical JSON.
    pub args: Bytes,
    /// What it changed, in order.
    pub changes: Vec<Change>,
    /// The numbers that it drew, in the order of the document.
    pub numbers: Vec<NumberDrawn>,
    /// Fields of a later version, as they were read.
    pub unknown: Unknown,
}

/// Who sent a command, and how it is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The client.
    pub client: ClientId,
    /// The client's own count of its commands.
    pub client_sequence: Number,
    /// The idempotency key.
    pub key: Key,
    /// The fingerprint of what was asked.
    pub fingerprint: Fingerprint,
    /// When it would have been too late.
    pub deadline: Option<Time>,
}

/// Fields with their values, canonical JSON each, ascending.
pub type Fields = Vec<(FieldName, Bytes)>;

/// What an event changed. All ids are real.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A record was made.
    Create {
        /// The raw id that it had in its command; an imported one had none.
        raw: Option<u16>,
        /// Its id.
        id: Number,
        /// Its kind.
        kind: Name,
        /// The class of its kind.
        class: RecordClass,
        /// The record that it belongs to.
        parent: Option<Number>,
        /// Its fields.
        fields: Fields,
    },
    /// Fields of a record were replaced.
    Update {
        /// The record.
        id: Number,
        /// Its version since then.
        version: u64,
        /// The fields that were replaced.
        fields: Fields,
    },
    /// A record was removed.
    Delete {
        /// The record.
        id: Number,
        /// The version that it had.
        version: u64,
    },
    /// An entity was written.
    Set {
        /// The entity.
        key: EntityKey,
        /// Its version since then.
        version: u64,
        /// Its value.
        value: Bytes,
        /// From when on it is absent.
        expires_at: Option<Time>,
    },
    /// An entity was removed.
    Unset {
        /// The entity.
        key: EntityKey,
        /// The version that it had; `None` when there was none.
        version: Option<u64>,
    },
    /// A number was drawn.
    Draw {
        /// Which of the event's numbers, from 0.
        number: u32,
    },
    /// Something was defined, in the system app only.
    Define(Box<Definition>),
}

/// Bytes of fields that this version does not know. They are kept and written again as they were.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unknown(pub Vec<u8>);
