//! Apps and what is defined for them.

use serde_json::{Value, json};
use seriatim_api::grpc::{Log, SubscribeRequest, log};
use seriatim_testkit::{HttpAnswer, request};
use tonic::Code;

use crate::grpc::{failed, json_of};
use crate::world::{NOTED, World, error, json};

#[test]
fn an_app_is_made_once_and_found_again() {
    let world = World::new();
    assert_eq!(world.get("/v1/apps").text(), r#"{"apps":[]}"#);
    let body = r#"{"name":"shop","partitions":3,"record_ids":"split","trust_level":1,"idempotency_retention":"7d","idempotency_keys_max":1000}"#;
    let made = world.post("/v1/apps", body);
    let shown = r#"{"name":"shop","partitions":3,"record_ids":"split","trust_level":1,"idempotency_retention":"168h","idempotency_keys_max":1000}"#;
    assert_eq!((made.status, made.text().as_str()), (201, shown));
    let again = world.post("/v1/apps", body);
    assert_eq!((again.status, again.text().as_str()), (200, shown));
    assert_eq!(world.get("/v1/apps/shop").text(), shown);
    assert_eq!(world.get("/v1/apps").text(), format!(r#"{{"apps":[{shown}]}}"#));
    let other = r#"{"name":"shop","partitions":4}"#;
    let other = error(&world.post("/v1/apps", other), 409, "APP_EXISTS");
    assert_eq!((&other["outcome"], &other["setting"]), (&json!("refused"), &json!("partitions")));
}

/// The body of the app `shop` with a limit of keys, as it is shown.
fn shown_with(keys_max: &str) -> String {
    format!(
        r#"{{"name":"shop","partitions":2,"record_ids":"single","trust_level":0,"idempotency_retention":"24h","idempotency_keys_max":{keys_max}}}"#
    )
}

fn limit_keys(world: &World, keys_max: &str) -> HttpAnswer {
    let body = format!(r#"{{"idempotency_keys_max":{keys_max}}}"#);
    world.send("PATCH", "/v1/apps/shop", &[], &body)
}

#[test]
fn limit_of_keys_is_none_by_default_and_changed_at_any_time() {
    let world = World::new();
    let made = world.post("/v1/apps", r#"{"name":"shop","partitions":2}"#);
    assert_eq!((made.status, made.text()), (201, shown_with("null")));
    for keys_max in ["2", "2", "1", "1000000000", "null", "null", "3"] {
        let changed = limit_keys(&world, keys_max);
        assert_eq!((changed.status, changed.text()), (200, shown_with(keys_max)));
        assert_eq!(world.get("/v1/apps/shop").text(), shown_with(keys_max));
        let listed = format!(r#"{{"apps":[{}]}}"#, shown_with(keys_max));
        assert_eq!(world.get("/v1/apps").text(), listed);
    }
    // The same again is no version. The system app's log shows each step.
    assert_eq!(json(&world.get("/v1/apps/shop/definitions"))["version"], 6);
    let log = json(&world.get("/v1/apps/system/workspaces/shop/events"));
    let steps: Vec<(&Value, &Value)> = log["events"].as_array().unwrap()[1..]
        .iter()
        .map(|it| (&it["name"], &it["changes"][0]["define"]["key_limit"]["idempotency_keys_max"]))
        .collect();
    let name = json!("KeyLimitChanged");
    let limits = [json!(2), json!(1), json!(1_000_000_000), Value::Null, json!(3)];
    assert_eq!(steps, limits.iter().map(|limit| (&name, limit)).collect::<Vec<_>>());
    // It is no part of what makes an app the same, and making the app again does not change it.
    for body in [r#"{"name":"shop"}"#, r#"{"name":"shop","idempotency_keys_max":7}"#] {
        let again = world.post("/v1/apps", body);
        assert_eq!((again.status, again.text()), (200, shown_with("3")), "{body}");
    }
    let null = r#"{"name":"other","idempotency_keys_max":null}"#;
    let other = json(&world.post("/v1/apps", null));
    assert_eq!(other["idempotency_keys_max"], Value::Null);
}

#[test]
fn limit_of_keys_decides_about_new_commands_in_all_partitions() {
    let world = World::shop();
    let workspaces = ["10", "11"];
    for workspace in workspaces {
        assert_eq!(world.command_to(workspace, 1, NOTED).status, 200);
        assert_eq!(world.command_to(workspace, 2, NOTED).status, 200);
    }
    assert_eq!(limit_keys(&world, "1").status, 200);
    for workspace in workspaces {
        let full = world.command_to(workspace, 3, NOTED);
        assert_eq!(error(&full, 503, "KEY_WINDOW_FULL")["limit"], 1);
        let known = world.command_to(workspace, 1, NOTED);
        assert_eq!((known.status, known.header("idempotent-replayed")), (200, Some("true")));
    }
    assert_eq!(limit_keys(&world, "null").status, 200);
    for workspace in workspaces {
        assert_eq!(json(&world.command_to(workspace, 3, NOTED))["first_offset"], 3);
    }
}

#[test]
fn full_window_is_retryable_only_if_keys_expire() {
    let world = World::new();
    for (retention, retryable) in [("24h", true), ("forever", false)] {
        let app = format!(
            r#"{{"name":"{retention}","idempotency_keys_max":1,"idempotency_retention":"{retention}"}}"#
        );
        assert_eq!(world.post("/v1/apps", &app).status, 201);
        let send = |number| {
            let path = format!("/v1/apps/{retention}/workspaces/7/commands");
            let key = crate::world::key(number);
            world.send("POST", &path, &[("Idempotency-Key", &key), ("Client-Id", "a")], NOTED)
        };
        assert_eq!(send(1).status, 200);
        let answer = send(2);
        let full = error(&answer, 503, "KEY_WINDOW_FULL");
        assert_eq!(
            (&full["retryable"], &full["outcome"]),
            (&json!(retryable), &json!("not_written"))
        );
        assert_eq!(answer.header("retry-after").is_some(), retryable, "{full}");
    }
}

#[test]
fn limit_of_keys_that_cannot_be_is_refused_with_its_field() {
    let world = World::shop();
    for (body, field) in [
        ("{}", "idempotency_keys_max"),
        (r#"{"idempotency_keys_max":0}"#, "idempotency_keys_max"),
        (r#"{"idempotency_keys_max":1000000001}"#, "idempotency_keys_max"),
        (r#"{"idempotency_keys_max":"7"}"#, "idempotency_keys_max"),
        (r#"{"idempotency_keys_max":7,"partitions":2}"#, "partitions"),
        ("[]", ""),
    ] {
        let answer = world.send("PATCH", "/v1/apps/shop", &[], body);
        let refused = error(&answer, 400, "INVALID_ARGUMENT");
        assert_eq!((&refused["field"], &refused["outcome"]), (&json!(field), &json!("refused")));
    }
    let none = world.send("PATCH", "/v1/apps/none", &[], r#"{"idempotency_keys_max":7}"#);
    assert_eq!(error(&none, 404, "APP_NOT_FOUND")["outcome"], "refused");
    assert_eq!(json(&world.get("/v1/apps"))["apps"].as_array().unwrap().len(), 1);
}

/// A program that makes its app each time it starts did not start any more once the operator had chosen
/// another default for new apps.
#[test]
fn what_is_not_said_of_an_app_that_is_there_is_as_it_is() {
    let world = World::new();
    let own = r#"{"name":"shop","partitions":3,"record_ids":"split","trust_level":1,"idempotency_retention":"168h","idempotency_keys_max":1000}"#;
    assert_eq!(world.post("/v1/apps", own).status, 201);
    for body in [r#"{"name":"shop"}"#, r#"{"name":"shop","trust_level":1}"#] {
        let again = world.post("/v1/apps", body);
        assert_eq!((again.status, again.text().as_str()), (200, own), "{body}");
    }
    for (body, setting) in [
        (r#"{"name":"shop","record_ids":"single"}"#, "record_ids"),
        (r#"{"name":"shop","idempotency_retention":"24h"}"#, "idempotency_retention"),
    ] {
        let other = error(&world.post("/v1/apps", body), 409, "APP_EXISTS");
        assert_eq!(other["setting"], setting);
    }
}

#[test]
fn the_servers_own_app_may_be_followed() {
    let world = World::shop();
    let mut client = world.client();
    let follow = [("Accept", "text/event-stream")];
    let path = "/v1/apps/system/workspaces/shop/events";
    client.write(&request("GET", path, &follow, b"")).unwrap();
    assert_eq!(client.read_head().unwrap().0, 200);
    for offset in 1..=6 {
        let event = client.read_event().unwrap().unwrap();
        assert!(event.starts_with(&format!("id: {offset}\n")), "{event}");
    }
    world.put("/v1/apps/shop/kinds/x", "{}");
    assert!(client.read_event().unwrap().unwrap().starts_with("id: 7\n"));

    let grpc = world.grpc();
    let log = Some(Log { app: "system".to_owned(), log: Some(log::Log::Partition(0)) });
    let subscribe = SubscribeRequest { log, from: 7 };
    let mut followed = grpc.wait(grpc.reads().subscribe(subscribe)).unwrap();
    let batch = grpc.runtime.block_on(followed.message()).unwrap().unwrap();
    let event = json_of(&batch.events_json[0]);
    assert_eq!((&event["offset"], &event["workspace"]), (&json!(7), &json!("shop")));
}

/// Its partition could be read and its workspaces could not, and a command found no such app.
#[test]
fn the_servers_own_app_may_be_read_and_never_written() {
    let world = World::shop();
    let app = r#"{"name":"system","partitions":1,"record_ids":"single","trust_level":0,"idempotency_retention":"forever","idempotency_keys_max":null}"#;
    assert_eq!(world.get("/v1/apps/system").text(), app);
    assert_eq!(json(&world.get("/v1/apps/system/definitions"))["kinds"][0]["name"], "default");
    assert_eq!(json(&world.get("/v1/apps"))["apps"].as_array().unwrap().len(), 1, "the shop");
    // The log of an app's definitions is that of a workspace with the app's name.
    let events = json(&world.get("/v1/apps/system/workspaces/shop/events"));
    assert_eq!((&events["events"][0]["name"], &events["last"]), (&json!("AppCreated"), &json!(6)));
    assert_eq!(json(&world.get("/v1/apps/system/partitions/0/events"))["last"], 6);
    assert_eq!(json(&world.get("/v1/apps/system/workspaces/shop/head"))["size"], 6);
    error(&world.get("/v1/apps/system/partitions/1/events"), 404, "NOT_FOUND");

    let key = crate::world::key(1);
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "a")];
    let written = [
        ("POST", "/v1/apps", r#"{"name":"system"}"#),
        ("PUT", "/v1/apps/system/kinds/x", "{}"),
        ("PUT", "/v1/apps/system/workspaces/shop", "{}"),
        ("POST", "/v1/apps/system/workspaces/shop/commands", NOTED),
        ("PATCH", "/v1/apps/system", r#"{"idempotency_keys_max":9}"#),
    ];
    for (method, path, body) in written {
        let answer = world.send(method, path, &headers, body);
        assert_eq!(error(&answer, 403, "PERMISSION_DENIED")["outcome"], "refused", "{path}");
    }
    let grpc = world.grpc();
    let mut command = crate::grpc::request("shop", 1, NOTED);
    command.app = "system".to_owned();
    let over_http = json(&world.send("POST", written[3].1, &headers, NOTED));
    let denied = failed(grpc.submit(command), Code::PermissionDenied, "PERMISSION_DENIED");
    assert_eq!(denied, over_http);
    assert_eq!(json(&world.get("/v1/apps/system/partitions/0/events"))["last"], 6);
}

#[test]
fn an_app_that_is_not_there_is_not_found_by_anything() {
    let world = World::new();
    let workspace = "/v1/apps/none/workspaces/store-1";
    for path in ["/v1/apps/none", "/v1/apps/none/definitions", "/v1/apps/none/partitions/0/events"]
    {
        error(&world.get(path), 404, "APP_NOT_FOUND");
    }
    for read in ["events", "records/200001", "records?kind=x", "entities/x", "head", "proofs/1"] {
        error(&world.get(&format!("{workspace}/{read}")), 404, "APP_NOT_FOUND");
    }
    for (path, body) in
        [("kinds/x", "{}"), ("sequences/x", "{}"), ("records/x", r#"{"class":"c"}"#)]
    {
        error(&world.put(&format!("/v1/apps/none/{path}"), body), 404, "APP_NOT_FOUND");
    }
    error(&world.put(workspace, "{}"), 404, "APP_NOT_FOUND");
    error(&world.post("/v1/partitions/none/0/restart", ""), 404, "APP_NOT_FOUND");
}

/// It said that there was no such app, and a path has more than one name in it.
#[test]
fn an_app_that_is_not_there_is_named_and_so_is_one_that_may_be_meant() {
    let world = World::shop();
    let key = crate::world::key(1);
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "a")];
    for (asked, message) in [
        ("shpo", r#"there is no app "shpo"; did you mean "shop"?"#),
        ("payments", r#"there is no app "payments""#),
    ] {
        let at = |path: &str| format!("/v1/apps/{asked}{path}");
        let workspace = at("/workspaces/store-1");
        for (method, path, body) in [
            ("GET", at(""), ""),
            ("GET", at("/definitions"), ""),
            ("GET", at("/partitions/0/events"), ""),
            ("GET", format!("{workspace}/head"), ""),
            ("PUT", at("/kinds/x"), "{}"),
            ("PUT", at("/sequences/x"), "{}"),
            ("PUT", at("/records/x"), "{}"),
            ("PUT", workspace.clone(), "{}"),
            ("POST", format!("{workspace}/commands"), NOTED),
            ("POST", format!("/v1/partitions/{asked}/0/restart"), ""),
        ] {
            let refused = error(&world.send(method, &path, &headers, body), 404, "APP_NOT_FOUND");
            assert_eq!(refused["message"], message, "{method} {path}");
        }
        let grpc = world.grpc();
        let mut command = crate::grpc::request("store-1", 1, NOTED);
        command.app = asked.to_owned();
        let refused = failed(grpc.submit(command), Code::NotFound, "APP_NOT_FOUND");
        assert_eq!(refused["message"], message);
    }
}

#[test]
fn definitions_are_counted_and_the_same_again_changes_nothing() {
    let world = World::shop();
    let path = "/v1/apps/shop/kinds/warehouse";
    assert_eq!(world.put(path, "{}").text(), r#"{"version":7,"changed":true}"#);
    assert_eq!(world.put(path, "{}").text(), r#"{"version":7,"changed":false}"#);
    let path = "/v1/apps/shop/sequences/bin";
    let body =
        r#"{"kind":"warehouse","ranges":[[5,9],[20,29]],"format":"B{n}","utc_offset":"-03:30"}"#;
    assert_eq!(json(&world.put(path, body))["version"], 8);
    let definitions = json(&world.get("/v1/apps/shop/definitions"));
    assert_eq!(definitions["version"], 8);
    assert_eq!(definitions["kinds"], json!([{"name": "default"}, {"name": "warehouse"}]));
    let bin = json!({"name": "bin", "kind": "warehouse", "ranges": [[5, 9], [20, 29]],
        "format": "B{n}", "reset": "never", "utc_offset": "-03:30"});
    assert_eq!(definitions["sequences"][2], bin);
    let singleton = json!({"name": "settings", "class": "c", "singleton": true});
    assert_eq!(definitions["records"][2], singleton);
}

#[test]
fn only_the_format_of_a_sequence_may_change() {
    let world = World::shop();
    let path = "/v1/apps/shop/sequences/ticket";
    let changed = world.put(path, r#"{"ranges":[[1,3]],"format":"T-{n}"}"#);
    assert_eq!(json(&changed)["changed"], true);
    let refused = error(&world.put(path, r#"{"ranges":[[1,4]]}"#), 409, "DEFINITION_CONFLICT");
    assert_eq!((&refused["name"], &refused["outcome"]), (&json!("ticket"), &json!("refused")));
    let record = world.put("/v1/apps/shop/records/line", r#"{"class":"c"}"#);
    error(&record, 409, "DEFINITION_CONFLICT");
    let unknown = world.put("/v1/apps/shop/sequences/x", r#"{"kind":"none"}"#);
    assert_eq!(error(&unknown, 400, "UNKNOWN_KIND")["field"], "kind");
    let overlap = world.put("/v1/apps/shop/sequences/x", r#"{"ranges":[[1,5],[5,9]]}"#);
    error(&overlap, 400, "INVALID_ARGUMENT");
}

/// `PUT {"format": "…"}` of a yearly sequence was a conflict: what was left out was taken for the default.
#[test]
fn what_is_left_out_of_a_definition_stays_as_it_is() {
    let world = World::shop();
    let path = "/v1/apps/shop/sequences/invoice";
    let changed = world.put(path, r#"{"format":"R-{yyyy}-{n:04}"}"#);
    assert_eq!((changed.status, &json(&changed)["changed"]), (200, &json!(true)));
    assert_eq!(json(&world.put(path, "{}"))["changed"], false);
    let sequences = &json(&world.get("/v1/apps/shop/definitions"))["sequences"];
    let expected = json!({"name": "invoice", "kind": "default", "ranges": [[1, 9_007_199_254_740_991_u64]],
        "format": "R-{yyyy}-{n:04}", "reset": "yearly", "utc_offset": "+00:00"});
    assert_eq!(sequences[1], expected);
    error(&world.put(path, r#"{"reset":"never"}"#), 409, "DEFINITION_CONFLICT");

    for path in ["/v1/apps/shop/records/line", "/v1/apps/shop/records/settings"] {
        assert_eq!(json(&world.put(path, "{}"))["changed"], false, "{path}");
    }
    assert_eq!(json(&world.put("/v1/apps/shop/records/note", "{}"))["changed"], true);
    let records = &json(&world.get("/v1/apps/shop/definitions"))["records"];
    assert_eq!(records[3], json!({"name": "note", "class": "c", "singleton": false}));
}

/// Whichever of the two is decided first, the one that leaves the format out never resets it.
#[test]
fn simultaneous_definitions_reset_nothing_that_one_of_them_leaves_out() {
    let world = World::shop();
    for round in 0..20 {
        let path = format!("/v1/apps/shop/sequences/s{round}");
        let bodies = ["{}", r#"{"format":"S-{n}"}"#, "{}", r#"{"kind":"default"}"#];
        std::thread::scope(|scope| {
            for body in bodies {
                let (world, path) = (&world, &path);
                scope.spawn(move || assert_eq!(world.put(path, body).status, 200));
            }
        });
    }
    let definitions = json(&world.get("/v1/apps/shop/definitions"));
    let sequences = definitions["sequences"].as_array().unwrap();
    assert_eq!(sequences.len(), 22);
    assert!(sequences[2..].iter().all(|it| it["format"] == "S-{n}"), "{sequences:?}");
}

#[test]
fn a_placeholder_that_is_not_known_is_named() {
    let world = World::shop();
    let refused = world.put("/v1/apps/shop/sequences/x", r#"{"format":"{yy}-{n}"}"#);
    let refused = error(&refused, 400, "INVALID_ARGUMENT");
    let message = "format: {yy} is not known in a format: use {n}, {n:06}, {yyyy}, {{ or }}";
    assert_eq!((&refused["field"], &refused["message"]), (&json!("format"), &json!(message)));
}

#[test]
fn a_workspace_of_another_kind_is_declared_before_its_first_event() {
    let world = World::shop();
    world.put("/v1/apps/shop/kinds/warehouse", "{}");
    let path = "/v1/apps/shop/workspaces/hall";
    let declared = json(&world.put(path, r#"{"kind":"warehouse"}"#));
    assert_eq!(declared["created"], true);
    assert_eq!((&declared["workspace"], &declared["kind"]), (&json!("hall"), &json!("warehouse")));
    let id = declared["workspace_id"].as_u64().unwrap();
    let again = json(&world.put(path, r#"{"kind":"warehouse"}"#));
    assert_eq!((&again["workspace_id"], &again["created"]), (&json!(id), &json!(false)));
    let conflict = error(&world.put(path, "{}"), 409, "KIND_CONFLICT");
    assert_eq!(conflict["current_kind"], "warehouse");
    error(&world.put(path, r#"{"kind":"none"}"#), 400, "UNKNOWN_KIND");
    assert_eq!(world.command_to("hall", 1, NOTED).status, 200);
    let numbers = world.read("hall", "sequences/ticket");
    error(&numbers, 404, "NOT_FOUND");
}
