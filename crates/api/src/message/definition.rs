//! What is defined for an app: kinds of workspaces, sequences, kinds of records.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use seriatim_types as types;

use crate::schema;

/// Everything that is defined for an app.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Definitions {
    /// Counts the changes of the definitions.
    pub version: u64,
    /// The kinds of workspaces, first `default`, which always exists.
    pub kinds: Vec<Kind>,
    /// The sequences.
    pub sequences: Vec<SequenceDefinition>,
    /// The kinds of records.
    pub records: Vec<RecordKind>,
}

/// A kind of workspaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kind {
    /// Its name.
    pub name: String,
}

/// A sequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceDefinition {
    /// Its name.
    pub name: String,
    /// The kind of workspaces that has it.
    pub kind: String,
    /// First and last number of each range, in the order of their use.
    pub ranges: Vec<[u64; 2]>,
    /// How its numbers are shown: `INV-{yyyy}-{n:06}`.
    pub format: String,
    /// Whether each year begins a series of its own.
    pub reset: Reset,
    /// The offset from UTC at which its years turn: `+01:00`.
    pub utc_offset: String,
}

/// A kind of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordKind {
    /// Its name.
    pub name: String,
    /// Its class: only records of class c can be listed.
    pub class: RecordClass,
    /// Whether a workspace has at most one, under a fixed id.
    pub singleton: bool,
}

/// What a sequence is to be. What is left out has its default, and of a sequence that exists it is
/// what that has. Only `format` may change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NewSequence {
    /// The kind of workspaces that has it: `default` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::name")]
    pub kind: Option<String>,
    /// First and last number of each range, in the order of their use: `[[1, 2^53 - 1]]` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::ranges")]
    pub ranges: Option<Vec<[u64; 2]>>,
    /// How its numbers are shown: `{n}` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::format")]
    pub format: Option<String>,
    /// Whether each year begins a series of its own: `never` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Reset")]
    pub reset: Option<Reset>,
    /// The offset from UTC at which its years turn: `+00:00` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::utc_offset")]
    pub utc_offset: Option<String>,
}

/// What a kind of records is to be. What is left out has its default, and of a kind that exists it
/// is what that has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NewRecordKind {
    /// Its class: `c` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordClass")]
    pub class: Option<RecordClass>,
    /// Whether a workspace has at most one, under a fixed id: not, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub singleton: Option<bool>,
}

/// What a workspace is to be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NewWorkspace {
    /// Its kind: `default` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::name")]
    pub kind: Option<String>,
}

/// What came of a definition. All partitions of the app have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Defined {
    /// The version of the app's definitions.
    pub version: u64,
    /// Whether this request has changed them.
    pub changed: bool,
}

/// A workspace whose kind is settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Declared {
    /// The workspace, by its name if it has one.
    pub workspace: String,
    /// Its id.
    pub workspace_id: u64,
    /// Its kind.
    pub kind: String,
    /// Whether this request has made it.
    pub created: bool,
}

/// When a sequence begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reset {
    /// Never: one series for ever.
    Never,
    /// With each year: a series for each.
    Yearly,
}

/// The class of a kind of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RecordClass {
    /// Current data, which can be listed.
    C,
    /// Operational data.
    O,
    /// Data that is written and read by its id alone.
    W,
}

impl NewSequence {
    /// One series for ever, from 1 on.
    #[must_use]
    pub fn continuous(format: impl Into<String>) -> Self {
        Self { format: Some(format.into()), reset: Some(Reset::Never), ..Self::default() }
    }

    /// A series for each year, each from 1 on.
    #[must_use]
    pub fn yearly(format: impl Into<String>) -> Self {
        Self { reset: Some(Reset::Yearly), ..Self::continuous(format) }
    }
}

/// The kind of workspaces that always exists.
pub(super) const DEFAULT_KIND: &str = "default";

impl From<&types::Definitions> for Definitions {
    fn from(definitions: &types::Definitions) -> Self {
        let named = |kind: &types::KindDefinition| kind.name.as_str().to_owned();
        let kind_name = |id: types::KindId| {
            let found = definitions.kinds.iter().find(|kind| kind.id == id);
            found.map_or_else(|| DEFAULT_KIND.to_owned(), named)
        };
        let sequence = |it: &types::SequenceDefinition| SequenceDefinition {
            name: it.name.as_str().to_owned(),
            kind: kind_name(it.kind),
            ranges: ranges(it),
            format: it.format.clone(),
            reset: it.reset.into(),
            utc_offset: utc_offset(it.utc_offset_minutes),
        };
        let names = [DEFAULT_KIND.to_owned()].into_iter();
        let names = names.chain(definitions.kinds.iter().map(named));
        Self {
            version: definitions.version,
            kinds: names.map(|name| Kind { name }).collect(),
            sequences: definitions.sequences.iter().map(sequence).collect(),
            records: definitions.records.iter().map(RecordKind::from).collect(),
        }
    }
}

impl From<&types::RecordDefinition> for RecordKind {
    fn from(record: &types::RecordDefinition) -> Self {
        let (name, class) = (record.name.as_str().to_owned(), record.class.into());
        Self { name, class, singleton: record.singleton.is_some() }
    }
}

impl From<types::Reset> for Reset {
    fn from(reset: types::Reset) -> Self {
        match reset {
            types::Reset::Never => Self::Never,
            types::Reset::Yearly => Self::Yearly,
        }
    }
}

impl From<types::RecordClass> for RecordClass {
    fn from(class: types::RecordClass) -> Self {
        match class {
            types::RecordClass::C => Self::C,
            types::RecordClass::O => Self::O,
            types::RecordClass::W => Self::W,
        }
    }
}

pub(super) fn ranges(sequence: &types::SequenceDefinition) -> Vec<[u64; 2]> {
    sequence.ranges.iter().map(|(first, last)| [*first, *last]).collect()
}

/// Minutes from UTC as requests write them: `+01:00`.
pub(super) fn utc_offset(minutes: i16) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    let size = minutes.unsigned_abs();
    format!("{sign}{:02}:{:02}", size / 60, size % 60)
}
