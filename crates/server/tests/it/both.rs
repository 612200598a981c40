//! The same over HTTP and over gRPC, byte for byte: what is answered, what is refused, and why.

use serde_json::{Value, json};
use seriatim_api::grpc::{SubmitRequest, SubscribeRequest};
use seriatim_node::Settings as NodeSettings;
use seriatim_server::Settings;
use seriatim_storage::faulty::{CallKind, Fault};
use seriatim_types::PartitionOffset;
use tonic::Code;

use crate::failures::{Gate, Way};
use crate::grpc::{Grpc, failed, partition_log, request, retry_after_ms, workspace_log};
use crate::world::{NOTED, World, changes, json, key};

/// Commands that are carried out.
const GOOD: &[&str] = &[
    NOTED,
    r#"{"events":[{"name":"A"},{"name":"B","args":{"x":[1,2.50,"ü"]}}],"include_proof":true}"#,
    r#"{"events":[{"name":"InvoiceIssued","args":{"a":{"$next":"invoice"},"z":{"$next":"ticket"}},
        "changes":[
          {"create":{"id":1,"kind":"invoice","fields":{"lines":[{"$ref":2}],"no":{"$draw":0,"as":"text"}}}},
          {"create":{"id":2,"kind":"line","parent":1,"fields":{"sku":"A-7"}}},
          {"update":{"id":200001,"fields":{"open":false},"if_version":1}},
          {"set":{"key":"stock/A-7","value":{"left":3},"if":{"value":{"left":4}}}},
          {"unset":{"key":"hold/9"}}]}],"if_offset":6}"#,
];

/// Commands that are refused, with the code over gRPC.
const REFUSED: &[(&str, Code, &str)] = &[
    (r#"{"events":[]}"#, Code::InvalidArgument, "INVALID_ARGUMENT"),
    (r#"{"events":[{"name":""}]}"#, Code::InvalidArgument, "INVALID_ARGUMENT"),
    (r#"{"events":[{"name":"A","args":[]}]}"#, Code::InvalidArgument, "INVALID_ARGUMENT"),
    (
        r#"{"events":[{"name":"A","changes":[{"draw":{"sequence":"ticket"}},
            {"create":{"id":1,"kind":"invoice","fields":{"x":{"$ref":7}}}}]}]}"#,
        Code::InvalidArgument,
        "INVALID_ARGUMENT",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"draw":{"sequence":"none"}}]}]}"#,
        Code::InvalidArgument,
        "UNKNOWN_SEQUENCE",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"create":{"id":1,"kind":"none"}}]}]}"#,
        Code::InvalidArgument,
        "UNKNOWN_KIND",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"update":{"id":300000,"fields":{}}}]}]}"#,
        Code::NotFound,
        "RECORD_NOT_FOUND",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"create":{"id":200001,"kind":"invoice"}}]}]}"#,
        Code::AlreadyExists,
        "RECORD_EXISTS",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"create":{"id":1,"kind":"settings"}}]}]}"#,
        Code::AlreadyExists,
        "SINGLETON_EXISTS",
    ),
    (
        r#"{"events":[{"name":"A","args":{"a":{"$next":"ticket"},"b":{"$next":"ticket"},
            "c":{"$next":"ticket"}}}]}"#,
        Code::FailedPrecondition,
        "SEQUENCE_EXHAUSTED",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"set":{"key":"stock/A-7","value":1,"if":"absent"}}]}]}"#,
        Code::AlreadyExists,
        "KEY_EXISTS",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"unset":{"key":"hold/9","if":"exists"}}]}]}"#,
        Code::NotFound,
        "KEY_NOT_FOUND",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"set":{"key":"stock/A-7","value":1,"if":{"version":7}}}]}]}"#,
        Code::Aborted,
        "VERSION_MISMATCH",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"update":{"id":200001,"fields":{},"if_version":3}}]}]}"#,
        Code::Aborted,
        "VERSION_MISMATCH",
    ),
    (
        r#"{"events":[{"name":"A","changes":[{"set":{"key":"stock/A-7","value":1,"if":{"value":[]}}}]}]}"#,
        Code::Aborted,
        "VALUE_MISMATCH",
    ),
    (r#"{"events":[{"name":"A"}],"if_offset":2}"#, Code::Aborted, "OFFSET_MISMATCH"),
];

fn of_grpc(grpc: &Grpc<'_>, number: u64, body: &str) -> (bool, Vec<u8>) {
    let done = grpc.command(number, body).unwrap();
    (done.replayed, done.receipt_json.into())
}

