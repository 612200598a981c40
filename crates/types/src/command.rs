//! What clients ask for.

use crate::{ClientId, EntityKey, FieldName, Fingerprint, Key, Name, Template, Time, WorkspaceId};

/// What a client asks for: all of it happens, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Where.
    pub workspace: WorkspaceRef,
    /// Who asks.
    pub client: ClientId,
    /// By which a repetition is known.
    pub key: Key,
    /// By which a repetition is told from another request under the same key. Taken where the
    /// command entered, before anything in it is encrypted.
    pub fingerprint: Fingerprint,
    /// Not to be carried out after this time.
    pub deadline: Option<Time>,
    /// The last offset of the workspace that the client has seen; 0 for none.
    pub if_offset: Option<u64>,
    /// Whether the receipt is to come with a proof.
    pub include_proof: bool,
    /// What shall happen, one after the other.
    pub events: Vec<CommandEvent>,
}

/// A workspace, by one of its two names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkspaceRef {
    /// By its id.
    Id(WorkspaceId),
    /// By its name.
    Name(Name),
}

/// One event of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandEvent {
    /// What it is called.
    pub name: Name,
    /// What it says.
    pub args: Template,
    /// What it changes, one after the other.
    pub changes: Vec<CommandChange>,
}

/// Fields with what they shall hold, ascending, each once.
pub type FieldTemplates = Vec<(FieldName, Template)>;

/// One change of an event. Ids are raw, or real.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandChange {
    /// A new record.
    Create {
        /// A raw id, or an id to import.
        id: u64,
        /// The kind of record.
        kind: Name,
        /// The record that it belongs to.
        parent: Option<u64>,
        /// Its fields.
        fields: FieldTemplates,
    },
    /// Other values for some fields of a record.
    Update {
        /// The record.
        id: u64,
        /// The fields to replace.
        fields: FieldTemplates,
        /// The version that it must have.
        if_version: Option<u64>,
    },
    /// The end of a record.
    Delete {
        /// The record.
        id: u64,
        /// The version that it must have.
        if_version: Option<u64>,
    },
    /// A value for an entity.
    Set {
        /// The entity.
        key: EntityKey,
        /// Its new value.
        value: Template,
        /// What must hold before.
        condition: Option<Condition>,
        /// From when on it is absent.
        expires_at: Option<Time>,
    },
    /// The end of an entity.
    Unset {
        /// The entity.
        key: EntityKey,
        /// What must hold before.
        condition: Option<Condition>,
    },
    /// A number.
    Draw {
        /// The sequence.
        sequence: Name,
    },
}

/// What must hold of an entity before it is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// It is there.
    Exists,
    /// It is not there.
    Absent,
    /// It has this version.
    Version(u64),
    /// It has this value: canonical JSON, compared byte by byte.
    Value(bytes::Bytes),
}

impl CommandChange {
    /// The templates that it holds.
    pub fn templates(&self) -> impl Iterator<Item = &Template> + Clone {
        self.named_templates().map(|(_, template)| template)
    }

    /// The same, with the names of the fields that they are for.
    pub fn named_templates(&self) -> impl Iterator<Item = (Option<&FieldName>, &Template)> + Clone {
        let (fields, value): (&[(FieldName, Template)], _) = match self {
            Self::Create { fields, .. } | Self::Update { fields, .. } => (fields, None),
            Self::Set { value, .. } => (&[], Some(value)),
            Self::Delete { .. } | Self::Unset { .. } | Self::Draw { .. } => (&[], None),
        };
        let value = value.map(|value| (None, value));
        fields.iter().map(|(name, template)| (Some(name), template)).chain(value)
    }
}
