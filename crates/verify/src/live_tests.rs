//! Every law over what a live server shows, and what is left of all changes.

use serde_json::{Value, json};
use seriatim_api::message::{
    Created, Deleted, EntitySet, EntityUnset, RecordKind, Timestamp, Updated,
};
use seriatim_types::{AppId, EntityRow, PartitionId, RecordRow};

use super::*;
use crate::expected::{Client, Visitor, Workspace};

const STORE: u64 = NAMED_WORKSPACE_FIRST;

/// A walk over the only partition of an app with records of kind `order`.
fn walk() -> LiveWalk {
    let partition = PartitionRef { app: AppId(1), partition: PartitionId(0) };
    let app = App {
        name: "shop".to_owned(),
        partitions: 1,
        record_ids: message::RecordIds::Single,
        trust_level: 0,
        idempotency_retention: "1s".to_owned(),
        idempotency_keys_max: None,
    };
    let order = |name: &str, singleton| RecordKind {
        name: name.to_owned(),
        class: message::RecordClass::C,
        singleton,
    };
    let definitions = Definitions {
        version: 2,
        kinds: Vec::new(),
        sequences: Vec::new(),
        records: vec![order("order", false), order("till", true)],
    };
    let retention = Retention::Milliseconds(1000);
    LiveWalk::new(partition, (&app, retention), &definitions, 1 << 20).unwrap()
}

/// The next event of a workspace, by a command of its own.
fn event(offset: u64, client_sequence: u64, changes: Vec<message::Change>) -> message::Event {
    let shown = json!({
        "offset": offset, "partition": 0, "partition_offset": offset, "workspace": "store-1",
        "workspace_id": STORE, "name": "X", "args": {}, "changes": [], "client": "me",
        "client_sequence": client_sequence, "committed_at": "1970-01-01T00:16:40Z",
        "key": format!("00000000-0000-0000-0000-{client_sequence:012x}"), "hash": "00".repeat(32),
    });
    let shown: message::Event = serde_json::from_str(&shown.to_string()).unwrap();
    message::Event { changes, ..shown }
}

fn create(id: u64, kind: &str) -> message::Change {
    let fields = json!({"b": 2, "a": 1}).into();
    message::Change::Create(Created { id, kind: kind.to_owned(), parent: None, fields })
}

fn update(id: u64, version: u64) -> message::Change {
    message::Change::Update(Updated { id, version, fields: json!({"b": 3}).into() })
}

fn delete(id: u64, version: u64) -> message::Change {
    message::Change::Delete(Deleted { id, version })
}

fn set(version: u64, value: Value, expires_at: Option<u64>) -> message::Change {
    let (key, expires_at) = ("k".to_owned(), expires_at.map(|ms| Timestamp::from(Time(ms))));
    message::Change::Set(EntitySet { key, version, value: value.into(), expires_at })
}

fn unset(version: Option<u64>) -> message::Change {
    message::Change::Unset(EntityUnset { key: "k".to_owned(), version })
}

/// What is left of everything.
#[derive(Default)]
struct Left {
    workspaces: Vec<(Option<String>, u64)>,
    clients: Vec<(u64, u64)>,
    records: BTreeMap<u64, Option<RecordRow>>,
    entities: Vec<Option<EntityRow>>,
}

impl Visitor for Left {
    fn workspace(&mut self, it: &Workspace) -> Result<(), Error> {
        self.workspaces.push((it.name.as_ref().map(ToString::to_string), it.now.tree.size()));
        Ok(())
    }

    fn client(&mut self, it: &Client) -> Result<(), Error> {
        self.clients.push((it.now.0.get(), it.now.1.get()));
        Ok(())
    }

    fn record(&mut self, _: WorkspaceId, id: Number, row: Option<&RecordRow>) -> Result<(), Error> {
        self.records.insert(id.get(), row.cloned());
        Ok(())
    }

    fn entity(
        &mut self,
        _: WorkspaceId,
        _: &EntityKey,
        row: Option<&EntityRow>,
    ) -> Result<(), Error> {
        self.entities.push(row.cloned());
        Ok(())
    }
}

