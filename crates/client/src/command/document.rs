//! Commands in the shape of the HTTP contract.
//!
//! Only the shape is read. What stands in `args`, `fields` and `value` goes to the server as it was
//! written, and so do its mistakes: the server is the one that knows them all.

use bytes::Bytes;
use prost_types::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use seriatim_api as api;

use crate::error::Error;

pub(super) fn read(text: &str) -> Result<api::Command, Error> {
    let invalid = |error| Error::new(Error::INVALID_ARGUMENT, format!("the command: {error}"));
    let document: Document<'_> = serde_json::from_str(text).map_err(invalid)?;
    if document.events.is_empty() {
        return Err(Error::invalid("events", "a command has at least one event"));
    }
    Ok(api::Command {
        events: document.events.into_iter().map(EventInput::wire).collect::<Result<_, _>>()?,
        if_offset: document.if_offset,
        include_proof: document.include_proof,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    #[serde(borrow)]
    events: Vec<EventInput<'a>>,
    if_offset: Option<u64>,
    #[serde(default)]
    include_proof: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventInput<'a> {
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(default, borrow)]
    changes: Vec<Change<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Change<'a> {
    Create {
        id: u64,
        kind: String,
        #[serde(default)]
        parent: u64,
        #[serde(borrow)]
        fields: Option<&'a RawValue>,
    },
    Update {
        id: u64,
        #[serde(borrow)]
        fields: &'a RawValue,
        if_version: Option<u64>,
    },
    Delete {
        id: u64,
        if_version: Option<u64>,
    },
    Set {
        key: String,
        #[serde(borrow)]
        value: &'a RawValue,
        #[serde(rename = "if")]
        condition: Option<Condition<'a>>,
        expires_at: Option<String>,
    },
    Unset {
        key: String,
        #[serde(rename = "if", borrow)]
        condition: Option<Condition<'a>>,
    },
    Draw {
        sequence: String,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Condition<'a> {
    Exists,
    Absent,
    Version(u64),
    #[serde(borrow)]
    Value(&'a RawValue),
}

impl EventInput<'_> {
    fn wire(self) -> Result<api::EventInput, Error> {
        Ok(api::EventInput {
            name: self.name,
            args_json: self.args.map(json).unwrap_or_default(),
            changes: self.changes.into_iter().map(Change::wire).collect::<Result<_, _>>()?,
        })
    }
}

impl Change<'_> {
    fn wire(self) -> Result<api::Change, Error> {
        use api::change::Change as Wire;
        let change = match self {
            Self::Create { id, kind, parent, fields } => {
                let fields_json = fields.map(json).unwrap_or_default();
                Wire::Create(api::Create { id, kind, parent, fields_json })
            }
            Self::Update { id, fields, if_version } => {
                Wire::Update(api::Update { id, fields_json: json(fields), if_version, version: 0 })
            }
            Self::Delete { id, if_version } => {
                Wire::Delete(api::Delete { id, if_version, version: 0 })
            }
            Self::Set { key, value, condition, expires_at } => Wire::Set(api::Set {
                key,
                value_json: json(value),
                condition: condition.map(Condition::wire),
                expires_at_ms: expires_at.as_deref().map(moment).transpose()?,
                version: 0,
            }),
            Self::Unset { key, condition } => {
                let condition = condition.map(Condition::wire);
                Wire::Unset(api::Unset { key, condition, version: 0 })
            }
            Self::Draw { sequence } => Wire::Draw(api::Draw { sequence, drawn: None }),
        };
        Ok(api::Change { change: Some(change) })
    }
}

impl Condition<'_> {
    fn wire(self) -> api::Condition {
        use api::condition::Condition as Wire;
        let condition = match self {
            Self::Exists => Wire::Exists(true),
            Self::Absent => Wire::Exists(false),
            Self::Version(version) => Wire::Version(version),
            Self::Value(value) => Wire::ValueJson(json(value)),
        };
        api::Condition { condition: Some(condition) }
    }
}

fn json(value: &RawValue) -> Bytes {
    Bytes::copy_from_slice(value.get().as_bytes())
}

/// Milliseconds since 1970.
fn moment(text: &str) -> Result<u64, Error> {
    let read = || {
        let Timestamp { seconds, nanos } = text.parse().ok()?;
        let millis = u64::try_from(nanos).ok()?.checked_div(1_000_000)?;
        u64::try_from(seconds).ok()?.checked_mul(1000)?.checked_add(millis)
    };
    let why = "must be a time from 1970 on, such as 2027-01-01T00:00:00Z";
    read().ok_or_else(|| Error::invalid("expires_at", why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let error = read(text).unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENT");
        error.message().to_owned()
    }

    #[test]
    fn what_has_another_shape_is_refused_and_named() {
        for (text, named) in [
            ("", "EOF"),
            ("[]", "invalid"),
            ("{}", "events"),
            (r#"{"events": []}"#, "at least one event"),
            (r#"{"events": [{}]}"#, "name"),
            (r#"{"events": [{"name": "A", "arg": {}}]}"#, "arg"),
            (r#"{"events": [{"name": "A"}], "if_ofset": 1}"#, "if_ofset"),
            (r#"{"events": [{"name": "A", "changes": [{"make": {}}]}]}"#, "make"),
            (r#"{"events": [{"name": "A", "changes": [{"draw": {}}]}]}"#, "sequence"),
            (r#"{"events": [{"name": "A", "changes": [{"delete": {"id": -1}}]}]}"#, "-1"),
            (
                r#"{"events": [{"name": "A", "changes": [{"set": {"key": "k", "value": 1, "if": "maybe"}}]}]}"#,
                "maybe",
            ),
            (
                r#"{"events": [{"name": "A", "changes": [{"set": {"key": "k", "value": 1, "expires_at": "soon"}}]}]}"#,
                "expires_at",
            ),
        ] {
            let message = refused(text);
            assert!(message.contains(named), "{text}: {message}");
        }
    }

    #[test]
    fn moments_are_read_with_any_offset_and_milliseconds() {
        assert_eq!(moment("2026-11-15T13:00:00.0219+01:00"), Ok(1_794_744_000_021));
        for text in ["1969-12-31T23:59:59Z", "2026-02-30T00:00:00Z", "now", ""] {
            assert!(moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_text_of_values_is_left_as_it_is() {
        let text =
            r#"{"events": [{"name": "A", "args": {"b": 1.10, "a": 9007199254740993, "a": 2}}]}"#;
        let command = read(text).unwrap();
        assert_eq!(command.events[0].args_json, r#"{"b": 1.10, "a": 9007199254740993, "a": 2}"#);
    }
}
