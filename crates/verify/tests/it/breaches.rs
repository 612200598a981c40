//! Each law has a breach, planted into a store of a real node, and is found in its place.

use std::sync::Arc;

use bytes::Bytes;
use seriatim_codec::{
    CheckpointHead, PartitionPrefix, Stored, entity_key, event_key, head_key, partition_key,
    record_key, workspace_key, workspace_log_key, workspace_row_key,
};
use seriatim_node::schema;
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Batch, Store, Table};
use seriatim_types::{
    AppId, Change, EntityKey, EntityRow, Epoch, Event, Incarnation, Number, PartitionId,
    PartitionOffset, PartitionRow, RecordRow, Time, Unknown, WorkspaceId,
};
use seriatim_verify::{Difference, Error, Options, verify};

use crate::flips::all_rows;
use crate::world::World;

/// A partition in which much has happened: that of workspaces 1 and 900 of the app `kiosk`.
pub(crate) const SHOP: AppId = AppId(1);
pub(crate) const KIOSK: AppId = AppId(2);

pub(crate) fn prefix(app: AppId) -> PartitionPrefix {
    PartitionPrefix { app, partition: PartitionId(0), incarnation: Incarnation(1) }
}

pub(crate) fn offset(offset: u64) -> PartitionOffset {
    PartitionOffset::new(offset).unwrap()
}

struct Planted {
    store: Arc<dyn Store>,
}

impl Planted {
    fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
        World::fill(&store, 24);
        Self { store }
    }

    /// A store without a checkpoint of the partition, so that no hash tells that an event was
    /// changed before a law does.
    fn uncovered() -> Self {
        let planted = Self::new();
        for (table, tag) in
            [("numbers", 0x01), ("numbers", 0x02), ("numbers", 0x03), ("tree", 0x14)]
        {
            planted.keys(table, tag).iter().for_each(|key| planted.delete(table, key));
        }
        planted
    }

    fn table(&self, name: &str) -> Table {
        self.store.schema().table(name).unwrap()
    }

    fn put(&self, table: &str, key: &[u8], value: &[u8]) {
        let mut batch = Batch::new();
        batch.put(self.table(table), key.to_vec(), value.to_vec());
        self.store.commit(batch).unwrap();
    }

    fn delete(&self, table: &str, key: &[u8]) {
        let mut batch = Batch::new();
        batch.delete(self.table(table), key.to_vec());
        self.store.commit(batch).unwrap();
    }

    fn get(&self, table: &str, key: &[u8]) -> Option<Bytes> {
        self.store.get(self.table(table), key).unwrap()
    }

    fn event(&self, at: u64) -> Event {
        Event::from_bytes(&self.get("log", &event_key(prefix(KIOSK), offset(at))).unwrap()).unwrap()
    }

    /// The first event for which something holds.
    fn find(&self, is_it: impl Fn(&Event) -> bool) -> Event {
        (1..).map(|at| self.event(at)).find(is_it).unwrap()
    }

    fn change(&self, event: &Event) {
        let key = event_key(prefix(KIOSK), event.partition_offset);
        self.put("log", &key, &event.to_bytes());
    }

    fn keys(&self, table: &str, tag: u8) -> Vec<Bytes> {
        let start = [prefix(KIOSK).encode().as_slice(), &[tag]].concat();
        let rows = all_rows(self.store.as_ref()).into_iter();
        let of = rows.filter(|(it, row)| *it == self.table(table) && row.key.starts_with(&start));
        of.map(|(_, row)| row.key).collect()
    }

    fn difference(&self) -> Difference {
        let found =
            verify(self.store.as_ref(), self.store.schema(), &Options::default(), &mut |_| {});
        let Err(Error::Different(difference)) = found else { panic!("{found:?}") };
        assert_eq!(difference.kind.code(), Error::Different(difference.clone()).code());
        *difference
    }

    /// The code of the difference, and whether its place is in the app `kiosk`.
    fn code(&self) -> &'static str {
        let difference = self.difference();
        assert_eq!(difference.place.app, Some(KIOSK), "{difference}");
        assert_eq!(difference.place.partition, Some(PartitionId(0)), "{difference}");
        difference.kind.code()
    }
}

#[test]
fn a_gap_in_the_log_is_found_where_it_is() {
    let planted = Planted::new();
    planted.delete("log", &event_key(prefix(KIOSK), offset(7)));
    let difference = planted.difference();
    assert_eq!(difference.kind.code(), "LOG_GAP");
    assert_eq!(difference.expected, "event 7");
    assert_eq!(difference.place.offset, Some(offset(8)));
    let said = difference.to_string();
    assert!(said.starts_with("LOG_GAP at app 2, partition 0, event 8: expected event 7"), "{said}");
}