#[test]
fn a_command_sent_over_one_protocol_is_a_replay_over_the_other() {
    let world = World::used_shop();
    let grpc = world.grpc();
    for (number, body) in (10..).step_by(2).zip(GOOD) {
        let over_http = world.command(number, body);
        assert_eq!(over_http.header("idempotent-replayed"), Some("false"), "{}", over_http.text());
        assert_eq!(of_grpc(&grpc, number, body), (true, over_http.body), "{body}");
    }
    for (number, body) in [(100, NOTED), (101, GOOD[1])] {
        let (replayed, over_grpc) = of_grpc(&grpc, number, body);
        assert!(!replayed);
        let again = world.command(number, body);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        assert_eq!(again.body, over_grpc);
        let found = world.read("store-1", &format!("receipts/pos-4/{}", key(number)));
        assert_eq!(found.body == over_grpc, body == NOTED, "a proof is only for who asks for it");
    }
}

#[test]
fn a_client_is_counted_in_characters() {
    let world = World::shop();
    let grpc = world.grpc();
    let commands = "/v1/apps/shop/workspaces/store-1/commands";
    let clients = ["é".repeat(200), "語".repeat(255), "😀".repeat(255)];
    for (number, client) in (1..).zip(&clients) {
        let escaped: String = client.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let headers = [("Idempotency-Key", &*key(number)), ("Client-Id", client)];
        let over_http = world.send("POST", commands, &headers, NOTED);
        assert_eq!(over_http.status, 200, "{}", over_http.text());

        let again = SubmitRequest { client: client.clone(), ..request("store-1", number, NOTED) };
        let again = grpc.submit(again).unwrap();
        assert_eq!(again.receipt_json, over_http.body);
        assert!(again.replayed);

        let found = world.read("store-1", &format!("receipts/{escaped}/{}", key(number)));
        assert_eq!(found.body, over_http.body);
        let stands = json(&world.read("store-1", &format!("clients/{escaped}")));
        assert_eq!(
            (&stands["client"], &stands["last_client_sequence"]),
            (&json!(client), &json!(1))
        );
        let events = json(&world.read("store-1", &format!("events?from={number}")));
        assert_eq!(events["events"][0]["client"], json!(client));
    }
    let long = "é".repeat(256);
    let headers = [("Idempotency-Key", &*key(9)), ("Client-Id", &long)];
    let over_http = json(&world.send("POST", commands, &headers, NOTED));
    assert_eq!(over_http["field"], "Client-Id", "{over_http}");
    let long = SubmitRequest { client: long, ..request("store-1", 9, NOTED) };
    let over_grpc = failed(grpc.submit(long), Code::InvalidArgument, "INVALID_ARGUMENT");
    assert_eq!(over_grpc["field"], "client");
    assert_eq!(world.last_offset(), 3);
}

