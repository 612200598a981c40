//! What the world does to a partition stops it, and what is a bug stops the process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use seriatim_codec::{KeyBytes, PartitionPrefix, Stored, Table};
use seriatim_core::{Fault, Machine, RowId, Rows, SYSTEM_APP, Unreadable};
use seriatim_sequencer::{RowKey, RowsRead};
use seriatim_testkit::core::{Node, Shop, changes, name};
use seriatim_types::{
    Body, Declare, Define, DefineRequest, DueEntity, Entry, Message, PartitionId, PartitionRef,
    RecordRow, Tick, Time, Unknown, WorkspaceRef,
};

use crate::bare::Bare;
use crate::world::{APP, WORKSPACE, ask, at, done, entity_id, entity_key, receipt, record_id};

const SYSTEM: PartitionPrefix = PartitionPrefix { app: SYSTEM_APP, ..APP };

/// A command that looks at everything that a command can look at.
const ALL: &str = "
    {'update': {'id': 200001, 'fields': {'a': 1}}}, {'delete': {'id': 200002}},
    {'create': {'id': 1, 'kind': 'line', 'parent': 200003}}, {'create': {'id': 2, 'kind': 'settings'}},
    {'create': {'id': 300000, 'kind': 'order'}}, {'set': {'key': 'k', 'value': 1}},
    {'unset': {'key': 'l'}}";

/// A shop where [`ALL`] is carried out.
fn shop() -> Shop {
    let mut shop = Shop::default();
    let order = |id: u32| format!("{{'create': {{'id': {id}, 'kind': 'order'}}}}");
    done(&mut shop, &[1, 2, 3].map(order).join(", "));
    let set = |key: &str| format!("{{'set': {{'key': '{key}', 'value': 1}}}}");
    let command = shop.command("store", changes(&["k", "l"].map(set).join(", ")));
    receipt(shop.outcome(command));
    done(&mut shop, &["k", "l"].map(set).join(", "));
    shop
}

fn partition_row(key: KeyBytes) -> RowId {
    RowId { table: Table::Partition, key }
}

fn key_row(shop: &Shop) -> RowId {
    let first = shop.node.events().remove(0);
    let origin = first.origin.unwrap();
    let key = seriatim_codec::idempotency_key(APP, WORKSPACE, &origin.client, origin.key);
    RowId { table: Table::Keys, key }
}

/// Each way to make a row unreadable.
fn damages(good: &Bytes) -> [Bytes; 3] {
    let mut version = good.to_vec();
    version[0] ^= 0x80;
    [version.into(), good.slice(..good.len() - 1), Bytes::new()]
}

/// Checks that an entry stops the partition if a row is damaged, changes nothing then, and is
/// carried out once the row is good again.
fn check_stops(node: &Node, prefix: PartitionPrefix, entry: &Entry, row: &RowId) {
    let good = node.rows()[row].clone();
    for damaged in damages(&good) {
        let mut bare = Bare::of(node, prefix);
        bare.stored.insert(row.clone(), damaged);
        let mut rows = bare.fetched(&bare.read_set(entry));
        let before = (bare.machine.row().clone(), format!("{rows:?}"));
        let definitions = bare.machine.defined().cloned();
        let Err(Fault::Unreadable(Unreadable { row: named, .. })) = bare.apply_on(entry, &mut rows)
        else {
            panic!("{row:?} cannot be read")
        };
        assert_eq!(&*named, row);
        assert_eq!((bare.machine.row().clone(), format!("{rows:?}")), before);
        assert_eq!(bare.machine.defined().cloned(), definitions);
        bare.stored.insert(row.clone(), good.clone());
        let (now, fresh) = (bare.apply(entry), Bare::of(node, prefix).apply(entry));
        let (now, fresh) = (now.unwrap(), fresh.unwrap());
        assert_eq!(now.outcome, fresh.outcome, "no number was lost");
        assert_eq!(now.writes, fresh.writes);
    }
}

