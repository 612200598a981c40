//! What a partition applies. An entry has no room for unknown fields: whoever does not know a
//! field must not apply it as if it were not there.
//!
//! ```text
//!  Entry           1 time uint64
//!                  2 command Command · 3 declare Declare · 4 tick Tick · 5 delivery Delivery
//!                  6 delivered Delivered · 7 define Define                  exactly one of 2 to 7
//!  Declare         1 workspace_id uint64 · 2 workspace_name string · 3 kind string
//!                                                                     exactly one of 1 and 2
//!  Tick            1 entities repeated DueEntity · 2 keys repeated DueKey
//!                  3 keys_through uint64, absent without one
//!  DueEntity       1 workspace uint64 · 2 key string · 3 expires_at uint64
//!  DueKey          1 workspace uint64 · 2 client bytes · 3 key 16 bytes
//!  Delivery        1 source PartitionRef · 2 number uint64
//!                  3 definition DefinitionStep                              what is delivered
//!  DefinitionStep  1 version uint64 · 2 definition Definition
//!  PartitionRef    1 app uint32 · 2 partition uint32
//!  Delivered       1 target PartitionRef · 2 first uint64 · 3 through uint64
//!  Define          1 app string
//!                  2 new_app DefineApp · 3 kind DefineKind · 4 sequence DefineSequence
//!                  5 record DefineRecord · 6 key_limit KeyLimit
//!                  7 sequence_members SequenceMembers
//!                  8 record_members RecordMembers                          exactly one of 2 to 8
//!  DefineApp       1 partitions   uint32               4 retention_ms  optional uint64, absent:
//!                  2 record_ids   1 single, 2 split                    for ever
//!                  3 trust_level  0, 1, 2              5 keys_max      uint64
//!                                                      6 limits        CommandLimits
//!                                                      7 keys_unlimited  bool, without 5
//!  DefineKind      1 name string
//!  DefineSequence  1 name string · 2 kind string · 3 ranges repeated Range · 4 format string
//!                  5 reset 1 never, 2 yearly · 6 utc_offset_minutes sint32
//!  DefineRecord    1 name string · 2 class 1 c, 2 o, 3 w · 3 singleton bool
//! ```

use seriatim_types::{
    AppId, Body, Declare, Define, DefineRequest, Delivered, Delivery, DueEntity, DueKey, Entry,
    PartitionId, PartitionOffset, PartitionRef, Tick, WorkspaceId,
};

use crate::definition::KeyLimit;
use crate::wire::{Message, Reader, Writer};
use crate::{DecodeError, Problem};

impl Message for Entry {
    const NAME: &'static str = "Entry";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.time.0);
        match &self.body {
            Body::Command(command) => to.message(2, command),
            Body::Declare(declare) => to.message(3, declare),
            Body::Tick(tick) => to.message(4, tick),
            Body::Delivery(delivery) => to.message(5, delivery),
            Body::Delivered(delivered) => to.message(6, delivered),
            Body::Define(define) => to.message(7, define),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let time = from.time(1)?;
        let body = match from.kind()? {
            2 => Body::Command(from.message(2)?),
            3 => Body::Declare(from.message(3)?),
            4 => Body::Tick(from.message(4)?),
            5 => Body::Delivery(from.message(5)?),
            6 => Body::Delivered(from.message(6)?),
            7 => Body::Define(from.message(7)?),
            other => return Err(from.error(other, Problem::Unknown)),
        };
        Ok(Self { time, body })
    }
}

impl Message for Declare {
    const NAME: &'static str = "Declare";

    fn write(&self, to: &mut Writer) {
        to.workspace(1, &self.workspace);
        to.text(3, self.kind.as_str());
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { workspace: from.workspace(1)?, kind: from.name(3)? })
    }
}

impl Message for Tick {
    const NAME: &'static str = "Tick";

    fn write(&self, to: &mut Writer) {
        to.repeated(1, &self.entities);
        to.repeated(2, &self.keys);
        to.integer(3, self.keys_through.map_or(0, PartitionOffset::get));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            entities: from.repeated(1)?,
            keys: from.repeated(2)?,
            keys_through: from.optional_offset(3)?,
        })
    }
}

impl Message for DueEntity {
    const NAME: &'static str = "DueEntity";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.workspace.0);
        to.text(2, self.key.as_str());
        to.integer(3, self.expires_at.0);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            workspace: WorkspaceId(from.integer(1)?),
            key: from.entity_key(2)?,
            expires_at: from.time(3)?,
        })
    }
}

impl Message for DueKey {
    const NAME: &'static str = "DueKey";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.workspace.0);
        to.bytes(2, self.client.as_bytes());
        to.bytes(3, &self.key.0);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            workspace: WorkspaceId(from.integer(1)?),
            client: from.client(2)?,
            key: from.key(3)?,
        })
    }
}

