//! What a client may cost: connections, headers, bodies, time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prost::Message;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use seriatim_api::grpc::{SubmitRequest, SubmitResponse, SubscribeRequest};
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::faulty::CallKind;
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::{HttpClient, request};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{Service, tokio_stream};
use tonic::{Code, Request};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_prost::ProstCodec;

use crate::failures::{Gate, Way};
use crate::grpc::failed;
use crate::raw::Raw;
use crate::world::{NOTED, World, error, key};

const SUBMIT: &str = "/seriatim.v1.CommandService/Submit";
const SUBSCRIBE: &str = "/seriatim.v1.ReadService/Subscribe";
const COMMANDS: &str = "/v1/apps/shop/workspaces/store-1/commands";

fn world(settings: Settings) -> World {
    let store = Arc::new(MemoryStore::new(&schema()));
    let world = World::ready(store, NodeSettings::default(), settings);
    world.define_shop();
    world
}

fn quick() -> Settings {
    let soon = Duration::from_millis(100);
    Settings { header_within: soon, body_within: soon, ..Settings::default() }
}

#[test]
fn a_thousand_connections_at_once_are_all_answered_and_all_told() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let world = world(Settings::default());
    let mut clients: Vec<HttpClient> = (0..1000).map(|_| world.client()).collect();
    for (number, client) in (0..).zip(&mut clients) {
        let key = key(number);
        let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "many")];
        client.write(&request("POST", COMMANDS, &headers, NOTED.as_bytes())).unwrap();
    }
    let mut offsets: Vec<u64> = Vec::new();
    for client in &mut clients {
        let answer = client.read_answer().unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text());
        offsets.push(crate::world::json(&answer)["first_offset"].as_u64().unwrap());
    }
    offsets.sort_unstable();
    assert_eq!(offsets, (1..=1000).collect::<Vec<_>>());
    let path = "/v1/apps/shop/workspaces/store-1/events?from=1001";
    for client in &mut clients {
        client.write(&request("GET", path, &[("Accept", "text/event-stream")], b"")).unwrap();
    }
    for client in &mut clients {
        assert_eq!(client.read_head().unwrap().0, 200);
    }
    world.commit(5000, NOTED);
    for client in &mut clients {
        assert!(client.read_event().unwrap().unwrap().starts_with("id: 1001\n"));
    }
}

/// Over HTTP/2 only their bytes were limited.
#[test]
fn headers_are_counted_in_both_versions_of_http() {
    let world = world(Settings { headers_max: 10, ..Settings::default() });
    let names: Vec<String> = (0..11).map(|number| format!("x-{number}")).collect();
    let headers: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let few = headers.get(..5).unwrap();
    assert_eq!(world.send("GET", "/livez", &headers, "").status, 431);
    assert_eq!(world.send("GET", "/livez", few, "").status, 200);
    let mut raw = Raw::connect(&world);
    let mut livez = |headers: &[(&str, &str)]| {
        let mut request = axum::http::Request::get("http://localhost/livez");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        raw.ask(request.body(axum::body::Body::empty()).unwrap()).unwrap()
    };
    let answer = livez(&headers);
    let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.http.as_u16(), &body["code"]), (431, &json!("TOO_LARGE")));
    assert_eq!(livez(few).http, 200);
    let status = Raw::connect(&world).call(SUBMIT, &headers, b"").status().unwrap();
    let facts = failed(Err::<(), _>(status), Code::ResourceExhausted, "TOO_LARGE");
    assert_eq!((&facts["limit"], &facts["outcome"]), (&json!(10), &json!("refused")));
}

#[test]
fn a_client_that_does_not_come_to_its_request_loses_its_place() {
    let world = world(Settings { connections_max: 1, ..quick() });
    for begun in [
        &b""[..],
        b"P",
        b"PRI * HTTP/2.0\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\n",
        b"POST /v1/apps HTTP/1.1\r\nHost: localhost\r\nA: b",
    ] {
        let mut slow = world.client();
        slow.write(begun).unwrap();
        // The end may be a hard one, or an answer before it. Either way the next one gets the place.
        drop(slow.read_answer());
        assert_eq!(world.get("/livez").status, 200, "{}", String::from_utf8_lossy(begun));
    }
}

/// That a request came late or not whole: nothing was written, and the same may be sent again.
fn is_unsent(body: &Value, message: &str) {
    assert_eq!(body["message"], message);
    assert_eq!((&body["retryable"], &body["outcome"]), (&json!(true), &json!("not_written")));
}

