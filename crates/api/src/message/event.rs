//! What was committed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use seriatim_types as types;
use uuid::Uuid;

use super::definition::{RecordKind, Reset, ranges, utc_offset};
use super::{App, AppChange, Hash, Json, NumberDrawn, Timestamp};

/// An event, with every number that it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Where it stands in its workspace's log.
    pub offset: u64,
    /// The partition of its workspace.
    pub partition: u16,
    /// Where it stands in the partition's log.
    pub partition_offset: u64,
    /// Its workspace, by its name if it has one.
    pub workspace: String,
    /// The workspace's id.
    pub workspace_id: u64,
    /// Its name.
    pub name: String,
    /// Its arguments: an object.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub args: Json,
    /// What it has changed, in order.
    pub changes: Vec<Change>,
    /// Who sent its command. An event of the server itself has no client, count and key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The client's own count of its commands in the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_sequence: Option<u64>,
    /// The key of its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Uuid>,
    /// When it was committed, by the server's clock.
    pub committed_at: Timestamp,
    /// SHA-256(0x00 ‖ stored event bytes): the leaf hash of RFC 6962.
    pub hash: Hash,
}

/// A page of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Events {
    /// The events, in order and without a gap.
    pub events: Vec<Event>,
    /// Where the next page begins.
    pub next: u64,
    /// The last offset of the log, 0 for none.
    pub last: u64,
}

/// What an event has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// A record was created.
    Create(Created),
    /// Fields of a record were replaced.
    Update(Updated),
    /// A record was deleted.
    Delete(Deleted),
    /// An entity was written.
    Set(EntitySet),
    /// An entity was removed.
    Unset(EntityUnset),
    /// A number was drawn.
    Draw(NumberDrawn),
    /// Something was defined; in events of the app `system` only.
    Define(Box<DefinitionStep>),
}

/// A record that was created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Created {
    /// Its id.
    pub id: u64,
    /// Its kind.
    pub kind: String,
    /// The record that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u64>,
    /// Its fields: an object.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub fields: Json,
}

/// A record of which fields were replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Updated {
    /// Its id.
    pub id: u64,
    /// The version that it has since.
    pub version: u64,
    /// The fields that were replaced: an object.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub fields: Json,
}

/// A record that was deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// Its id.
    pub id: u64,
    /// The version that it had.
    pub version: u64,
}

/// An entity that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntitySet {
    /// Its key.
    pub key: String,
    /// The version that it has since.
    pub version: u64,
    /// Its value.
    pub value: Json,
    /// From when on it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// An entity that was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntityUnset {
    /// Its key.
    pub key: String,
    /// The version that it had, if it was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

/// A step of an app's definitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionStep {
    /// The app was made.
    App(App),
    /// A kind of workspaces was defined.
    Kind(KindStep),
    /// A sequence was defined, or given another presentation.
    Sequence(SequenceStep),
    /// A kind of records was defined.
    Record(RecordKind),
    /// The limit of idempotency keys was changed.
    KeyLimit(AppChange),
}

/// A kind of workspaces that was defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindStep {
    /// Its name.
    pub name: String,
    /// Its id, by which later steps name it.
    pub kind_id: u32,
}

/// A sequence that was defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceStep {
    /// Its name.
    pub name: String,
    /// The kind of workspaces that has it.
    pub kind_id: u32,
    /// First and last number of each range, in the order of their use.
    pub ranges: Vec<[u64; 2]>,
    /// How its numbers are shown.
    pub format: String,
    /// Whether each year begins a series of its own.
    pub reset: Reset,
    /// The offset from UTC at which its years turn.
    pub utc_offset: String,
}

impl Event {
    /// The event as the contract writes it. `leaf` is its hash in the workspace's tree.
    ///
    /// # Panics
    ///
    /// If a change of the event names a number that the event does not have.
    #[must_use]
    pub fn new(
        event: &types::Event,
        workspace: &str,
        partition: types::PartitionId,
        leaf: &types::Hash,
    ) -> Self {
        let origin = event.origin.as_ref();
        let client =
            |it: &types::Origin| String::from_utf8_lossy(it.client.as_bytes()).into_owned();
        Self {
            offset: event.offset.get(),
            partition: partition.0,
            partition_offset: event.partition_offset.get(),
            workspace: workspace.to_owned(),
            workspace_id: event.workspace.0,
            name: event.name.as_str().to_owned(),
            args: Json::stored(&event.args),
            changes: event.changes.iter().map(|it| Change::new(it, &event.numbers)).collect(),
            client: origin.map(client),
            client_sequence: origin.map(|it| it.client_sequence.get()),
            key: origin.map(|it| Uuid::from_bytes(it.key.0)),
            committed_at: event.time.into(),
            hash: leaf.into(),
        }
    }
}

impl Change {
    fn new(change: &types::Change, numbers: &[types::NumberDrawn]) -> Self {
        match change {
            types::Change::Create { id, kind, parent, fields, raw: _, class: _ } => {
                Self::Create(Created {
                    id: id.get(),
                    kind: kind.as_str().to_owned(),
                    parent: parent.map(types::Number::get),
                    fields: Json::object(fields),
                })
            }
            types::Change::Update { id, version, fields } => Self::Update(Updated {
                id: id.get(),
                version: *version,
                fields: Json::object(fields),
            }),
            types::Change::Delete { id, version } => {
                Self::Delete(Deleted { id: id.get(), version: *version })
            }
            types::Change::Set { key, version, value, expires_at } => Self::Set(EntitySet {
                key: key.as_str().to_owned(),
                version: *version,
                value: Json::stored(value),
                expires_at: expires_at.map(Timestamp::from),
            }),
            types::Change::Unset { key, version } => {
                Self::Unset(EntityUnset { key: key.as_str().to_owned(), version: *version })
            }
            types::Change::Draw { number } => {
                let drawn = numbers.get(*number as usize);
                Self::Draw(drawn.expect("a draw names one of its event's numbers").into())
            }
            types::Change::Define(definition) => Self::Define(Box::new(definition.as_ref().into())),
        }
    }
}

impl From<&types::Definition> for DefinitionStep {
    fn from(definition: &types::Definition) -> Self {
        match definition {
            types::Definition::App(settings) => Self::App(settings.into()),
            types::Definition::Kind(kind) => {
                let (name, kind_id) = (kind.name.as_str().to_owned(), kind.id.0.into());
                Self::Kind(KindStep { name, kind_id })
            }
            types::Definition::Sequence(sequence) => Self::Sequence(SequenceStep {
                name: sequence.name.as_str().to_owned(),
                kind_id: sequence.kind.0.into(),
                ranges: ranges(sequence),
                format: sequence.format.clone(),
                reset: sequence.reset.into(),
                utc_offset: utc_offset(sequence.utc_offset_minutes),
            }),
            types::Definition::Record(record) => Self::Record(record.into()),
            types::Definition::KeyLimit(idempotency_keys_max) => {
                Self::KeyLimit(AppChange { idempotency_keys_max: *idempotency_keys_max })
            }
        }
    }
}