impl Message for Delivery {
    const NAME: &'static str = "Delivery";

    fn write(&self, to: &mut Writer) {
        to.message(1, &self.source);
        to.integer(2, self.number);
        match &self.message {
            seriatim_types::Message::Definition { version, definition } => to.nested(3, |to| {
                to.integer(1, *version);
                to.message(2, definition.as_ref());
            }),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (source, number) = (from.message(1)?, from.integer(2)?);
        let message = match from.kind()? {
            3 => from.nested(3, "DefinitionStep", |from| {
                let (version, definition) = (from.integer(1)?, Box::new(from.message(2)?));
                Ok(seriatim_types::Message::Definition { version, definition })
            })?,
            other => return Err(from.error(other, Problem::Unknown)),
        };
        Ok(Self { source, number, message })
    }
}

impl Message for PartitionRef {
    const NAME: &'static str = "PartitionRef";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.app.0);
        to.integer(2, self.partition.0);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { app: AppId(from.integer(1)?), partition: PartitionId(from.integer(2)?) })
    }
}

impl Message for Delivered {
    const NAME: &'static str = "Delivered";

    fn write(&self, to: &mut Writer) {
        to.message(1, &self.target);
        to.integer(2, self.first);
        to.integer(3, self.through);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { target: from.message(1)?, first: from.integer(2)?, through: from.integer(3)? })
    }
}

impl Message for Define {
    const NAME: &'static str = "Define";

    fn write(&self, to: &mut Writer) {
        to.text(1, self.app.as_str());
        match &self.request {
            DefineRequest::App {
                partitions,
                record_ids,
                trust_level,
                retention,
                keys_max,
                limits,
            } => to.nested(2, |to| {
                to.integer(1, *partitions);
                to.choice(2, record_ids);
                to.choice(3, trust_level);
                to.retention(4, *retention);
                to.keys_max(5, *keys_max);
                to.message(6, limits);
                to.keys_unlimited(7, *keys_max);
            }),
            DefineRequest::Kind { name } => to.nested(3, |to| to.text(1, name.as_str())),
            DefineRequest::Sequence { name, kind, ranges, format, reset, utc_offset_minutes } => to
                .nested(4, |to| {
                    to.text(1, name.as_str());
                    to.text(2, kind.as_str());
                    to.repeated(3, ranges);
                    to.text(4, format);
                    to.choice(5, reset);
                    to.signed(6, *utc_offset_minutes);
                }),
            DefineRequest::SequenceMembers { name, members } => {
                to.message(7, &(name.clone(), members.clone()));
            }
            DefineRequest::RecordMembers { name, members } => {
                to.message(8, &(name.clone(), *members));
            }
            DefineRequest::Record { name, class, singleton } => to.nested(5, |to| {
                to.text(1, name.as_str());
                to.choice(2, class);
                to.integer(3, *singleton);
            }),
            DefineRequest::KeyLimit { keys_max } => to.message(6, &KeyLimit(*keys_max)),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let app = from.name(1)?;
        let request = match from.kind()? {
            2 => from.nested(2, "DefineApp", |from| {
                let partitions = from.integer(1)?;
                let record_ids = from.choice(2)?;
                let trust_level = from.choice(3)?;
                let retention = from.retention(4)?;
                let keys_max = from.integer(5)?;
                let limits = from.message(6)?;
                let keys_max = from.keys_unlimited(7, keys_max)?;
                Ok(DefineRequest::App {
                    partitions,
                    record_ids,
                    trust_level,
                    retention,
                    keys_max,
                    limits,
                })
            }),
            3 => {
                from.nested(3, "DefineKind", |from| Ok(DefineRequest::Kind { name: from.name(1)? }))
            }
            4 => from.nested(4, "DefineSequence", |from| {
                Ok(DefineRequest::Sequence {
                    name: from.name(1)?,
                    kind: from.name(2)?,
                    ranges: from.repeated(3)?,
                    format: from.text(4)?.to_owned(),
                    reset: from.choice(5)?,
                    utc_offset_minutes: from.signed(6)?,
                })
            }),
            7 => from
                .message(7)
                .map(|(name, members)| DefineRequest::SequenceMembers { name, members }),
            8 => from
                .message(8)
                .map(|(name, members)| DefineRequest::RecordMembers { name, members }),
            5 => from.nested(5, "DefineRecord", |from| {
                Ok(DefineRequest::Record {
                    name: from.name(1)?,
                    class: from.choice(2)?,
                    singleton: from.boolean(3)?,
                })
            }),
            6 => from.message(6).map(|KeyLimit(keys_max)| DefineRequest::KeyLimit { keys_max }),
            other => Err(from.error(other, Problem::Unknown)),
        }?;
        Ok(Self { app, request })
    }
}