#[test]
fn what_is_refused_is_refused_with_the_same_words_and_facts() {
    let world = World::used_shop();
    let grpc = world.grpc();
    let before = world.last_offset();
    for (body, grpc_code, code) in REFUSED {
        let over_http = json(&world.command(99, body));
        let over_grpc = failed(grpc.command(99, body), *grpc_code, code);
        assert_eq!(over_grpc, over_http, "{body}");
        assert_eq!(over_grpc["outcome"], "refused");
    }
    // What the two call the things beside the command differs.
    let reused = failed(grpc.command(1, NOTED), Code::FailedPrecondition, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(reused, json(&world.command(1, NOTED)));
    assert_eq!(reused["committed_offset"], 1);
    let mut late = request("store-1", 99, NOTED);
    late.deadline_ms = Some(1000);
    let late = failed(grpc.submit(late), Code::DeadlineExceeded, "DEADLINE_EXCEEDED");
    assert_eq!(
        (&late["outcome"], &late["deadline"]),
        (&json!("not_written"), &json!("1970-01-01T00:00:01.000Z"))
    );
    let mut elsewhere = request("store-1", 99, NOTED);
    elsewhere.app = "none".to_owned();
    let none = failed(grpc.submit(elsewhere), Code::NotFound, "APP_NOT_FOUND");
    assert_eq!(none["outcome"], "refused");
    assert_eq!(world.last_offset(), before);
}

#[test]
fn a_large_current_value_is_left_out_of_a_header_and_nowhere_else() {
    let world = World::shop();
    let grpc = world.grpc();
    let value = "x".repeat(100_000);
    world.commit(1, &changes(&format!(r#"{{"set":{{"key":"k","value":"{value}"}}}}"#)));
    let body = changes(r#"{"set":{"key":"k","value":1,"if":"absent"}}"#);
    let over_http = json(&world.command(2, &body));
    assert_eq!(over_http["current_value"], value.as_str());
    let over_grpc = failed(grpc.command(2, &body), Code::AlreadyExists, "KEY_EXISTS");
    assert_eq!((&over_grpc["key"], &over_grpc["current_version"]), (&json!("k"), &json!(1)));
    assert_eq!(over_grpc["current_value"], Value::Null);
}

#[test]
fn a_full_window_of_keys_is_a_matter_of_time_over_both() {
    let world = World::new();
    let made = world.post("/v1/apps", r#"{"name":"shop","partitions":1,"idempotency_keys_max":1}"#);
    assert_eq!(made.status, 201);
    world.commit(1, NOTED);
    let answer = world.grpc().command(2, NOTED);
    assert_eq!(retry_after_ms(&answer), 1000);
    let full = failed(answer, Code::Unavailable, "KEY_WINDOW_FULL");
    assert_eq!(full, json(&world.command(2, NOTED)));
    assert_eq!(full["outcome"], "not_written");
}

#[test]
fn a_log_that_cannot_be_followed_is_told_alike() {
    let world = World::used_shop();
    let grpc = world.grpc();
    let stream = [("Accept", "text/event-stream")];
    let follow = |log, from| grpc.wait(grpc.reads().subscribe(SubscribeRequest { log, from }));
    let nowhere = "/v1/apps/shop/workspaces/1099511627999/events";
    let no_id = follow(workspace_log("1099511627999"), 1);
    let no_id = failed(no_id, Code::InvalidArgument, "INVALID_ARGUMENT");
    assert_eq!(no_id, json(&world.send("GET", nowhere, &stream, "")));
    let mut elsewhere = workspace_log("store-1").unwrap();
    elsewhere.app = "none".to_owned();
    let none = failed(follow(Some(elsewhere), 1), Code::NotFound, "APP_NOT_FOUND");
    assert_eq!(
        none,
        json(&world.send("GET", "/v1/apps/none/workspaces/store-1/events", &stream, ""))
    );
    let none = failed(follow(partition_log(77), 1), Code::NotFound, "NOT_FOUND");
    assert_eq!(none, json(&world.get("/v1/apps/shop/partitions/77/events")));
    let events = "/v1/apps/shop/workspaces/store-1/events?from=9007199254740992";
    let too_far = follow(workspace_log("store-1"), 1 << 53);
    let too_far = failed(too_far, Code::InvalidArgument, "INVALID_ARGUMENT");
    assert_eq!(too_far, json(&world.send("GET", events, &stream, "")));
    for (log, field) in
        [(None, "app"), (workspace_log(""), "workspace"), (partition_log(1 << 16), "partition")]
    {
        let wrong = failed(follow(log, 1), Code::InvalidArgument, "INVALID_ARGUMENT");
        assert_eq!(wrong["field"], field);
    }
    let nothing = seriatim_api::grpc::Log { app: "shop".to_owned(), log: None };
    let wrong = failed(follow(Some(nothing), 1), Code::InvalidArgument, "INVALID_ARGUMENT");
    assert_eq!(wrong["field"], "log");
}

#[test]
fn a_server_that_is_busy_or_broken_says_so_alike() {
    let (gate, store) = Gate::store(Way::Free);
    let world = World::ready(store.clone(), NodeSettings::default(), Settings::default());
    world.define_shop();
    let grpc = world.grpc();
    gate.set(Way::Faulty(CallKind::Commit, Fault::Refuse));
    let busy = failed(grpc.command(1, NOTED), Code::Unavailable, "BUSY");
    assert_eq!(busy["outcome"], "not_written");
    gate.set(Way::Free);
    world.commit_when_taken(1, NOTED);
    let second = PartitionOffset::new(2).unwrap();
    let answer = gate.fail_sync_of(&world, &store, second, || grpc.command(2, NOTED));
    let unknown = failed(answer, Code::Unavailable, "OUTCOME_UNKNOWN");
    assert_eq!(unknown["outcome"], "unknown");
    let stopped = failed(grpc.command(3, NOTED), Code::Unavailable, "PARTITION_STOPPED");
    assert_eq!(stopped, json(&world.command(3, NOTED)));
    assert_eq!(stopped["outcome"], "not_written");
    let follow = SubscribeRequest { log: workspace_log("store-1"), from: 1 };
    let unread = grpc.wait(grpc.reads().subscribe(follow));
    let unread = failed(unread, Code::Unavailable, "PARTITION_STOPPED");
    assert_eq!(unread, json(&world.read("store-1", "head")));
}

#[test]
fn a_server_that_reads_its_logs_is_busy_alike() {
    let (gate, store) = Gate::store(Way::Held(CallKind::Snapshot));
    let world = World::open(store, NodeSettings::default(), Settings::default());
    let grpc = world.grpc();
    let answer = grpc.command(1, NOTED);
    assert_eq!(retry_after_ms(&answer), 50, "HTTP has to round it up to a second");
    let busy = failed(answer, Code::Unavailable, "BUSY");
    assert_eq!(busy["reason"], "actualizing");
    assert_eq!(busy, json(&world.command(1, NOTED)));
    let follow = SubscribeRequest { log: partition_log(0), from: 1 };
    let follow = grpc.wait(grpc.reads().subscribe(follow));
    assert_eq!(failed(follow, Code::Unavailable, "BUSY"), json(&world.get("/v1/apps")));
    gate.set(Way::Free);
}
