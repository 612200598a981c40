//! What clients ask for.
//!
//! ```text
//!  Command        1 workspace_id    uint64          5 fingerprint  17 bytes: version, hash
//!                 2 workspace_name  string          6 deadline     optional uint64
//!                   exactly one of 1 and 2          7 if_offset    optional uint64
//!                 3 client          bytes           8 events       repeated CommandEvent
//!                 4 key             16 bytes        9 include_proof bool
//!  CommandEvent   1 name string · 2 args Template · 3 changes repeated CommandChange
//!  Template       1 text bytes, plain · 2 reserved: text, protected · 3 holes repeated Hole
//!  Hole           1 at              uint64          4 next         string, a sequence
//!                 2 order           uint32          5 draw         uint32
//!                 3 ref             uint64            exactly one of 3, 4 and 5
//!                                                   6 shown        1 number, 2 text; not of a ref
//!  CommandChange  1 create CommandCreate · 2 update CommandUpdate · 3 delete CommandDelete
//!                 4 set CommandSet · 5 unset CommandUnset · 6 draw CommandDraw       exactly one
//!  CommandCreate  1 id uint64 · 2 kind string · 3 parent optional uint64
//!                 4 fields repeated FieldTemplate, ascending
//!  CommandUpdate  1 id uint64 · 2 fields repeated FieldTemplate, ascending
//!                 3 if_version optional uint64
//!  CommandDelete  1 id uint64 · 2 if_version optional uint64
//!  CommandSet     1 key string · 2 value Template · 3 condition Condition, absent without one
//!                 4 expires_at optional uint64
//!  CommandUnset   1 key string · 2 condition Condition, absent without one
//!  CommandDraw    1 sequence string
//!  FieldTemplate  1 name string · 2 value Template
//!  Condition      1 presence: 1 exists, 2 absent · 2 version uint64 · 3 value bytes, plain
//!                 4 reserved: value, protected                                       exactly one
//! ```

use seriatim_types::{
    Command, CommandChange, CommandEvent, Condition, FieldName, Filler, Hole, Shown, Template,
    WorkspaceId, WorkspaceRef,
};

use crate::typed::Choice;
use crate::wire::{Message, Reader, Writer, widen};
use crate::{DecodeError, Problem};

impl Message for Command {
    const NAME: &'static str = "Command";

    fn write(&self, to: &mut Writer) {
        to.workspace(1, &self.workspace);
        to.bytes(3, self.client.as_bytes());
        to.bytes(4, &self.key.0);
        to.fingerprint(5, &self.fingerprint);
        to.optional_time(6, self.deadline);
        to.optional_integer(7, self.if_offset);
        to.repeated(8, &self.events);
        to.integer(9, u64::from(self.include_proof));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            workspace: from.workspace(1)?,
            client: from.client(3)?,
            key: from.key(4)?,
            fingerprint: from.fingerprint(5)?,
            deadline: from.optional_time(6)?,
            if_offset: from.optional_integer(7)?,
            events: from.repeated(8)?,
            include_proof: from.boolean(9)?,
        })
    }
}

impl Message for CommandEvent {
    const NAME: &'static str = "CommandEvent";

    fn write(&self, to: &mut Writer) {
        to.text(1, self.name.as_str());
        to.message(2, &self.args);
        to.repeated(3, &self.changes);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { name: from.name(1)?, args: from.message(2)?, changes: from.repeated(3)? })
    }
}

impl Message for Template {
    const NAME: &'static str = "Template";

    fn write(&self, to: &mut Writer) {
        to.plain(1, self.text());
        to.repeated(3, self.holes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (text, holes) = (from.plain(1)?, from.repeated(3)?);
        Self::new(text, holes).ok_or_else(|| from.invalid(3, "inside the text and in order"))
    }
}

impl Message for Hole {
    const NAME: &'static str = "Hole";

    fn write(&self, to: &mut Writer) {
        to.integer(1, widen(self.at));
        to.integer(2, self.order);
        match &self.filler {
            Filler::Ref(id) => to.optional_integer(3, Some(*id)),
            Filler::Next { sequence, shown } => {
                to.text(4, sequence.as_str());
                to.choice(6, shown);
            }
            Filler::Draw { index, shown } => {
                to.optional_integer(5, Some(*index));
                to.choice(6, shown);
            }
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (at, order) = (from.integer(1)?, from.integer(2)?);
        let filler = match from.kind()? {
            3 => Filler::Ref(from.present_integer(3)?),
            4 => Filler::Next { sequence: from.name(4)?, shown: from.choice(6)? },
            5 => Filler::Draw { index: from.present_integer(5)?, shown: from.choice(6)? },
            other => return Err(from.error(other, Problem::Unknown)),
        };
        Ok(Self { at, order, filler })
    }
}

impl Message for CommandChange {
    const NAME: &'static str = "CommandChange";