#[test]
fn a_log_that_ends_too_early_is_found() {
    let planted = Planted::new();
    let last = planted.keys("log", 0x05).pop().unwrap();
    planted.delete("log", &last);
    assert_eq!(planted.code(), "LOG_GAP");
}

#[test]
fn an_event_under_the_key_of_another_is_found() {
    let planted = Planted::new();
    let other = planted.event(5).to_bytes();
    planted.put("log", &event_key(prefix(KIOSK), offset(6)), &other);
    assert_eq!(planted.code(), "EVENT_MISPLACED");
    planted.put("log", &event_key(prefix(KIOSK), offset(6)), b"\x01\xff");
    assert_eq!(planted.code(), "EVENT_UNREADABLE");
}

#[test]
fn a_changed_event_is_found_by_its_tree() {
    let planted = Planted::new();
    let mut event = planted.find(|event| event.name.as_str() == "Pinged");
    event.args = Bytes::from_static(b"{\"text\":\"something else\"}");
    planted.change(&event);
    let difference = planted.difference();
    assert_eq!(difference.kind.code(), "TREE_DIFFERENT");
    let row = difference.place.row.unwrap();
    assert!(
        row.contains(&format!("workspace {}, tree over its events 1 to", event.workspace.0)),
        "{row}"
    );
}

#[test]
fn times_and_commands_that_do_not_belong_together_are_found() {
    let planted = Planted::uncovered();
    let event = planted.event(9);
    planted.change(&Event { time: Time(1), ..event.clone() });
    assert_eq!(planted.code(), "TIME");
    planted.change(&Event { count: event.count + 1, ..event.clone() });
    assert_eq!(planted.code(), "COMMAND");
    planted.change(&Event { origin: None, ..event.clone() });
    assert_eq!(planted.code(), "COMMAND");
    let mut late = event.clone();
    late.origin.as_mut().unwrap().deadline = Some(Time(event.time.0 - 1));
    planted.change(&late);
    assert_eq!(planted.code(), "COMMAND");
}

#[test]
fn numbers_that_do_not_follow_are_found() {
    let planted = Planted::uncovered();
    let event = planted.find(|event| {
        let invoice = event.numbers.first().filter(|it| it.name.as_str() == "invoice");
        invoice.is_some_and(|it| it.number.get() == 2)
    });
    let with = |number: u64, text: &str| {
        let mut event = event.clone();
        event.numbers[0].number = Number::new(number).unwrap();
        text.clone_into(&mut event.numbers[0].text);
        planted.change(&event);
        planted.code()
    };
    let number = event.numbers[0].number.get();
    let shown = |number: u64| event.numbers[0].text.replace("000002", &format!("{number:06}"));
    assert_eq!(with(number, "something else"), "NUMBER_TEXT");
    assert_eq!(with(number - 1, &shown(number - 1)), "NUMBER_REPEATED");
    assert_eq!(with(number + 1, &shown(number + 1)), "NUMBER_GAP");
    let mut strange = event.clone();
    strange.numbers[0].sequence.0 += 40;
    planted.change(&strange);
    assert_eq!(planted.code(), "UNDEFINED");
    let mut of_no_year = event.clone();
    of_no_year.numbers[0].year = None;
    planted.change(&of_no_year);
    assert_eq!(planted.code(), "NUMBER_OUTSIDE");
}

#[test]
fn offsets_and_client_sequences_that_do_not_follow_are_found() {
    let planted = Planted::uncovered();
    let event = planted.find(|event| event.offset.get() == 5 && event.index == 0);
    let at = |offset: u64| {
        planted.change(&Event { offset: Number::new(offset).unwrap(), ..event.clone() });
        planted.code()
    };
    assert_eq!(at(4), "OFFSET_REPEATED");
    assert_eq!(at(6), "OFFSET_GAP");
    planted.change(&event);
    let single = planted.find(|event| {
        event.count == 1 && event.origin.as_ref().is_some_and(|it| it.client_sequence.get() > 2)
    });
    let count = |by: i64| {
        let mut event = single.clone();
        let origin = event.origin.as_mut().unwrap();
        let number = origin.client_sequence.get().checked_add_signed(by).unwrap();
        origin.client_sequence = Number::new(number).unwrap();
        planted.change(&event);
        planted.code()
    };
    assert_eq!(count(1), "CLIENT_SEQUENCE_GAP");
    assert_eq!(count(-1), "CLIENT_SEQUENCE_REPEATED");
}

