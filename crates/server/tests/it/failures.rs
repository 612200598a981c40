//! What a client is told when the node is busy, late or broken.

use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use seriatim_codec::{PartitionPrefix, Stored, event_key};
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::faulty::{CallKind, Fault, FaultyStore};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Batch, Read, Store};
use seriatim_types::{Change, Event, Incarnation, PartitionId, PartitionOffset};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::world::{NOTED, PATIENCE, World, error, json, key};

/// What the store does with a kind of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Free,
    Held(CallKind),
    Faulty(CallKind, Fault),
}

/// Lets a test hold up the store, or break it.
#[derive(Clone)]
pub(crate) struct Gate(Arc<(Mutex<Way>, Condvar)>);

impl Gate {
    pub(crate) fn store(way: Way) -> (Self, Arc<FaultyStore>) {
        let gate = Self(Arc::new((Mutex::new(way), Condvar::new())));
        let inside = gate.clone();
        let schedule = move |call: seriatim_storage::faulty::Call| inside.pass(call.kind);
        let store = FaultyStore::new(Arc::new(MemoryStore::new(&schema())), Box::new(schedule));
        (gate, Arc::new(store))
    }

    pub(crate) fn set(&self, way: Way) {
        *self.0.0.lock().unwrap() = way;
        self.0.1.notify_all();
    }

    /// Lets the sync of a partition's event fail that is asked for now. Syncs wait until it is
    /// committed: otherwise one that another partition is still busy with could be the first to fail,
    /// and the event would not be written at all.
    pub(crate) fn fail_sync_of<T: Send>(
        &self,
        world: &World,
        store: &FaultyStore,
        offset: PartitionOffset,
        ask: impl FnOnce() -> T + Send,
    ) -> T {
        let app = world.node.apps().unwrap()[0].app.app;
        let log = store.schema().table("log").unwrap();
        let is_committed = |partition: u16| {
            let partition = PartitionId(partition);
            let prefix = PartitionPrefix { app, partition, incarnation: Incarnation(1) };
            store.get(log, &event_key(prefix, offset)).unwrap().is_some()
        };
        self.set(Way::Held(CallKind::Sync));
        thread::scope(|scope| {
            let asked = scope.spawn(ask);
            let begun = Instant::now();
            while ![0, 1].into_iter().any(is_committed) {
                assert!(begun.elapsed() < PATIENCE, "it is committed");
                thread::yield_now();
            }
            self.set(Way::Faulty(CallKind::Sync, Fault::Fail));
            asked.join().unwrap()
        })
    }

    fn pass(&self, kind: CallKind) -> Option<Fault> {
        let way = self.0.0.lock().unwrap();
        let way = self.0.1.wait_while(way, |way| *way == Way::Held(kind)).unwrap();
        match *way {
            Way::Faulty(broken, fault) if broken == kind => Some(fault),
            Way::Free | Way::Held(_) | Way::Faulty(..) => None,
        }
    }
}

/// However a test ends, nobody waits at the gate for ever.
impl Drop for Gate {
    fn drop(&mut self) {
        self.set(Way::Free);
    }
}

