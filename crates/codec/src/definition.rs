//! What an app consists of.
//!
//! ```text
//!  Definitions         1 version   uint64                  4 sequences  repeated SequenceDefinition
//!                      2 app       AppSettings             5 records    repeated RecordDefinition
//!                      3 kinds     repeated KindDefinition
//!  Definition          1 app AppSettings · 2 kind KindDefinition · 3 sequence SequenceDefinition
//!                      4 record RecordDefinition                                     exactly one
//!  AppSettings         1 name         string               5 trust_level   0, 1, 2
//!                      2 app          uint32               6 retention_ms  optional uint64, absent:
//!                      3 partitions   uint32                               for ever
//!                      4 record_ids   1 single, 2 split    7 keys_max      uint64
//!                                                          8 limits        CommandLimits
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
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.kind()? {
            1 => from.message(1).map(Self::App),
            2 => from.message(2).map(Self::Kind),
            3 => from.message(3).map(Self::Sequence),
            4 => from.message(4).map(Self::Record),
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
        to.integer(7, self.keys_max);
        to.message(8, &self.limits);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            name: from.name(1)?,
            app: AppId(from.integer(2)?),
            partitions: from.integer(3)?,
            record_ids: from.choice(4)?,
            trust_level: from.choice(5)?,
            retention: from.retention(6)?,
            keys_max: from.integer(7)?,
            limits: from.message(8)?,
        })
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
}

impl Reader<'_> {
    pub(crate) fn retention(&mut self, field: u32) -> Result<Retention, DecodeError> {
        let ms = self.optional_integer(field)?;
        Ok(ms.map_or(Retention::Forever, Retention::Milliseconds))
    }
}