fn left(events: &[message::Event]) -> Result<Left, Error> {
    let mut walk = walk();
    events.iter().try_for_each(|event| walk.event(event))?;
    let mut left = Left::default();
    walk.finish()?.visit(None, &mut left)?;
    Ok(left)
}

/// What is wrong with some events.
fn breach(events: &[message::Event]) -> &'static str {
    let Err(Error::Different(difference)) = left(events).map(drop) else {
        panic!("nothing is wrong with {events:?}")
    };
    difference.kind.code()
}

#[test]
fn every_law_has_a_breach_that_is_found() {
    let first = event(1, 1, vec![create(200_001, "order"), set(1, json!(1), Some(2_000_000))]);
    let then = |next: message::Event| breach(&[first.clone(), next]);
    assert_eq!(then(event(3, 2, vec![])), "LOG_GAP");
    let at = |offset, of| message::Event { partition_offset: of, ..event(offset, 2, vec![]) };
    assert_eq!(then(at(3, 2)), "OFFSET_GAP");
    assert_eq!(then(at(1, 2)), "OFFSET_REPEATED");
    assert_eq!(then(at(0, 2)), "EVENT_UNREADABLE");
    assert_eq!(then(event(2, 3, vec![])), "CLIENT_SEQUENCE_GAP");
    let key = first.key;
    assert_eq!(then(message::Event { key, ..event(2, 2, vec![]) }), "KEY_REPEATED");
    let early = Timestamp::from(Time(0));
    assert_eq!(then(message::Event { committed_at: early, ..event(2, 2, vec![]) }), "TIME");
    assert_eq!(then(message::Event { client: None, ..event(2, 2, vec![]) }), "COMMAND");
    for (change, code) in [
        (create(200_001, "order"), "RECORD_VERSION"),
        (update(200_001, 3), "RECORD_VERSION"),
        (delete(200_001, 2), "RECORD_VERSION"),
        (update(200_002, 1), "RECORD_VERSION"),
        (create(7, "order"), "RECORD_ID_OUTSIDE"),
        (create(200_002, "till"), "RECORD_ID_OUTSIDE"),
        (create(200_002, "invoice"), "UNDEFINED"),
        (set(1, json!(2), None), "ENTITY_VERSION"),
        (unset(None), "ENTITY_VERSION"),
    ] {
        assert_eq!(then(event(2, 2, vec![change.clone()])), code, "{change:?}");
    }
    let elsewhere = message::Event { workspace: "store 1".repeat(60), ..first.clone() };
    assert_eq!(breach(&[elsewhere]), "EVENT_UNREADABLE");
}

/// A singleton that was deleted and created again was taken for damage.
#[test]
fn an_id_that_a_delete_has_freed_can_be_used_again() {
    let changes = vec![create(65_536, "till"), delete(65_536, 1), create(65_536, "till")];
    left(&[event(1, 1, changes)]).unwrap();
}

#[test]
fn what_is_left_of_all_changes_is_expected() {
    let (five, six) = (200_005, 200_006);
    let first = vec![create(five, "order"), create(six, "order"), set(1, json!(1), None)];
    let left = left(&[
        event(1, 1, first),
        // The second event of the same command.
        event(2, 1, vec![update(five, 2)]),
        event(3, 2, vec![delete(six, 1), unset(Some(1))]),
    ]);
    let left = left.unwrap();
    assert_eq!(left.workspaces, [(Some("store-1".to_owned()), 3)]);
    assert_eq!((left.clients, left.entities), (vec![(2, 3)], vec![None]));
    let five = left.records[&five].as_ref().unwrap();
    assert_eq!((five.version, five.offset.get()), (2, 2));
    assert_eq!(Json::object(&five.fields).get(), r#"{"a":1,"b":3}"#);
    assert_eq!(left.records[&six], None);
}

/// What has expired was taken for what is still there.
#[test]
fn an_entity_that_has_expired_begins_anew() {
    let brief = event(1, 1, vec![set(1, json!(1), Some(1_000_500))]);
    let later = Timestamp::from(Time(1_001_000));
    let again = event(2, 2, vec![set(1, json!(2), None)]);
    let left = left(&[brief, message::Event { committed_at: later, ..again }]).unwrap();
    assert_eq!(left.entities[0].as_ref().map(|row| row.version), Some(1));
}
