//! What is defined for apps.

use std::time::Duration;

use seriatim_api as api;

/// What is settled when an app is created, and never changes. What is not set takes the server's
/// default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AppOptions {
    /// How many partitions it has, from 1 on.
    pub partitions: Option<u32>,
    /// Whether one sequence gives all record ids, or one per class.
    pub record_ids: Option<RecordIds>,
    /// How much its partitions trust their own numbers: 0, 1 or 2.
    pub trust_level: Option<u32>,
    /// How long a command that is sent again is known by its key.
    pub retention: Option<Retention>,
    /// How many keys a partition keeps at most.
    pub keys_max: Option<u64>,
}

/// An app as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppInfo {
    /// Its name.
    pub name: String,
    /// How many partitions it has.
    pub partitions: u32,
    /// Where record ids come from.
    pub record_ids: RecordIds,
    /// How much its partitions trust their own numbers: 0, 1 or 2.
    pub trust_level: u32,
    /// How long a command that is sent again is known by its key.
    pub retention: Retention,
    /// How many keys a partition keeps at most.
    pub keys_max: u64,
}

/// Where record ids come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordIds {
    /// One sequence gives all of them.
    Single,
    /// One sequence for class c, one for classes o and w.
    Split,
}

/// How long something is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// For some time.
    For(Duration),
    /// For ever.
    Forever,
}

/// How a sequence numbers. Only its format may change later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbering {
    /// How numbers are shown, such as `INV-{yyyy}-{n:06}`.
    pub format: String,
    /// Whether it begins anew with each year.
    pub reset: Reset,
    /// Where its years turn, in minutes from UTC. It is fixed: with daylight saving one hour of a
    /// year would belong to two.
    pub utc_offset_minutes: i32,
    /// First and last number of each range, in the order of their use.
    pub ranges: Vec<(u64, u64)>,
    /// The kind of workspaces that has it.
    pub kind: String,
}

/// When a sequence begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reset {
    /// Never.
    Never,
    /// With each year.
    Yearly,
}

/// The class of a kind of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordClass {
    /// Can be listed.
    C,
    /// Cannot be listed.
    O,
    /// Cannot be listed.
    W,
}

/// Everything that is defined for an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definitions {
    /// Counts definitions.
    pub version: u64,
    /// Kinds of workspaces.
    pub kinds: Vec<String>,
    /// Sequences, with their names.
    pub sequences: Vec<(String, Numbering)>,
    /// Kinds of records.
    pub records: Vec<RecordKind>,
}

/// What came of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defined {
    /// Counts definitions, up to this one.
    pub version: u64,
    /// Whether it changed anything. An attempt whose answer got lost may have done so before.
    pub is_changed: bool,
}

/// A workspace whose kind is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// The workspace, by its name if it has one.
    pub workspace: String,
    /// The workspace's id.
    pub workspace_id: u64,
    /// Its kind.
    pub kind: String,
    /// Whether it came into being. An attempt whose answer got lost may have made it before.
    pub is_new: bool,
}

/// A kind of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordKind {
    /// Its name.
    pub kind: String,
    /// Its class.
    pub class: RecordClass,
    /// Whether a workspace has at most one.
    pub is_singleton: bool,
}

/// The last number that a sequence can give.
const NUMBER_MAX: u64 = (1 << 53) - 1;

impl Numbering {
    /// One series for ever, from 1 on.
    #[must_use]
    pub fn continuous(format: impl Into<String>) -> Self {
        Self {
            format: format.into(),
            reset: Reset::Never,
            utc_offset_minutes: 0,
            ranges: vec![(1, NUMBER_MAX)],
            kind: "default".to_owned(),
        }
    }

    /// A series of its own for every year, each from 1 on.
    #[must_use]
    pub fn yearly(format: impl Into<String>) -> Self {
        Self { reset: Reset::Yearly, ..Self::continuous(format) }
    }

