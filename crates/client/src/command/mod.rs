//! Commands: what shall happen, put together step by step or read from JSON.
//!
//! What an application stores is turned into JSON text at once, so that a command is made once and
//! can be sent any number of times.
//!
//! **Invariant:** a command has at least one event.

mod document;
mod markers;

use std::time::{Duration, SystemTime};

use serde::Serialize;
use seriatim_api as api;
use seriatim_api::change::Change;

use crate::error::Error;

pub use markers::{drawn, id_of, literal, next, next_text};

/// What a client asks for: one or more events with their changes. All of it happens, or nothing.
///
/// What is added belongs to the event that was named last.
///
/// ```
/// use seriatim_client::{Command, Condition, id_of, next_text};
/// use serde_json::json;
///
/// let command = Command::new("InvoiceIssued")
///     .args(json!({"total": 1250}))
///     .create(1, "invoice", json!({"number": next_text("invoice"), "lines": [id_of(2)]}))
///     .create_under(1, 2, "line", json!({"sku": "A-7"}))
///     .then("StockTaken")
///     .set_if("stock/A-7", json!({"left": 4}), Condition::Version(7))
///     .draw("ticket");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    message: api::Command,
    deadline_ms: Option<u64>,
    /// The first thing that could not be made JSON.
    invalid: Option<Error>,
}

/// What must hold of an entity for a command to be carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// It exists.
    Exists,
    /// It does not exist.
    Absent,
    /// It has this version.
    Version(u64),
    /// It has this value.
    Value(serde_json::Value),
}

impl Command {
    /// A command with one event of this name.
    pub fn new(event: impl Into<String>) -> Self {
        let message = api::Command { events: Vec::new(), if_offset: None, include_proof: false };
        Self { message, deadline_ms: None, invalid: None }.then(event)
    }

    /// A command as the HTTP contract writes it: `{"events": [{"name": …, "args": …,
    /// "changes": […]}]}`. What stands in `args`, `fields` and `value` is left to the server.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` when it has another shape.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let message = document::read(text)?;
        Ok(Self { message, deadline_ms: None, invalid: None })
    }

    /// Goes on with a further event.
    #[must_use]
    pub fn then(mut self, event: impl Into<String>) -> Self {
        let event = api::EventInput { name: event.into(), ..Default::default() };
        self.message.events.push(event);
        self
    }

    /// The arguments of the event: a JSON object, or anything that becomes one.
    #[must_use]
    pub fn args(mut self, args: impl Serialize) -> Self {
        let args_json = self.json("args", args);
        self.event().args_json = args_json;
        self
    }

    /// Creates a record. Its id is a raw one, from 1 to 65535: a name for it within this command, for
    /// which the receipt has the real one. An id in a user range is imported.
    #[must_use]
    pub fn create(self, id: u64, kind: impl Into<String>, fields: impl Serialize) -> Self {
        self.create_under(0, id, kind, fields)
    }

    /// Creates a record that belongs to another one: a raw id of this command, or an id.
    #[must_use]
    pub fn create_under(
        mut self,
        parent: u64,
        id: u64,
        kind: impl Into<String>,
        fields: impl Serialize,
    ) -> Self {
        let fields_json = self.json("fields", fields);
        self.change(Change::Create(api::Create { id, kind: kind.into(), parent, fields_json }))
    }

    /// Replaces the named fields of a record, and leaves the others.
    #[must_use]
    pub fn update(self, id: u64, fields: impl Serialize) -> Self {
        self.update_versioned(id, fields, None)
    }

    /// The same, if the record has this version.
    #[must_use]
    pub fn update_if(self, id: u64, fields: impl Serialize, version: u64) -> Self {
        self.update_versioned(id, fields, Some(version))
    }

    /// Deletes a record.
    #[must_use]
    pub fn delete(self, id: u64) -> Self {
        self.change(Change::Delete(api::Delete { id, ..Default::default() }))
    }

    /// The same, if the record has this version.
    #[must_use]
    pub fn delete_if(self, id: u64, version: u64) -> Self {
        self.change(Change::Delete(api::Delete { id, if_version: Some(version), version: 0 }))
    }

    /// Writes an entity.
    #[must_use]
    pub fn set(self, key: impl Into<String>, value: impl Serialize) -> Self {
        self.set_until(key, value, None, None)
    }

    /// The same under a condition.
    #[must_use]
    pub fn set_if(
        self,
        key: impl Into<String>,
        value: impl Serialize,
        condition: Condition,
    ) -> Self {
        self.set_until(key, value, Some(condition), None)
    }

    /// Writes an entity that is absent again from a certain time on.
    #[must_use]
    pub fn set_until(
        mut self,
        key: impl Into<String>,
        value: impl Serialize,
        condition: Option<Condition>,
        expires_at: impl Into<Option<SystemTime>>,
    ) -> Self {
        let value_json = self.json("value", value);
        let condition = condition.map(|condition| self.condition(condition));
        let expires_at_ms = expires_at.into().map(since_1970_ms);
        let key = key.into();
        self.change(Change::Set(api::Set { key, value_json, condition, expires_at_ms, version: 0 }))
    }

    /// Removes an entity.
    #[must_use]
    pub fn unset(self, key: impl Into<String>) -> Self {
        self.change(Change::Unset(api::Unset { key: key.into(), ..Default::default() }))
    }

    /// The same under a condition.
    #[must_use]
    pub fn unset_if(mut self, key: impl Into<String>, condition: Condition) -> Self {
        let condition = Some(self.condition(condition));
        self.change(Change::Unset(api::Unset { key: key.into(), condition, version: 0 }))
    }

    /// Draws a number from a sequence.
    #[must_use]
    pub fn draw(self, sequence: impl Into<String>) -> Self {
        self.change(Change::Draw(api::Draw { sequence: sequence.into(), drawn: None }))
    }

    /// Only if the workspace's last offset is this one, 0 for none.
    #[must_use]
    pub fn if_offset(mut self, last: u64) -> Self {
        self.message.if_offset = Some(last);
        self
    }

    /// Asks for a proof with the receipt.
    #[must_use]
    pub fn with_proof(mut self) -> Self {
        self.message.include_proof = true;
        self
    }

    /// When it is too late to carry it out, by the clock of the server. Once this time has passed, it
    /// is final that there is no receipt. It is not the time that a client waits: that one goes by
    /// its own clock, and ends also what has no deadline.
    #[must_use]
    pub fn deadline(mut self, deadline: SystemTime) -> Self {
        self.deadline_ms = Some(since_1970_ms(deadline));
        self
    }

    /// What is sent.
    pub(crate) fn into_parts(self) -> Result<(api::Command, Option<u64>), Error> {
        match self.invalid {
            None => Ok((self.message, self.deadline_ms)),
            Some(error) => Err(error),
        }
    }

    fn update_versioned(
        mut self,
        id: u64,
        fields: impl Serialize,
        if_version: Option<u64>,
    ) -> Self {
        let fields_json = self.json("fields", fields);
        self.change(Change::Update(api::Update { id, fields_json, if_version, version: 0 }))
    }

    fn change(mut self, change: Change) -> Self {
        self.event().changes.push(api::Change { change: Some(change) });
        self
    }

    fn event(&mut self) -> &mut api::EventInput {
        self.message.events.last_mut().expect("a command has at least one event")
    }

    fn condition(&mut self, condition: Condition) -> api::Condition {
        use api::condition::Condition as Wire;
        let condition = match condition {
            Condition::Exists => Wire::Exists(true),
            Condition::Absent => Wire::Exists(false),
            Condition::Version(version) => Wire::Version(version),
            Condition::Value(value) => Wire::ValueJson(self.json("if.value", value)),
        };
        api::Condition { condition: Some(condition) }
    }

    /// The text of a value. What has none is told when the command is submitted: a chain of calls
    /// is no place for it.
    fn json(&mut self, field: &str, value: impl Serialize) -> bytes::Bytes {
        match serde_json::to_vec(&value) {
            Ok(text) => text.into(),
            Err(error) => {
                self.invalid.get_or_insert_with(|| Error::invalid(field, error));
                bytes::Bytes::new()
            }
        }
    }
}

