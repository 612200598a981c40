//! What a partition keeps beside its log.
//!
//! ```text
//!  RecordRow     1 kind          string              4 version       uint64
//!                2 class         1 c, 2 o, 3 w       5 offset        uint64
//!                3 parent        uint64, absent      6 fields        repeated FieldValue, ascending
//!                                without one
//!  EntityRow     1 version       uint64              4 value         bytes, plain
//!                2 expires_at    optional uint64     5               reserved: value, protected
//!                3 offset        uint64
//!  KeyRow        1 first         uint64              3 fingerprint   17 bytes: version, hash
//!                2 count         uint32              4 time          uint64
//!  WorkspaceRow  1 kind          uint32              2 name          string, absent without one
//!  PartitionRow  1 time          optional uint64     4 keys_through  uint64, absent without one
//!                2 offset        uint64, absent      5 names         uint64
//!                                without one
//!                3 keys          uint64
//!  PositionRow   1 index         uint64              2 entries       uint32
//! ```

use seriatim_types::{
    EntityRow, KeyRow, KindId, LogIndex, Number, PartitionOffset, PartitionRow, Position,
    PositionRow, RecordRow, WorkspaceRow,
};

use crate::DecodeError;
use crate::wire::{Message, Reader, Writer};

impl Message for RecordRow {
    const NAME: &'static str = "RecordRow";

    fn write(&self, to: &mut Writer) {
        to.text(1, self.kind.as_str());
        to.choice(2, &self.class);
        to.integer(3, self.parent.map_or(0, Number::get));
        to.integer(4, self.version);
        to.integer(5, self.offset.get());
        to.fields(6, &self.fields);
        to.unknown(&self.unknown);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            kind: from.name(1)?,
            class: from.choice(2)?,
            parent: from.optional_number(3)?,
            version: from.integer(4)?,
            offset: from.number(5)?,
            fields: from.fields(6)?,
            unknown: from.unknown()?,
        })
    }
}

impl Message for EntityRow {
    const NAME: &'static str = "EntityRow";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.version);
        to.optional_time(2, self.expires_at);
        to.integer(3, self.offset.get());
        to.plain(4, &self.value);
        to.unknown(&self.unknown);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            version: from.integer(1)?,
            expires_at: from.optional_time(2)?,
            offset: from.number(3)?,
            value: from.plain(4)?,
            unknown: from.unknown()?,
        })
    }
}

impl Message for KeyRow {
    const NAME: &'static str = "KeyRow";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.first.get());
        to.integer(2, self.count);
        to.fingerprint(3, &self.fingerprint);
        to.integer(4, self.time.0);
        to.unknown(&self.unknown);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            first: from.offset(1)?,
            count: from.integer(2)?,
            fingerprint: from.fingerprint(3)?,
            time: from.time(4)?,
            unknown: from.unknown()?,
        })
    }
}

impl Message for WorkspaceRow {
    const NAME: &'static str = "WorkspaceRow";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.kind.0);
        to.optional_name(2, self.name.as_ref());
        to.unknown(&self.unknown);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            kind: KindId(from.integer(1)?),
            name: from.optional_name(2)?,
            unknown: from.unknown()?,
        })
    }
}

impl Message for PositionRow {
    const NAME: &'static str = "PositionRow";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.position.index.0);
        to.integer(2, self.position.entries);
        to.unknown(&self.unknown);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let index = LogIndex(from.integer(1)?);
        let position = Position { index, entries: from.integer(2)? };
        Ok(Self { position, unknown: from.unknown()? })
    }
}

impl Message for PartitionRow {
    const NAME: &'static str = "PartitionRow";

    fn write(&self, to: &mut Writer) {
        to.optional_time(1, self.time);
        to.integer(2, self.offset.map_or(0, PartitionOffset::get));
        to.integer(3, self.keys);
        to.integer(4, self.keys_through.map_or(0, PartitionOffset::get));
        to.integer(5, self.names);
        to.unknown(&self.unknown);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            time: from.optional_time(1)?,
            offset: from.optional_offset(2)?,
            keys: from.integer(3)?,
            keys_through: from.optional_offset(4)?,
            names: from.integer(5)?,
            unknown: from.unknown()?,
        })
    }
}
