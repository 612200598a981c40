//! Every refusal of a command: its status, its code, its facts, and no trace.

use serde_json::{Value, json};
use tonic::Code;

use crate::grpc::failed;
use crate::world::{NOTED, World, changes, error, json};

/// Sends what is refused, and checks that it left no trace.
fn refused(world: &World, body: &str, status: u16, code: &str) -> Value {
    let (before, ticket) = (world.last_offset(), world.read("store-1", "sequences/ticket").body);
    let answer = error(&world.command(99, body), status, code);
    assert_eq!(answer["outcome"], "refused", "{answer}");
    assert_eq!(answer["retryable"], false, "{answer}");
    assert_eq!(world.last_offset(), before);
    assert_eq!(world.read("store-1", "sequences/ticket").body, ticket);
    answer
}

#[test]
fn what_is_wrong_with_entities_is_said_with_what_they_are() {
    let world = World::used_shop();
    let stock = json!({"left": 4});
    let set = |condition: &str| {
        let value = r#""key":"stock/A-7","value":1"#;
        changes(&format!(
            r#"{{"draw":{{"sequence":"ticket"}}}},{{"set":{{{value},"if":{condition}}}}}"#
        ))
    };
    let body = refused(&world, &set(r#""absent""#), 412, "KEY_EXISTS");
    assert_eq!((&body["key"], &body["current_version"]), (&json!("stock/A-7"), &json!(1)));
    assert_eq!(body["current_value"], stock);
    let body = refused(&world, &set(r#"{"version":7}"#), 412, "VERSION_MISMATCH");
    assert_eq!((&body["current_version"], &body["current_value"]), (&json!(1), &stock));
    let body = refused(&world, &set(r#"{"value":{"left":5}}"#), 412, "VALUE_MISMATCH");
    assert_eq!((&body["key"], &body["current_value"]), (&json!("stock/A-7"), &stock));
    let unset = changes(r#"{"unset":{"key":"hold/9","if":"exists"}}"#);
    assert_eq!(refused(&world, &unset, 412, "KEY_NOT_FOUND")["key"], "hold/9");
    for condition in [r#"{"version":1}"#, r#"{"value":1}"#] {
        let none = changes(&format!(r#"{{"set":{{"key":"none","value":1,"if":{condition}}}}}"#));
        assert_eq!(refused(&world, &none, 412, "KEY_NOT_FOUND")["key"], "none");
        let none = changes(&format!(r#"{{"unset":{{"key":"none","if":{condition}}}}}"#));
        assert_eq!(refused(&world, &none, 412, "KEY_NOT_FOUND")["key"], "none");
    }
}

#[test]
fn what_is_wrong_with_records_is_said_with_what_they_are() {
    let world = World::used_shop();
    let update = changes(r#"{"update":{"id":200001,"fields":{"open":false},"if_version":3}}"#);
    let body = refused(&world, &update, 412, "VERSION_MISMATCH");
    assert_eq!((&body["id"], &body["current_version"]), (&json!(200_001), &json!(1)));
    assert_eq!(body["current_value"], json!({"open": true}));
    let update = changes(r#"{"update":{"id":300000,"fields":{}}}"#);
    assert_eq!(refused(&world, &update, 404, "RECORD_NOT_FOUND")["id"], 300_000);
    let import = changes(r#"{"create":{"id":200001,"kind":"invoice"}}"#);
    assert_eq!(refused(&world, &import, 409, "RECORD_EXISTS")["id"], 200_001);
    let second = changes(r#"{"create":{"id":1,"kind":"settings"}}"#);
    let body = refused(&world, &second, 409, "SINGLETON_EXISTS");
    assert_eq!((&body["kind"], &body["id"]), (&json!("settings"), &json!(65_536)));
    let unknown = changes(r#"{"create":{"id":1,"kind":"none"}}"#);
    let body = refused(&world, &unknown, 400, "UNKNOWN_KIND");
    assert_eq!(body["kind"], "none");
    assert_eq!(body["field"], "events[0].changes[0].create.kind");
}

#[test]
fn what_is_wrong_with_numbers_and_places_is_said() {
    let world = World::used_shop();
    let unknown = changes(r#"{"draw":{"sequence":"none"}}"#);
    assert_eq!(refused(&world, &unknown, 400, "UNKNOWN_SEQUENCE")["sequence"], "none");
    let deep = r#"{"events":[{"name":"A","changes":[{"set":{"key":"k","value":{"a":1,
        "lines":[0,{"unit price":{"$next":"none"}}]}}},{"create":{"id":1,"kind":"invoice",
        "fields":{"no":[{"$next":"ticket"}]}}}]}]}"#;
    let body = refused(&world, deep, 400, "UNKNOWN_SEQUENCE");
    let field = r#"events[0].changes[0].set.value.lines[1]["unit price"].$next"#;
    assert_eq!(body["field"], field);
    let of_field = changes(
        r#"{"create":{"id":1,"kind":"invoice","fields":{"no":[{"$next":"none","as":"text"}]}}}"#,
    );
    let body = refused(&world, &of_field, 400, "UNKNOWN_SEQUENCE");
    assert_eq!(body["field"], "events[0].changes[0].create.fields.no[0].$next");
    let three = changes(&[r#"{"draw":{"sequence":"ticket"}}"#; 3].join(","));
    assert_eq!(refused(&world, &three, 409, "SEQUENCE_EXHAUSTED")["sequence"], "ticket");
    let behind = r#"{"events":[{"name":"A"}],"if_offset":2}"#;
    assert_eq!(refused(&world, behind, 412, "OFFSET_MISMATCH")["current_offset"], 3);
    let large =
        format!(r#"{{"events":[{{"name":"A","args":{{"x":"{}"}}}}]}}"#, "x".repeat(600_000));
    let body = refused(&world, &large, 413, "TOO_LARGE");
    assert!(body["limit"].is_u64() || body["field"].is_string(), "{body}");
}

#[test]
fn ids_of_records_end_behind_the_highest_that_is_imported() {
    let world = World::used_shop();
    let import = |id: u64| changes(&format!(r#"{{"create":{{"id":{id},"kind":"invoice"}}}}"#));
    world.commit(4, &import((1 << 53) - 1));
    let body = refused(&world, &import(1), 409, "SEQUENCE_EXHAUSTED");
    assert_eq!((&body["sequence"], &body["kind"]), (&json!("record ids"), &json!("invoice")));
    let over_grpc = failed(
        world.grpc().command(99, &import(1)),
        Code::FailedPrecondition,
        "SEQUENCE_EXHAUSTED",
    );
    assert_eq!(over_grpc, body);
    // Ids that are chosen can still be used, and other workspaces have ids of their own.
    world.commit(5, &import(300_000));
    assert_eq!(world.command_to("store-2", 1, &import(1)).status, 200);
}

#[test]
fn a_full_window_of_keys_is_no_refusal_but_a_matter_of_time() {
    let world = World::new();
    let made = world.post("/v1/apps", r#"{"name":"shop","partitions":1,"idempotency_keys_max":2}"#);
    assert_eq!(made.status, 201);
    world.commit(1, NOTED);
    world.commit(2, NOTED);
    let answer = world.command(3, NOTED);
    let body = error(&answer, 503, "KEY_WINDOW_FULL");
    assert_eq!((&body["retryable"], &body["outcome"]), (&json!(true), &json!("not_written")));
    assert_eq!((&body["limit"], answer.header("retry-after")), (&json!(2), Some("1")));
    assert_eq!(json(&world.command(1, NOTED))["first_offset"], 1, "what is in it is replayed");
}
