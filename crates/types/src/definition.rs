//! What an app consists of: the part of a partition's state that decides how commands are applied.

use crate::limits;
use crate::{AppId, KindId, Name, Number, SequenceId, Time, Unknown};

/// One step of an app's definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// The app itself. Always the first.
    App(AppSettings),
    /// A kind of workspaces.
    Kind(KindDefinition),
    /// A sequence, or another presentation of one.
    Sequence(SequenceDefinition),
    /// A kind of records.
    Record(RecordDefinition),
    /// Another limit of idempotency keys for each partition; `None` for no limit.
    KeyLimit(Option<u64>),
}

/// Everything that is defined for an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definitions {
    /// Counts the steps, from 1.
    pub version: u64,
    /// The app itself.
    pub app: AppSettings,
    /// Its kinds of workspaces, without the default one, in the order of their ids.
    pub kinds: Vec<KindDefinition>,
    /// Its sequences, in the order of their ids.
    pub sequences: Vec<SequenceDefinition>,
    /// Its kinds of records, as they were defined.
    pub records: Vec<RecordDefinition>,
    /// Fields of a later version, as they were read.
    pub unknown: Unknown,
}

/// What is settled when an app is created. Only `keys_max` may change later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppSettings {
    /// Its name.
    pub name: Name,
    /// Its id.
    pub app: AppId,
    /// How many partitions it has.
    pub partitions: u16,
    /// How its records are numbered.
    pub record_ids: RecordIdScheme,
    /// How much its partitions trust their own numbers.
    pub trust_level: TrustLevel,
    /// How long idempotency keys are kept.
    pub retention: Retention,
    /// How many of them a partition keeps at most; `None` for no limit.
    pub keys_max: Option<u64>,
    /// What its commands may hold.
    pub limits: CommandLimits,
}

/// A kind of workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindDefinition {
    /// Its name.
    pub name: Name,
    /// Its id.
    pub id: KindId,
}

/// A sequence of the app's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceDefinition {
    /// Its name.
    pub name: Name,
    /// Its id.
    pub id: SequenceId,
    /// The kind of workspaces that has it.
    pub kind: KindId,
    /// First and last number of each range, in the order of their use.
    pub ranges: Vec<(u64, u64)>,
    /// How its numbers are shown.
    pub format: String,
    /// Whether it begins anew.
    pub reset: Reset,
    /// Where its years turn, in minutes from UTC.
    pub utc_offset_minutes: i16,
}

/// A kind of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordDefinition {
    /// Its name.
    pub name: Name,
    /// Its class.
    pub class: RecordClass,
    /// The fixed id, of a singleton.
    pub singleton: Option<Number>,
}

/// The class of a record kind, which decides the sequence of its ids in the split scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the classes have no longer names")]
pub enum RecordClass {
    C,
    O,
    W,
}

/// Whether one sequence gives all record ids, or one per class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordIdScheme {
    /// One for all classes.
    Single,
    /// One for class c, one for classes o and w.
    Split,
}

/// Whether a sequence begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// One series for ever.
    Never,
    /// A series of its own for every year. The year is that of the entry's time at a fixed
    /// offset from UTC: daylight saving would make one hour of a year belong to two.
    Yearly,
}

/// What a partition writes under the condition that nothing is there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrustLevel {
    /// Events and new records.
    Zero,
    /// Events.
    One,
    /// Nothing.
    Two,
}

/// How long an idempotency key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// For so many milliseconds.
    Milliseconds(u64),
    /// Always.
    Forever,
}

impl Retention {
    /// Whether a key that was made at a time is over.
    #[must_use]
    pub fn is_over(self, made: Time, now: Time) -> bool {
        match self {
            // An end beyond all times never comes.
            Self::Milliseconds(ms) => made.0.checked_add(ms).is_some_and(|end| now.0 >= end),
            Self::Forever => false,
        }
    }
}

/// What a command may hold. Apply goes by these; [`limits`](crate::limits) has what they can be
/// at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    /// Events.
    pub events: u32,
    /// Changes, of all its events.
    pub changes: u32,
    /// Numbers that it draws.
    pub draws: u32,
    /// Bytes of all its names, keys and values.
    pub bytes: u32,
    /// Bytes of one field or value.
    pub field_bytes: u32,
    /// Fields of one record.
    pub fields: u32,
    /// Bytes of all fields of one record.
    pub record_bytes: u32,
    /// Holes, of all its templates.
    pub holes: u32,
    /// Bytes of the arguments and rows that it writes, every change counted.
    pub written_bytes: u32,
}

impl Default for CommandLimits {
    fn default() -> Self {
        Self {
            events: limits::EVENTS_PER_COMMAND_MAX,
            changes: limits::CHANGES_PER_COMMAND_MAX,
            draws: limits::DRAWS_PER_COMMAND_MAX,
            bytes: limits::COMMAND_BYTES_MAX,
            field_bytes: limits::FIELD_BYTES_MAX,
            fields: limits::FIELDS_PER_RECORD_MAX,
            record_bytes: limits::RECORD_BYTES_MAX,
            holes: limits::HOLES_PER_COMMAND_MAX,
            written_bytes: limits::WRITTEN_BYTES_PER_COMMAND_MAX,
        }
    }
}
