//! What is held for clients that are slow: requests that come in part, answers that nobody reads.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::Request;
use serde_json::json;
use seriatim_api::grpc::{StreamRequest, SubmitRequest};
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::memory::MemoryStore;
use tokio::sync::mpsc as channel;
use tonic::Code;
use tonic::codegen::tokio_stream::StreamExt;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;

use crate::grpc::failed;
use crate::raw::Raw;
use crate::world::{NOTED, PATIENCE, World, error};

const EVENTS: &str = "/v1/apps/shop/workspaces/store-1/events";
const SUBMIT_STREAM: &str = "/seriatim.v1.CommandService/SubmitStream";

/// A list of all events has about a megabyte.
fn world(settings: Settings) -> World {
    let store = Arc::new(MemoryStore::new(&schema()));
    let world = World::ready(store, NodeSettings::default(), settings);
    world.define_shop();
    let large = "x".repeat(250_000);
    for number in 1..=4 {
        world.commit(number, &format!(r#"{{"events":[{{"name":"A","args":{{"a":"{large}"}}}}]}}"#));
    }
    world
}

/// Four connections of which nobody reads an answer made a server hold 1.4 GB.
#[test]
fn answers_that_nobody_reads_are_bounded_and_others_are_told() {
    // A list reserves 11 MiB for its answer, of which it keeps the megabyte that it has. Three eighths of
    // all are for answers: enough for one list beside one that nobody reads, and not beside two.
    let held_bytes_max = (11 * 1024 * 1024 + 1_500_000) / 3 * 8;
    let reserve_within = Duration::ZERO;
    let world = world(Settings { held_bytes_max, reserve_within, ..Settings::default() });
    let mut deaf = Raw::deaf(&world);
    let mut statuses = [0; 3].map(|_| deaf.head(EVENTS).as_u16());
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 429]);
    let body = error(&world.get(EVENTS), 429, "RATE_LIMITED");
    assert_eq!(body["retryable"], json!(true));
    assert_eq!(world.read("store-1", "head").status, 200, "a small read needs none of it");
    world.commit(5, NOTED);
    drop(deaf);
    let until = Instant::now() + PATIENCE;
    while world.get(EVENTS).status != 200 {
        assert!(Instant::now() < until, "what was held for it is given back");
    }
    let listed = crate::world::json(&world.get(EVENTS));
    assert_eq!(listed["events"].as_array().unwrap().len(), 5);
}

#[test]
fn a_client_of_http_2_that_reads_nothing_loses_its_place() {
    let unread_within = Duration::from_millis(100);
    let world = world(Settings { connections_max: 1, unread_within, ..Settings::default() });
    let mut deaf = Raw::deaf(&world);
    assert_eq!(deaf.head(EVENTS).as_u16(), 200);
    assert_eq!(world.get("/livez").status, 200);
}

/// As many bodies as there may be streams, each of them begun, were three gigabytes.
#[test]
fn bodies_that_have_come_in_part_are_bounded() {
    // A quarter is for requests.
    let world = world(Settings { held_bytes_max: 4_000_000, ..Settings::default() });
    let head = "POST /v1/apps HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
    let (sender, answers) = mpsc::channel();
    let mut clients = Vec::new();
    for number in 0..2 {
        let mut client = TcpStream::connect(world.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut reader, sender) = (BufReader::new(client.try_clone().unwrap()), sender.clone());
        thread::spawn(move || {
            let mut status = String::new();
            reader.read_line(&mut status).unwrap();
            sender.send((number, status)).unwrap();
        });
        client.write_all(head.as_bytes()).unwrap();
        client.write_all(&[b' '; 600_000]).unwrap();
        clients.push(client);
    }
    let (refused, status) = answers.recv().unwrap();
    assert!(status.contains(" 429 "), "{status}");
    let other = 1 - refused;
    clients[other].write_all(&[b' '; 400_000]).unwrap();
    let (number, status) = answers.recv().unwrap();
    assert!(number == other && status.contains(" 400 "), "it was read to its end: {status}");
}

/// The half of a message was kept for as long as its sender liked.
#[test]
fn a_message_of_a_stream_that_was_begun_has_to_come_in_time() {
    let body_within = Duration::from_millis(100);
    let world = world(Settings { body_within, ..Settings::default() });
    let grpc = world.grpc();
    let (requests, sent) = channel::channel(1);
    let silent = grpc.wait(grpc.commands().submit_stream(ReceiverStream::new(sent)));
    let mut silent = silent.unwrap();
    let (pieces, sent) = channel::channel::<Bytes>(1);
    let body = Body::from_stream(ReceiverStream::new(sent).map(Ok::<_, std::io::Error>));
    let request = Request::post(format!("http://localhost{SUBMIT_STREAM}"))
        .header("content-type", "application/grpc")
        .body(body)
        .unwrap();
    pieces.blocking_send(Bytes::from_static(&[0, 0, 0, 1, 0, 7])).unwrap();
    let status = Raw::connect(&world).ask(request).unwrap().status().unwrap();
    let body = failed(Err::<(), _>(status), Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
    assert_eq!(body["outcome"], "not_written");
    // One that says nothing in between may do so for longer.
    let request: SubmitRequest = crate::grpc::request("store-1", 9, NOTED);
    let request = StreamRequest { id: 1, generation: 0, request: Some(request) };
    requests.blocking_send(request).unwrap();
    assert_eq!(grpc.runtime.block_on(silent.message()).unwrap().unwrap().id, 1);
}

#[test]
fn streams_of_commands_are_counted() {
    let world = world(Settings { submit_streams_max: 1, ..Settings::default() });
    let grpc = world.grpc();
    let open = || {
        let (requests, sent) = channel::channel(1);
        let opened = grpc.wait(grpc.commands().submit_stream(ReceiverStream::new(sent)));
        opened.map(|answers| (requests, answers))
    };
    let first = open().unwrap();
    let body = failed(open(), Code::ResourceExhausted, "RATE_LIMITED");
    assert_eq!((&body["outcome"], &body["retryable"]), (&json!("not_written"), &json!(true)));
    drop(first);
    let until = Instant::now() + PATIENCE;
    while open().is_err() {
        assert!(Instant::now() < until, "its place is given back");
    }
}
