//! Many commands over one stream.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::{Value, json};
use seriatim_api::grpc::stream_response::Outcome;
use seriatim_api::grpc::{StreamRequest, StreamResponse, SubmitRequest};
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::faulty::{CallKind, Fault};
use seriatim_storage::memory::MemoryStore;
use tokio::sync::mpsc;
use tonic::Streaming;
use tonic::codegen::tokio_stream::Stream;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::failures::{Gate, Way};
use crate::grpc::{Grpc, body, json_of, request};
use crate::world::{NOTED, PATIENCE, World, json};

/// A stream on which a test sends and listens.
struct Pipe<'w> {
    grpc: Grpc<'w>,
    requests: Option<mpsc::Sender<StreamRequest>>,
    answers: Streaming<StreamResponse>,
}

impl<'w> Pipe<'w> {
    fn open(world: &'w World) -> Self {
        let grpc = world.grpc();
        let (requests, sent) = mpsc::channel(10_000);
        let answers = grpc.wait(grpc.commands().submit_stream(ReceiverStream::new(sent))).unwrap();
        Self { grpc, requests: Some(requests), answers }
    }

    fn send(&self, id: u64, generation: u64, request: SubmitRequest) {
        let request = StreamRequest { id, generation, request: Some(request) };
        self.requests.as_ref().unwrap().blocking_send(request).unwrap();
    }

    /// The next answer: the id, and the first offset or the body of an error.
    fn next(&mut self) -> Option<(u64, Result<u64, Value>)> {
        let answer = self.grpc.runtime.block_on(self.answers.message()).unwrap()?;
        let outcome = match answer.outcome.unwrap() {
            Outcome::Done(done) => {
                Ok(json_of(&done.receipt_json)["first_offset"].as_u64().unwrap())
            }
            Outcome::Error(error) => Err(body(&error)),
        };
        Some((answer.id, outcome))
    }

    /// No more is sent.
    fn end(&mut self) {
        self.requests = None;
    }
}

/// The same place and client as the last request.
fn same(number: u64, body: &str) -> SubmitRequest {
    SubmitRequest {
        app: String::new(),
        workspace: String::new(),
        client: String::new(),
        ..request("", number, body)
    }
}

fn world_on(
    store: Arc<dyn seriatim_storage::Store>,
    node: NodeSettings,
    server: Settings,
) -> World {
    let world = World::ready(store, node, server);
    world.define_shop();
    world
}

#[test]
fn commands_are_written_and_answered_in_their_order() {
    let world = World::shop();
    let mut pipe = Pipe::open(&world);
    pipe.send(1, 0, request("store-1", 1, NOTED));
    for number in 2..=3000 {
        pipe.send(number, 0, same(number, NOTED));
    }
    for number in 1..=3000 {
        assert_eq!(pipe.next(), Some((number, Ok(number))));
    }
    // Repetitions need the store, and keep their place among the others.
    pipe.send(1, 0, same(7, NOTED));
    pipe.send(2, 0, same(3001, NOTED));
    pipe.send(3, 0, same(8, NOTED));
    assert_eq!(pipe.next(), Some((1, Ok(7))));
    assert_eq!(pipe.next(), Some((2, Ok(3001))));
    assert_eq!(pipe.next(), Some((3, Ok(8))));
    pipe.end();
    assert_eq!(pipe.next(), None);
    assert_eq!(world.last_offset(), 3001);
    let client = json(&world.read("store-1", "clients/pos-4"));
    assert_eq!(client["last_client_sequence"], 3001);
    let metrics = world.get("/metrics").text();
    for line in ["code=\"COMMITTED\"} 3001\n", "code=\"REPLAYED\"} 2\n"] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
}

