//! Following a log.

use std::thread;

use serde_json::{Value, json};
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::{HttpClient, request};
use std::sync::Arc;
use std::time::Duration;

use crate::world::{NOTED, World, error, json};

const EVENTS: &str = "/v1/apps/shop/workspaces/store-1/events";

fn world(node_settings: NodeSettings, settings: Settings) -> World {
    let world = World::ready(Arc::new(MemoryStore::new(&schema())), node_settings, settings);
    world.define_shop();
    world
}

fn follow(world: &World, path: &str, headers: &[(&str, &str)]) -> HttpClient {
    let mut client = world.client();
    let headers = [&[("Accept", "text/event-stream")], headers].concat();
    client.write(&request("GET", path, &headers, b"")).unwrap();
    let (status, headers) = client.read_head().unwrap();
    assert_eq!(status, 200);
    let kind = headers.iter().find(|(name, _)| name == "content-type").unwrap();
    assert_eq!(kind.1, "text/event-stream");
    client
}

/// The next event: its id and its body.
fn next(client: &mut HttpClient) -> (u64, Value) {
    let part = client.read_event().unwrap().expect("the stream goes on");
    let lines: Vec<&str> = part.lines().collect();
    let [id, data, ""] = lines.as_slice() else { panic!("{part}") };
    let id = id.strip_prefix("id: ").unwrap().parse().unwrap();
    (id, serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
}

#[test]
fn a_stream_passes_from_stored_to_live_without_hole_or_repeat() {
    const WRITERS: u64 = 4;
    const EACH: u64 = 50;
    let world = World::shop();
    let world = &world;
    (0..10).for_each(|number| drop(world.commit(number, NOTED)));
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                (1..=EACH)
                    .for_each(|number| drop(world.commit(1000 * (writer + 1) + number, NOTED)));
            });
        }
        for _ in 0..3 {
            scope.spawn(|| {
                let mut client = follow(world, EVENTS, &[]);
                for offset in 1..=(10 + WRITERS * EACH) {
                    let (id, event) = next(&mut client);
                    assert_eq!((id, &event["offset"]), (offset, &json!(offset)));
                }
            });
        }
    });
    let stored = json(&world.read("store-1", "events?from=210"));
    let (_, streamed) = next(&mut follow(world, &format!("{EVENTS}?from=210"), &[]));
    assert_eq!(streamed, stored["events"][0]);
}

#[test]
fn a_stream_is_resumed_behind_the_last_event_that_was_seen() {
    let world = World::shop();
    (1..=5).for_each(|number| drop(world.commit(number, NOTED)));
    let mut client = follow(&world, &format!("{EVENTS}?from=2"), &[]);
    assert_eq!(next(&mut client).0, 2);
    let (seen, _) = next(&mut client);
    drop(client);
    // A browser sends the path of the first time, and the id behind which to go on.
    let seen = seen.to_string();
    let mut client = follow(&world, &format!("{EVENTS}?from=2"), &[("Last-Event-ID", &seen)]);
    assert_eq!([next(&mut client).0, next(&mut client).0], [4, 5]);
    for (id, first) in [("0", 1), ("4", 5)] {
        assert_eq!(next(&mut follow(&world, EVENTS, &[("Last-Event-ID", id)])).0, first);
    }
    let accept = ("Accept", "text/event-stream");
    for id in ["", "x", "-1", "1.5"] {
        let answer = world.send("GET", EVENTS, &[accept, ("Last-Event-ID", id)], "");
        assert_eq!(error(&answer, 400, "INVALID_ARGUMENT")["field"], "Last-Event-ID");
        // A list has no use for it, and does not take just anything for it.
        let answer = world.send("GET", EVENTS, &[("Last-Event-ID", id)], "");
        assert_eq!(error(&answer, 400, "INVALID_ARGUMENT")["field"], "Last-Event-ID");
    }
    let list = world.send("GET", EVENTS, &[("Last-Event-ID", "3")], "");
    assert_eq!(json(&list)["events"].as_array().unwrap().len(), 5);
}