fn since_1970_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    /// The example of the HTTP contract.
    const CONTRACT: &str = r#"{"events": [{"name": "InvoiceIssued", "args": {"total":1250},
       "changes": [
         {"create": {"id": 1, "kind": "invoice", "fields": {"lines":[{"$ref":2}],"number":{"$next":"invoice","as":"text"}}}},
         {"create": {"id": 2, "kind": "line", "parent": 1, "fields": {"sku":"A-7"}}},
         {"update": {"id": 200017, "fields": {"open":false}, "if_version": 3}},
         {"delete": {"id": 200018, "if_version": 1}},
         {"set":    {"key": "stock/A-7", "value": {"left":4}, "if": {"version": 7}, "expires_at": "2027-01-01T00:00:00Z"}},
         {"unset":  {"key": "hold/9", "if": "exists"}},
         {"draw":   {"sequence": "ticket"}}]}],
     "if_offset": 12, "include_proof": true}"#;

    #[test]
    fn what_is_built_and_what_is_read_are_the_same() {
        let new_year = SystemTime::UNIX_EPOCH + Duration::from_secs(1_798_761_600);
        let number = next_text("invoice");
        let built = Command::new("InvoiceIssued")
            .args(json!({"total": 1250}))
            .create(1, "invoice", json!({"number": number, "lines": [id_of(2)]}))
            .create_under(1, 2, "line", json!({"sku": "A-7"}))
            .update_if(200_017, json!({"open": false}), 3)
            .delete_if(200_018, 1)
            .set_until("stock/A-7", json!({"left": 4}), Some(Condition::Version(7)), new_year)
            .unset_if("hold/9", Condition::Exists)
            .draw("ticket")
            .if_offset(12)
            .with_proof();
        assert_eq!(Command::from_json(CONTRACT).unwrap(), built);
    }

    #[test]
    fn conditions_and_what_has_none_are_the_same_too() {
        let document = r#"{"events": [{"name": "One", "changes": [
            {"set": {"key": "a", "value": null, "if": "absent"}},
            {"set": {"key": "b", "value": "x", "if": {"value": {"left":3}}}},
            {"set": {"key": "c", "value": 1}},
            {"unset": {"key": "d"}}, {"update": {"id": 7, "fields": {}}}, {"delete": {"id": 8}}]},
            {"name": "Two"}]}"#;
        let built = Command::new("One")
            .set_if("a", (), Condition::Absent)
            .set_if("b", "x", Condition::Value(json!({"left": 3})))
            .set("c", 1)
            .unset("d")
            .update(7, json!({}))
            .delete(8)
            .then("Two");
        assert_eq!(Command::from_json(document).unwrap(), built);
    }

    #[test]
    fn what_cannot_be_json_is_told_when_the_command_is_sent() {
        let no_keys = BTreeMap::from([(vec![1], 2)]);
        let command = Command::new("Odd").args(no_keys).set("a", 1);
        let error = command.into_parts().unwrap_err();
        assert_eq!((error.code(), &error.facts()["field"]), ("INVALID_ARGUMENT", &json!("args")));
    }

    #[test]
    fn a_deadline_is_kept_in_milliseconds_since_1970() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1234);
        let (_, deadline_ms) = Command::new("One").deadline(at).into_parts().unwrap();
        assert_eq!(deadline_ms, Some(1234));
    }
}