/// It was refused for good, although nothing was wrong with it but the network.
#[test]
fn a_body_that_does_not_come_is_not_waited_for_and_may_be_sent_again() {
    let world = world(quick());
    let mut slow = world.client();
    let key = key(1);
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "slow")];
    let command = request("POST", COMMANDS, &headers, NOTED.as_bytes());
    slow.write(&command[..command.len() - 1]).unwrap();
    let body = error(&slow.read_answer().unwrap(), 504, "DEADLINE_EXCEEDED");
    is_unsent(&body, "the body did not come in time: 100 ms are allowed for it");
    let grpc = world.grpc();
    let mut client = tonic::client::Grpc::new(grpc.channel.clone());
    grpc.runtime.block_on(client.ready()).unwrap();
    let never = tokio_stream::pending::<SubmitRequest>();
    let path = PathAndQuery::from_static(SUBMIT);
    let codec = ProstCodec::<_, SubmitResponse>::default();
    let late = grpc.wait(client.client_streaming(Request::new(never), path, codec));
    let body = failed(late, Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
    is_unsent(&body, "the message did not come in time: 100 ms are allowed for it");
    assert_eq!(world.last_offset(), 0);
}

#[test]
fn a_body_that_breaks_off_may_be_sent_again_and_chunks_that_are_none_may_not() {
    let world = world(Settings::default());
    let key = key(1);
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "cut")];
    let command = request("POST", COMMANDS, &headers, NOTED.as_bytes());
    let cut = &command[..command.len() - 1];
    let chunked = [("Transfer-Encoding", "chunked"), headers[0], headers[1]];
    let chunked = request("POST", COMMANDS, &chunked, b"zz\r\n{}");
    let chunked = String::from_utf8(chunked).unwrap().replace("Content-Length: 6\r\n", "");
    let ask = |bytes: &[u8]| {
        let mut client = world.client();
        client.write(bytes).unwrap();
        client.end().unwrap();
        client.read_answer().unwrap()
    };
    is_unsent(&error(&ask(cut), 504, "DEADLINE_EXCEEDED"), "the body breaks off");
    let refused = error(&ask(chunked.as_bytes()), 400, "INVALID_ARGUMENT");
    assert_eq!((&refused["field"], &refused["outcome"]), (&json!("body"), &json!("refused")));
    assert_eq!(world.last_offset(), 0);
}

#[test]
fn heads_that_are_too_large_are_refused_with_431() {
    let world = world(Settings::default());
    let many: String = (0..101).map(|number| format!("H{number}: x\r\n")).collect();
    let long = format!("H: {}\r\n", "x".repeat(65 * 1024));
    for headers in [many, long] {
        let mut client = world.client();
        let head = format!("GET /livez HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        client.write(head.as_bytes()).unwrap();
        assert_eq!(client.read_answer().unwrap().status, 431);
    }
    let grpc = world.grpc();
    let mut health = HealthClient::new(grpc.channel.clone());
    let mut asked = Request::new(HealthCheckRequest { service: String::new() });
    asked.metadata_mut().insert("h", "x".repeat(65 * 1024).parse().unwrap());
    assert!(grpc.wait(health.check(asked)).is_err());
    let again = health.check(HealthCheckRequest { service: String::new() });
    assert!(grpc.wait(again).is_ok(), "the connection goes on");
}

/// The server closed at once, and the client lost the answer with the connection.
#[test]
fn a_client_that_sends_all_of_a_body_that_is_too_large_reads_the_answer() {
    let world = world(Settings::default());
    let key = key(1);
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "large")];
    let command = request("POST", COMMANDS, &headers, &vec![b' '; 8 * 1024 * 1024]);
    for _ in 0..5 {
        let mut client = world.client();
        client.write(&command).unwrap();
        error(&client.read_answer().unwrap(), 413, "TOO_LARGE");
    }
}

#[test]
fn one_connection_has_so_many_requests_open_and_no_more() {
    let world = world(Settings { streams_per_connection_max: 2, ..Settings::default() });
    world.commit(1, NOTED);
    let grpc = world.grpc();
    let origin = format!("http://{}", world.address);
    let ask = |wait_ms: u64| {
        let mut channel = grpc.channel.clone();
        let path =
            format!("{origin}/v1/apps/shop/workspaces/store-1/events?from=2&wait_ms={wait_ms}");
        async move {
            std::future::poll_fn(|task| channel.poll_ready(task)).await.unwrap();
            let request = axum::http::Request::get(path).body(tonic::body::Body::empty()).unwrap();
            assert_eq!(channel.call(request).await.unwrap().status(), 200);
        }
    };
    // By its first answer the client knows how many it may have.
    grpc.runtime.block_on(ask(0));
    let began = Instant::now();
    grpc.runtime.block_on(async {
        for asked in [ask(200), ask(200), ask(200)].map(tokio::spawn) {
            asked.await.unwrap();
        }
    });
    assert!(began.elapsed() >= Duration::from_millis(400), "the third waits for the first two");
}

