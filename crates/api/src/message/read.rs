//! Rows of a workspace.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use seriatim_types as types;

use super::{Json, RecordClass, Timestamp};

/// A record as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Its id.
    pub id: u64,
    /// Its kind.
    pub kind: String,
    /// The class of its kind.
    pub class: RecordClass,
    /// The record that it belongs to, 0 for none.
    pub parent: u64,
    /// Its version, from 1 on.
    pub version: u64,
    /// Its fields: an object.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub fields: Json,
    /// The event that wrote it last.
    pub offset: u64,
}

/// A page of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Records {
    /// The records, by their ids.
    pub records: Vec<Record>,
    /// Where the next page begins; `null` when there are no more.
    pub next: Option<u64>,
}

/// An entity as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entity {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: Json,
    /// Its version, from 1 on.
    pub version: u64,
    /// From when on it is absent; `null` for never.
    pub expires_at: Option<Timestamp>,
    /// The event that wrote it last.
    pub offset: u64,
}

/// Where a sequence of a workspace stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SequenceState {
    /// The sequence.
    pub name: String,
    /// The year of a yearly sequence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u16>,
    /// The last number that was drawn, 0 for none.
    pub last: u64,
    /// The number that will be drawn next; `null` when the sequence is exhausted.
    pub next: Option<u64>,
    /// Its text; `null` when the sequence is exhausted.
    pub next_text: Option<String>,
}

/// Where a client of a workspace stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientState {
    /// The client.
    pub client: String,
    /// How many commands of it were carried out.
    pub last_client_sequence: u64,
    /// The last event of its last command, in the workspace's log.
    pub last_offset: u64,
}

impl Record {
    /// The record under an id.
    #[must_use]
    pub fn new(id: types::Number, row: &types::RecordRow) -> Self {
        Self {
            id: id.get(),
            kind: row.kind.as_str().to_owned(),
            class: row.class.into(),
            parent: row.parent.map_or(0, types::Number::get),
            version: row.version,
            fields: Json::object(&row.fields),
            offset: row.offset.get(),
        }
    }
}

impl Entity {
    /// The entity under a key.
    #[must_use]
    pub fn new(key: &types::EntityKey, row: &types::EntityRow) -> Self {
        Self {
            key: key.as_str().to_owned(),
            value: Json::stored(&row.value),
            version: row.version,
            expires_at: row.expires_at.map(Timestamp::from),
            offset: row.offset.get(),
        }
    }
}