#[test]
fn a_request_that_is_refused_is_answered_by_its_id_and_the_stream_goes_on() {
    let world = World::shop();
    let mut pipe = Pipe::open(&world);
    pipe.send(1, 0, same(1, NOTED));
    pipe.send(2, 0, request("store-1", 2, NOTED));
    pipe.send(3, 0, SubmitRequest { key: vec![1; 15].into(), ..same(3, NOTED) });
    pipe.send(4, 0, same(4, r#"{"events":[{"name":"A","args":{"x":{"$ref":3}}}]}"#));
    pipe.send(5, 0, SubmitRequest { command_json: Default::default(), ..same(5, NOTED) });
    pipe.send(6, 0, same(6, r#"{"events":[{"name":"A"}],"if_offset":9}"#));
    pipe.send(7, 0, same(2, r#"{"events":[{"name":"Other"}]}"#));
    pipe.send(8, 0, SubmitRequest { client: "\n".to_owned(), ..same(8, NOTED) });
    pipe.send(9, 0, SubmitRequest { client: "pos-5".to_owned(), ..same(9, NOTED) });
    let refused = |pipe: &mut Pipe<'_>, id: u64, code: &str| {
        let (answered, outcome) = pipe.next().unwrap();
        let body = outcome.unwrap_err();
        assert_eq!((answered, &body["code"]), (id, &json!(code)), "{body}");
        assert_eq!(body["outcome"], "refused");
        body["field"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(refused(&mut pipe, 1, "INVALID_ARGUMENT"), "app");
    assert_eq!(pipe.next(), Some((2, Ok(1))));
    assert_eq!(refused(&mut pipe, 3, "INVALID_ARGUMENT"), "key");
    assert_eq!(refused(&mut pipe, 4, "INVALID_ARGUMENT"), "events[0].args.x.$ref");
    assert_eq!(refused(&mut pipe, 5, "INVALID_ARGUMENT"), "command_json");
    refused(&mut pipe, 6, "OFFSET_MISMATCH");
    refused(&mut pipe, 7, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(refused(&mut pipe, 8, "INVALID_ARGUMENT"), "client");
    assert_eq!(pipe.next(), Some((9, Ok(2))));
}

#[test]
fn what_is_left_out_is_that_of_the_last_request_also_if_it_was_wrong() {
    let world = World::shop();
    let mut pipe = Pipe::open(&world);
    pipe.send(1, 0, request("store-1", 1, NOTED));
    pipe.send(2, 0, request("store\n", 2, NOTED));
    pipe.send(3, 0, same(3, NOTED));
    pipe.send(4, 0, SubmitRequest { workspace: "store-2".to_owned(), ..same(4, NOTED) });
    pipe.send(5, 0, SubmitRequest { app: "none".to_owned(), ..same(5, NOTED) });
    pipe.send(6, 0, same(6, NOTED));
    pipe.send(7, 0, request("77", 7, NOTED));
    let mut answers: Vec<_> = (1..=7).map(|_| pipe.next().unwrap()).collect();
    // Those of different partitions, and of none, come as they are ready.
    answers.sort_by_key(|(id, _)| *id);
    let codes: Vec<Value> = answers
        .into_iter()
        .map(|(_, it)| it.map_or_else(|error| error["code"].clone(), |it| json!(it)))
        .collect();
    let (invalid, none) = (json!("INVALID_ARGUMENT"), json!("APP_NOT_FOUND"));
    assert_eq!(codes, [json!(1), invalid.clone(), invalid, json!(1), none.clone(), none, json!(1)]);
    assert_eq!(world.last_offset(), 1);
}

/// A commit fails once in the middle. Nothing behind the command that was not written is written,
/// so sending all of them again in their order keeps the order.
#[test]
fn nothing_of_a_generation_is_written_behind_a_command_that_was_not() {
    let (gate, store) = Gate::store(Way::Free);
    let world = world_on(store, NodeSettings::default(), Settings::default());
    let mut pipe = Pipe::open(&world);
    let named = |number: u64| format!(r#"{{"events":[{{"name":"N{number}"}}]}}"#);
    pipe.send(1, 1, request("store-1", 1, &named(1)));
    assert_eq!(pipe.next(), Some((1, Ok(1))));
    gate.set(Way::Faulty(CallKind::Commit, Fault::Refuse));
    for number in 2..=500 {
        pipe.send(number, 1, same(number, &named(number)));
    }
    let (id, first) = pipe.next().unwrap();
    assert_eq!((id, &first.unwrap_err()["code"]), (2, &json!("BUSY")));
    gate.set(Way::Free);
    for number in 3..=500 {
        let (id, outcome) = pipe.next().unwrap();
        let body = outcome.expect_err("it is behind one that was not written");
        assert_eq!(
            (id, &body["code"], &body["outcome"]),
            (number, &json!("BUSY"), &json!("not_written"))
        );
    }
    pipe.send(501, 1, same(501, NOTED));
    assert_eq!(pipe.next().unwrap().1.unwrap_err()["reason"], "behind");
    // The partition may still be reading its log: a good client then tries the next generation.
    let mut written = 1;
    for generation in 2.. {
        let unwritten = written + 1..=500;
        if unwritten.is_empty() {
            break;
        }
        for number in unwritten.clone() {
            pipe.send(number, generation, same(number, &named(number)));
        }
        for number in unwritten {
            match pipe.next().unwrap() {
                (id, Ok(offset)) => {
                    written += 1;
                    assert_eq!((id, offset, written), (number, number, number));
                }
                (_, Err(body)) => assert_eq!(body["code"], "BUSY"),
            }
        }
    }
    pipe.send(502, 1, same(502, NOTED));
    assert_eq!(pipe.next().unwrap().1.unwrap_err()["reason"], "behind", "its time is over");
    let events = json(&world.read("store-1", "events?limit=1000"));
    let names = events["events"].as_array().unwrap().iter().map(|event| event["name"].clone());
    assert!(names.eq((1..=500).map(|number| json!(format!("N{number}")))));
}

/// As long as the apps are not read, nobody knows to which partition a command goes.
#[test]
fn nothing_of_a_generation_is_written_behind_a_command_that_had_no_place_yet() {
    let (gate, store) = Gate::store(Way::Free);
    let world = world_on(store.clone(), NodeSettings::default(), Settings::default());
    assert!(world.ended());
    gate.set(Way::Held(CallKind::Snapshot));
    let world = World::open(store, NodeSettings::default(), Settings::default());
    let mut pipe = Pipe::open(&world);
    let mut reason = |id, generation, request| {
        pipe.send(id, generation, request);
        let (answered, outcome) = pipe.next().unwrap();
        assert_eq!(answered, id);
        outcome.map_err(|error| error["reason"].as_str().unwrap().to_owned())
    };
    let of = |workspace, id| request(workspace, id, NOTED);
    assert_eq!(reason(1, 1, of("store-1", 1)), Err("actualizing".to_owned()));
    gate.set(Way::Free);
    assert!(world.node.wait_until_ready(PATIENCE));
    assert_eq!(reason(2, 1, of("store-1", 2)), Err("behind".to_owned()));
    assert_eq!(reason(1, 2, of("store-1", 1)), Ok(1));
    assert_eq!(reason(2, 2, of("store-1", 2)), Ok(2));
    // Whoever goes back to an old generation is not written, but what is left out next is meant as
    // it was said there: it went to the place of the command before.
    assert_eq!(reason(3, 1, of("store-2", 3)), Err("behind".to_owned()));
    assert_eq!(reason(4, 2, same(4, NOTED)), Ok(1), "the first of store-2");
}

#[test]
fn what_is_in_flight_is_bounded_and_the_rest_waits_to_be_read() {
    let (gate, store) = Gate::store(Way::Free);
    let node = NodeSettings { queue_max: 16, ..NodeSettings::default() };
    let settings = Settings { stream_in_flight_max: 16, ..Settings::default() };
    let world = world_on(store, node, settings);
    let mut pipe = Pipe::open(&world);
    gate.set(Way::Held(CallKind::Sync));
    pipe.send(1, 0, request("store-1", 1, NOTED));
    for number in 2..=200 {
        pipe.send(number, 0, same(number, NOTED));
    }
    // Whatever the stream had read beyond its bound would be turned away by the full queue.
    gate.set(Way::Free);
    for number in 1..=200 {
        assert_eq!(pipe.next(), Some((number, Ok(number))));
    }
}

/// Requests that come one at a time, so that each is a piece of its own on the connection.
struct OneByOne {
    left: std::ops::RangeInclusive<u64>,
    is_turn: bool,
    sent: Arc<AtomicU64>,
}

impl Stream for OneByOne {
    type Item = StreamRequest;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<StreamRequest>> {
        self.is_turn = !self.is_turn;
        if !self.is_turn {
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Some(id) = self.left.next() else { return Poll::Ready(None) };
        self.sent.store(id, Ordering::Relaxed);
        let request = if id == 1 { request("store-1", id, NOTED) } else { same(id, NOTED) };
        Poll::Ready(Some(StreamRequest { id, generation: 0, request: Some(request) }))
    }
}

/// The connection was ended with everything on it, for too many small pieces that nobody had read,
/// long before its window was full.
#[test]
fn a_sender_that_is_too_fast_is_held_back_and_keeps_its_connection() {
    const COMMANDS: u64 = 20_000;
    let (gate, store) = Gate::store(Way::Free);
    let world = world_on(store, NodeSettings::default(), Settings::default());
    let (grpc, sent) = (world.grpc(), Arc::new(AtomicU64::new(0)));
    gate.set(Way::Held(CallKind::Sync));
    let requests = OneByOne { left: 1..=COMMANDS, is_turn: false, sent: sent.clone() };
    let mut answers = grpc.wait(grpc.commands().submit_stream(requests)).unwrap();
    // Asked on the same connection, until nothing more is sent meanwhile.
    let mut before = 0;
    while sent.load(Ordering::Relaxed) > before || before == 0 {
        before = sent.load(Ordering::Relaxed);
        let health = HealthCheckRequest { service: String::new() };
        let mut asked = HealthClient::new(grpc.channel.clone());
        grpc.wait(asked.check(health)).expect("the connection is there");
    }
    assert!(before < COMMANDS, "it is held back: {before}");
    gate.set(Way::Free);
    for id in 1..=COMMANDS {
        let answer = grpc.runtime.block_on(answers.message()).unwrap().unwrap();
        assert!(answer.id == id && matches!(answer.outcome, Some(Outcome::Done(_))), "{answer:?}");
    }
}

#[test]
fn bytes_in_flight_are_bounded_and_the_rest_waits_to_be_read() {
    let (gate, store) = Gate::store(Way::Free);
    let node = NodeSettings { queue_bytes_max: 100_000, ..NodeSettings::default() };
    let settings = Settings { stream_bytes_max: 50_000, ..Settings::default() };
    let world = world_on(store, node, settings);
    let mut pipe = Pipe::open(&world);
    gate.set(Way::Held(CallKind::Sync));
    let large = format!(r#"{{"events":[{{"name":"A","args":{{"a":"{}"}}}}]}}"#, "x".repeat(10_000));
    pipe.send(1, 0, request("store-1", 1, &large));
    for number in 2..=50 {
        pipe.send(number, 0, same(number, &large));
    }
    // Whatever the stream had read beyond its bound would be turned away by the full queue.
    gate.set(Way::Free);
    for number in 1..=50 {
        assert_eq!(pipe.next(), Some((number, Ok(number))));
    }
}

#[test]
fn commands_without_an_answer_are_unknown_in_time_and_resolved_by_their_keys() {
    let (gate, store) = Gate::store(Way::Free);
    // Definitions take their time on a slow machine.
    assert!(world_on(store.clone(), NodeSettings::default(), Settings::default()).ended());
    let settings = Settings { answer_within: Duration::from_millis(50), ..Settings::default() };
    let world = World::ready(store, NodeSettings::default(), settings);
    let mut pipe = Pipe::open(&world);
    gate.set(Way::Held(CallKind::Sync));
    pipe.send(1, 0, request("store-1", 1, NOTED));
    pipe.send(2, 0, same(2, NOTED));
    for id in 1..=2 {
        let (answered, outcome) = pipe.next().unwrap();
        let body = outcome.unwrap_err();
        assert_eq!(
            (answered, &body["code"], &body["outcome"]),
            (id, &json!("DEADLINE_EXCEEDED"), &json!("unknown"))
        );
    }
    gate.set(Way::Free);
    // A slow machine may have found them too late to be taken: then they are now.
    assert_ne!(world.commit_when_taken(2, NOTED), world.commit_when_taken(1, NOTED));
    assert_eq!(world.last_offset(), 2, "each key has one event");
}

#[test]
fn a_server_that_ends_gives_the_answers_on_their_way_and_ends_the_stream() {
    let (gate, store) = Gate::store(Way::Free);
    let mut world = world_on(store, NodeSettings::default(), Settings::default());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (requests, sent) = mpsc::channel(100);
    let commands = world.grpc().commands();
    let mut answers = runtime
        .block_on({ commands }.submit_stream(ReceiverStream::new(sent)))
        .unwrap()
        .into_inner();
    let send = |id: u64, request: SubmitRequest| {
        let request = StreamRequest { id, generation: 0, request: Some(request) };
        requests.blocking_send(request).unwrap();
    };
    let mut next = || runtime.block_on(answers.message()).unwrap().map(|answer| answer.id);
    send(1, request("store-1", 1, NOTED));
    assert_eq!(next(), Some(1));
    gate.set(Way::Held(CallKind::Sync));
    send(2, same(2, NOTED));
    // What has no place is answered at once, and behind it everything before was read.
    send(3, request("\n", 3, NOTED));
    assert_eq!(next(), Some(3));
    world.begin_to_end();
    gate.set(Way::Free);
    assert_eq!(next(), Some(2), "it was on its way");
    assert_eq!(next(), None, "the stream ends in good order");
    drop(requests);
    assert!(world.ended(), "all answers were given");
}

#[test]
fn a_stream_reaches_many_partitions_by_ids_and_by_names() {
    let store = Arc::new(MemoryStore::new(&schema()));
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    assert_eq!(world.post("/v1/apps", r#"{"name":"shop","partitions":16}"#).status, 201);
    let mut pipe = Pipe::open(&world);
    for number in 0..1000 {
        pipe.send(number, 0, request(&format!("{}", number % 50), number, NOTED));
    }
    let mut offsets = std::collections::BTreeMap::new();
    for _ in 0..1000 {
        let (id, offset) = pipe.next().unwrap();
        let last: &mut u64 = offsets.entry(id % 50).or_default();
        *last += 1;
        assert_eq!(offset, Ok(*last), "answers of a workspace come in its order");
    }
    assert_eq!(world.command_to("store-1", 5000, NOTED).status, 200);
    pipe.send(1, 0, request("store-1", 5001, NOTED));
    assert_eq!(pipe.next(), Some((1, Ok(2))));
}
