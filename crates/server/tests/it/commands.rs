//! Commands: receipts, repetitions, proofs.

use std::thread;

use serde_json::{Value, json};
use seriatim_testkit::HttpAnswer;
use tonic::Code;

use crate::grpc::{failed, request};
use crate::world::{NOTED, World, changes, error, json, key, send_command};

const INVOICE: &str = r#"{"events":[{"name":"InvoiceIssued","args":{"total":1250},"changes":[
    {"create":{"id":1,"kind":"invoice","fields":{"number":{"$next":"invoice","as":"text"},"lines":[{"$ref":2}]}}},
    {"create":{"id":2,"kind":"line","parent":1,"fields":{"sku":"A-7"}}},
    {"draw":{"sequence":"ticket"}}]}]}"#;

fn replayed(answer: &HttpAnswer) -> Option<&str> {
    answer.header("idempotent-replayed")
}

#[test]
fn a_receipt_has_all_numbers_in_the_order_of_the_contract() {
    let world = World::shop();
    let answer = world.command(1, INVOICE);
    assert_eq!((answer.status, replayed(&answer)), (200, Some("false")));
    let receipt = json(&answer);
    let (id, partition) = (&receipt["workspace_id"], &receipt["partition"]);
    let (at, year) = (receipt["committed_at"].as_str().unwrap(), &receipt["numbers"][0]["period"]);
    let expected = format!(
        r#"{{"app":"shop","workspace":"store-1","workspace_id":{id},"partition":{partition},"first_offset":1,"last_offset":1,"first_partition_offset":1,"last_partition_offset":1,"client_sequence":1,"ids":{{"1":200001,"2":200002}},"numbers":[{{"sequence":"invoice","period":{year},"number":1,"text":"INV-{year}-000001"}},{{"sequence":"ticket","number":1,"text":"1"}}],"committed_at":"{at}"}}"#
    );
    assert_eq!(answer.text(), expected);
}

#[test]
fn a_repetition_gets_the_same_bytes_and_says_so() {
    let world = World::shop();
    let first = world.command(1, INVOICE);
    world.commit(2, NOTED);
    let again = world.command(1, INVOICE);
    assert_eq!((again.status, replayed(&again)), (200, Some("true")));
    assert_eq!(again.body, first.body);
    let path = format!("receipts/pos-4/{}", key(1).to_uppercase());
    assert_eq!(world.read("store-1", &path).body, first.body);
    assert_eq!(world.last_offset(), 2);
}

