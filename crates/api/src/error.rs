//! The body of an answer to a request that was not carried out.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::code::{ErrorCode, Outcome};

/// Why a request was not carried out, or may not have been.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Error", transform = describe_facts)]
pub struct ErrorBody {
    /// The stable code that programs go by. A newer server may have codes that a client does not know.
    #[schemars(with = "ErrorCode")]
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Whether the same request can succeed later without anybody changing anything.
    pub retryable: bool,
    /// What came of something that was to be written. It is there in every error of a method that writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What else there is to know, by name.
    #[serde(flatten)]
    pub facts: Map<String, Value>,
    /// The address of the page about the code, on the server that has answered. An older server names
    /// none.
    #[serde(default)]
    pub help: String,
}

impl ErrorBody {
    /// The code, if this release knows it.
    #[must_use]
    pub fn known_code(&self) -> Option<ErrorCode> {
        self.code.parse().ok()
    }
}

type Describe = fn() -> Value;

/// Facts that several codes have, or that programs go by: name, schema, what it is.
const FACTS: &[(&str, Describe, &str)] = &[
    (
        "field",
        text,
        "What is to blame: a parameter, a header, or the path of a member of the body.",
    ),
    ("reason", reason, "Of BUSY: why the partition cannot take the request."),
    ("done", number, "Of BUSY `actualizing`: how many events were read."),
    ("total", number, "Of BUSY `actualizing`: how many there are to read."),
    ("time", moment, "Of BUSY `clock` and DEADLINE_EXCEEDED: the time that decides."),
    ("last_time", moment, "Of BUSY `clock`: the newest time that is believed."),
    ("limit", number, "Of TOO_LARGE and KEY_WINDOW_FULL: how much there may be."),
    ("found", number, "Of TOO_LARGE: how much there is."),
    ("last", number, "Of NOT_YET: the last offset of the log."),
    ("resume_from", number, "Of LAGGED: where a new subscription misses nothing."),
    ("current_offset", number, "Of OFFSET_MISMATCH: the last offset of the workspace, 0 for none."),
    ("committed_offset", number, "Of IDEMPOTENCY_KEY_REUSED: where the original stands."),
    ("committed_hash", text, "Of IDEMPOTENCY_KEY_REUSED: the hash of the original."),
    (
        "current_version",
        version,
        "The version of what a condition is about; null if it does not exist.",
    ),
    (
        "current_value",
        anything,
        "The value of what a condition is about; null if it does not exist.",
    ),
];

/// Why a partition is busy.
pub const BUSY_REASONS: &[&str] =
    &["actualizing", "behind", "clock", "disk_full", "interrupted", "queue_full", "unflushed"];

fn text() -> Value {
    json!({"type": "string"})
}

fn number() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn version() -> Value {
    json!({"type": ["integer", "null"], "minimum": 1})
}

fn moment() -> Value {
    json!({"type": "string", "format": "date-time"})
}

fn reason() -> Value {
    json!({"enum": BUSY_REASONS})
}

fn anything() -> Value {
    json!({})
}

fn describe_facts(schema: &mut Schema) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    // An empty one is what is read of a server that names none. It is never answered.
    if let Some(help) = properties.get_mut("help").and_then(Value::as_object_mut) {
        drop(help.remove("default"));
    }
    for (name, schema, about) in FACTS {
        let mut fact = schema();
        if let Some(object) = fact.as_object_mut() {
            object.insert("description".to_owned(), Value::from(*about));
        }
        properties.insert((*name).to_owned(), fact);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_with_its_facts_and_written_again() {
        let text = r#"{"code":"VERSION_MISMATCH","message":"it is so","retryable":false,"outcome":"refused","key":"stock/A-7","current_version":8,"help":"/errors/VERSION_MISMATCH"}"#;
        let error: ErrorBody = serde_json::from_str(text).unwrap();
        assert_eq!(error.known_code(), Some(ErrorCode::VersionMismatch));
        assert_eq!(error.outcome, Some(Outcome::Refused));
        assert_eq!(error.facts.keys().collect::<Vec<_>>(), ["current_version", "key"]);
        let value = serde_json::to_value(&error).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn a_code_of_a_newer_server_and_one_without_help_are_read() {
        let text = r#"{"code":"NEW_ONE","message":"m","retryable":true}"#;
        let error: ErrorBody = serde_json::from_str(text).unwrap();
        assert_eq!((error.known_code(), error.outcome), (None, None));
    }
}
