//! The body of a command.
//!
//! ```text
//!  {"events": [{"name", "args", "changes": [{"create": {…}}, …]}], "if_offset", "include_proof"}
//! ```
//!
//! Members that are not known are errors everywhere but inside `args`, `fields` and `value`,
//! which are the client's own.
//!
//! **Invariant:** a raw id that anything refers to is created in the same command, and a `$draw`
//! repeats a number that the command draws.

mod raw_ids;
mod templates;

use std::ops::RangeInclusive;

use bytes::BytesMut;
use seriatim_types::limits::{CHANGES_PER_COMMAND_MAX, EVENTS_PER_COMMAND_MAX};
use seriatim_types::{CommandChange, CommandEvent, Condition, NUMBER_MAX, Time};

use crate::error::{Invalid, Problem, excerpt};
use crate::node::{Node, Slot};
use crate::read::{Value, read_request};
use crate::time;
use raw_ids::RawIds;
use templates::SourceHole;

/// What the body of a command says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandBody {
    /// What shall happen, one after the other.
    pub events: Vec<CommandEvent>,
    /// The last offset of the workspace that the client has seen; 0 for none.
    pub if_offset: Option<u64>,
    /// Whether the receipt shall come with a proof.
    pub include_proof: bool,
}

/// Reads the body of a command.
///
/// # Errors
///
/// The body is not as the HTTP contract says, or holds more than the limits allow.
pub fn command(body: &[u8]) -> Result<CommandBody, Invalid> {
    let document = read_request(body)?;
    let root = Node::root(&document);
    let [events, if_offset, include_proof] =
        root.members(&["events", "if_offset", "include_proof"])?;
    let events = events.required()?;
    let mut reader = CommandReader::new(RawIds::of(events.value), body.len());
    Ok(CommandBody {
        events: reader.events(&events)?,
        if_offset: if_offset.optional().map(|node| node.whole(OFFSETS)).transpose()?,
        include_proof: include_proof.optional().map_or(Ok(false), |node| node.flag())?,
    })
}

const IDS: RangeInclusive<u64> = 1..=NUMBER_MAX;
const OFFSETS: RangeInclusive<u64> = 0..=NUMBER_MAX;
const VERSIONS: RangeInclusive<u64> = 1..=NUMBER_MAX;

/// Ids up to here are chosen by the client for one command.
const RAW_LAST: u64 = 65_535;

/// Ids from there to here are fixed or reserved: nothing is created under them.
const RESERVED_LAST: u64 = 200_000;

struct CommandReader {
    raw_ids: RawIds,
    changes: u32,
    /// The text of the template at hand. All templates of a command share one allocation.
    text: BytesMut,
    /// The holes of the template at hand.
    holes: Vec<SourceHole>,
    hole_count: u32,
    draw_count: u32,
    /// The highest `$draw` so far and where it stands: only the whole command tells how many
    /// draws there are.
    draw_highest: Option<(u32, String)>,
}

impl CommandReader {
    fn new(raw_ids: RawIds, body_bytes: usize) -> Self {
        Self {
            raw_ids,
            changes: 0,
            text: BytesMut::with_capacity(body_bytes),
            holes: Vec::new(),
            hole_count: 0,
            draw_count: 0,
            draw_highest: None,
        }
    }

    fn events(&mut self, node: &Node<'_>) -> Result<Vec<CommandEvent>, Invalid> {
        let items = node.items()?;
        let mut events = Vec::with_capacity(items.len().min(EVENTS_PER_COMMAND_MAX as usize));
        for event in items {
            if events.len() == EVENTS_PER_COMMAND_MAX as usize {
                return Err(event.invalid(too_many("events of a command", EVENTS_PER_COMMAND_MAX)));
            }
            events.push(self.event(&event)?);
        }
        if events.is_empty() {
            return Err(node.invalid(Problem::NoEvents));
        }
        self.check_draws()?;
        Ok(events)
    }

    fn event(&mut self, node: &Node<'_>) -> Result<CommandEvent, Invalid> {
        let [name, args, changes] = node.members(&["name", "args", "changes"])?;
        Ok(CommandEvent {
            name: name.required()?.name()?,
            args: self.args(args)?,
            changes: match changes.optional() {
                Some(changes) => {
                    changes.items()?.map(|change| self.change(&change)).collect::<Result<_, _>>()?
                }
                None => Vec::new(),
            },
        })
    }

    fn change(&mut self, node: &Node<'_>) -> Result<CommandChange, Invalid> {
        if self.changes == CHANGES_PER_COMMAND_MAX {
            return Err(node.invalid(too_many("changes of a command", CHANGES_PER_COMMAND_MAX)));
        }
        self.changes = self.changes.saturating_add(1);
        let members = node.members(&["create", "update", "delete", "set", "unset", "draw"])?;
        match members.map(Slot::optional) {
            [Some(node), None, None, None, None, None] => self.create(&node),
            [None, Some(node), None, None, None, None] => self.update(&node),
            [None, None, Some(node), None, None, None] => self.delete(&node),
            [None, None, None, Some(node), None, None] => self.set(&node),
            [None, None, None, None, Some(node), None] => self.unset(&node),
            [None, None, None, None, None, Some(node)] => self.draw(&node),
            _ => Err(node.invalid(Problem::NotOneChange)),
        }
    }

