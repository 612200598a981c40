//! Events, with changes in the shape in which commands ask for them.

use seriatim_types::{Change, Definition, Event, Fields, Hash, Number, PartitionId};

use super::definitions::write_definition;
use super::object::{Object, object, object_of, write_object};

/// About what a body has beside what it holds: names, numbers, hashes.
const REST_BYTES: usize = 512;

/// The body of one event. Its hash is that of its leaf in the workspace's tree.
///
/// # Panics
///
/// If a change of the event names a number that the event does not have.
#[must_use]
pub fn event(event: &Event, workspace: &str, partition: PartitionId, hash: &Hash) -> Vec<u8> {
    object_of(size_of(event), |object| {
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
pub fn events(events: Vec<impl AsRef<[u8]>>, next: Number, last: Option<Number>) -> Vec<u8> {
    let sizes = events.iter().flat_map(|event| [event.as_ref().len(), 1]);
    let bytes = sizes.chain([REST_BYTES]).sum();
    object_of(bytes, |object| {
        object.list("events", events, |out, event| out.extend_from_slice(event.as_ref()));
        object.number("next", next.get());
        object.number("last", last.map_or(0, Number::get));
    })
}

/// About how long an event becomes, so that a large one is written to memory of its size: memory
/// that grows by doubling would be up to three times as much.
fn size_of(event: &Event) -> usize {
    let sizes = |change: &Change| match change {
        Change::Create { fields, .. } | Change::Update { fields, .. } => {
            let sizes =
                fields.iter().flat_map(|(name, value)| [name.as_str().len(), value.len(), 4]);
            [REST_BYTES / 4, sizes.sum()]
        }
        Change::Set { key, value, .. } => [key.as_str().len(), value.len()],
        Change::Delete { .. } | Change::Unset { .. } | Change::Draw { .. } | Change::Define(_) => {
            [REST_BYTES / 4, 0]
        }
    };
    let changes = event.changes.iter().flat_map(sizes);
    [REST_BYTES, event.args.len()].into_iter().chain(changes).sum()
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