#[test]
fn a_server_that_reads_its_logs_is_busy_and_not_ready() {
    let (gate, store) = Gate::store(Way::Held(CallKind::Snapshot));
    let world = World::open(store, NodeSettings::default(), Settings::default());
    assert_eq!(world.get("/livez").status, 200);
    let ready = world.get("/readyz");
    assert_eq!((ready.status, json(&ready)["ready"].clone()), (503, json!(false)));
    assert_eq!(json(&ready)["partitions"][0]["state"], "actualizing");
    for answer in [
        world.get("/v1/apps"),
        world.get("/v1/apps/shop"),
        world.read("store-1", "events"),
        world.post("/v1/apps", r#"{"name":"shop"}"#),
        world.put("/v1/apps/shop/kinds/x", "{}"),
        world.command(1, NOTED),
    ] {
        let body = error(&answer, 503, "BUSY");
        assert_eq!((&body["reason"], &body["retryable"]), (&json!("actualizing"), &json!(true)));
        assert!(body["done"].is_u64() && body["total"].is_u64());
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(json(&world.command(1, NOTED))["outcome"], "not_written");
    gate.set(Way::Free);
    assert!(world.node.wait_until_ready(PATIENCE));
    assert_eq!(world.get("/readyz").status, 200);
    error(&world.command(1, NOTED), 404, "APP_NOT_FOUND");
}

#[test]
fn a_full_queue_is_busy_and_a_late_answer_is_unknown_and_resolved_by_the_key() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store.clone(), NodeSettings::default(), Settings::default());
    world.define_shop();
    assert!(world.ended());
    let node_settings = NodeSettings { queue_max: 3, ..NodeSettings::default() };
    let settings = Settings { answer_within: Duration::from_millis(50), ..Settings::default() };
    let world = World::ready(store, node_settings, settings);
    gate.set(Way::Held(CallKind::Sync));
    // A slow machine may find one too late to be taken at all: it is unknown all the same.
    let mut sent = 1;
    let answer = loop {
        let answer = world.command(sent, NOTED);
        if answer.status != 504 {
            break answer;
        }
        let late = error(&answer, 504, "DEADLINE_EXCEEDED");
        assert_eq!(late["retryable"], true);
        assert!(["unknown", "not_written"].contains(&late["outcome"].as_str().unwrap()), "{late}");
        assert!(sent < 1_000, "the queue is never full");
        sent += 1;
    };
    let busy = error(&answer, 503, "BUSY");
    assert_eq!((&busy["reason"], &busy["outcome"]), (&json!("queue_full"), &json!("not_written")));
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(sent > 3, "the queue has room for three");
    assert_eq!(world.last_offset(), 0, "nobody sees what is not durable");
    let metrics = world.get("/metrics").text();
    assert!(metrics.contains("seriatim_busy_total{reason=\"queue_full\"} 1\n"), "{metrics}");
    gate.set(Way::Free);
    for number in 1..=sent {
        let receipt = world.commit_when_taken(number, NOTED);
        assert_eq!(receipt["first_offset"], receipt["last_offset"], "{receipt}");
    }
    assert_eq!(world.last_offset(), sent, "each key has one event, whatever its answer was");
}

#[test]
fn a_commit_that_did_not_happen_is_not_written() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    world.define_shop();
    world.commit(1, NOTED);
    gate.set(Way::Faulty(CallKind::Commit, Fault::Refuse));
    let body = error(&world.command(2, NOTED), 503, "BUSY");
    assert_eq!((&body["reason"], &body["outcome"]), (&json!("disk_full"), &json!("not_written")));
    assert_eq!(body["retryable"], true);
    gate.set(Way::Free);
    assert_eq!(world.commit_when_taken(2, NOTED)["first_offset"], 2);
}

#[test]
fn a_store_that_breaks_leaves_the_outcome_unknown_and_then_stops() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store.clone(), NodeSettings::default(), Settings::default());
    world.define_shop();
    world.commit(1, NOTED);
    assert_eq!(world.get("/readyz").status, 200);
    let second = PartitionOffset::new(2).unwrap();
    let answer = gate.fail_sync_of(&world, &store, second, || world.command(2, NOTED));
    let unknown = error(&answer, 503, "OUTCOME_UNKNOWN");
    assert_eq!((&unknown["outcome"], &unknown["retryable"]), (&json!("unknown"), &json!(true)));
    let stopped = error(&world.command(3, NOTED), 503, "PARTITION_STOPPED");
    assert_eq!(
        (&stopped["outcome"], &stopped["retryable"]),
        (&json!("not_written"), &json!(false))
    );
    let defined = error(&world.put("/v1/apps/shop/kinds/x", "{}"), 503, "PARTITION_STOPPED");
    assert_eq!(
        (&defined["outcome"], &defined["retryable"]),
        (&json!("not_written"), &json!(false)),
        "no definition is decided any more"
    );
    let ready = world.get("/readyz");
    assert_eq!(ready.status, 503);
    // Their names are said although they can no longer be read.
    let partitions = json(&ready)["partitions"].clone();
    let of_shop =
        |partition: &&Value| partition["app"] == "shop" && partition["state"] == "stopped";
    let stopped = partitions.as_array().unwrap().iter().find(of_shop).expect("one has stopped");
    assert!(stopped["reason"].as_str().unwrap().contains("the store has stopped"), "{stopped}");
    error(&world.read("store-1", "events"), 503, "PARTITION_STOPPED");
    assert_eq!(world.get("/livez").status, 200);
}