    fn create(&mut self, node: &Node<'_>) -> Result<CommandChange, Invalid> {
        let known = &["id", "kind", "parent", "fields", "import"];
        let [id, kind, parent, fields, import] = node.members(known)?;
        let is_import = import.optional().map_or(Ok(false), |node| node.flag())?;
        Ok(CommandChange::Create {
            id: self.created_id(id, is_import)?,
            kind: kind.required()?.name()?,
            parent: self.parent(parent)?,
            fields: match fields.optional() {
                Some(fields) => self.fields(&fields)?,
                None => Vec::new(),
            },
        })
    }

    /// The id of a record that is about to be there. That an import keeps its id is checked here and
    /// nowhere else: the command that is stored and compared does not say so. Which ids above the
    /// reserved ones are in a user range depends on the app, and the core refuses the others.
    fn created_id(&mut self, slot: Slot<'_>, is_import: bool) -> Result<u64, Invalid> {
        let node = slot.required()?;
        let id = node.whole(IDS)?;
        if is_import && id <= RESERVED_LAST {
            return Err(node.invalid(Problem::NotAnImportId { id }));
        }
        if id <= RAW_LAST {
            self.raw_ids.create(id, &node)?;
        } else if id <= RESERVED_LAST {
            return Err(node.invalid(Problem::NotACreateId { id }));
        }
        Ok(id)
    }

    /// The record that another belongs to. Reads show 0 for none, so 0 is taken for none.
    fn parent(&self, slot: Slot<'_>) -> Result<Option<u64>, Invalid> {
        let Some(node) = slot.non_null() else { return Ok(None) };
        match node.whole(0..=NUMBER_MAX)? {
            0 => Ok(None),
            id => self.raw_ids.check_created(id, &node).map(|()| Some(id)),
        }
    }

    fn update(&mut self, node: &Node<'_>) -> Result<CommandChange, Invalid> {
        let [id, fields, if_version] = node.members(&["id", "fields", "if_version"])?;
        Ok(CommandChange::Update {
            id: self.changed_id(id)?,
            fields: self.fields(&fields.required()?)?,
            if_version: version(if_version)?,
        })
    }

    fn delete(&mut self, node: &Node<'_>) -> Result<CommandChange, Invalid> {
        let [id, if_version] = node.members(&["id", "if_version"])?;
        Ok(CommandChange::Delete { id: self.changed_id(id)?, if_version: version(if_version)? })
    }

    /// The id of a record that is there when it is changed.
    fn changed_id(&self, slot: Slot<'_>) -> Result<u64, Invalid> {
        let node = slot.required()?;
        let id = node.whole(IDS)?;
        self.raw_ids.check_created_before(id, &node)?;
        Ok(id)
    }

    fn set(&mut self, node: &Node<'_>) -> Result<CommandChange, Invalid> {
        let [key, value, condition, expires_at] =
            node.members(&["key", "value", "if", "expires_at"])?;
        Ok(CommandChange::Set {
            key: key.required()?.entity_key()?,
            value: self.value(&value.required()?)?,
            condition: self.condition(condition)?,
            expires_at: expires_at.non_null().map(moment).transpose()?,
        })
    }

    fn unset(&mut self, node: &Node<'_>) -> Result<CommandChange, Invalid> {
        let [key, condition] = node.members(&["key", "if"])?;
        let key = key.required()?.entity_key()?;
        Ok(CommandChange::Unset { key, condition: self.condition(condition)? })
    }

    fn draw(&mut self, node: &Node<'_>) -> Result<CommandChange, Invalid> {
        let [sequence] = node.members(&["sequence"])?;
        let node = sequence.required()?;
        let sequence = self.sequence(&node)?;
        self.check_counts(&node)?;
        Ok(CommandChange::Draw { sequence })
    }

    fn condition(&mut self, slot: Slot<'_>) -> Result<Option<Condition>, Invalid> {
        let Some(node) = slot.optional() else { return Ok(None) };
        let refused = || node.invalid(Problem::NotACondition);
        let condition = match node.value {
            Value::Text(word) => match word.as_ref() {
                "exists" => Condition::Exists,
                "absent" => Condition::Absent,
                _ => return Err(refused()),
            },
            Value::Object(_) => {
                let [version, value] = node.members(&["version", "value"])?;
                match (version.optional(), value.optional()) {
                    (Some(version), None) => Condition::Version(version.whole(VERSIONS)?),
                    (None, Some(value)) => Condition::Value(self.compared(&value)?),
                    _ => return Err(refused()),
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                return Err(refused());
            }
        };
        Ok(Some(condition))
    }
}

fn version(slot: Slot<'_>) -> Result<Option<u64>, Invalid> {
    slot.optional().map(|node| node.whole(VERSIONS)).transpose()
}

fn moment(node: Node<'_>) -> Result<Time, Invalid> {
    let text = node.text()?;
    time::read(text).ok_or_else(|| node.invalid(Problem::NotATime { found: excerpt(text) }))
}

fn too_many(what: &'static str, max: u32) -> Problem {
    Problem::TooMany { what, max }
}
