//! What an event changed. A change is one of seven messages, under the number of its kind.
//!
//! ```text
//!  Change      1 create Create · 2 update Update · 3 delete Delete · 4 set Set · 5 unset Unset
//!              6 draw Draw · 7 define Definition                                     exactly one
//!  Create      1 raw         optional uint32     4 class       1 c, 2 o, 3 w
//!              2 id          uint64              5 parent      uint64, absent without one
//!              3 kind        string              6 fields      repeated FieldValue, ascending
//!  Update      1 id uint64 · 2 version uint64 · 3 fields repeated FieldValue, ascending
//!  Delete      1 id uint64 · 2 version uint64
//!  Set         1 key         string              4             reserved: value, protected
//!              2 version     uint64              5 expires_at  optional uint64
//!              3 value       bytes, plain
//!  Unset       1 key string · 2 version optional uint64
//!  Draw        1 number uint32
//!  FieldValue  1 name string · 2 value bytes, plain · 3 reserved: value, protected
//! ```

use bytes::Bytes;
use seriatim_types::{Change, FieldName, Number};

use crate::wire::{Message, Reader, Writer};
use crate::{DecodeError, Problem};

impl Message for Change {
    const NAME: &'static str = "Change";

    fn write(&self, to: &mut Writer) {
        match self {
            Self::Create { raw, id, kind, class, parent, fields } => to.nested(1, |to| {
                to.optional_integer(1, *raw);
                to.integer(2, id.get());
                to.text(3, kind.as_str());
                to.choice(4, class);
                to.integer(5, parent.map_or(0, Number::get));
                to.fields(6, fields);
            }),
            Self::Update { id, version, fields } => to.nested(2, |to| {
                to.integer(1, id.get());
                to.integer(2, *version);
                to.fields(3, fields);
            }),
            Self::Delete { id, version } => to.nested(3, |to| {
                to.integer(1, id.get());
                to.integer(2, *version);
            }),
            Self::Set { key, version, value, expires_at } => to.nested(4, |to| {
                to.text(1, key.as_str());
                to.integer(2, *version);
                to.plain(3, value);
                to.optional_time(5, *expires_at);
            }),
            Self::Unset { key, version } => to.nested(5, |to| {
                to.text(1, key.as_str());
                to.optional_integer(2, *version);
            }),
            Self::Draw { number } => to.nested(6, |to| to.integer(1, *number)),
            Self::Define(definition) => to.message(7, definition.as_ref()),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.kind()? {
            1 => from.nested(1, "Create", |from| {
                Ok(Self::Create {
                    raw: from.optional_integer(1)?,
                    id: from.number(2)?,
                    kind: from.name(3)?,
                    class: from.choice(4)?,
                    parent: from.optional_number(5)?,
                    fields: from.fields(6)?,
                })
            }),
            2 => from.nested(2, "Update", |from| {
                Ok(Self::Update {
                    id: from.number(1)?,
                    version: from.integer(2)?,
                    fields: from.fields(3)?,
                })
            }),
            3 => from.nested(3, "Delete", |from| {
                Ok(Self::Delete { id: from.number(1)?, version: from.integer(2)? })
            }),
            4 => from.nested(4, "Set", |from| {
                Ok(Self::Set {
                    key: from.entity_key(1)?,
                    version: from.integer(2)?,
                    value: from.plain(3)?,
                    expires_at: from.optional_time(5)?,
                })
            }),
            5 => from.nested(5, "Unset", |from| {
                Ok(Self::Unset { key: from.entity_key(1)?, version: from.optional_integer(2)? })
            }),
            6 => from.nested(6, "Draw", |from| Ok(Self::Draw { number: from.integer(1)? })),
            7 => from.message(7).map(Box::new).map(Self::Define),
            other => Err(from.error(other, Problem::Unknown)),
        }
    }
}

impl Message for (FieldName, Bytes) {
    const NAME: &'static str = "FieldValue";

    fn write(&self, to: &mut Writer) {
        to.text(1, self.0.as_str());
        to.plain(2, &self.1);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((from.field_name(1)?, from.plain(2)?))
    }
}
