//! A command whose frame is no JSON: only what the client says in its own words is.
//!
//! ```text
//!  name ─ args: JSON ─ changes: create ─ id, kind, fields: JSON     the parts
//!                                 ▼
//!  the tree that the body of the same command is read into, and its reader
//! ```
//!
//! **Invariant:** the same command in parts and as a body is the same in every respect: what is
//! refused and where, the limits, the holes and so the fingerprint.

use std::borrow::Cow;

use seriatim_types::limits::{COMMAND_BYTES_MAX, EVENTS_PER_COMMAND_MAX};
use seriatim_types::{CommandEvent, Time};

use super::raw_ids::RawIds;
use super::{CommandBody, CommandReader, OFFSETS, read_document};
use crate::error::{Invalid, Problem};
use crate::node::{Node, Slot};
use crate::number::Number;
use crate::path::Path;
use crate::read::{Object, Value, read_at};
use crate::time;

/// A command. Texts of JSON that are empty are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the members are those of a command's body")]
pub struct CommandParts<'a> {
    pub events: Vec<EventParts<'a>>,
    pub if_offset: Option<u64>,
    pub include_proof: bool,
}

/// One event of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the members are those of an event in a command's body")]
pub struct EventParts<'a> {
    pub name: &'a str,
    /// JSON.
    pub args: &'a [u8],
    pub changes: Vec<ChangeParts<'a>>,
}

/// One change of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the members are those of a change in a command's body")]
pub enum ChangeParts<'a> {
    /// A change that is none. It is refused.
    None,
    /// Its parent is 0 for none, its fields are JSON.
    Create {
        id: u64,
        kind: &'a str,
        parent: u64,
        fields: &'a [u8],
    },
    /// Its fields are JSON.
    Update {
        id: u64,
        fields: &'a [u8],
        if_version: Option<u64>,
    },
    Delete {
        id: u64,
        if_version: Option<u64>,
    },
    /// Its value is JSON.
    Set {
        key: &'a str,
        value: &'a [u8],
        condition: Option<ConditionParts<'a>>,
        expires_at: Option<Time>,
    },
    Unset {
        key: &'a str,
        condition: Option<ConditionParts<'a>>,
    },
    Draw {
        sequence: &'a str,
    },
}

/// What must hold of an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are those of a condition in a command's body")]
pub enum ConditionParts<'a> {
    /// A condition that is none. It is refused.
    None,
    Exists,
    Absent,
    Version(u64),
    /// JSON.
    Value(&'a [u8]),
}

/// Reads a command that comes in parts.
///
/// # Errors
///
/// As for the body of the same command.
pub fn command_of_parts(parts: &CommandParts<'_>) -> Result<CommandBody, Invalid> {
    let bytes = parts.events.iter().map(EventParts::bytes).fold(0, usize::saturating_add);
    if bytes > COMMAND_BYTES_MAX as usize {
        return Err(Path::Root.invalid(Problem::TooLarge { bytes, max: COMMAND_BYTES_MAX }));
    }
    if parts.events.iter().all(|event| event.changes.is_empty()) {
        return parts.read_events(bytes);
    }
    read_document(&parts.document()?, bytes)
}

// What the texts are nested in, in the body of a command: {"events": [{"args": …}]},
// {"events": [{"changes": [{"create": {"fields": …}}]}]}, and `if` one deeper. The depth of
// documents is limited as a whole.
const DEPTH_OF_ARGS: usize = 3;
const DEPTH_OF_CONTENT: usize = 6;
const DEPTH_OF_CONDITION: usize = 7;

impl<'a> CommandParts<'a> {
    /// Reads a command without changes, which most are, as its document would be read: what is in
    /// its own words is read first, and then everything in its order.
    fn read_events(&self, bytes: usize) -> Result<CommandBody, Invalid> {
        let path = Path::Root.member("events");
        let events = self.events.iter().enumerate();
        let args = events.map(|(index, event)| {
            json(event.args, &path.item(index).member("args"), DEPTH_OF_ARGS)
        });
        let args: Vec<Option<Value<'_>>> = args.collect::<Result<_, _>>()?;
        let mut reader = CommandReader::new(RawIds::default(), bytes);
        let mut events = Vec::with_capacity(args.len().min(EVENTS_PER_COMMAND_MAX as usize));
        for ((index, event), args) in self.events.iter().enumerate().zip(&args) {
            let path = path.item(index);
            CommandReader::check_room(&events, &path)?;
            let name = text(event.name);
            let name = Node { value: &name, path: path.member("name") }.name()?;
            let args = reader.args(Slot::new(args.as_ref(), path.member("args")))?;
            events.push(CommandEvent { name, args, changes: Vec::new() });
        }
        reader.check_events(&events, &path)?;
        let if_offset = self.if_offset.map(|offset| {
            let path = Path::Root.member("if_offset");
            Node { value: &number(offset), path }.whole(OFFSETS)
        });
        let if_offset = if_offset.transpose()?;
        Ok(CommandBody { events, if_offset, include_proof: self.include_proof })
    }

    fn document(&self) -> Result<Value<'a>, Invalid> {
        let path = Path::Root.member("events");
        let events = self.events.iter().enumerate();
        let events = events.map(|(index, event)| event.document(&path.item(index)));
        let members = [
            ("events", Some(Value::Array(events.collect::<Result<_, _>>()?))),
            ("if_offset", self.if_offset.map(number)),
            ("include_proof", self.include_proof.then_some(Value::Bool(true))),
        ];
        Ok(object(members))
    }
}

