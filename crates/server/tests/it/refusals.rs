//! Every refusal of a command: its status, its code, its facts, and no trace.

use serde_json::{Value, json};

use crate::world::{NOTED, World, changes, error, json};

/// A workspace with two records, an entity and a drawn ticket.
fn world() -> World {
    let world = World::shop();
    world.commit(1, &changes(r#"{"create":{"id":1,"kind":"invoice","fields":{"open":true}}}"#));
    world.commit(2, &changes(r#"{"set":{"key":"stock/A-7","value":{"left":4}}}"#));
    world.commit(
        3,
        &changes(r#"{"create":{"id":9,"kind":"settings"}},{"draw":{"sequence":"ticket"}}"#),
    );
    world
}

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
    let world = world();
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
    let none = changes(r#"{"set":{"key":"none","value":1,"if":{"version":1}}}"#);
    let body = refused(&world, &none, 412, "VERSION_MISMATCH");
    assert_eq!((&body["current_version"], &body["current_value"]), (&Value::Null, &Value::Null));
}

#[test]
fn what_is_wrong_with_records_is_said_with_what_they_are() {
    let world = world();
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
    let world = world();
    let unknown = changes(r#"{"draw":{"sequence":"none"}}"#);
    assert_eq!(refused(&world, &unknown, 400, "UNKNOWN_SEQUENCE")["sequence"], "none");
    let three = changes(&[r#"{"draw":{"sequence":"ticket"}}"#; 3].join(","));
    refused(&world, &three, 409, "SEQUENCE_EXHAUSTED");
    let behind = r#"{"events":[{"name":"A"}],"if_offset":2}"#;
    assert_eq!(refused(&world, behind, 412, "OFFSET_MISMATCH")["current_offset"], 3);
    let large =
        format!(r#"{{"events":[{{"name":"A","args":{{"x":"{}"}}}}]}}"#, "x".repeat(600_000));
    let body = refused(&world, &large, 413, "TOO_LARGE");
    assert!(body["limit"].is_u64() || body["field"].is_string(), "{body}");
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
    assert_eq!(body["limit"], 2);
    assert_eq!(json(&world.command(1, NOTED))["first_offset"], 1, "what is in it is replayed");
}