    pub(crate) fn wire(self, name: &str) -> api::SequenceDefinition {
        let Self { format, reset, utc_offset_minutes, ranges, kind } = self;
        let reset = match reset {
            Reset::Never => api::Reset::Never,
            Reset::Yearly => api::Reset::Yearly,
        };
        let ranges = ranges.into_iter().map(|(first, last)| api::Range { first, last }).collect();
        let (name, reset) = (name.to_owned(), reset.into());
        api::SequenceDefinition { name, kind, ranges, format, reset, utc_offset_minutes }
    }
}

impl AppOptions {
    pub(crate) fn wire(self, name: &str) -> api::App {
        let record_ids = match self.record_ids {
            None => api::RecordIds::Unspecified,
            Some(RecordIds::Single) => api::RecordIds::Single,
            Some(RecordIds::Split) => api::RecordIds::Split,
        };
        let retention_ms = match self.retention {
            Some(Retention::For(time)) => u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            Some(Retention::Forever) | None => 0,
        };
        api::App {
            name: name.to_owned(),
            partitions: self.partitions.unwrap_or_default(),
            record_ids: record_ids.into(),
            trust_level: self.trust_level,
            idempotency_retention_ms: retention_ms,
            idempotency_keys_max: self.keys_max.unwrap_or_default(),
            idempotency_retention_forever: self.retention == Some(Retention::Forever),
        }
    }
}

impl From<api::App> for AppInfo {
    fn from(app: api::App) -> Self {
        let record_ids = match app.record_ids() {
            api::RecordIds::Split => RecordIds::Split,
            api::RecordIds::Single | api::RecordIds::Unspecified => RecordIds::Single,
        };
        let retention = if app.idempotency_retention_forever {
            Retention::Forever
        } else {
            Retention::For(Duration::from_millis(app.idempotency_retention_ms))
        };
        Self {
            name: app.name,
            partitions: app.partitions,
            record_ids,
            trust_level: app.trust_level.unwrap_or_default(),
            retention,
            keys_max: app.idempotency_keys_max,
        }
    }
}

impl From<api::Definitions> for Definitions {
    fn from(definitions: api::Definitions) -> Self {
        let api::Definitions { version, kinds, sequences, records } = definitions;
        Self {
            version,
            kinds,
            sequences: sequences.into_iter().map(numbering_of).collect(),
            records: records.into_iter().map(RecordKind::from).collect(),
        }
    }
}

impl From<api::Defined> for Defined {
    fn from(api::Defined { version, changed }: api::Defined) -> Self {
        Self { version, is_changed: changed }
    }
}

impl From<api::Declared> for Declared {
    fn from(declared: api::Declared) -> Self {
        let api::Declared { workspace, workspace_id, kind, created } = declared;
        Self { workspace, workspace_id, kind, is_new: created }
    }
}

fn numbering_of(sequence: api::SequenceDefinition) -> (String, Numbering) {
    let reset = match sequence.reset() {
        api::Reset::Yearly => Reset::Yearly,
        api::Reset::Never | api::Reset::Unspecified => Reset::Never,
    };
    let ranges = sequence.ranges.iter().map(|range| (range.first, range.last)).collect();
    let api::SequenceDefinition { name, kind, format, utc_offset_minutes, .. } = sequence;
    (name, Numbering { format, reset, utc_offset_minutes, ranges, kind })
}

impl From<api::RecordDefinition> for RecordKind {
    fn from(record: api::RecordDefinition) -> Self {
        let class = record.class().into();
        Self { kind: record.kind, class, is_singleton: record.singleton }
    }
}

impl From<RecordClass> for api::RecordClass {
    fn from(class: RecordClass) -> Self {
        match class {
            RecordClass::C => Self::C,
            RecordClass::O => Self::O,
            RecordClass::W => Self::W,
        }
    }
}

impl From<api::RecordClass> for RecordClass {
    fn from(class: api::RecordClass) -> Self {
        match class {
            api::RecordClass::C | api::RecordClass::Unspecified => Self::C,
            api::RecordClass::O => Self::O,
            api::RecordClass::W => Self::W,
        }
    }
}