/// An id that came from elsewhere and was small was taken for a raw id, and the record got another.
#[test]
fn an_import_keeps_its_id_or_is_refused() {
    let world = World::shop();
    let import = |id: u64, more: &str| {
        changes(&format!(r#"{{"create":{{"id":{id},"kind":"line"{more}}}}}"#))
    };
    for id in [17, 65_535, 65_536, 200_000] {
        let refused = world.command(1, &import(id, r#","import":true"#));
        let refused = error(&refused, 400, "INVALID_ARGUMENT");
        assert_eq!(refused["field"], "events[0].changes[0].create.id", "{id}");
    }
    assert_eq!(world.commit(1, &import(17, ""))["ids"], json!({"17": 200_001}));
    assert_eq!(world.commit(2, &import(200_017, r#","import":true"#))["ids"], json!({}));
    // The member is no part of the command that the key belongs to.
    for more in ["", r#","import":false"#, r#","import":true"#] {
        let again = world.command(2, &import(200_017, more));
        assert_eq!((again.status, replayed(&again)), (200, Some("true")), "{more}");
    }

    // Where records of a class have ranges of their own, only the core knows them.
    let split = r#"{"name":"split","partitions":1,"record_ids":"split"}"#;
    assert_eq!(world.post("/v1/apps", split).status, 201);
    assert_eq!(world.put("/v1/apps/split/records/line", r#"{"class":"o"}"#).status, 200);
    let send = |number, body: &str| {
        let key = key(number);
        let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "pos-4")];
        world.send("POST", "/v1/apps/split/workspaces/1/commands", &headers, body)
    };
    let outside = send(1, &import(200_017, r#","import":true"#));
    assert_eq!(error(&outside, 400, "INVALID_ARGUMENT")["field"], "events[0].changes[0].create.id");
    assert_eq!(send(2, &import(322_680_000_131_079, r#","import":true"#)).status, 200);
}

#[test]
fn a_workspace_that_has_only_an_id_is_shown_by_it() {
    let world = World::shop();
    for (text, id) in [("77", 77), ("0", 0), ("1099511627775", 1_099_511_627_775_u64)] {
        let receipt = json(&world.command_to(text, 1, NOTED));
        assert_eq!((&receipt["workspace"], &receipt["workspace_id"]), (&json!(text), &json!(id)));
    }
}

/// `0042` was the id 42, and a workspace that has a name could be reached by its id too: two texts for
/// one workspace.
#[test]
fn digits_that_are_no_id_below_two_to_the_40_are_refused_everywhere() {
    let world = World::used_shop();
    let named = json(&world.command(9, NOTED))["workspace_id"].to_string();
    for text in ["0042", "00", "1099511627776", "9007199254740992", named.as_str()] {
        let refused = error(&world.command_to(text, 1, NOTED), 400, "INVALID_ARGUMENT");
        assert_eq!(
            (&refused["field"], &refused["outcome"]),
            (&json!("workspace"), &json!("refused"))
        );
        let path = format!("/v1/apps/shop/workspaces/{text}");
        let declared = error(&world.put(&path, "{}"), 400, "INVALID_ARGUMENT");
        assert_eq!(declared["field"], "workspace", "{text}");
        for read in ["events", "head", "records?kind=invoice", "entities/x", "sequences/ticket"] {
            let refused = error(&world.read(text, read), 400, "INVALID_ARGUMENT");
            assert_eq!(refused["field"], "workspace", "{text} {read}");
        }
        let submitted = world.grpc().submit(request(text, 1, NOTED));
        let over_grpc = failed(submitted, Code::InvalidArgument, "INVALID_ARGUMENT");
        assert_eq!(over_grpc["field"], "workspace", "{text}");
    }
}

#[test]
fn twenty_simultaneous_sends_of_one_key_are_one_event_and_twenty_equal_receipts() {
    let world = World::shop();
    let send = || send_command(&mut world.client(), "store-1", 1, INVOICE);
    let answers: Vec<HttpAnswer> = thread::scope(|scope| {
        let senders: Vec<_> = (0..20).map(|_| scope.spawn(send)).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    for answer in &answers {
        assert_eq!((answer.status, &answer.body), (200, &answers[0].body));
    }
    let first_times = answers.iter().filter(|answer| replayed(answer) == Some("false"));
    assert_eq!(first_times.count(), 1);
    assert_eq!(world.last_offset(), 1);
}

#[test]
fn many_commands_of_one_client_with_keys_of_their_own_all_succeed() {
    let world = World::shop();
    let world = &world;
    let mut sequences: Vec<u64> = thread::scope(|scope| {
        let senders = (0..64).map(|number| scope.spawn(move || world.commit(number, NOTED)));
        let senders: Vec<_> = senders.collect();
        let receipts = senders.into_iter().map(|sender| sender.join().unwrap());
        receipts.map(|receipt| receipt["client_sequence"].as_u64().unwrap()).collect()
    });
    sequences.sort_unstable();
    assert_eq!(sequences, (1..=64).collect::<Vec<u64>>());
}

#[test]
fn a_reused_key_is_refused_and_names_the_original() {
    let world = World::shop();
    world.commit(1, NOTED);
    world.commit(2, NOTED);
    let body = error(&world.command(2, INVOICE), 422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!((&body["committed_offset"], &body["outcome"]), (&json!(2), &json!("refused")));
    let events = json(&world.read("store-1", "events?from=2"));
    assert_eq!(body["committed_hash"], events["events"][0]["hash"]);
    assert_eq!(world.last_offset(), 2);
}

#[test]
fn a_proof_is_against_the_head_of_its_own_commit_also_on_a_repetition() {
    let world = World::shop();
    world.commit(1, NOTED);
    let two = r#"{"events":[{"name":"A"},{"name":"B"}],"include_proof":true}"#;
    let first = world.command(2, two);
    world.commit(3, NOTED);
    let again = world.command(2, two);
    assert_eq!((replayed(&again), &again.body), (Some("true"), &first.body));
    let receipt = json(&first);
    assert_eq!(receipt["head"]["size"], 3);
    assert_eq!((&receipt["proof"]["offset"], &receipt["proof"]["size"]), (&json!(3), &json!(3)));
    assert_eq!(receipt["proof"]["root"], receipt["head"]["root"]);
    assert_eq!(receipt["proof"], json(&world.read("store-1", "proofs/3?size=3")));
    // The proof flag is no part of what was asked for.
    let bare = r#"{"events":[{"name":"A"},{"name":"B"}]}"#;
    let bare = world.command(2, bare);
    assert_eq!((replayed(&bare), json(&bare)["head"].is_null()), (Some("true"), true));
}

#[test]
fn a_command_after_its_deadline_is_not_written_and_one_before_is() {
    let world = World::shop();
    let send = |number, deadline: &str| {
        let key = key(number);
        let headers =
            [("Idempotency-Key", key.as_str()), ("Client-Id", "pos-4"), ("Deadline", deadline)];
        world.send("POST", "/v1/apps/shop/workspaces/store-1/commands", &headers, NOTED)
    };
    let late = error(&send(1, "2001-01-01T00:00:00Z"), 504, "DEADLINE_EXCEEDED");
    assert_eq!(late["outcome"], "not_written");
    assert_eq!(late["deadline"], "2001-01-01T00:00:00.000Z");
    assert_eq!(world.last_offset(), 0);
    assert_eq!(send(1, "2099-01-01T00:00:00+02:00").status, 200);
    let again = send(1, "2001-01-01T00:00:00Z");
    assert_eq!((again.status, replayed(&again)), (200, Some("true")), "a repetition is never late");
}

#[test]
fn clients_and_workspaces_may_have_any_characters() {
    let world = World::shop();
    let workspace = "Caf%C3%A9%2F1%20%3F%23";
    let path = format!("/v1/apps/shop/workspaces/{workspace}/commands");
    let (key_1, client) = (key(1), "Kasse Süd/2");
    let headers = [("Idempotency-Key", key_1.as_str()), ("Client-Id", client)];
    let answer =
        world.send("POST", &path, &headers, &changes(r#"{"set":{"key":"ü/ö","value":1}}"#));
    assert_eq!(json(&answer)["workspace"], "Café/1 ?#", "{}", answer.text());
    let state = json(&world.read(workspace, "clients/Kasse%20S%C3%BCd%2F2"));
    assert_eq!(state, json!({"client": client, "last_client_sequence": 1, "last_offset": 1}));
    let path = format!("receipts/Kasse%20S%C3%BCd%2F2/{key_1}");
    assert_eq!(world.read(workspace, &path).body, answer.body);
    let entity: Value = json(&world.read(workspace, "entities/%C3%BC/%C3%B6"));
    assert_eq!(entity["key"], "ü/ö");
}
