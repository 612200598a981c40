//! The same over HTTP and over gRPC: what is answered, what is refused, and why.

use serde_json::{Value, json};
use seriatim_api::{
    App, CreateAppRequest, DefineSequenceRequest, GetHeadRequest, ListAppsRequest, Range,
    SequenceDefinition, SubmitRequest,
};
use seriatim_node::Settings as NodeSettings;
use seriatim_server::Settings;
use seriatim_storage::faulty::{CallKind, Fault};
use seriatim_types::PartitionOffset;
use tonic::Code;

use crate::failures::{Gate, Way};
use crate::grpc::{Grpc, asked, error, failed, receipt, request, retry_after_ms, with_ms};
use crate::world::{NOTED, World, changes, json, key};

/// Commands that are carried out. Their members are in the order in which messages have them,
/// because the order of draws is a part of a command.
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

fn of_grpc(grpc: &Grpc<'_>, number: u64, body: &str) -> (bool, Value) {
    let done = grpc.command(number, body).unwrap();
    (done.replayed, receipt(&done.receipt.unwrap()))
}

#[test]
fn a_command_sent_over_one_protocol_is_a_replay_over_the_other() {
    let world = World::used_shop();
    let grpc = world.grpc();
    for (number, body) in (10..).step_by(2).zip(GOOD) {
        let over_http = world.command(number, body);
        assert_eq!(over_http.header("idempotent-replayed"), Some("false"), "{}", over_http.text());
        let over_http = with_ms(json(&over_http));
        assert_eq!(of_grpc(&grpc, number, body), (true, over_http), "{body}");
    }
    let body = NOTED;
    let (replayed, over_grpc) = of_grpc(&grpc, 100, body);
    assert!(!replayed);
    let again = world.command(100, body);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(with_ms(json(&again)), over_grpc);
    let get = seriatim_api::GetReceiptRequest {
        asked: asked("store-1"),
        client: "pos-4".to_owned(),
        key: crate::grpc::key(100).into(),
    };
    let found = grpc.wait(grpc.commands().get_receipt(get)).unwrap();
    assert_eq!((found.replayed, receipt(&found.receipt.unwrap())), (true, over_grpc));
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
        assert_eq!(receipt(&again.receipt.unwrap()), with_ms(json(&over_http)));
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

/// Reads that find nothing, over both.
#[test]
fn reads_fail_alike() {
    let world = World::used_shop();
    let grpc = world.grpc();
    let mut reads = grpc.reads();
    let id = seriatim_api::GetRecordRequest { asked: asked("store-1"), id: 300_000 };
    let none = failed(grpc.wait(reads.get_record(id)), Code::NotFound, "RECORD_NOT_FOUND");
    assert_eq!(none, json(&world.read("store-1", "records/300000")));
    let key_asked =
        seriatim_api::GetEntityRequest { asked: asked("store-1"), key: "no".to_owned() };
    let none = failed(grpc.wait(reads.get_entity(key_asked)), Code::NotFound, "NOT_FOUND");
    assert_eq!(none, json(&world.read("store-1", "entities/no")));
    let mut later = asked("store-1").unwrap();
    (later.min_offset, later.wait_ms) = (9, Some(0));
    let head = seriatim_api::GetHeadRequest { asked: Some(later) };
    let not_yet = failed(grpc.wait(reads.get_head(head)), Code::DeadlineExceeded, "NOT_YET");
    assert_eq!(not_yet, json(&world.read("store-1", "head?min_offset=9&wait_ms=0")));
    let records = seriatim_api::ListRecordsRequest {
        asked: asked("store-1"),
        kind: "none".to_owned(),
        ..Default::default()
    };
    let unknown =
        failed(grpc.wait(reads.list_records(records)), Code::InvalidArgument, "UNKNOWN_KIND");
    assert_eq!(unknown, json(&world.read("store-1", "records?kind=none")));
    let proof = seriatim_api::GetProofRequest { asked: asked("store-1"), offset: 1, size: 99 };
    let too_far =
        failed(grpc.wait(reads.get_proof(proof)), Code::InvalidArgument, "INVALID_ARGUMENT");
    assert_eq!(too_far, json(&world.read("store-1", "proofs/1?size=99")));
    let receipt = seriatim_api::GetReceiptRequest {
        asked: asked("store-1"),
        client: "pos-4".to_owned(),
        key: crate::grpc::key(77).into(),
    };
    let none = failed(grpc.wait(grpc.commands().get_receipt(receipt)), Code::NotFound, "NOT_FOUND");
    assert_eq!(none, json(&world.read("store-1", &format!("receipts/pos-4/{}", key(77)))));
    let app = seriatim_api::GetAppRequest { app: "none".to_owned() };
    let none = failed(grpc.wait(grpc.apps().get_app(app)), Code::NotFound, "APP_NOT_FOUND");
    assert_eq!(none, json(&world.get("/v1/apps/none")));
    let restart = seriatim_api::RestartPartitionRequest { app: "shop".to_owned(), partition: 7 };
    let none = grpc.wait(grpc.partitions().restart_partition(restart));
    assert_eq!(error(&none.unwrap_err()), json(&world.post("/v1/partitions/shop/7/restart", "")));
}

#[test]
fn definitions_are_refused_alike() {
    let world = World::shop();
    let grpc = world.grpc();
    let mut apps = grpc.apps();
    let sequence = SequenceDefinition {
        name: "ticket".to_owned(),
        ranges: vec![Range { first: 1, last: 9 }],
        ..SequenceDefinition::default()
    };
    let define = DefineSequenceRequest { app: "shop".to_owned(), sequence: Some(sequence) };
    let conflict = grpc.wait(apps.define_sequence(define));
    let conflict = failed(conflict, Code::FailedPrecondition, "DEFINITION_CONFLICT");
    let path = "/v1/apps/shop/sequences/ticket";
    assert_eq!(conflict, json(&world.put(path, r#"{"ranges":[[1,9]]}"#)));
    let app = App { name: "system".to_owned(), ..App::default() };
    let denied = grpc.wait(apps.create_app(CreateAppRequest { app: Some(app) }));
    let denied = failed(denied, Code::PermissionDenied, "PERMISSION_DENIED");
    assert_eq!(denied, json(&world.post("/v1/apps", r#"{"name":"system"}"#)));
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
    let head = GetHeadRequest { asked: asked("store-1") };
    let unread =
        failed(grpc.wait(grpc.reads().get_head(head)), Code::Unavailable, "PARTITION_STOPPED");
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
    let apps = grpc.wait(grpc.apps().list_apps(ListAppsRequest {}));
    assert_eq!(failed(apps, Code::Unavailable, "BUSY"), json(&world.get("/v1/apps")));
    gate.set(Way::Free);
}
