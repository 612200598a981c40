//! Events, with changes in the shape in which commands ask for them.

use seriatim_types::{Change, Definition, Event, Fields, Hash, Number, PartitionId};

use super::definitions::write_definition;
use super::object::{Object, object, write_object};

/// The body of one event. Its hash is that of its leaf in the workspace's tree.
///
/// # Panics
///
/// If a change of the event names a number that the event does not have.
#[must_use]
pub fn event(event: &Event, workspace: &str, partition: PartitionId, hash: &Hash) -> Vec<u8> {
    object(|object| {
        object.number("offset", event.offset.get());
        object.number("partition", u64::from(partition.0));
        object.number("partition_offset", event.partition_offset.get());
        object.text("workspace", workspace);
        object.number("workspace_id", event.workspace.0);
        object.text("name", event.name.as_str());
        object.raw("args", &event.args);
        object.list("changes", &event.changes, |out, change| {
            write_object(out, |object| write_change(object, change, event));
        });
        if let Some(origin) = &event.origin {
            object.text("client", &String::from_utf8_lossy(origin.client.as_bytes()));
            object.number("client_sequence", origin.client_sequence.get());
            object.text("key", &origin.key.to_string());
        }
        object.time("committed_at", event.time);
        object.hash("hash", hash);
    })
}

/// A list of events, each as [`event`] writes it: where the next list begins, and the last offset
/// of the log, 0 if it has none.
#[must_use]
pub fn events(
    events: impl IntoIterator<Item: AsRef<[u8]>>,
    next: Number,
    last: Option<Number>,
) -> Vec<u8> {
    object(|object| {
        object.list("events", events, |out, event| out.extend_from_slice(event.as_ref()));
        object.number("next", next.get());
        object.number("last", last.map_or(0, Number::get));
    })
}

/// The fields of a record, as an object.
#[must_use]
pub fn fields(fields: &Fields) -> Vec<u8> {
    object(|object| fields.iter().for_each(|(name, value)| object.raw(name.as_str(), value)))
}

/// A definition, as an event of the system app shows it.
#[must_use]
pub fn definition(definition: &Definition) -> Vec<u8> {
    object(|object| write_definition(object, definition))
}

fn write_change(object: &mut Object<'_>, change: &Change, event: &Event) {
    match change {
        Change::Create { id, kind, parent, fields, raw: _, class: _ } => {
            object.object("create", |create| {
                create.number("id", id.get());
                create.text("kind", kind.as_str());
                if let Some(parent) = parent {
                    create.number("parent", parent.get());
                }
                create.fields(fields);
            });
        }
        Change::Update { id, version, fields } => object.object("update", |update| {
            update.number("id", id.get());
            update.number("version", *version);
            update.fields(fields);
        }),
        Change::Delete { id, version } => object.object("delete", |delete| {
            delete.number("id", id.get());
            delete.number("version", *version);
        }),
        Change::Set { key, version, value, expires_at } => object.object("set", |set| {
            set.text("key", key.as_str());
            set.number("version", *version);
            set.raw("value", value);
            if let Some(expires_at) = expires_at {
                set.time("expires_at", *expires_at);
            }
        }),
        Change::Unset { key, version } => object.object("unset", |unset| {
            unset.text("key", key.as_str());
            if let Some(version) = version {
                unset.number("version", *version);
            }
        }),
        Change::Draw { number } => {
            let drawn = event.numbers.get(*number as usize);
            let drawn = drawn.expect("a draw names one of its event's numbers");
            object.object("draw", |draw| draw.number_drawn(drawn));
        }
        Change::Define(definition) => {
            object.object("define", |define| write_definition(define, definition));
        }
    }
}
