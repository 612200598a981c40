//! What stands in a command for numbers and ids that only the server can give.

use serde_json::{Value, json};

/// The next number of a sequence. Each occurrence draws one.
#[must_use]
pub fn next(sequence: &str) -> Value {
    json!({"$next": sequence})
}

/// The same, as the sequence presents it: `"INV-2026-000007"`.
#[must_use]
pub fn next_text(sequence: &str) -> Value {
    json!({"$next": sequence, "as": "text"})
}

/// The number that the command has drawn at this place among its draws, counted from 0.
#[must_use]
pub fn drawn(index: u32) -> Value {
    json!({"$draw": index})
}

/// The id of the record that the command creates under a raw id.
#[must_use]
pub fn id_of(raw: u16) -> Value {
    json!({"$ref": raw})
}

/// A value as it stands, also where it looks like one of these.
#[must_use]
pub fn literal(value: impl Into<Value>) -> Value {
    json!({"$lit": value.into()})
}