#[test]
fn a_store_that_stops_says_why_and_apps_keep_their_names() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store.clone(), NodeSettings::default(), Settings::default());
    world.define_shop();
    assert!(world.ended());
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    gate.set(Way::Faulty(CallKind::Commit, Fault::Fail));
    // The system's own partition too, before anybody has asked what the apps are called.
    // Whoever is under way when it stops is told another thing than whoever comes later.
    let told = |answer: &seriatim_testkit::HttpAnswer| {
        let is_unknown = json(answer)["outcome"] == "unknown";
        error(answer, 503, if is_unknown { "OUTCOME_UNKNOWN" } else { "PARTITION_STOPPED" })
    };
    told(&world.post("/v1/apps", r#"{"name":"kiosk"}"#));
    let told = told(&world.command(1, NOTED));
    let said = |text: &Value| text.as_str().is_some_and(|text| text.contains("planned at call"));
    assert!(said(&told["message"]), "{told}");
    let ready = json(&world.get("/readyz"));
    let partitions = ready["partitions"].as_array().unwrap();
    let names: Vec<&Value> = partitions.iter().map(|partition| &partition["app"]).collect();
    assert_eq!(names, ["system", "shop", "shop"]);
    let stopped = partitions.iter().filter(|partition| partition["state"] == "stopped");
    assert!(
        stopped.clone().count() >= 2 && stopped.clone().all(|it| said(&it["reason"])),
        "{ready}"
    );
}

#[test]
fn a_read_that_waits_keeps_nobody_from_being_answered() {
    let world = World::shop();
    thread::scope(|scope| {
        let wait = || world.read("store-1", "events?from=1&wait_ms=60000");
        let waiting: Vec<_> = (0..50).map(|_| scope.spawn(wait)).collect();
        assert_eq!(world.get("/livez").status, 200);
        assert_eq!(world.command_to("other", 7, NOTED).status, 200);
        world.commit(1, NOTED);
        for answer in waiting {
            assert_eq!(json(&answer.join().unwrap())["last"], 1);
        }
    });
}

/// It said `refused`, which means that it will never be written, of a command that was.
#[test]
fn a_partition_that_stopped_before_it_served_refuses_nothing_for_good() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store.clone(), NodeSettings::default(), Settings::default());
    world.define_shop();
    world.commit(1, NOTED);
    assert!(world.ended());
    // The log cannot be read at the next start.
    gate.set(Way::Faulty(CallKind::Scan, Fault::Fail));
    let world = World::open(store, NodeSettings::default(), Settings::default());
    let answer = loop {
        let answer = json(&world.command(1, NOTED));
        if answer["code"] != "BUSY" {
            break answer;
        }
    };
    assert_eq!(
        (&answer["code"], &answer["outcome"]),
        (&json!("PARTITION_STOPPED"), &json!("not_written"))
    );
}

