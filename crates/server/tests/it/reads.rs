//! Reads of a workspace and of a partition.

use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use seriatim_merkle::{verify_consistency, verify_inclusion};
use seriatim_types::Hash;

use crate::world::{NOTED, World, changes, error, json, key};

fn values(answer: &Value, list: &str, member: &str) -> Vec<u64> {
    let items = answer[list].as_array().unwrap().iter();
    items.map(|item| item[member].as_u64().unwrap()).collect()
}

#[test]
fn events_come_in_order_and_in_parts() {
    let world = World::shop();
    for number in 1..=7 {
        world.commit(number, NOTED);
    }
    let all = json(&world.read("store-1", "events"));
    assert_eq!(values(&all, "events", "offset"), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!((&all["next"], &all["last"]), (&json!(8), &json!(7)));
    let part = json(&world.read("store-1", "events?from=3&limit=2"));
    assert_eq!(values(&part, "events", "offset"), [3, 4]);
    assert_eq!((&part["next"], &part["last"]), (&json!(5), &json!(7)));
    assert_eq!(world.read("store-1", "events?from=0").body, world.read("store-1", "events").body);
    let behind = world.read("store-1", "events?from=20").text();
    assert_eq!(behind, r#"{"events":[],"next":20,"last":7}"#);
    let first = &all["events"][0];
    assert_eq!(first["key"], json!(key(1)));
    assert_eq!((&first["client"], &first["client_sequence"]), (&json!("pos-4"), &json!(1)));
    assert_eq!((&first["name"], &first["args"]), (&json!("Noted"), &json!({"n": 1})));
}

#[test]
fn a_partitions_events_are_those_of_its_workspaces_by_their_names() {
    let world = World::shop();
    for (number, workspace) in (1..).zip(["2", "4", "2", "a", "b", "c", "d"]) {
        assert_eq!(world.command_to(workspace, number, NOTED).status, 200);
    }
    let mut names: Vec<String> = Vec::new();
    for partition in 0..2 {
        let path = format!("/v1/apps/shop/partitions/{partition}/events");
        let log = json(&world.get(&path));
        let offsets = values(&log, "events", "partition_offset");
        assert_eq!(offsets, (1..=offsets.len() as u64).collect::<Vec<_>>());
        assert_eq!(log["last"], offsets.len() as u64);
        assert_eq!(log["next"], offsets.len() as u64 + 1);
        for event in log["events"].as_array().unwrap() {
            assert_eq!(event["partition"], partition);
            names.push(event["workspace"].as_str().unwrap().to_owned());
        }
        let later = json(&world.get(&format!("{path}?from=2&limit=1&min_offset=1")));
        assert_eq!(later["events"].get(0), log["events"].get(1));
        let not_yet = world.get(&format!("{path}?min_offset=100&wait_ms=0"));
        assert_eq!(error(&not_yet, 504, "NOT_YET")["last"], log["last"]);
    }
    names.sort_unstable();
    assert_eq!(names, ["2", "2", "4", "a", "b", "c", "d"]);
}

#[test]
fn records_are_read_by_their_ids_and_listed_by_their_kinds() {
    let world = World::shop();
    for number in 1..=3 {
        world.commit(number, &changes(r#"{"create":{"id":1,"kind":"invoice","fields":{"b":[1],"a":"x"}}},{"create":{"id":2,"kind":"line","parent":1}}"#));
    }
    let record = world.read("store-1", "records/200001").text();
    let expected = r#"{"id":200001,"kind":"invoice","class":"c","parent":0,"version":1,"fields":{"a":"x","b":[1]},"offset":1}"#;
    assert_eq!(record, expected);
    assert_eq!(json(&world.read("store-1", "records/200002"))["parent"], 200_001);
    let missing = error(&world.read("store-1", "records/200099"), 404, "RECORD_NOT_FOUND");
    assert_eq!(missing["id"], 200_099);
    let all = json(&world.read("store-1", "records?kind=invoice"));
    assert_eq!(values(&all, "records", "id"), [200_001, 200_003, 200_005]);
    assert_eq!(
        (&all["next"], &all["records"][0]),
        (&Value::Null, &serde_json::from_str(expected).unwrap())
    );
    let part = json(&world.read("store-1", "records?kind=invoice&limit=2"));
    assert_eq!(values(&part, "records", "id"), [200_001, 200_003]);
    let rest = json(&world.read("store-1", &format!("records?kind=invoice&from={}", part["next"])));
    assert_eq!(values(&rest, "records", "id"), [200_005]);
    assert_eq!(
        world.read("store-2", "records?kind=invoice").text(),
        r#"{"records":[],"next":null}"#
    );
}

#[test]
fn keys_of_entities_may_have_slashes_written_either_way() {
    let world = World::shop();
    let set =
        r#"{"set":{"key":"stock/A-7","value":{"left":4},"expires_at":"2999-01-01T00:00:00Z"}}"#;
    world.commit(1, &changes(set));
    let expected = r#"{"key":"stock/A-7","value":{"left":4},"version":1,"expires_at":"2999-01-01T00:00:00.000Z","offset":1}"#;
    for path in ["entities/stock/A-7", "entities/stock%2FA-7", "entities/%73tock%2fA%2D7"] {
        assert_eq!(world.read("store-1", path).text(), expected, "{path}");
    }
    for path in
        ["entities/stock", "entities/stock/A-7/", "entities//stock/A-7", "entities/stock%252FA-7"]
    {
        assert!(error(&world.read("store-1", path), 404, "NOT_FOUND")["key"].is_string(), "{path}");
    }
    world.commit(2, &changes(r#"{"unset":{"key":"stock/A-7"}},{"set":{"key":"gone","value":1,"expires_at":"2001-01-01T00:00:00Z"}}"#));
    error(&world.read("store-1", "entities/stock/A-7"), 404, "NOT_FOUND");
    error(&world.read("store-1", "entities/gone"), 404, "NOT_FOUND");
}

#[test]
fn sequences_and_clients_show_where_they_stand() {
    let world = World::shop();
    let draw = changes(r#"{"draw":{"sequence":"ticket"}},{"draw":{"sequence":"invoice"}}"#);
    let year = world.commit(1, &draw)["numbers"][1]["period"].clone();
    world.commit(2, &changes(r#"{"draw":{"sequence":"ticket"}}"#));
    let ticket = world.read("store-1", "sequences/ticket");
    assert_eq!(ticket.text(), r#"{"name":"ticket","last":2,"next":3,"next_text":"3"}"#);
    let invoice = format!(
        r#"{{"name":"invoice","period":{year},"last":1,"next":2,"next_text":"INV-{year}-000002"}}"#
    );
    assert_eq!(world.read("store-1", "sequences/invoice").text(), invoice);
    assert_eq!(world.read("store-1", &format!("sequences/invoice?period={year}")).text(), invoice);
    let other =
        r#"{"name":"invoice","period":1999,"last":0,"next":1,"next_text":"INV-1999-000001"}"#;
    assert_eq!(world.read("store-1", "sequences/invoice?period=1999").text(), other);
    world.commit(3, &changes(r#"{"draw":{"sequence":"ticket"}}"#));
    let used_up = r#"{"name":"ticket","last":3,"next":null,"next_text":null}"#;
    assert_eq!(world.read("store-1", "sequences/ticket").text(), used_up);
    error(&world.read("store-1", "sequences/none"), 404, "NOT_FOUND");
    error(&world.read("store-1", "sequences/ticket?period=2026"), 404, "NOT_FOUND");
    let client = world.read("store-1", "clients/pos-4").text();
    assert_eq!(client, r#"{"client":"pos-4","last_client_sequence":3,"last_offset":3}"#);
    error(&world.read("store-1", "clients/nobody"), 404, "NOT_FOUND");
}

fn hash(text: &Value) -> Hash {
    let text = text.as_str().unwrap();
    assert_eq!(text.len(), 64);
    Hash(std::array::from_fn(|byte| u8::from_str_radix(&text[2 * byte..2 * byte + 2], 16).unwrap()))
}

fn hashes(list: &Value) -> Vec<Hash> {
    list.as_array().unwrap().iter().map(hash).collect()
}

#[test]
fn proofs_hold_between_all_sizes_of_a_log() {
    const SIZE: u64 = 19;
    let world = World::shop();
    let mut roots = vec![hash(&json(&world.read("store-1", "head"))["root"])];
    for number in 1..=SIZE {
        world.commit(number, NOTED);
        roots.push(hash(&json(&world.read("store-1", "head"))["root"]));
    }
    let root = |size: u64| &roots[usize::try_from(size).unwrap()];
    let events = json(&world.read("store-1", "events"));
    for (offset, event) in (1..).zip(events["events"].as_array().unwrap()) {
        for size in [offset, SIZE] {
            let proof = json(&world.read("store-1", &format!("proofs/{offset}?size={size}")));
            assert_eq!((&proof["leaf"], &proof["size"]), (&event["hash"], &json!(size)));
            assert_eq!(&hash(&proof["root"]), root(size));
            let (leaf, path) = (hash(&proof["leaf"]), hashes(&proof["path"]));
            verify_inclusion(&leaf, offset - 1, size, &path, root(size)).unwrap();
        }
        let growth = json(&world.read("store-1", &format!("consistency?from={offset}")));
        assert_eq!((&growth["from"], &growth["to"]), (&json!(offset), &json!(SIZE)));
        let (from, to) = (hash(&growth["from_root"]), hash(&growth["to_root"]));
        assert_eq!((&from, &to), (root(offset), root(SIZE)));
        verify_consistency(offset, SIZE, &from, &to, &hashes(&growth["path"])).unwrap();
    }
}

#[test]
fn a_workspace_that_was_never_used_reads_as_an_empty_one() {
    let world = World::shop();
    let empty_root = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for workspace in ["new", "12"] {
        assert_eq!(world.read(workspace, "events").text(), r#"{"events":[],"next":1,"last":0}"#);
        let head = format!(r#"{{"workspace":"{workspace}","size":0,"root":"{empty_root}"}}"#);
        assert_eq!(world.read(workspace, "head").text(), head);
        assert_eq!(json(&world.read(workspace, "sequences/ticket"))["next"], 1);
        assert_eq!(json(&world.read(workspace, "records?kind=invoice"))["records"], json!([]));
        assert_eq!(json(&world.read(workspace, "consistency?from=0&to=0"))["path"], json!([]));
        error(&world.read(workspace, "records/200001"), 404, "RECORD_NOT_FOUND");
        error(&world.read(workspace, "entities/x"), 404, "NOT_FOUND");
        error(&world.read(workspace, "clients/pos-4"), 404, "NOT_FOUND");
        error(&world.read(workspace, &format!("receipts/pos-4/{}", key(1))), 404, "NOT_FOUND");
        error(&world.read(workspace, "proofs/1"), 404, "NOT_FOUND");
        let not_yet = world.read(workspace, "head?min_offset=1&wait_ms=0");
        assert_eq!(error(&not_yet, 504, "NOT_YET")["last"], 0);
    }
}

#[test]
fn a_read_with_min_offset_waits_for_it() {
    let world = World::shop();
    let reads =
        ["events", "head", "records?kind=invoice", "sequences/ticket", "consistency?from=0"];
    thread::scope(|scope| {
        let waiting: Vec<_> = reads
            .into_iter()
            .map(|read| {
                let sign = if read.contains('?') { '&' } else { '?' };
                let path = format!("{read}{sign}min_offset=2&wait_ms=60000");
                scope.spawn(|| {
                    let path = path;
                    world.read("store-1", &path)
                })
            })
            .collect();
        world.commit(1, NOTED);
        world.commit(2, NOTED);
        for answer in waiting {
            assert_eq!(answer.join().unwrap().status, 200);
        }
    });
    let not_yet = error(&world.read("store-1", "head?min_offset=3&wait_ms=1"), 504, "NOT_YET");
    assert_eq!((&not_yet["last"], &not_yet["retryable"]), (&json!(2), &json!(true)));
    assert!(not_yet["outcome"].is_null(), "a read has no outcome");
}

/// It was waited for twice: once for the first event of the list, and once more for the offset.
#[test]
fn a_list_that_asks_for_an_offset_waits_as_long_as_it_says() {
    let world = World::shop();
    let began = Instant::now();
    let late = world.read("store-1", "events?from=50&min_offset=50&wait_ms=3000");
    error(&late, 504, "NOT_YET");
    let waited = began.elapsed();
    assert!((3000..5900).contains(&waited.as_millis()), "{waited:?}");
}

#[test]
fn a_long_poll_is_answered_by_the_event_that_it_waits_for() {
    let world = World::shop();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| world.read("store-1", "events?from=2&wait_ms=60000"));
        world.commit(1, NOTED);
        world.commit(2, NOTED);
        let events = json(&waiting.join().unwrap());
        assert_eq!(events["events"][0]["offset"], 2);
    });
    let none = world.read("store-1", "events?from=3&wait_ms=1").text();
    assert_eq!(none, r#"{"events":[],"next":3,"last":2}"#);
}

/// `next` was 2^53 behind the last id that there can be, and refused when it came back.
#[test]
fn a_page_that_ends_with_the_last_id_is_the_last() {
    let world = World::shop();
    let create = r#"{"create":{"id":9007199254740991,"import":true,"kind":"invoice"}}"#;
    world.commit(1, &changes(create));
    let page = json(&world.read("store-1", "records?kind=invoice&limit=1"));
    assert_eq!(values(&page, "records", "id"), [9_007_199_254_740_991]);
    assert_eq!(page["next"], json!(null));
}

#[test]
fn only_records_of_class_c_can_be_listed_and_others_are_not_shown_as_none() {
    let world = World::shop();
    let listed = world.read("store-1", "records?kind=line");
    assert_eq!((listed.status, &json(&listed)["field"]), (400, &Value::from("kind")));
    let listed = world.read("store-1", "records?kind=none");
    assert_eq!((listed.status, &json(&listed)["code"]), (400, &Value::from("UNKNOWN_KIND")));
    assert_eq!(json(&listed)["message"], "there is no kind \"none\"");
}

#[test]
fn a_list_ends_behind_a_mebibyte_and_goes_on_at_next() {
    let world = World::shop();
    let large = "x".repeat(20_000);
    let large = format!(r#"{{"events":[{{"name":"Large","args":{{"x":"{large}"}}}}]}}"#);
    (1..=80).for_each(|number| drop(world.commit(number, &large)));
    let answer = world.read("store-1", "events?limit=80");
    assert!((1_000_000..1_100_000).contains(&answer.body.len()), "{}", answer.body.len());
    let first = json(&answer);
    let (count, next) = (first["events"].as_array().unwrap().len(), first["next"].clone());
    assert_eq!((next.as_u64(), &first["last"]), (Some(count as u64 + 1), &json!(80)));
    let rest = json(&world.read("store-1", &format!("events?limit=80&from={next}")));
    assert_eq!(rest["events"].as_array().unwrap().len(), 80 - count);
    assert_eq!(rest["next"], 81);
}

/// A page that is cut because its records are large must not be taken for the end of the list.
#[test]
fn large_records_are_all_listed_over_several_pages() {
    let world = World::shop();
    let large = "x".repeat(300_000);
    let create = changes(&format!(
        r#"{{"create":{{"id":1,"kind":"invoice","fields":{{"a":"{large}","b":"{large}"}}}}}}"#
    ));
    let made: Vec<Value> =
        (1..=9).map(|it| world.commit(it, &create)["ids"]["1"].clone()).collect();
    let (mut listed, mut pages, mut from) = (Vec::new(), 0, json!(0));
    while !from.is_null() {
        let page = json(&world.read("store-1", &format!("records?kind=invoice&from={from}")));
        let records = page["records"].as_array().unwrap();
        listed.extend(records.iter().map(|record| record["id"].clone()));
        (pages, from) = (pages + 1, page["next"].clone());
    }
    assert_eq!((listed, pages), (made, 5), "a page ends with the record that reaches a megabyte");
}