impl<'a> EventParts<'a> {
    fn document(&self, path: &Path<'_>) -> Result<Value<'a>, Invalid> {
        let args = json(self.args, &path.member("args"), DEPTH_OF_ARGS)?;
        let path = path.member("changes");
        let changes = self.changes.iter().enumerate();
        let changes = changes.map(|(index, change)| change.document(&path.item(index)));
        let changes = Value::Array(changes.collect::<Result<_, _>>()?);
        Ok(object([("args", args), ("changes", Some(changes)), ("name", Some(text(self.name)))]))
    }

    /// How much was sent, without what only holds it together.
    fn bytes(&self) -> usize {
        let own = self.name.len().saturating_add(self.args.len());
        self.changes.iter().map(ChangeParts::bytes).fold(own, usize::saturating_add)
    }
}

impl<'a> ChangeParts<'a> {
    fn document(&self, path: &Path<'_>) -> Result<Value<'a>, Invalid> {
        let Some(word) = self.word() else { return Ok(object::<0>([])) };
        let path = path.member(word);
        let content = |name, bytes: &'a [u8]| json(bytes, &path.member(name), DEPTH_OF_CONTENT);
        let change = match *self {
            Self::None => return Ok(object::<0>([])),
            Self::Create { id, kind, parent, fields } => object([
                ("fields", content("fields", fields)?),
                ("id", Some(number(id))),
                ("kind", Some(text(kind))),
                ("parent", Some(number(parent))),
            ]),
            Self::Update { id, fields, if_version } => object([
                ("fields", content("fields", fields)?),
                ("id", Some(number(id))),
                ("if_version", if_version.map(number)),
            ]),
            Self::Delete { id, if_version } => {
                object([("id", Some(number(id))), ("if_version", if_version.map(number))])
            }
            Self::Set { key, value, condition, expires_at } => object([
                ("expires_at", moment(expires_at, &path)?),
                ("if", condition.map(|it| it.document(&path)).transpose()?),
                ("key", Some(text(key))),
                ("value", content("value", value)?),
            ]),
            Self::Unset { key, condition } => object([
                ("if", condition.map(|it| it.document(&path)).transpose()?),
                ("key", Some(text(key))),
            ]),
            Self::Draw { sequence } => object([("sequence", Some(text(sequence)))]),
        };
        Ok(object([(word, Some(change))]))
    }

    fn word(&self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Create { .. } => Some("create"),
            Self::Update { .. } => Some("update"),
            Self::Delete { .. } => Some("delete"),
            Self::Set { .. } => Some("set"),
            Self::Unset { .. } => Some("unset"),
            Self::Draw { .. } => Some("draw"),
        }
    }

    fn bytes(&self) -> usize {
        match *self {
            Self::None | Self::Delete { .. } => 0,
            Self::Create { kind, fields, .. } => kind.len().saturating_add(fields.len()),
            Self::Update { fields, .. } => fields.len(),
            Self::Set { key, value, condition, .. } => {
                let compared = condition.map_or(0, ConditionParts::bytes);
                key.len().saturating_add(value.len()).saturating_add(compared)
            }
            Self::Unset { key, condition } => {
                key.len().saturating_add(condition.map_or(0, ConditionParts::bytes))
            }
            Self::Draw { sequence } => sequence.len(),
        }
    }
}

impl<'a> ConditionParts<'a> {
    fn document(self, path: &Path<'_>) -> Result<Value<'a>, Invalid> {
        Ok(match self {
            Self::None => object::<0>([]),
            Self::Exists => text("exists"),
            Self::Absent => text("absent"),
            Self::Version(version) => object([("version", Some(number(version)))]),
            Self::Value(value) => {
                let path = path.member("if");
                let value = read_at(value, &path.member("value"), DEPTH_OF_CONDITION)?;
                object([("value", Some(value))])
            }
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::Value(value) => value.len(),
            Self::None | Self::Exists | Self::Absent | Self::Version(_) => 0,
        }
    }
}

/// An object of those members that are there. They are given in their canonical order.
fn object<'a, const N: usize>(members: [(&'static str, Option<Value<'a>>); N]) -> Value<'a> {
    let members = members.into_iter();
    let members = members.filter_map(|(name, value)| Some((Cow::Borrowed(name), value?)));
    Value::Object(Object { at: 0, members: members.collect() })
}

fn json<'a>(bytes: &'a [u8], path: &Path<'_>, depth: usize) -> Result<Option<Value<'a>>, Invalid> {
    if bytes.is_empty() {
        return Ok(None);
    }
    read_at(bytes, path, depth).map(Some)
}

fn text(text: &str) -> Value<'_> {
    Value::Text(Cow::Borrowed(text))
}

fn number(number: u64) -> Value<'static> {
    Value::Number(Number::Whole(number))
}

fn moment<'a>(time: Option<Time>, path: &Path<'_>) -> Result<Option<Value<'a>>, Invalid> {
    let Some(time) = time else { return Ok(None) };
    if time > time::LAST {
        let (max, found) = (time::LAST.0, time.0.to_string());
        let problem = Problem::NotInRange { min: 0, max, found };
        return Err(path.member("expires_at").invalid(problem));
    }
    Ok(Some(Value::Text(Cow::Owned(time::write(time)))))
}