#[test]
fn record_ids_and_versions_that_do_not_follow_are_found() {
    let planted = Planted::uncovered();
    let created = planted.find(|event| event.name.as_str() == "Ordered" && event.offset.get() > 1);
    let Change::Create { id: first, .. } = &created.changes[0] else { panic!("a record is made") };
    let with_id = |number: u64| {
        let mut event = created.clone();
        let Change::Create { id, .. } = &mut event.changes[0] else { panic!("a record is made") };
        *id = Number::new(number).unwrap();
        planted.change(&event);
        planted.code()
    };
    assert_eq!(with_id(first.get() + 1), "RECORD_ID_GAP");
    assert_eq!(with_id(first.get() - 1), "RECORD_ID_REPEATED");
    assert_eq!(with_id(300_000), "RECORD_ID_OUTSIDE");
    planted.change(&created);
    let mut updated = planted.find(|event| event.name.as_str() == "Changed");
    let Change::Update { version, .. } = &mut updated.changes[0] else { panic!("an update") };
    *version += 1;
    planted.change(&updated);
    assert_eq!(planted.code(), "RECORD_VERSION");
}

#[test]
fn entity_versions_and_keys_that_are_used_twice_are_found() {
    let planted = Planted::uncovered();
    let held = planted.find(|event| event.name.as_str() == "Held");
    let mut changed = held.clone();
    let Change::Set { version, .. } = &mut changed.changes[0] else { panic!("an entity is set") };
    *version += 1;
    planted.change(&changed);
    assert_eq!(planted.code(), "ENTITY_VERSION");
    planted.change(&held);
    // The key of a command that the same client sent to the same workspace just before.
    let mut last: Option<Event> = None;
    for at in 1.. {
        let mut event = planted.event(at);
        let origin = event.origin.clone().unwrap();
        if let Some(before) = &last
            && event.index == 0
            && event.count == 1
            && before.origin.as_ref().unwrap().client == origin.client
            && before.workspace == event.workspace
            && before.partition_offset < event.partition_offset
        {
            event.origin.as_mut().unwrap().key = before.origin.as_ref().unwrap().key;
            planted.change(&event);
            break;
        }
        last = Some(event).filter(|event| event.index + 1 == event.count);
    }
    assert_eq!(planted.code(), "KEY_REPEATED");
}

#[test]
fn a_missing_an_extra_and_a_different_row_are_found_in_every_table() {
    let planted = Planted::new();
    let tags = [
        ("workspace_log", 0x06, "ROW_MISSING"),
        ("records", 0x07, "ROW_MISSING"),
        ("records", 0x08, "ROW_MISSING"),
        ("entities", 0x09, "ROW_MISSING"),
        ("keys", 0x0b, "ROW_MISSING"),
        ("partition", 0x0d, "ROW_MISSING"),
        ("partition", 0x0f, "ROW_MISSING"),
        ("numbers", 0x02, "ROW_MISSING"),
        ("numbers", 0x03, "ROW_MISSING"),
        ("tree", 0x14, "ROW_MISSING"),
    ];
    for (table, tag, missing) in tags {
        // The last one of its kind: of entities, the first ones may have expired.
        let key = planted.keys(table, tag).pop().unwrap_or_else(|| panic!("no row of {tag:#x}"));
        let value = planted.get(table, &key).unwrap();
        planted.delete(table, &key);
        if (table, tag) != ("entities", 0x09) {
            let difference = planted.difference();
            assert_eq!(difference.kind.code(), missing, "{tag:#x}: {difference}");
            assert_eq!(difference.place.table.map(|it| it.name()), Some(table), "{difference}");
        }
        planted.put(table, &key, &[&value[..], b"x"].concat());
        let code = planted.code();
        let known = ["ROW_DIFFERENT", "TREE_DIFFERENT", "ROW_EXTRA"];
        assert!(known.contains(&code), "{tag:#x}: {code}");
        planted.put(table, &key, &value);
        let mut extra = key.to_vec();
        *extra.last_mut().unwrap() ^= 0x40;
        if planted.get(table, &extra).is_none() && tag != 0x0d {
            planted.put(table, &extra, &value);
            let code = planted.code();
            assert!(["ROW_EXTRA", "WORKSPACE"].contains(&code), "{tag:#x}: {code}");
            planted.delete(table, &extra);
        }
    }
    verify(planted.store.as_ref(), planted.store.schema(), &Options::default(), &mut |_| {})
        .unwrap();
}