/// It was answered with a list.
#[test]
fn a_partition_is_followed_by_its_own_offsets() {
    let world = World::shop();
    // Both in partition 1 of 2, so that the offsets of the partition are those of no workspace.
    let noted = |workspace: &str, number| {
        let noted = world.command_to(workspace, number, NOTED);
        assert_eq!((noted.status, &json(&noted)["partition"]), (200, &json!(1)));
    };
    noted("1", 1);
    noted("3", 2);
    noted("1", 3);
    let path = "/v1/apps/shop/partitions/1/events";
    let mut client = follow(&world, path, &[]);
    for (id, workspace, offset) in [(1, "1", 1), (2, "3", 1), (3, "1", 2)] {
        let (found, event) = next(&mut client);
        assert_eq!((found, &event["partition_offset"]), (id, &json!(id)));
        assert_eq!((&event["workspace"], &event["offset"]), (&json!(workspace), &json!(offset)));
    }
    noted("3", 4);
    let (id, streamed) = next(&mut client);
    assert_eq!(id, 4);
    assert_eq!(streamed, json(&world.get(&format!("{path}?from=4")))["events"][0]);
    let mut client = follow(&world, &format!("{path}?from=1"), &[("Last-Event-ID", "2")]);
    assert_eq!([next(&mut client).0, next(&mut client).0], [3, 4]);
    let accept = ("Accept", "text/event-stream");
    let answer = world.send("GET", path, &[accept, ("Last-Event-ID", "x")], "");
    assert_eq!(error(&answer, 400, "INVALID_ARGUMENT")["field"], "Last-Event-ID");
    let none = world.send("GET", "/v1/apps/shop/partitions/2/events", &[accept], "");
    error(&none, 404, "NOT_FOUND");
}

/// Somebody may know of an event that this server has not seen yet.
#[test]
fn a_stream_from_beyond_the_end_begins_once_the_log_gets_there() {
    let world = World::shop();
    world.commit(1, NOTED);
    let partition = json(&world.read("store-1", "events"))["events"][0]["partition"].clone();
    let partition = format!("/v1/apps/shop/partitions/{partition}/events");
    let mut clients =
        [EVENTS, &partition].map(|path| follow(&world, path, &[("Last-Event-ID", "3")]));
    (2..=5).for_each(|number| drop(world.commit(number, NOTED)));
    for client in &mut clients {
        assert_eq!([next(client).0, next(client).0], [4, 5]);
    }
}

#[test]
fn who_does_not_want_a_stream_gets_a_list() {
    let world = World::shop();
    let (list, stream) = ("application/json", "text/event-stream");
    for (accept, expected) in [
        ("text/event-stream;q=0", list),
        ("text/event-stream ; q=0.000", list),
        ("text/event-streams", list),
        ("text/event-stream;q=0.899, application/json; q=0.9", list),
        ("application/json;q=0.5, text/event-stream", stream),
        ("application/json, text/event-stream", stream),
        ("text/event-stream;q=0.5, */*", stream),
        ("text/event-stream;q=nonsense", stream),
        ("*/*", list),
        ("Text/Event-Stream", stream),
        ("application/json, text/event-stream;q=0.1", list),
        ("text/event-stream;q=1", stream),
    ] {
        let mut client = world.client();
        client.write(&request("GET", EVENTS, &[("Accept", accept)], b"")).unwrap();
        let (_, headers) = client.read_head().unwrap();
        let kind = headers.iter().find(|(name, _)| name == "content-type").unwrap();
        assert_eq!(kind.1, expected, "{accept}");
    }
}

#[test]
fn a_workspace_can_be_followed_before_its_first_event() {
    let world = World::shop();
    let mut client = follow(&world, EVENTS, &[]);
    let id = world.commit(1, NOTED)["workspace_id"].clone();
    let (offset, event) = next(&mut client);
    assert_eq!((offset, &event["workspace"], &event["workspace_id"]), (1, &json!("store-1"), &id));
    let path = "/v1/apps/shop/workspaces/1099511627999/events";
    let refused = world.send("GET", path, &[("Accept", "text/event-stream")], "");
    assert_eq!(error(&refused, 400, "INVALID_ARGUMENT")["field"], "workspace");
}

