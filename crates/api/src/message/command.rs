//! What a client asks for: the document of a command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use seriatim_types::limits::EVENTS_PER_COMMAND_MAX;

use super::{Json, Timestamp};
use crate::schema;

/// A command: one or more events with their changes. All of it takes effect, or nothing does.
///
/// In `args`, `fields` and `value`, objects whose only member begins with `$` are markers: `$ref`
/// (the id of a record of this command), `$next` (the next number of a sequence), `$draw` (a number
/// that was drawn before) and `$lit` (a value that is left as it is).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Command", deny_unknown_fields)]
pub struct CommandDocument {
    /// The events, in order.
    #[schemars(length(min = 1, max = EVENTS_PER_COMMAND_MAX))]
    pub events: Vec<EventInput>,
    /// The workspace's last offset that the caller has seen, 0 for none. Otherwise the command is
    /// refused with `OFFSET_MISMATCH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::from_zero")]
    pub if_offset: Option<u64>,
    /// Whether the receipt is to have a proof.
    #[serde(default, skip_serializing_if = "is_false")]
    pub include_proof: bool,
}

/// An event that is to be committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct EventInput {
    /// Its name.
    #[schemars(schema_with = "schema::name")]
    pub name: String,
    /// Its arguments: an object, `{}` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub args: Option<Json>,
    /// What it changes, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeInput>,
}

/// Something that an event is to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeInput {
    /// Creates a record.
    Create(CreateInput),
    /// Replaces fields of a record.
    Update(UpdateInput),
    /// Deletes a record.
    Delete(DeleteInput),
    /// Writes an entity.
    Set(SetInput),
    /// Removes an entity.
    Unset(UnsetInput),
    /// Draws a number.
    Draw(DrawInput),
}

/// A record that is to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CreateInput {
    /// From 1 to 65535 it is raw: a name for the record within this command, for which the receipt
    /// has the real id. An id in a user range is an import.
    #[schemars(schema_with = "schema::created_id")]
    pub id: u64,
    /// That the id must be kept: one outside the user ranges is refused instead of being taken for
    /// a raw one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub import: bool,
    /// Its kind.
    #[schemars(schema_with = "schema::name")]
    pub kind: String,
    /// The record that it belongs to: a raw id of this command, or an id; 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::id_or_none")]
    pub parent: Option<u64>,
    /// Its fields: an object, `{}` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub fields: Option<Json>,
}

/// Fields that are to be replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct UpdateInput {
    /// The record: a raw id of this command, or an id.
    #[schemars(schema_with = "schema::from_one")]
    pub id: u64,
    /// The fields that are replaced: an object. The others stay.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub fields: Json,
    /// The version that the record must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::from_one")]
    pub if_version: Option<u64>,
}

/// A record that is to be deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DeleteInput {
    /// The record.
    #[schemars(schema_with = "schema::from_one")]
    pub id: u64,
    /// The version that the record must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::from_one")]
    pub if_version: Option<u64>,
}

/// An entity that is to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SetInput {
    /// Its key.
    #[schemars(schema_with = "schema::entity_key")]
    pub key: String,
    /// Its value.
    pub value: Json,
    /// What must hold of the entity.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Condition")]
    pub condition: Option<Condition>,
    /// From when on it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::moment_or_none")]
    pub expires_at: Option<Timestamp>,
}

/// An entity that is to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct UnsetInput {
    /// Its key.
    #[schemars(schema_with = "schema::entity_key")]
    pub key: String,
    /// What must hold of the entity.
    #[serde(default, rename = "if", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Condition")]
    pub condition: Option<Condition>,
}

/// A number that is to be drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DrawInput {
    /// The sequence.
    #[schemars(schema_with = "schema::name")]
    pub sequence: String,
}

/// What must hold of an entity for a command to be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Condition {
    /// It exists.
    Exists,
    /// It does not exist.
    Absent,
    /// It has this version.
    Version(#[schemars(schema_with = "schema::from_one")] u64),
    /// It has this value.
    Value(Json),
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}
