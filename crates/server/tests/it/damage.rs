//! Stored rows that cannot be read: what the reader is told, and everybody else with it.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use seriatim_codec::{PartitionPrefix, event_key, head_key};
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::faulty::{CallKind, Fault, FaultyStore};
use seriatim_storage::hooked::HookedStore;
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Batch, KeyRange, Read, Row, Scan, ScanEnd, Store};
use seriatim_testkit::{HttpAnswer, request};
use seriatim_types::{Incarnation, PartitionId, PartitionOffset};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::failures::{Gate, Way};
use crate::world::{NOTED, PATIENCE, World, changes, error, json, key};

/// The partitions that have stopped, by app and number, with their reasons.
fn stopped(body: &Value) -> Vec<(String, u64, String)> {
    let partitions = body["partitions"].as_array().unwrap().iter();
    let stopped = partitions.filter(|it| it["state"] == "stopped").map(|it| {
        let text = |member: &str| it[member].as_str().unwrap().to_owned();
        (text("app"), it["partition"].as_u64().unwrap(), text("reason"))
    });
    stopped.collect()
}

fn metric(world: &World, name: &str) -> u64 {
    let text = world.get("/metrics").text();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{name} in\n{text}")).parse().unwrap()
}

fn grpc_health(world: &World) -> i32 {
    let grpc = world.grpc();
    let mut health = HealthClient::new(grpc.channel.clone());
    grpc.wait(health.check(HealthCheckRequest { service: String::new() })).unwrap().status
}

