//! What the node and its store count, as `/metrics` shows it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::faulty::CallKind;
use seriatim_storage::memory::{MemoryDisk, MemoryStore};

use crate::failures::{Gate, Way};
use crate::world::{NOTED, PATIENCE, World};

const LONG: Duration = Duration::from_secs(60);

/// One number of `/metrics`.
fn metric(world: &World, name: &str) -> f64 {
    let text = world.get("/metrics").text();
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("{name} in\n{text}")).parse().unwrap()
}

fn entries(world: &World, kind: &str) -> f64 {
    metric(world, &format!("seriatim_entries_total{{kind=\"{kind}\"}}"))
}

fn wait_for(world: &World, name: &str, holds: impl Fn(f64) -> bool) -> f64 {
    let begun = Instant::now();
    loop {
        let value = metric(world, name);
        if holds(value) {
            return value;
        }
        assert!(begun.elapsed() < PATIENCE, "{name} is {value}");
        std::thread::yield_now();
    }
}

#[test]
fn entries_are_counted_by_kind_and_all_kinds_are_there_from_the_start() {
    let world = World::new();
    for kind in ["command", "declare", "define", "delivered", "delivery", "tick"] {
        assert!(entries(&world, kind) < 0.5, "{kind}");
    }
    let node_settings =
        NodeSettings { tick_interval: Duration::from_millis(1), ..NodeSettings::default() };
    let store = Arc::new(MemoryStore::new(&schema()));
    let world = World::ready(store, node_settings, Settings::default());
    world.define_shop();
    // An app and five definitions, each delivered to two partitions.
    assert_eq!(entries(&world, "define"), 6.0);
    assert!(entries(&world, "delivery") > 11.5, "some may be sent again");
    wait_for(&world, r#"seriatim_entries_total{kind="delivered"}"#, |count| count > 11.5);
    world.commit(1, NOTED);
    world.command(1, NOTED);
    assert_eq!(entries(&world, "command"), 2.0, "a repetition is an entry too");
    let path = "/v1/apps/shop/workspaces/store-7";
    let declared = world.put(path, r#"{"kind":"default"}"#);
    assert_eq!(entries(&world, "declare"), 1.0, "{} {}", declared.status, declared.text());
    let expiring = json!({"events": [{"name": "Set", "changes": [
        {"set": {"key": "offer", "value": 1, "expires_at": "2001-01-01T00:00:00Z"}}]}]});
    world.commit(2, &expiring.to_string());
    wait_for(&world, r#"seriatim_entries_total{kind="tick"}"#, |count| count > 0.5);
}

#[test]
fn commits_syncs_and_batches_are_measured() {
    let world = World::shop();
    let names = ["batch_entries", "commit_duration_seconds", "sync_duration_seconds"];
    let read = |part: &str| names.map(|name| metric(&world, &format!("seriatim_{name}_{part}")));
    let (counts, sums) = (read("count"), read("sum"));
    world.commit(1, NOTED);
    // Checkpoints and other partitions may add to them.
    let more = |before: [f64; 3], now: [f64; 3]| before.iter().zip(now).all(|(a, b)| *a < b);
    assert!(more(counts, read("count")), "{counts:?} {:?}", read("count"));
    assert!(more(sums, read("sum")), "{sums:?} {:?}", read("sum"));
    let all = metric(&world, r#"seriatim_batch_entries_bucket{le="+Inf"}"#);
    assert_eq!(all, metric(&world, "seriatim_batch_entries_count"));
    let text = world.get("/metrics").text();
    for line in [
        "# UNIT seriatim_batch_entries entries",
        "# UNIT seriatim_commit_duration_seconds seconds",
        "# UNIT seriatim_in_flight_bytes bytes",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
    }
}

#[test]
fn caches_count_what_they_have_and_what_they_lack() {
    let world = World::shop();
    let look = |result: &str, cache: &str| {
        metric(&world, &format!("seriatim_cache_{result}_total{{cache=\"{cache}\"}}"))
    };
    let caches = ["absent_keys", "numbers", "workspaces"];
    let partition = world.commit(1, NOTED)["partition"].to_string();
    // With its last restart a partition reads no event, so it has no number in memory.
    for number in 1..3 {
        world.post(&format!("/v1/partitions/shop/{partition}/restart"), "");
        world.commit_when_taken(number, NOTED);
    }
    let misses = caches.map(|cache| look("misses", cache));
    assert!(misses.iter().all(|count| *count > 0.5), "{misses:?}");
    // Keys that follow each other are known to be new from the second or third on.
    (3..9).for_each(|number| drop(world.commit(number, NOTED)));
    let hits = caches.map(|cache| look("hits", cache));
    assert!(hits.iter().all(|count| *count > 3.5), "{hits:?}");
}

#[test]
fn checkpoint_lag_counts_rows_until_a_checkpoint_holds_them() {
    let checkpoint_delay = LONG;
    let node_settings = NodeSettings { checkpoint_delay, ..NodeSettings::default() };
    let store = Arc::new(MemoryStore::new(&schema()));
    let world = World::ready(store, node_settings, Settings::default());
    world.define_shop();
    let name = "seriatim_checkpoint_lag_rows";
    let before = wait_for(&world, name, |_| true);
    let partition = world.commit(1, NOTED)["partition"].to_string();
    // The rows of the workspace and of its client.
    wait_for(&world, name, |rows| rows >= before + 2.0);
    // A restart reads the log and writes a checkpoint.
    world.post(&format!("/v1/partitions/shop/{partition}/restart"), "");
    wait_for(&world, name, |rows| rows <= before);
}

#[test]
fn requests_wait_in_the_queue_and_commands_are_in_flight_until_they_are_answered() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    world.define_shop();
    wait_for(&world, "seriatim_queue_requests", |count| count < 0.5);
    gate.set(Way::Held(CallKind::Sync));
    std::thread::scope(|scope| {
        let waiting =
            [("store-1", 1), ("store-1", 2), ("store-2", 3)].map(|(workspace, number)| {
                let world = &world;
                scope.spawn(move || world.command_to(workspace, number, NOTED).status)
            });
        wait_for(&world, "seriatim_queue_requests", |count| count > 2.5);
        let most = metric(&world, "seriatim_queue_requests_max");
        assert!((1.5..3.5).contains(&most), "{most}");
        assert!(metric(&world, "seriatim_in_flight_bytes") > 300.0);
        gate.set(Way::Free);
        assert!(waiting.into_iter().all(|it| it.join().unwrap() == 200));
    });
    for name in ["queue_requests", "queue_requests_max", "in_flight_bytes"] {
        wait_for(&world, &format!("seriatim_{name}"), |count| count < 0.5);
    }
}

#[test]
fn store_tells_its_size_and_the_free_disk() {
    let disk = MemoryDisk::new();
    disk.set_capacity(Some(1 << 30));
    let store = Arc::new(MemoryStore::open(&disk, &schema()).unwrap());
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    world.define_shop();
    let (log, free) = (r#"seriatim_table_bytes{table="log"}"#, "seriatim_disk_free_bytes");
    let before = (metric(&world, log), metric(&world, free));
    world.commit(1, NOTED);
    assert!(metric(&world, log) > before.0 && metric(&world, free) < before.1, "{before:?}");
    assert!(metric(&world, "seriatim_journal_bytes") < 0.5, "memory has none");
}

/// A scrape of a server whose disk hangs would be the one that is needed.
#[test]
fn metrics_are_answered_while_the_store_does_not() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    world.define_shop();
    let size = metric(&world, r#"seriatim_table_bytes{table="log"}"#);
    gate.set(Way::Held(CallKind::Stats));
    for _ in 0..2 {
        assert_eq!(metric(&world, r#"seriatim_table_bytes{table="log"}"#), size);
    }
    gate.set(Way::Free);
}