/// Events that decode and do not fit made the server panic, and it answered that it was busy.
#[test]
fn a_stored_event_that_does_not_fit_is_said_to_be_unreadable() {
    const DRAW: &str = r#"{"events":[{"name":"N","changes":[{"draw":{"sequence":"ticket"}}]}]}"#;
    let store = Arc::new(MemoryStore::new(&schema()));
    let world = World::ready(store.clone(), NodeSettings::default(), Settings::default());
    world.define_shop();
    world.commit(1, DRAW);
    let app = world.node.apps().unwrap()[0].app.app;
    let log = store.schema().table("log").unwrap();
    let spoil = |spoil: &dyn Fn(&mut Event)| {
        for partition in [0, 1].map(PartitionId) {
            let prefix = PartitionPrefix { app, partition, incarnation: Incarnation(1) };
            let key = event_key(prefix, PartitionOffset::FIRST);
            let Some(bytes) = store.get(log, &key).unwrap() else { continue };
            let mut event = Event::from_bytes(&bytes).unwrap();
            spoil(&mut event);
            let mut batch = Batch::new();
            batch.put(log, key, event.to_bytes());
            store.commit(batch).unwrap();
        }
    };
    let unreadable = |answer: &seriatim_testkit::HttpAnswer| {
        assert_eq!(json(answer)["code"], "PARTITION_STOPPED", "{}", answer.text());
    };
    spoil(&|event| event.receipt_version = 2);
    // A command brings readers a new view.
    let partition = world.commit(2, NOTED)["partition"].clone();
    let restart = || {
        let restarted = world.post(&format!("/v1/partitions/shop/{partition}/restart"), "");
        assert_eq!(restarted.status, 202);
    };
    unreadable(&world.read("store-1", &format!("receipts/pos-4/{}", key(1))));
    restart();
    world.commit_when_taken(3, NOTED);
    let repeated = error(&world.command(1, DRAW), 503, "OUTCOME_UNKNOWN");
    assert_eq!((&repeated["outcome"], &repeated["retryable"]), (&json!("unknown"), &json!(true)));
    restart();
    world.commit_when_taken(4, NOTED);
    spoil(&|event| event.changes = vec![Change::Draw { number: 9 }]);
    world.commit(5, NOTED);
    unreadable(&world.read("store-1", "events"));
}

/// The answer of `/readyz` is 200, or it says that the disk does not answer.
fn ready(world: &World) -> bool {
    let ready = world.get("/readyz");
    let body = json(&ready);
    let is_ready = ready.status == 200;
    assert_eq!(body["ready"], is_ready, "{body}");
    let reason = body["reason"].as_str().unwrap_or_default();
    assert_eq!(!is_ready, reason.starts_with("the disk does not answer: a sync has been pending"));
    is_ready
}

/// A sync that neither failed nor returned left commands waiting behind a server that was ready.
#[test]
fn a_sync_that_hangs_makes_the_server_not_ready_until_it_returns() {
    let (gate, store) = Gate::store(Way::Free);
    let sync_stalled_after = Duration::from_millis(300);
    let node_settings = NodeSettings { sync_stalled_after, ..NodeSettings::default() };
    let world = World::ready(store, node_settings, Settings::default());
    world.define_shop();
    let health = || {
        let grpc = world.grpc();
        let mut health = HealthClient::new(grpc.channel.clone());
        let asked = HealthCheckRequest { service: String::new() };
        grpc.wait(health.check(asked)).unwrap().status()
    };
    let pending = || {
        let metrics = world.get("/metrics").text();
        let line = "seriatim_sync_pending_seconds ";
        let value = metrics.lines().find_map(|it| it.strip_prefix(line)).unwrap();
        value.parse::<f64>().unwrap()
    };
    let until = |is_ready| {
        let begun = Instant::now();
        while ready(&world) != is_ready {
            assert!(begun.elapsed() < PATIENCE, "ready: {is_ready}");
            thread::yield_now();
        }
    };
    until(true);
    assert_eq!(health(), ServingStatus::Serving);
    gate.set(Way::Held(CallKind::Sync));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| world.command(1, NOTED));
        until(false);
        assert_eq!(health(), ServingStatus::NotServing);
        assert!(pending() >= sync_stalled_after.as_secs_f64());
        assert_eq!(world.get("/livez").status, 200);
        let partitions = json(&world.get("/v1/partitions"))["partitions"].clone();
        let states = partitions.as_array().unwrap().iter().map(|it| &it["state"]);
        assert!(states.into_iter().all(|state| state == "serving"), "nothing has stopped");
        gate.set(Way::Free);
        assert_eq!(waiting.join().unwrap().status, 200);
    });
    until(true);
    assert_eq!(health(), ServingStatus::Serving);
}