    fn write(&self, to: &mut Writer) {
        match self {
            Self::Create { id, kind, parent, fields } => to.nested(1, |to| {
                to.integer(1, *id);
                to.text(2, kind.as_str());
                to.optional_integer(3, *parent);
                to.fields(4, fields);
            }),
            Self::Update { id, fields, if_version } => to.nested(2, |to| {
                to.integer(1, *id);
                to.fields(2, fields);
                to.optional_integer(3, *if_version);
            }),
            Self::Delete { id, if_version } => to.nested(3, |to| {
                to.integer(1, *id);
                to.optional_integer(2, *if_version);
            }),
            Self::Set { key, value, condition, expires_at } => to.nested(4, |to| {
                to.text(1, key.as_str());
                to.message(2, value);
                to.optional_message(3, condition.as_ref());
                to.optional_time(4, *expires_at);
            }),
            Self::Unset { key, condition } => to.nested(5, |to| {
                to.text(1, key.as_str());
                to.optional_message(2, condition.as_ref());
            }),
            Self::Draw { sequence } => to.nested(6, |to| to.text(1, sequence.as_str())),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.kind()? {
            1 => from.nested(1, "CommandCreate", |from| {
                Ok(Self::Create {
                    id: from.integer(1)?,
                    kind: from.name(2)?,
                    parent: from.optional_integer(3)?,
                    fields: from.fields(4)?,
                })
            }),
            2 => from.nested(2, "CommandUpdate", |from| {
                Ok(Self::Update {
                    id: from.integer(1)?,
                    fields: from.fields(2)?,
                    if_version: from.optional_integer(3)?,
                })
            }),
            3 => from.nested(3, "CommandDelete", |from| {
                Ok(Self::Delete { id: from.integer(1)?, if_version: from.optional_integer(2)? })
            }),
            4 => from.nested(4, "CommandSet", |from| {
                Ok(Self::Set {
                    key: from.entity_key(1)?,
                    value: from.message(2)?,
                    condition: from.optional_message(3)?,
                    expires_at: from.optional_time(4)?,
                })
            }),
            5 => from.nested(5, "CommandUnset", |from| {
                Ok(Self::Unset { key: from.entity_key(1)?, condition: from.optional_message(2)? })
            }),
            6 => from.nested(6, "CommandDraw", |from| Ok(Self::Draw { sequence: from.name(1)? })),
            other => Err(from.error(other, Problem::Unknown)),
        }
    }
}

impl Message for (FieldName, Template) {
    const NAME: &'static str = "FieldTemplate";

    fn write(&self, to: &mut Writer) {
        to.text(1, self.0.as_str());
        to.message(2, &self.1);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((from.field_name(1)?, from.message(2)?))
    }
}

impl Message for Condition {
    const NAME: &'static str = "Condition";

    fn write(&self, to: &mut Writer) {
        match self {
            Self::Exists => to.integer(1, 1_u64),
            Self::Absent => to.integer(1, 2_u64),
            Self::Version(version) => to.optional_integer(2, Some(*version)),
            Self::Value(value) => to.plain(3, value),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.kind()? {
            1 => match from.integer(1)? {
                1_u64 => Ok(Self::Exists),
                2 => Ok(Self::Absent),
                _ => Err(from.invalid(1, "a presence")),
            },
            2 => from.present_integer(2).map(Self::Version),
            3 | 4 => from.plain(3).map(Self::Value),
            other => Err(from.error(other, Problem::Unknown)),
        }
    }
}

impl Choice for Shown {
    const WHAT: &'static str = "a way to show a number";

    fn number(&self) -> u32 {
        match self {
            Self::Number => 1,
            Self::Text => 2,
        }
    }

    fn of_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Number),
            2 => Some(Self::Text),
            _ => None,
        }
    }
}

impl Writer {
    /// A workspace: its id under this number, or its name under the next.
    pub(crate) fn workspace(&mut self, field: u32, workspace: &WorkspaceRef) {
        match workspace {
            WorkspaceRef::Id(id) => self.optional_integer(field, Some(id.0)),
            WorkspaceRef::Name(name) => self.text(field.saturating_add(1), name.as_str()),
        }
    }
}

impl Reader<'_> {
    /// A workspace: its id under this number, or its name under the next.
    pub(crate) fn workspace(&mut self, field: u32) -> Result<WorkspaceRef, DecodeError> {
        match self.optional_integer(field)? {
            Some(id) => Ok(WorkspaceRef::Id(WorkspaceId(id))),
            None => self.name(field.saturating_add(1)).map(WorkspaceRef::Name),
        }
    }
}
