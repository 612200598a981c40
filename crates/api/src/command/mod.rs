//! Commands: what is to happen, put together step by step.
//!
//! ```text
//!  Command::new ─ args ─ create ─ set ─ then ─ … ─┐
//!  Command::from_json ────────────────────────────┼─► CommandJson ─► Workspace::submit
//!  text, bytes ───────────────────────────────────┘
//! ```
//!
//! What an application stores is turned into JSON text at once, so that a command is made once and
//! can be sent any number of times.
//!
//! **Invariant:** a command that was put together has at least one event.
//!
//! **Deliberately absent:** checking what a command says. The parser of the server does, and there
//! is no second one.

mod json;
mod markers;

use std::time::SystemTime;

use serde::Serialize;

use crate::message::{
    ChangeInput, CommandDocument, Condition, CreateInput, DeleteInput, DrawInput, EventInput, Json,
    SetInput, Timestamp, UnsetInput, UpdateInput,
};

pub use json::{CommandJson, NotJson};
pub use markers::{drawn, id_of, literal, next, next_text};

/// What a client asks for: one or more events with their changes. All of it happens, or nothing.
///
/// What is added belongs to the event that was named last.
///
/// ```
/// use seriatim_api::message::Condition;
/// use seriatim_api::{Command, id_of, next_text};
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    document: CommandDocument,
    deadline: Option<Timestamp>,
    /// The first thing that cannot be written as JSON.
    invalid: Option<InvalidCommand>,
}

/// Something in a command that cannot be written as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct InvalidCommand {
    /// The member of the command.
    pub field: String,
    /// What is wrong with it.
    pub why: String,
}

impl Command {
    /// A command with one event of this name.
    #[must_use]
    pub fn new(event: impl Into<String>) -> Self {
        let (document, deadline, invalid) = (CommandDocument::default(), None, None);
        Self { document, deadline, invalid }.then(event)
    }

    /// A command as the HTTP contract writes it: `{"events": [{"name": …, "args": …,
    /// "changes": […]}]}`. Only that it is JSON is checked here; the rest is for the server to judge.
    ///
    /// # Errors
    ///
    /// It is no JSON.
    pub fn from_json(text: &str) -> Result<CommandJson, NotJson> {
        CommandJson::read(text)
    }

    /// Goes on with a further event.
    #[must_use]
    pub fn then(mut self, event: impl Into<String>) -> Self {
        let event = EventInput { name: event.into(), args: None, changes: Vec::new() };
        self.document.events.push(event);
        self
    }

    /// The arguments of the event: a JSON object, or anything that becomes one.
    #[must_use]
    pub fn args(mut self, args: impl Serialize) -> Self {
        let args = self.json("args", args);
        self.event().args = Some(args);
        self
    }

    /// Creates a record. Its id is a raw one, from 1 to 65535: a name for it within this command, for
    /// which the receipt has the real one. An id in a user range is imported.
    #[must_use]
    pub fn create(self, id: u64, kind: impl Into<String>, fields: impl Serialize) -> Self {
        self.create_below(None, id, kind, fields)
    }

    /// Creates a record that belongs to another one: a raw id of this command, or an id.
    #[must_use]
    pub fn create_under(
        self,
        parent: u64,
        id: u64,
        kind: impl Into<String>,
        fields: impl Serialize,
    ) -> Self {
        self.create_below(Some(parent), id, kind, fields)
    }

    /// Creates a record that has its id already. One outside the user ranges is refused: it would be
    /// taken for a raw one.
    #[must_use]
    pub fn import(mut self, id: u64, kind: impl Into<String>, fields: impl Serialize) -> Self {
        let (kind, fields) = (kind.into(), Some(self.json("fields", fields)));
        self.change(ChangeInput::Create(CreateInput {
            id,
            import: true,
            kind,
            parent: None,
            fields,
        }))
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
        self.change(ChangeInput::Delete(DeleteInput { id, if_version: None }))
    }

    /// The same, if the record has this version.
    #[must_use]
    pub fn delete_if(self, id: u64, version: u64) -> Self {
        self.change(ChangeInput::Delete(DeleteInput { id, if_version: Some(version) }))
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
        let (key, value) = (key.into(), self.json("value", value));
        let expires_at = expires_at.into().map(|time| self.moment("expires_at", time));
        self.change(ChangeInput::Set(SetInput { key, value, condition, expires_at }))
    }

    /// Removes an entity.
    #[must_use]
    pub fn unset(self, key: impl Into<String>) -> Self {
        self.change(ChangeInput::Unset(UnsetInput { key: key.into(), condition: None }))
    }

    /// The same under a condition.
    #[must_use]
    pub fn unset_if(self, key: impl Into<String>, condition: Condition) -> Self {
        let condition = Some(condition);
        self.change(ChangeInput::Unset(UnsetInput { key: key.into(), condition }))
    }

    /// Draws a number from a sequence.
    #[must_use]
    pub fn draw(self, sequence: impl Into<String>) -> Self {
        self.change(ChangeInput::Draw(DrawInput { sequence: sequence.into() }))
    }

    /// Only if the workspace's last offset is this one, 0 for none.
    #[must_use]
    pub fn if_offset(mut self, last: u64) -> Self {
        self.document.if_offset = Some(last);
        self
    }

    /// Asks for a proof with the receipt.
    #[must_use]
    pub fn with_proof(mut self) -> Self {
        self.document.include_proof = true;
        self
    }