#[test]
fn the_time_that_a_client_waits_is_the_deadline_of_its_command() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    world.define_shop();
    let mut raw = Raw::connect(&world);
    let mut submit = |timeout: &str, number: u64| {
        let request = crate::grpc::request("store-1", number, NOTED);
        let answer = raw.call(SUBMIT, &[("grpc-timeout", timeout)], &request.encode_to_vec());
        answer.status().map(|status| (status.code(), crate::grpc::error(&status)))
    };
    for nothing in ["0m", "0n", "1n", "999u", "0H"] {
        let (code, body) = submit(nothing, 1).unwrap();
        assert_eq!(code, Code::DeadlineExceeded, "{nothing}");
        assert_eq!(body["outcome"], "not_written", "whoever waits so long has given up: {body}");
    }
    assert_eq!(submit("50S", 1), None);
    gate.set(Way::Held(CallKind::Sync));
    let (code, body) = submit("10m", 2).unwrap();
    assert_eq!(code, Code::DeadlineExceeded);
    assert_eq!(body["outcome"], "unknown", "it was on its way: {body}");
    gate.set(Way::Free);
    assert_eq!(submit("50S", 2), None);
    assert_eq!(world.last_offset(), 2);
}

/// Reads waited as long as they liked, and what was no time at all was overlooked there.
#[test]
fn every_method_ends_when_its_caller_waits_no_longer() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store, NodeSettings::default(), Settings::default());
    world.define_shop();
    let mut raw = Raw::connect(&world);
    let mut call = |path: &str, headers: &[(&str, &str)], message: Vec<u8>| {
        let status = raw.call(path, headers, &message).status().unwrap();
        (status.code(), crate::grpc::error(&status))
    };
    let follow = || {
        let log = crate::grpc::workspace_log("store-1");
        SubscribeRequest { log, from: 1 }.encode_to_vec()
    };
    for wrong in [&["x"][..], &["1S", "1S"], &["1S", "x"]] {
        let headers: Vec<_> = wrong.iter().map(|it| ("grpc-timeout", *it)).collect();
        let (code, body) = call(SUBSCRIBE, &headers, follow());
        assert_eq!((code, &body["field"]), (Code::InvalidArgument, &json!("grpc-timeout")));
    }
    gate.set(Way::Held(CallKind::Get));
    let (code, body) = call(SUBSCRIBE, &[("grpc-timeout", "50m")], follow());
    assert_eq!((code, &body["retryable"]), (Code::DeadlineExceeded, &json!(true)));
    assert!(body["outcome"].is_null(), "a read has no outcome: {body}");
    gate.set(Way::Free);
}

/// Twenty clients that asked for long lists and read nothing had all places for good.
#[test]
fn a_client_that_reads_nothing_of_what_it_asked_for_loses_its_place() {
    let unread_within = Duration::from_millis(100);
    let world = world(Settings { connections_max: 1, unread_within, ..Settings::default() });
    let large = "x".repeat(250_000);
    for number in 1..=4 {
        let body = format!(r#"{{"events":[{{"name":"A","args":{{"a":"{large}"}}}}]}}"#);
        world.commit(number, &body);
    }
    let mut deaf = world.client();
    let list = "GET /v1/apps/shop/workspaces/store-1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    // More than the machine keeps for somebody who does not read.
    deaf.write(list.repeat(50).as_bytes()).unwrap();
    assert_eq!(world.get("/livez").status, 200);
    drop(deaf);
}

/// The framework's own status came without details.
#[test]
fn a_message_that_is_compressed_is_refused_with_all_that_an_error_has() {
    let world = world(Settings::default());
    let mut raw = Raw::connect(&world);
    let mut message = crate::raw::framed(b"\x1f\x8b");
    message[0] = 1;
    let answer = raw.send(SUBMIT, &[("grpc-encoding", "gzip")], message).unwrap();
    let status = answer.status().unwrap();
    let body = crate::grpc::error(&status);
    assert_eq!(status.code(), Code::Unimplemented, "as gRPC has it");
    assert_eq!((&body["code"], &body["outcome"]), (&json!("INVALID_ARGUMENT"), &json!("refused")));
    assert_eq!(body["field"], "grpc-encoding");
}