#[test]
fn a_damaged_row_stops_the_command_that_reads_it_and_changes_nothing() {
    let mut shop = shop();
    let command = ask(&mut shop, ALL);
    let first = shop.node.events().remove(0).origin.unwrap();
    let repeated = seriatim_types::Command { key: first.key, ..command.clone() };
    let [all, repeated] = [command, repeated].map(|it| at(shop.now, Body::Command(it)));
    let workspace = partition_row(seriatim_codec::workspace_row_key(APP, WORKSPACE));
    let rows = [
        (&all, workspace),
        (&all, record_id(200_001)),
        (&all, record_id(200_002)),
        (&all, record_id(200_003)),
        (&all, entity_id("k")),
        (&all, entity_id("l")),
        (&repeated, key_row(&shop)),
    ];
    for (entry, row) in rows {
        check_stops(&shop.node, APP, entry, &row);
    }
}

#[test]
fn a_damaged_name_stops_and_is_not_taken_for_a_new_one() {
    let mut shop = shop();
    let command = shop.command("store", changes("{'set': {'key': 'k', 'value': 1}}"));
    let row = partition_row(seriatim_codec::workspace_name_key(APP, &name("store")));
    check_stops(&shop.node, APP, &at(shop.now, Body::Command(command)), &row);
    let declare = Declare { workspace: WorkspaceRef::Name(name("store")), kind: name("default") };
    check_stops(&shop.node, APP, &at(shop.now, Body::Declare(declare)), &row);
}

/// A tick that names everything, long after.
fn tick(shop: &Shop) -> Entry {
    let mut entry = shop.node.tick(Time(u64::MAX), 9);
    let Body::Tick(Tick { entities, .. }) = &mut entry.body else { panic!("a tick") };
    let key = entity_key("k");
    entities.push(DueEntity { workspace: WORKSPACE, key, expires_at: shop.now });
    entry
}

#[test]
fn a_damaged_row_stops_the_tick_that_looks_at_it() {
    let shop = shop();
    let tick = tick(&shop);
    for row in [key_row(&shop), entity_id("k")] {
        check_stops(&shop.node, APP, &tick, &row);
    }
}

fn define(shop: &Shop) -> Entry {
    let request = DefineRequest::Kind { name: name("new") };
    at(shop.now, Body::Define(Define { app: name("shop"), request }))
}

fn delivery(shop: &mut Shop) -> Entry {
    let definitions = shop.node.machine().defined().unwrap().plain().version;
    let effects = shop.system.apply(&[define(shop)]).remove(0);
    let delivery = effects.messages.into_iter().next().unwrap().delivery;
    let Message::Definition { version, .. } = &delivery.message;
    assert_eq!(*version, definitions + 1);
    at(shop.now, Body::Delivery(delivery))
}

#[test]
fn a_damaged_row_stops_definitions_and_deliveries() {
    let mut shop = shop();
    let source = PartitionRef { app: SYSTEM_APP, partition: PartitionId(0) };
    let target = PartitionRef { app: APP.app, ..source };
    let workspace = seriatim_types::WorkspaceId(1 << 40);
    let define = define(&shop);
    for key in [
        seriatim_codec::workspace_name_key(SYSTEM, &name("shop")),
        seriatim_codec::app_key(SYSTEM, workspace),
        seriatim_codec::outbox_head_key(SYSTEM, target),
    ] {
        check_stops(&shop.system, SYSTEM, &define, &partition_row(key));
    }
    let delivery = delivery(&mut shop);
    let inbox = partition_row(seriatim_codec::inbox_key(APP, source));
    check_stops(&shop.node, APP, &delivery, &inbox);
}

#[test]
fn a_fault_says_in_which_table_and_under_which_key() {
    let mut shop = shop();
    let entry = at(shop.now, Body::Command(ask(&mut shop, ALL)));
    let mut bare = Bare::of(&shop.node, APP);
    let row = record_id(200_001);
    bare.stored.insert(row.clone(), Bytes::from_static(b"\x07"));
    let fault = bare.apply(&entry).unwrap_err();
    let message = fault.to_string();
    assert!(message.contains("\"records\""), "{message}");
    assert!(message.contains(&format!("{:?}", row.key)), "{message}");
}

