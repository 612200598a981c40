//! What an app consists of.
//!
//! ```text
//!  Definitions         1 version   uint64                  4 sequences  repeated SequenceDefinition
//!                      2 app       AppSettings             5 records    repeated RecordDefinition
//!                      3 kinds     repeated KindDefinition
//!  Definition          1 app AppSettings · 2 kind KindDefinition · 3 sequence SequenceDefinition
//!                      4 record RecordDefinition · 5 key_limit KeyLimit              exactly one
//!  AppSettings         1 name         string               6 retention_ms  optional uint64, absent:
//!                      2 app          uint32                               for ever
//!                      3 partitions   uint32               7 keys_max      uint64
//!                      4 record_ids   1 single, 2 split    8 limits        CommandLimits
//!                      5 trust_level  0, 1, 2              9 keys_unlimited  bool, without 7
//!  KeyLimit            1 keys_max uint64 · 2 keys_unlimited bool, without 1
//!  CommandLimits       1 events · 2 changes · 3 draws · 4 bytes · 5 field_bytes · 6 fields
//!                      7 record_bytes · 8 holes · 9 written_bytes                  all uint32
//!  KindDefinition      1 name string · 2 id uint32
//!  SequenceDefinition  1 name         string               5 format        string
//!                      2 id           uint32               6 reset         1 never, 2 yearly
//!                      3 kind         uint32               7 utc_offset_minutes  sint32
//!                      4 ranges       repeated Range
//!  Range               1 first uint64 · 2 last uint64
//!  RecordDefinition    1 name string · 2 class 1 c, 2 o, 3 w · 3 singleton uint64, absent without one
//! ```

use seriatim_types::{
    AppId, AppSettings, CommandLimits, Definition, Definitions, KindDefinition, KindId, Number,
    RecordClass, RecordDefinition, RecordIdScheme, Reset, Retention, SequenceDefinition,
    SequenceId, TrustLevel,
};

use crate::typed::Choice;
use crate::wire::{Message, Reader, Writer};
use crate::{DecodeError, Problem};

impl Message for Definitions {
    const NAME: &'static str = "Definitions";

    fn write(&self, to: &mut Writer) {
        assert!(kinds_ascend(&self.kinds), "kinds stand in the order of their ids");
        assert!(sequences_ascend(&self.sequences), "sequences stand in the order of their ids");
        to.integer(1, self.version);
        to.message(2, &self.app);
        to.repeated(3, &self.kinds);
        to.repeated(4, &self.sequences);
        to.repeated(5, &self.records);
        to.unknown(&self.unknown);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let definitions = Self {
            version: from.integer(1)?,
            app: from.message(2)?,
            kinds: from.repeated(3)?,
            sequences: from.repeated(4)?,
            records: from.repeated(5)?,
            unknown: from.unknown()?,
        };
        if !kinds_ascend(&definitions.kinds) {
            return Err(from.invalid(3, "in the order of ids"));
        }
        if !sequences_ascend(&definitions.sequences) {
            return Err(from.invalid(4, "in the order of ids"));
        }
        Ok(definitions)
    }
}

fn kinds_ascend(kinds: &[KindDefinition]) -> bool {
    kinds.is_sorted_by(|one, next| one.id < next.id)
}

fn sequences_ascend(sequences: &[SequenceDefinition]) -> bool {
    sequences.is_sorted_by(|one, next| one.id < next.id)
}

impl Message for Definition {
    const NAME: &'static str = "Definition";

    fn write(&self, to: &mut Writer) {
        match self {
            Self::App(app) => to.message(1, app),
            Self::Kind(kind) => to.message(2, kind),
            Self::Sequence(sequence) => to.message(3, sequence),
            Self::Record(record) => to.message(4, record),
            Self::KeyLimit(keys_max) => to.message(5, &KeyLimit(*keys_max)),
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.kind()? {
            1 => from.message(1).map(Self::App),
            2 => from.message(2).map(Self::Kind),
            3 => from.message(3).map(Self::Sequence),
            4 => from.message(4).map(Self::Record),
            5 => from.message(5).map(|KeyLimit(keys_max)| Self::KeyLimit(keys_max)),
            other => Err(from.error(other, Problem::Unknown)),
        }
    }
}

impl Message for AppSettings {
    const NAME: &'static str = "AppSettings";

    fn write(&self, to: &mut Writer) {
        to.text(1, self.name.as_str());
        to.integer(2, self.app.0);
        to.integer(3, self.partitions);
        to.choice(4, &self.record_ids);
        to.choice(5, &self.trust_level);
        to.retention(6, self.retention);
        to.keys_max(7, self.keys_max);
        to.message(8, &self.limits);
        to.keys_unlimited(9, self.keys_max);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let name = from.name(1)?;
        let app = AppId(from.integer(2)?);
        let partitions = from.integer(3)?;
        let record_ids = from.choice(4)?;
        let trust_level = from.choice(5)?;
        let retention = from.retention(6)?;
        let keys_max = from.integer(7)?;
        let limits = from.message(8)?;
        let keys_max = from.keys_unlimited(9, keys_max)?;
        Ok(Self { name, app, partitions, record_ids, trust_level, retention, keys_max, limits })
    }
}

/// Another limit of keys, or none any more.
pub(crate) struct KeyLimit(pub(crate) Option<u64>);

impl Message for KeyLimit {
    const NAME: &'static str = "KeyLimit";

