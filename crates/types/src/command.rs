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

impl Command {
    /// About how many bytes of memory it takes: what it holds, and the places for it.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let events = self.events.iter().map(CommandEvent::held_bytes);
        events.fold(size_of::<Self>(), usize::saturating_add)
    }
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

impl CommandEvent {
    fn held_bytes(&self) -> usize {
        let changes = self.changes.iter().map(CommandChange::held_bytes);
        let own = size_of::<Self>().saturating_add(self.args.held_bytes());
        changes.fold(own, usize::saturating_add)
    }
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
    fn held_bytes(&self) -> usize {
        let fields = self.named_templates().map(|(name, template)| {
            let name =
                name.map_or(0, |name| size_of::<FieldName>().saturating_add(name.as_str().len()));
            name.saturating_add(size_of::<Template>()).saturating_add(template.held_bytes())
        });
        let condition = match self {
            Self::Set { condition, .. } | Self::Unset { condition, .. } => condition.as_ref(),
            Self::Create { .. } | Self::Update { .. } | Self::Delete { .. } | Self::Draw { .. } => {
                None
            }
        };
        let value = if let Some(Condition::Value(value)) = condition { value.len() } else { 0 };
        fields.fold(size_of::<Self>().saturating_add(value), usize::saturating_add)
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filler, Hole};

    fn held(event: CommandEvent) -> usize {
        let command = Command {
            workspace: WorkspaceRef::Id(WorkspaceId(1)),
            client: ClientId::new(b"a").unwrap(),
            key: Key([1; 16]),
            fingerprint: Fingerprint { version: 1, hash: [0; 16] },
            deadline: None,
            if_offset: None,
            include_proof: false,
            events: vec![event],
        };
        command.held_bytes()
    }

    #[test]
    fn everything_that_takes_memory_counts() {
        let name = || Name::new("a").unwrap();
        let with = |args: Template, changes: Vec<CommandChange>| {
            held(CommandEvent { name: name(), args, changes })
        };
        let empty = with(Template::default(), Vec::new());
        let text = || Template::plain("x".repeat(1000));
        assert_eq!(with(text(), Vec::new()), empty + 1000);
        let hole = Hole { at: 0, order: 0, filler: Filler::Ref(1) };
        let holes = Template::new(bytes::Bytes::new(), vec![hole; 10]).unwrap();
        assert_eq!(with(holes, Vec::new()), empty + 10 * size_of::<Hole>());
        let draws = vec![CommandChange::Draw { sequence: name() }; 10];
        assert_eq!(with(Template::default(), draws), empty + 10 * size_of::<CommandChange>());
        let field = FieldName::new("y".repeat(100).as_str()).unwrap();
        let update =
            CommandChange::Update { id: 1, fields: vec![(field, text())], if_version: None };
        assert!(with(Template::default(), vec![update]) > empty + 1100);
        let condition = Some(Condition::Value("z".repeat(500).into()));
        let unset = CommandChange::Unset { key: EntityKey::new("k").unwrap(), condition };
        assert!(with(Template::default(), vec![unset]) > empty + 500);
    }
}
