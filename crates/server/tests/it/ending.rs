//! The end of a server.

use std::thread;
use std::time::Duration;

use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::{HttpClient, request};
use std::sync::Arc;

use crate::world::{NOTED, PATIENCE, World, json, key};

const COMMANDS: &str = "/v1/apps/shop/workspaces/store-1/commands";

/// By its answer to this, the server says that it waits for the body.
const EXPECT: (&str, &str) = ("Expect", "100-continue");

#[test]
fn answers_in_flight_are_given_and_streams_and_idle_connections_end() {
    let mut world = World::shop();
    world.commit(1, NOTED);
    let path = "/v1/apps/shop/workspaces/store-1/events";
    let mut idle = world.client();
    assert_eq!(idle.send("GET", "/livez", &[], b"").unwrap().status, 200);
    let mut unused = world.client();
    let mut stream = world.client();
    stream.write(&request("GET", path, &[("Accept", "text/event-stream")], b"")).unwrap();
    stream.read_head().unwrap();
    assert!(stream.read_event().unwrap().is_some());
    let mut late = world.client();
    let key = key(2);
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "a"), EXPECT];
    let command = request("POST", COMMANDS, &headers, NOTED.as_bytes());
    let (head, body) = command.split_at(command.len() - NOTED.len());
    late.write(head).unwrap();
    assert_eq!(late.read_head().unwrap().0, 100, "the server has begun with the request");
    world.begin_to_end();
    assert_eq!(stream.read_event().unwrap(), None, "the stream ends in good order");
    late.write(body).unwrap();
    assert_eq!(json(&late.read_answer().unwrap())["first_offset"], 2);
    assert!(idle.read_answer().is_err(), "nothing more comes on an idle connection");
    assert!(unused.read_answer().is_err());
    let address = world.address;
    assert!(world.ended(), "all answers were given");
    assert!(HttpClient::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn a_request_that_never_ends_does_not_keep_the_server() {
    let settings = Settings { end_within: Duration::from_millis(50), ..Settings::default() };
    let store = Arc::new(MemoryStore::new(&schema()));
    let world = World::ready(store, NodeSettings::default(), settings);
    world.define_shop();
    let mut stuck = world.client();
    let key = key(1);
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "a"), EXPECT];
    let command = request("POST", COMMANDS, &headers, NOTED.as_bytes());
    stuck.write(&command[..command.len() - 1]).unwrap();
    let (status, _) = stuck.read_head().unwrap();
    assert_eq!(status, 100, "the server waits for the body");
    assert!(!world.ended(), "one answer was not given");
}

#[test]
fn a_node_can_be_shut_down_behind_its_server() {
    let world = World::shop();
    thread::scope(|scope| {
        for number in 0..8 {
            let world = &world;
            scope.spawn(move || world.commit(number, NOTED));
        }
    });
    let node = world.node.clone();
    assert!(world.ended());
    let node = Arc::into_inner(node).expect("the server has given it back");
    assert_eq!(node.shutdown(PATIENCE), Ok(()));
}

/// Connections without end took every handle of the process, and the store stopped.
#[test]
fn a_connection_beyond_the_limit_waits_until_another_one_ends() {
    let store = Arc::new(MemoryStore::new(&schema()));
    let settings = Settings { connections_max: 1, ..Settings::default() };
    let world = World::ready(store, NodeSettings::default(), settings);
    let mut first = world.client();
    assert_eq!(first.send("GET", "/livez", &[], b"").unwrap().status, 200);
    let mut second = world.client();
    second.write(&request("GET", "/livez", &[], b"")).unwrap();
    second.set_patience(Duration::from_millis(50)).unwrap();
    assert!(second.read_answer().is_err(), "the first one has the only place");
    drop(first);
    second.set_patience(PATIENCE).unwrap();
    assert_eq!(second.read_answer().unwrap().status, 200);
}