/// Waits until something holds. Returns whether it did in time.
fn wait_until(holds: impl Fn() -> bool) -> bool {
    let begun = Instant::now();
    while !holds() {
        if begun.elapsed() > PATIENCE {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Every place says that this answer was true: exactly one partition has stopped, for its reason.
fn check_told(world: &World, answer: &HttpAnswer, partition: u64) {
    let told = error(answer, 503, "PARTITION_STOPPED");
    assert_eq!(told["retryable"], false, "{told}");
    assert_eq!(answer.header("retry-after"), None, "only an operator can help");
    let reason = told["message"].as_str().unwrap().to_owned();
    let expected = [("shop".to_owned(), partition, reason)];
    assert_eq!(stopped(&json(&world.get("/v1/partitions"))), expected);
    let ready = world.get("/readyz");
    assert_eq!((ready.status, &json(&ready)["ready"]), (503, &json!(false)));
    assert_eq!(stopped(&json(&ready)), expected);
    assert_eq!(metric(world, r#"seriatim_partitions{state="stopped"}"#), 1);
    assert_eq!(grpc_health(world), i32::from(ServingStatus::NotServing));
}

/// Readers were told PARTITION_STOPPED of a partition that went on, and nobody else was told anything.
#[test]
fn a_reader_that_cannot_read_a_row_stops_the_partition_and_everyone_is_told() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    world.define_shop();
    let partition = world.commit(1, NOTED)["partition"].as_u64().unwrap();
    assert_eq!((world.get("/readyz").status, grpc_health(&world)), (200, 1));
    // Only readers ask for single rows.
    gate.set(Way::Faulty(CallKind::Get, Fault::Fail));
    let answer = world.read("store-1", "head");
    gate.set(Way::Free);
    check_told(&world, &answer, partition);
    assert_eq!(metric(&world, "seriatim_damaged_reads_total"), 1);

    let refused = error(&world.command(2, NOTED), 503, "PARTITION_STOPPED");
    let outcome = (&refused["outcome"], &refused["retryable"]);
    assert_eq!(outcome, (&json!("not_written"), &json!(false)));
    assert_eq!(json(&world.read("store-1", "head"))["size"], 1, "what can be read is read");
    let others = ["a", "b", "c", "d", "e", "f"].map(|it| world.command_to(it, 3, NOTED).status);
    assert!(others.contains(&200), "the other partition goes on: {others:?}");

    let restart = world.post(&format!("/v1/partitions/shop/{partition}/restart"), "");
    assert_eq!(restart.status, 202);
    assert_eq!(world.commit_when_taken(2, NOTED)["first_offset"], 2);
    assert_eq!((world.get("/readyz").status, grpc_health(&world)), (200, 1));
}

#[test]
fn a_read_that_fails_once_is_repeated_and_stops_nothing() {
    let is_armed = Arc::new(AtomicBool::new(false));
    let fault = is_armed.clone();
    let schedule = move |call: seriatim_storage::faulty::Call| {
        let fails = call.kind == CallKind::Get && fault.swap(false, Ordering::Relaxed);
        fails.then_some(Fault::Fail)
    };
    let store = FaultyStore::new(Arc::new(MemoryStore::new(&schema())), Box::new(schedule));
    let world = World::ready(Arc::new(store), NodeSettings::default(), Settings::default());
    world.define_shop();
    world.commit(1, NOTED);
    is_armed.store(true, Ordering::Relaxed);
    assert_eq!(world.read("store-1", "head").status, 200);
    assert!(!is_armed.load(Ordering::Relaxed), "a read has failed");
    assert_eq!(world.get("/readyz").status, 200);
    assert_eq!(metric(&world, "seriatim_damaged_reads_total"), 0);
    world.commit(2, NOTED);
}

/// A shop whose rows are spoilt, except those that a start reads. Every row can be read by the
/// store, and cannot be decoded.
fn spoilt_shop() -> (World, u64, String) {
    let store = Arc::new(MemoryStore::new(&schema()));
    let world = World::ready(store.clone(), NodeSettings::default(), Settings::default());
    world.define_shop();
    let created = world.commit(1, &changes(r#"{"create":{"id":1,"kind":"invoice"}}"#));
    world
        .commit(2, &changes(r#"{"set":{"key":"stock","value":4}},{"draw":{"sequence":"ticket"}}"#));
    (3..=20).for_each(|number| drop(world.commit(number, NOTED)));
    let partition = created["partition"].as_u64().unwrap();
    let app = world.node.apps().unwrap()[0].app.app;
    // With checkpoints: the next start reads no event.
    assert!(world.ended());
    let partition_id = PartitionId(u16::try_from(partition).unwrap());
    let prefix = PartitionPrefix { app, partition: partition_id, incarnation: Incarnation(1) };
    // The first event is read at every tick: the retention of its key may be over.
    let is_spared = |key: &[u8]| {
        *key == *event_key(prefix, PartitionOffset::FIRST) || *key == *head_key(prefix)
    };
    let mut batch = Batch::new();
    for name in ["log", "records", "entities", "keys", "numbers", "tree"] {
        let table = store.schema().table(name).unwrap();
        let spoil = &mut |row: Row| {
            if !is_spared(&row.key) {
                batch.put(table, row.key.to_vec(), vec![0xff; 3]);
            }
            ControlFlow::Continue(())
        };
        let scan = Scan::new(table, KeyRange::prefix(&prefix.encode()));
        assert_eq!(store.scan(&scan, spoil).unwrap(), ScanEnd::Complete);
    }
    store.commit(batch).unwrap();
    let page_of_one = NodeSettings { page_events: 1, ..NodeSettings::default() };
    let world = World::ready(store, page_of_one, Settings::default());
    (world, partition, created["ids"]["1"].to_string())
}

#[test]
fn whoever_reads_a_damaged_row_stops_its_partition() {
    let (world, partition, invoice) = spoilt_shop();
    let before = metric(&world, "seriatim_damaged_reads_total");
    let events = format!("/v1/apps/shop/partitions/{partition}/events?from=2");
    let of = |path: &str| format!("/v1/apps/shop/workspaces/store-1/{path}");
    let paths = [
        of("events?from=2"),
        of(&format!("records/{invoice}")),
        of("records?kind=invoice"),
        of("entities/stock"),
        of("sequences/ticket"),
        of("clients/pos-4"),
        of(&format!("receipts/pos-4/{}", key(7))),
        of("proofs/1"),
        of("consistency?from=16"),
        of("head"),
        events,
    ];
    let count = u64::try_from(paths.len()).unwrap();
    let restart = || {
        let restarted = world.post(&format!("/v1/partitions/shop/{partition}/restart"), "");
        assert_eq!(restarted.status, 202);
        assert!(wait_until(|| world.get("/readyz").status == 200), "a start reads none of them");
    };
    for path in paths {
        check_told(&world, &world.get(&path), partition);
        restart();
    }
    // A subscription has begun when it meets the row.
    let mut client = world.client();
    let accept = [("Accept", "text/event-stream")];
    client.write(&request("GET", &of("events"), &accept, b"")).unwrap();
    assert_eq!(client.read_head().unwrap().0, 200);
    let part = client.read_event().unwrap().unwrap();
    assert!(part.starts_with("id: 1\n"), "{part}");
    let part = client.read_event().unwrap().unwrap();
    assert!(part.contains("event: error") && part.contains("PARTITION_STOPPED"), "{part}");
    assert_eq!(stopped(&json(&world.get("/v1/partitions"))).len(), 1);
    assert_eq!(metric(&world, "seriatim_damaged_reads_total"), before + count + 1);
}

#[test]
fn the_first_reason_is_kept_however_many_readers_fail() {
    let (world, partition, invoice) = spoilt_shop();
    let first = world.read("store-1", &format!("records/{invoice}"));
    for _ in 0..5 {
        let other = error(&world.read("store-1", "entities/stock"), 503, "PARTITION_STOPPED");
        assert_ne!(other["message"], json(&first)["message"], "it names its own row");
        check_told(&world, &first, partition);
    }
    assert_eq!(metric(&world, "seriatim_damaged_reads_total"), 6);
}

/// The apps were read again and again, and the system's partition said that it served.
#[test]
fn apps_that_cannot_be_read_stop_the_partition_of_the_system() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    world.define_shop();
    gate.set(Way::Faulty(CallKind::Scan, Fault::Fail));
    error(&world.get("/v1/apps"), 503, "PARTITION_STOPPED");
    gate.set(Way::Free);
    let ready = world.get("/readyz");
    assert_eq!(ready.status, 503);
    assert!(stopped(&json(&ready)).iter().any(|(app, ..)| app == "system"), "{}", ready.text());
}

thread_local! {
    /// Whether this thread commits a large batch.
    static IS_LARGE: Cell<bool> = const { Cell::new(false) };
}

/// It read its log again and again, said BUSY to every command, and served in between.
#[test]
fn a_commit_whose_condition_cannot_be_checked_stops_the_partition() {
    const LARGE: usize = 8_000;
    // Only the command's own commit is large: checkpoints and other partitions go on.
    let schedule = |call: seriatim_storage::faulty::Call| {
        let fails = call.kind == CallKind::GetMany && IS_LARGE.replace(false);
        fails.then_some(Fault::Fail)
    };
    let memory = Arc::new(MemoryStore::new(&schema()));
    let inner = FaultyStore::new(memory, Box::new(schedule));
    let outer = FaultyStore::new(Arc::new(inner), Box::new(|_| None));
    let store = HookedStore::new(Arc::new(outer))
        .before_commit(|batch| IS_LARGE.set(batch.bytes() > LARGE));
    let world = World::ready(Arc::new(store), NodeSettings::default(), Settings::default());
    world.define_shop();
    let partition = world.commit(1, NOTED)["partition"].as_u64().unwrap();
    let text = "x".repeat(LARGE);
    let large = format!(r#"{{"events":[{{"name":"Noted","args":{{"text":"{text}"}}}}]}}"#);
    let answer = world.command(2, &large);
    assert_eq!(json(&answer)["outcome"], "not_written");
    check_told(&world, &answer, partition);
    assert_eq!(metric(&world, "seriatim_damaged_reads_total"), 1);
}
