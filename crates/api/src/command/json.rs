//! A command as it is sent.

use std::time::SystemTime;

use bytes::Bytes;
use serde::de::IgnoredAny;

use super::{Command, InvalidCommand};
use crate::message::{Json, Timestamp};

/// A command as it is sent: its document, and when it is too late to carry it out.
///
/// A [`Command`] becomes one, and so does any text or bytes with the body of a command as the HTTP
/// contract has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandJson {
    json: Result<Bytes, InvalidCommand>,
    deadline: Option<Timestamp>,
}

/// Why a text is no command: it is no JSON at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a command is JSON: {0}")]
pub struct NotJson(String);

impl CommandJson {
    pub(super) fn read(text: &str) -> Result<Self, NotJson> {
        let read: Result<IgnoredAny, _> = serde_json::from_str(text);
        read.map_err(|error| NotJson(error.to_string()))?;
        Ok(Self::from(text))
    }

    /// Only if the workspace's last offset is this one, 0 for none.
    #[must_use]
    pub fn if_offset(self, last: u64) -> Self {
        self.with("if_offset", &last.to_string())
    }

    /// Asks for a proof with the receipt.
    #[must_use]
    pub fn with_proof(self) -> Self {
        self.with("include_proof", "true")
    }

    /// When it is too late to carry it out: see [`Command::deadline`].
    #[must_use]
    pub fn deadline(self, deadline: SystemTime) -> Self {
        Self { deadline: Some(deadline.into()), ..self }
    }

    /// The document, and the deadline.
    ///
    /// # Errors
    ///
    /// Something that it was put together of cannot be written as JSON.
    pub fn into_parts(self) -> Result<(Bytes, Option<Timestamp>), InvalidCommand> {
        Ok((self.json?, self.deadline))
    }

    /// The same with another value of a member. What is no object stays: the server says so.
    fn with(self, name: &str, value: &str) -> Self {
        let json = self.json.map(|json| replaced(&json, name, value).map_or(json, Bytes::from));
        Self { json, ..self }
    }
}

impl From<Command> for CommandJson {
    fn from(command: Command) -> Self {
        let Command { document, deadline, invalid } = command;
        let json = match invalid {
            Some(invalid) => Err(invalid),
            None => Ok(serde_json::to_vec(&document).expect("its parts are JSON").into()),
        };
        Self { json, deadline }
    }
}

impl From<Bytes> for CommandJson {
    fn from(json: Bytes) -> Self {
        Self { json: Ok(json), deadline: None }
    }
}

impl From<Vec<u8>> for CommandJson {
    fn from(json: Vec<u8>) -> Self {
        Bytes::from(json).into()
    }
}

impl From<String> for CommandJson {
    fn from(json: String) -> Self {
        Bytes::from(json).into()
    }
}

impl<T: AsRef<[u8]> + ?Sized> From<&T> for CommandJson {
    fn from(json: &T) -> Self {
        Bytes::copy_from_slice(json.as_ref()).into()
    }
}

/// An object whose member has another value. The others stay as they are written.
fn replaced(json: &[u8], name: &str, value: &str) -> Option<String> {
    let mut out = "{".to_owned();
    for (known, kept) in Json::from_bytes(json).ok()?.members()? {
        if known != name {
            out.push_str(&format!("{}:{kept},", serde_json::Value::from(known)));
        }
    }
    out.push_str(&format!("\"{name}\":{value}}}"));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(command: CommandJson) -> String {
        String::from_utf8(command.into_parts().unwrap().0.into()).unwrap()
    }

    #[test]
    fn a_document_is_sent_as_it_is_written() {
        let odd =
            r#" {"events": [{"name": "A", "args": {"b": 1.10, "a": 9007199254740993, "a": 2}}]}"#;
        assert_eq!(text(Command::from_json(odd).unwrap()), odd);
        for other in ["[]", "1", r#"{"events":[],"events":null,"x":{}}"#] {
            assert_eq!(text(Command::from_json(other).unwrap()), other, "the server judges it");
        }
        for not in ["", "{", "{}}", "{'a':1}", "nul"] {
            assert!(Command::from_json(not).is_err(), "{not}");
        }
    }

    #[test]
    fn what_is_added_replaces_its_member_and_leaves_the_others_as_they_are_written() {
        let document = r#"{"if_offset":1, "events":[{"b":1.10,"a":{"$next":"x"},"b":2}],"if_offset":2,"\"":3}"#;
        let command = Command::from_json(document).unwrap().if_offset(7).with_proof();
        let expected = r#"{"events":[{"b":1.10,"a":{"$next":"x"},"b":2}],"\"":3,"if_offset":7,"include_proof":true}"#;
        assert_eq!(text(command), expected);
        assert_eq!(text(CommandJson::from("[1]").if_offset(7)), "[1]");
        assert_eq!(text(CommandJson::from("{}").if_offset(0)), r#"{"if_offset":0}"#);
    }
}