#[test]
fn subscriptions_have_a_limit_and_give_their_place_back() {
    let settings = Settings { subscriptions_max: 1, ..Settings::default() };
    let world = world(NodeSettings::default(), settings);
    world.commit(1, NOTED);
    let mut one = follow(&world, EVENTS, &[]);
    assert_eq!(next(&mut one).0, 1);
    let accept = ("Accept", "text/event-stream");
    let refused = world.send("GET", EVENTS, &[accept], "");
    assert_eq!(error(&refused, 429, "RATE_LIMITED")["retryable"], true);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert!(world.get("/metrics").text().contains("seriatim_subscriptions_open 1\n"));
    drop(one);
    // The server notices that the client is gone, and not at once.
    while !world.get("/metrics").text().contains("seriatim_subscriptions_open 0\n") {
        thread::yield_now();
    }
    assert_eq!(next(&mut follow(&world, EVENTS, &[])).0, 1);
}

#[test]
fn a_stream_without_events_says_that_it_is_alive() {
    let settings = Settings { keep_alive: Duration::from_millis(1), ..Settings::default() };
    let world = world(NodeSettings::default(), settings);
    let mut client = follow(&world, EVENTS, &[]);
    assert_eq!(client.read_event().unwrap().as_deref(), Some(":\n\n"));
    assert_eq!(client.read_event().unwrap().as_deref(), Some(":\n\n"));
}

/// A page was kept for each client that sleeps.
#[test]
fn what_is_given_back_for_a_client_that_sleeps_comes_once_it_reads() {
    let settings = Settings { keep_alive: Duration::from_millis(1), ..Settings::default() };
    let world = world(NodeSettings::default(), settings);
    let large = "x".repeat(300_000);
    let large = format!(r#"{{"events":[{{"name":"Large","args":{{"x":"{large}"}}}}]}}"#);
    (1..=40).for_each(|number| drop(world.commit(number, &large)));
    let mut client = follow(&world, EVENTS, &[]);
    // While these are written, the sockets between the two are full and nobody reads.
    (41..=60).for_each(|number| drop(world.commit(number, NOTED)));
    for offset in 1..=60 {
        let event = loop {
            match client.read_event().unwrap().unwrap() {
                alive if alive == ":\n\n" => {}
                event => break event,
            }
        };
        assert!(event.starts_with(&format!("id: {offset}\n")), "{offset}: {:.40}", event);
    }
}

#[test]
fn a_subscriber_that_falls_behind_is_told_where_to_go_on() {
    let node_settings = NodeSettings { subscription_lag_max: 2, ..NodeSettings::default() };
    let world = world(node_settings, Settings::default());
    world.commit(1, NOTED);
    let mut client = follow(&world, EVENTS, &[]);
    assert_eq!(next(&mut client).0, 1);
    // More than the sockets between the two can hold, so that the stream must stop.
    let large = "x".repeat(500_000);
    let large = format!(r#"{{"events":[{{"name":"Large","args":{{"x":"{large}"}}}}]}}"#);
    (2..=40).for_each(|number| drop(world.commit(number, &large)));
    let mut seen = 1;
    let lagged = loop {
        let part = client.read_event().unwrap().expect("it ends with an error");
        if let Some(data) = part.strip_prefix("event: error\ndata: ") {
            break serde_json::from_str::<Value>(data).unwrap();
        }
        seen += 1;
        assert!(part.starts_with(&format!("id: {seen}\n")));
    };
    assert_eq!((&lagged["code"], &lagged["retryable"]), (&json!("LAGGED"), &json!(true)));
    assert_eq!(lagged["resume_from"], seen + 1);
    assert_eq!(client.read_event().unwrap(), None, "the stream has ended");
    assert!(world.get("/metrics").text().contains("seriatim_subscriptions_lagged_total 1\n"));
}