    fn write(&self, to: &mut Writer) {
        to.keys_max(1, self.0);
        to.keys_unlimited(2, self.0);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let keys_max = from.integer(1)?;
        from.keys_unlimited(2, keys_max).map(Self)
    }
}

impl Message for CommandLimits {
    const NAME: &'static str = "CommandLimits";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.events);
        to.integer(2, self.changes);
        to.integer(3, self.draws);
        to.integer(4, self.bytes);
        to.integer(5, self.field_bytes);
        to.integer(6, self.fields);
        to.integer(7, self.record_bytes);
        to.integer(8, self.holes);
        to.integer(9, self.written_bytes);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            events: from.integer(1)?,
            changes: from.integer(2)?,
            draws: from.integer(3)?,
            bytes: from.integer(4)?,
            field_bytes: from.integer(5)?,
            fields: from.integer(6)?,
            record_bytes: from.integer(7)?,
            holes: from.integer(8)?,
            written_bytes: from.integer(9)?,
        })
    }
}

impl Message for KindDefinition {
    const NAME: &'static str = "KindDefinition";

    fn write(&self, to: &mut Writer) {
        to.text(1, self.name.as_str());
        to.integer(2, self.id.0);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { name: from.name(1)?, id: KindId(from.integer(2)?) })
    }
}

impl Message for SequenceDefinition {
    const NAME: &'static str = "SequenceDefinition";

    fn write(&self, to: &mut Writer) {
        to.text(1, self.name.as_str());
        to.integer(2, self.id.0);
        to.integer(3, self.kind.0);
        to.repeated(4, &self.ranges);
        to.text(5, &self.format);
        to.choice(6, &self.reset);
        to.signed(7, self.utc_offset_minutes);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            name: from.name(1)?,
            id: SequenceId(from.integer(2)?),
            kind: KindId(from.integer(3)?),
            ranges: from.repeated(4)?,
            format: from.text(5)?.to_owned(),
            reset: from.choice(6)?,
            utc_offset_minutes: from.signed(7)?,
        })
    }
}

impl Message for (u64, u64) {
    const NAME: &'static str = "Range";

    fn write(&self, to: &mut Writer) {
        to.integer(1, self.0);
        to.integer(2, self.1);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((from.integer(1)?, from.integer(2)?))
    }
}

impl Message for RecordDefinition {
    const NAME: &'static str = "RecordDefinition";

    fn write(&self, to: &mut Writer) {
        to.text(1, self.name.as_str());
        to.choice(2, &self.class);
        to.integer(3, self.singleton.map_or(0, Number::get));
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            name: from.name(1)?,
            class: from.choice(2)?,
            singleton: from.optional_number(3)?,
        })
    }
}

impl Choice for RecordClass {
    const WHAT: &'static str = "a class of records";

    fn number(&self) -> u32 {
        match self {
            Self::C => 1,
            Self::O => 2,
            Self::W => 3,
        }
    }

    fn of_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::C),
            2 => Some(Self::O),
            3 => Some(Self::W),
            _ => None,
        }
    }
}

impl Choice for RecordIdScheme {
    const WHAT: &'static str = "a scheme of record ids";

    fn number(&self) -> u32 {
        match self {
            Self::Single => 1,
            Self::Split => 2,
        }
    }

    fn of_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Single),
            2 => Some(Self::Split),
            _ => None,
        }
    }
}

impl Choice for Reset {
    const WHAT: &'static str = "a way to begin anew";

    fn number(&self) -> u32 {
        match self {
            Self::Never => 1,
            Self::Yearly => 2,
        }
    }

    fn of_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::Never),
            2 => Some(Self::Yearly),
            _ => None,
        }
    }
}

impl Choice for TrustLevel {
    const WHAT: &'static str = "a trust level";

    fn number(&self) -> u32 {
        match self {
            Self::Zero => 0,
            Self::One => 1,
            Self::Two => 2,
        }
    }

    fn of_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(Self::Zero),
            1 => Some(Self::One),
            2 => Some(Self::Two),
            _ => None,
        }
    }
}

impl Writer {
    pub(crate) fn retention(&mut self, field: u32, retention: Retention) {
        match retention {
            Retention::Milliseconds(ms) => self.optional_integer(field, Some(ms)),
            Retention::Forever => {}
        }
    }

    /// How many keys a partition keeps; nothing when there is no limit. A field of its own says that,
    /// because builds from before read an absent number as the limit 0, and refuse a field that they
    /// do not know.
    pub(crate) fn keys_max(&mut self, field: u32, keys_max: Option<u64>) {
        self.integer(field, keys_max.unwrap_or_default());
    }

    /// Whether there is no such limit.
    pub(crate) fn keys_unlimited(&mut self, field: u32, keys_max: Option<u64>) {
        self.integer(field, keys_max.is_none());
    }
}

impl Reader<'_> {
    pub(crate) fn retention(&mut self, field: u32) -> Result<Retention, DecodeError> {
        let ms = self.optional_integer(field)?;
        Ok(ms.map_or(Retention::Forever, Retention::Milliseconds))
    }

    /// A limit of keys that was read already, unless this field says that there is none.
    pub(crate) fn keys_unlimited(
        &mut self,
        field: u32,
        keys_max: u64,
    ) -> Result<Option<u64>, DecodeError> {
        match (self.boolean(field)?, keys_max) {
            (false, keys_max) => Ok(Some(keys_max)),
            (true, 0) => Ok(None),
            (true, _) => Err(self.invalid(field, "without a limit of keys")),
        }
    }
}