#[test]
fn a_record_and_an_entity_with_another_version_are_found() {
    let planted = Planted::new();
    let key = planted.keys("records", 0x07).pop().unwrap();
    let row = RecordRow::from_bytes(&planted.get("records", &key).unwrap()).unwrap();
    planted.put("records", &key, &RecordRow { version: 9, ..row.clone() }.to_bytes());
    assert_eq!(planted.code(), "ROW_DIFFERENT");
    planted.put("records", &key, &row.to_bytes());
    let (workspace, hold) = (WorkspaceId(1), EntityKey::new("never/set").unwrap());
    let entity = EntityRow {
        version: 1,
        expires_at: None,
        offset: Number::new(1).unwrap(),
        value: Bytes::from_static(b"1"),
        unknown: Unknown::default(),
    };
    planted.put("entities", &entity_key(prefix(KIOSK), workspace, &hold), &entity.to_bytes());
    let difference = planted.difference();
    assert_eq!(difference.kind.code(), "ROW_EXTRA");
    assert_eq!(difference.place.row.as_deref(), Some("workspace 1, entity \"never/set\""));
}

#[test]
fn a_checkpoint_that_is_ahead_or_behind_is_found() {
    let planted = Planted::new();
    let key = head_key(prefix(KIOSK));
    let head = CheckpointHead::decode(&planted.get("numbers", &key).unwrap()).unwrap();
    let last = head.through.unwrap().get();
    let with = |epoch, through| {
        let head = CheckpointHead { epoch: Epoch(epoch), through: PartitionOffset::new(through) };
        planted.put("numbers", &key, &head.encode());
        planted.code()
    };
    assert_eq!(with(0, last + 1), "CHECKPOINT_AHEAD");
    assert_eq!(with(0, last - 1), "ROW_DIFFERENT");
    assert_eq!(with(1, last), "ROW_DIFFERENT");
}

#[test]
fn what_a_partition_says_of_itself_is_checked() {
    let planted = Planted::new();
    let key = partition_key(prefix(KIOSK));
    let row = PartitionRow::from_bytes(&planted.get("partition", &key).unwrap()).unwrap();
    let with = |row: &PartitionRow| {
        planted.put("partition", &key, &row.to_bytes());
        planted.code()
    };
    assert_eq!(with(&PartitionRow { keys: row.keys + 1, ..row.clone() }), "ROW_DIFFERENT");
    assert_eq!(with(&PartitionRow { names: row.names + 1, ..row.clone() }), "ROW_DIFFERENT");
    assert_eq!(with(&PartitionRow { time: Some(Time(1)), ..row.clone() }), "TIME");
    assert_eq!(with(&PartitionRow { keys_through: row.offset, ..row.clone() }), "TIME");
    assert!(row.keys_through.is_some(), "keys were removed, or this tests less than it says");
    assert_eq!(with(&PartitionRow { keys_through: None, ..row.clone() }), "ROW_MISSING");
    // A clock that was believed may have been wrong: that is told, and is no difference.
    let future = Time(u64::from(u32::MAX) * 1000);
    planted.put("partition", &key, &PartitionRow { time: Some(future), ..row.clone() }.to_bytes());
    let (store, options) = (planted.store.as_ref(), Options::default());
    let totals = verify(store, store.schema(), &options, &mut |_| {}).unwrap();
    assert_eq!(totals.newest, Some(future));
}

#[test]
fn rows_of_nobody_are_found() {
    let planted = Planted::new();
    for app in [AppId(0), AppId(9), AppId(u32::MAX)] {
        let stranger = PartitionPrefix { incarnation: Incarnation(2), ..prefix(app) };
        let key = record_key(stranger, WorkspaceId(1), Number::new(200_001).unwrap());
        planted.put("records", &key, b"x");
        let difference = planted.difference();
        assert_eq!(difference.kind.code(), "ROW_EXTRA", "{difference}");
        planted.delete("records", &key);
    }
    // A tag that belongs to another table.
    let key = workspace_log_key(prefix(KIOSK), WorkspaceId(1), Number::new(1).unwrap());
    planted.put("tree", &key, b"x");
    assert_eq!(planted.difference().kind.code(), "ROW_EXTRA");
}

#[test]
fn a_workspace_that_changes_is_found() {
    let planted = Planted::new();
    let mut event = planted.find(|event| event.offset.get() == 3 && event.workspace.0 == 1);
    event.kind.0 += 1;
    planted.change(&event);
    let code = planted.code();
    assert!(["WORKSPACE", "COMMAND", "UNDEFINED"].contains(&code), "{code}");
    let planted = Planted::new();
    let key = workspace_row_key(prefix(KIOSK), WorkspaceId(1));
    planted.put("partition", &key, b"\x01\x08\x01");
    assert_eq!(planted.code(), "ROW_DIFFERENT");
    let numbers = workspace_key(prefix(KIOSK), WorkspaceId(1));
    assert!(planted.get("numbers", &numbers).is_some());
}