    /// When it is too late to carry it out, by the clock of the server. Once this time has passed, it
    /// is final that there is no receipt. It is not the time that a client waits: that one goes by
    /// its own clock, and ends also what has no deadline.
    #[must_use]
    pub fn deadline(mut self, deadline: SystemTime) -> Self {
        self.deadline = Some(deadline.into());
        self
    }

    fn create_below(
        mut self,
        parent: Option<u64>,
        id: u64,
        kind: impl Into<String>,
        fields: impl Serialize,
    ) -> Self {
        let (kind, fields) = (kind.into(), Some(self.json("fields", fields)));
        let import = false;
        self.change(ChangeInput::Create(CreateInput { id, import, kind, parent, fields }))
    }

    fn update_versioned(
        mut self,
        id: u64,
        fields: impl Serialize,
        if_version: Option<u64>,
    ) -> Self {
        let fields = self.json("fields", fields);
        self.change(ChangeInput::Update(UpdateInput { id, fields, if_version }))
    }

    fn change(mut self, change: ChangeInput) -> Self {
        self.event().changes.push(change);
        self
    }

    fn event(&mut self) -> &mut EventInput {
        self.document.events.last_mut().expect("a command has at least one event")
    }

    /// The text of a value. What has none is told when the command is submitted: a chain of calls
    /// is no place for it.
    fn json(&mut self, field: &str, value: impl Serialize) -> Json {
        Json::of(value).unwrap_or_else(|error| {
            self.refuse(field, error.to_string());
            serde_json::Value::Null.into()
        })
    }

    fn moment(&mut self, field: &str, time: SystemTime) -> Timestamp {
        let moment = Timestamp::from(time);
        if moment > Timestamp::LAST {
            self.refuse(field, "lies after the year 9999".to_owned());
        }
        moment
    }

    fn refuse(&mut self, field: &str, why: String) {
        self.invalid.get_or_insert_with(|| InvalidCommand { field: field.to_owned(), why });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    fn text(command: Command) -> String {
        let (json, _) = CommandJson::from(command).into_parts().unwrap();
        String::from_utf8(json.into()).unwrap()
    }

    #[test]
    fn a_command_is_written_as_the_contract_has_it() {
        let new_year = SystemTime::UNIX_EPOCH + Duration::from_secs(1_798_761_600);
        let number = next_text("invoice");
        let built = Command::new("InvoiceIssued")
            .args(json!({"total": 1250}))
            .create(1, "invoice", json!({"number": number, "lines": [id_of(2)]}))
            .create_under(1, 2, "line", json!({"sku": "A-7"}))
            .import(200_019, "line", json!({}))
            .update_if(200_017, json!({"open": false}), 3)
            .delete_if(200_018, 1)
            .set_until("stock/A-7", json!({"left": 4}), Some(Condition::Version(7)), new_year)
            .unset_if("hold/9", Condition::Exists)
            .draw("ticket")
            .if_offset(12)
            .with_proof();
        let expected = concat!(
            r#"{"events":[{"name":"InvoiceIssued","args":{"total":1250},"changes":["#,
            r#"{"create":{"id":1,"kind":"invoice","fields":{"lines":[{"$ref":2}],"number":{"$next":"invoice","as":"text"}}}},"#,
            r#"{"create":{"id":2,"kind":"line","parent":1,"fields":{"sku":"A-7"}}},"#,
            r#"{"create":{"id":200019,"import":true,"kind":"line","fields":{}}},"#,
            r#"{"update":{"id":200017,"fields":{"open":false},"if_version":3}},"#,
            r#"{"delete":{"id":200018,"if_version":1}},"#,
            r#"{"set":{"key":"stock/A-7","value":{"left":4},"if":{"version":7},"expires_at":"2027-01-01T00:00:00.000Z"}},"#,
            r#"{"unset":{"key":"hold/9","if":"exists"}},"#,
            r#"{"draw":{"sequence":"ticket"}}]}],"if_offset":12,"include_proof":true}"#,
        );
        assert_eq!(text(built), expected);
    }

    #[test]
    fn what_is_not_said_is_not_written() {
        let left = Json::of(json!({"left": 3})).unwrap();
        let built = Command::new("One")
            .set_if("a", (), Condition::Absent)
            .set_if("b", "x", Condition::Value(left))
            .set("c", 1)
            .unset("d")
            .update(7, json!({}))
            .delete(8)
            .then("Two");
        let expected = concat!(
            r#"{"events":[{"name":"One","changes":["#,
            r#"{"set":{"key":"a","value":null,"if":"absent"}},"#,
            r#"{"set":{"key":"b","value":"x","if":{"value":{"left":3}}}},"#,
            r#"{"set":{"key":"c","value":1}},{"unset":{"key":"d"}},"#,
            r#"{"update":{"id":7,"fields":{}}},{"delete":{"id":8}}]},{"name":"Two"}]}"#,
        );
        assert_eq!(text(built), expected);
    }

    #[test]
    fn what_cannot_be_json_is_told_when_the_command_is_sent() {
        let no_keys = BTreeMap::from([(vec![1], 2)]);
        let odd = Command::new("Odd").args(no_keys).set("a", 1);
        assert_eq!(CommandJson::from(odd).into_parts().unwrap_err().field, "args");
        let late = SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_800);
        let late = Command::new("Late").set_until("a", 1, None, late);
        assert_eq!(CommandJson::from(late).into_parts().unwrap_err().field, "expires_at");
    }

    #[test]
    fn a_deadline_is_kept_in_milliseconds_since_1970() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1234);
        let command = CommandJson::from(Command::new("One").deadline(at));
        assert_eq!(command.into_parts().unwrap().1.unwrap().as_millis(), 1234);
    }
}
