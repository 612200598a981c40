//! Commands in the shape of the HTTP contract.
//!
//! Only the shape is read. What stands in `args`, `fields` and `value` goes to the server as it was
//! written, and so do its mistakes: the server is the one that knows them all.
//!
//! **Invariant:** what the server would refuse in a body is not taken for something that is absent. A
//! condition that is `null` comes from a program that meant to give one.

use bytes::Bytes;
use prost_types::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Number;
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
    #[serde(default, deserialize_with = "given_number")]
    if_offset: Option<u64>,
    #[serde(default)]
    include_proof: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventInput<'a> {
    name: String,
    #[serde(default, borrow, deserialize_with = "given")]
    args: Option<&'a RawValue>,
    #[serde(default, borrow)]
    changes: Vec<Change<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Change<'a> {
    Create {
        id: Whole,
        kind: String,
        /// Without one it is 0 or `null`, as the server takes it too.
        parent: Option<Whole>,
        #[serde(default, borrow, deserialize_with = "given")]
        fields: Option<&'a RawValue>,
    },
    Update {
        id: Whole,
        #[serde(borrow)]
        fields: &'a RawValue,
        #[serde(default, deserialize_with = "given_number")]
        if_version: Option<u64>,
    },
    Delete {
        id: Whole,
        #[serde(default, deserialize_with = "given_number")]
        if_version: Option<u64>,
    },
    Set {
        key: String,
        #[serde(borrow)]
        value: &'a RawValue,
        #[serde(default, rename = "if", borrow, deserialize_with = "given")]
        condition: Option<Condition<'a>>,
        expires_at: Option<String>,
    },
    Unset {
        key: String,
        #[serde(default, rename = "if", borrow, deserialize_with = "given")]
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
    Version(Whole),
    #[serde(borrow)]
    Value(&'a RawValue),
}

/// A whole number, however it is written: `1`, `1.0` and `1e0` are the same in JSON.
#[derive(Clone, Copy)]
struct Whole(u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = Number::deserialize(from)?;
        let whole = number.as_u64().or_else(|| number.as_f64().and_then(whole));
        whole.map(Self).ok_or_else(|| D::Error::custom(format!("{number} is no whole number here")))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "whole numbers that JSON can say exactly, and no others"
)]
fn whole(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=9_007_199_254_740_991.0).contains(&number);
    is_whole.then_some(number as u64)
}

/// What is there must be something: `null` is not the same as nothing.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let why = "null is no value here: leave the member out, or say what it is";
    Option::deserialize(from)?.ok_or_else(|| D::Error::custom(why)).map(Some)
}

fn given_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(given(from)?.map(|Whole(number)| number))
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
            Self::Create { id: Whole(id), kind, parent, fields } => {
                let parent = parent.map_or(0, |Whole(parent)| parent);
                let fields_json = fields.map(json).unwrap_or_default();
                Wire::Create(api::Create { id, kind, parent, fields_json })
            }
            Self::Update { id: Whole(id), fields, if_version } => {
                Wire::Update(api::Update { id, fields_json: json(fields), if_version, version: 0 })
            }
            Self::Delete { id: Whole(id), if_version } => {
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
            Self::Version(Whole(version)) => Wire::Version(version),
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

    /// A condition that was `null` was none, and the command was carried out without it.
    #[test]
    fn null_is_not_the_same_as_nothing() {
        for change in [
            r#"{"set": {"key": "k", "value": 1, "if": null}}"#,
            r#"{"unset": {"key": "k", "if": null}}"#,
            r#"{"set": {"key": "k", "value": 1, "if": {"version": null}}}"#,
            r#"{"update": {"id": 200001, "fields": {}, "if_version": null}}"#,
            r#"{"delete": {"id": 200001, "if_version": null}}"#,
            r#"{"delete": {"id": null}}"#,
        ] {
            let text = format!(r#"{{"events": [{{"name": "A", "changes": [{change}]}}]}}"#);
            let message = refused(&text);
            assert!(message.contains("null"), "{text}: {message}");
        }
        refused(r#"{"events": [{"name": "A"}], "if_offset": null}"#);
        refused(r#"{"events": [{"name": "A", "args": null}]}"#);
        // As the server takes it.
        let text = r#"{"events": [{"name": "A", "changes": [
            {"create": {"id": 1.0, "kind": "k", "parent": null}}]}]}"#;
        let command = read(text).unwrap();
        let Some(api::change::Change::Create(create)) = &command.events[0].changes[0].change else {
            panic!("a create");
        };
        assert_eq!((create.id, create.parent), (1, 0));
    }

    #[test]
    fn a_whole_number_may_be_written_in_any_way() {
        let read = |offset: &str| {
            read(&format!(r#"{{"events": [{{"name": "A"}}], "if_offset": {offset}}}"#))
                .map(|command| command.if_offset)
        };
        for (text, number) in
            [("0", 0), ("7.0", 7), ("1e1", 10), ("9007199254740991", (1 << 53) - 1)]
        {
            assert_eq!(read(text), Ok(Some(number)), "{text}");
        }
        for text in ["-1", "1.5", "1e300", "\"1\"", "true"] {
            assert!(read(text).is_err(), "{text}");
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