/// Checks that an entry reads all of its read set, and panics over each row that was not fetched.
/// Returns how many there are.
fn check_reads(node: &Node, prefix: PartitionPrefix, entry: &Entry) -> usize {
    let set = Bare::of(node, prefix).read_set(entry);
    for left_out in &set {
        let mut bare = Bare::of(node, prefix);
        let mut rows = bare.fetched(set.iter().filter(|row| *row != left_out));
        let applied = catch_unwind(AssertUnwindSafe(|| bare.apply_on(entry, &mut rows)));
        let message = applied.expect_err("a row is missing").downcast::<String>().unwrap();
        assert_eq!(*message, format!("everything that apply reads was fetched: {left_out:?}"));
    }
    set.len()
}

#[test]
fn every_row_of_a_read_set_is_read_and_panics_if_it_was_not_fetched() {
    let mut shop = shop();
    let by_id = Body::Command(ask(&mut shop, ALL));
    let by_name = shop.command("store", changes("{'unset': {'key': 'k'}}"));
    let declare = Declare { workspace: WorkspaceRef::Name(name("store")), kind: name("default") };
    let bodies = [
        (by_id, "workspace, key, five records, two entities", 9),
        (Body::Command(by_name), "name, workspace, key, entity", 4),
        (Body::Declare(declare), "name, workspace", 2),
        (tick(&shop).body, "entity, three keys", 4),
        (delivery(&mut self::shop()).body, "cursor", 1),
    ];
    for (body, what, count) in bodies {
        assert_eq!(check_reads(&shop.node, APP, &at(shop.now, body)), count, "{what}");
    }
    let define = define(&shop);
    let count = check_reads(&shop.system, SYSTEM, &define);
    assert_eq!(count, 4, "name, workspace, definitions, last message");
}

#[test]
fn numbers_that_are_not_at_hand_panic_and_are_not_taken_for_none() {
    let mut shop = shop();
    shop.node.checkpoint();
    shop.node.restart();
    let entry = at(shop.now, Body::Command(ask(&mut shop, ALL)));
    let mut bare = Bare::of(&shop.node, APP);
    bare.machine.sequencer_mut().actualize().unwrap();
    let through = shop.node.machine().row().offset;
    bare.machine.sequencer_mut().resume(through, 0).unwrap();
    bare.machine.sequencer_mut().serve().unwrap();
    let mut rows = bare.fetched(&bare.read_set(&entry));
    let apply = |machine: &mut Machine, rows: &mut Rows, keys: Vec<RowKey>| {
        let read = keys.into_iter().map(|key| (key.clone(), shop.node.numbers(&key)));
        let numbers = RowsRead::new(machine.sequencer().stamp(), read);
        catch_unwind(AssertUnwindSafe(|| machine.apply(&entry, rows, &numbers)))
    };
    let keys: Vec<RowKey> = bare.machine.number_rows(&entry, &rows).collect();
    assert_eq!(keys.len(), 2, "the workspace's and the client's");
    for key in &keys {
        assert!(apply(&mut bare.machine, &mut rows.clone(), vec![key.clone()]).is_err());
    }
    let applied = apply(&mut bare.machine, &mut rows, keys).unwrap().unwrap();
    assert_eq!(receipt(applied.outcome).first_offset.get(), 3);
}

#[test]
fn fields_of_a_later_version_are_no_damage_and_stay() {
    let mut shop = shop();
    let entry = at(shop.now, Body::Command(ask(&mut shop, ALL)));
    let mut bare = Bare::of(&shop.node, APP);
    let row = record_id(200_001);
    let mut later = RecordRow::from_bytes(&bare.stored[&row]).unwrap();
    // Field 99, a number.
    later.unknown = Unknown(vec![0x98, 0x06, 0x05]);
    bare.stored.insert(row.clone(), later.to_bytes());
    let effects = bare.apply(&entry).unwrap();
    let written = effects.writes.iter().find(|write| write.row == row).unwrap();
    let seriatim_core::RowChange::Put(bytes) = &written.change else { panic!("it was updated") };
    let updated = RecordRow::from_bytes(bytes).unwrap();
    assert_eq!((updated.version, updated.unknown), (2, later.unknown));
}
