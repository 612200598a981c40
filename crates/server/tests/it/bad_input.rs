//! Whatever is sent, the answer is JSON with a code, and nothing is written.

use serde_json::json;
use seriatim_storage::faulty::Dice;
use seriatim_testkit::{HttpAnswer, request};

use crate::world::{NOTED, World, error, json, key};

const COMMANDS: &str = "/v1/apps/shop/workspaces/store-1/commands";

#[test]
fn a_write_says_what_came_of_it_also_when_its_path_cannot_be_read() {
    let world = World::shop();
    for (method, path) in [
        ("POST", "/v1/apps/shop/workspaces/%ff/commands"),
        ("POST", "/v1/apps/%zz/workspaces/store-1/commands"),
        ("PUT", "/v1/apps/shop/workspaces/%ff"),
        ("PUT", "/v1/apps/shop/sequences/%f"),
        ("PUT", "/v1/apps/shop/kinds/%ff"),
        ("PUT", "/v1/apps/%ff/records/x"),
    ] {
        let body = error(&world.send(method, path, &[], "{}"), 400, "INVALID_ARGUMENT");
        assert_eq!(body["outcome"], "refused", "{path}: {body}");
    }
    for path in ["/v1/partitions/%ff/0/restart", "/v1/partitions/shop/%ff/restart"] {
        let body = error(&world.post(path, ""), 400, "INVALID_ARGUMENT");
        assert!(body["outcome"].is_null(), "it writes nothing: {body}");
    }
}

#[test]
fn headers_of_a_command_are_there_once_and_good() {
    let world = World::shop();
    let key = key(1);
    let good_key = ("Idempotency-Key", key.as_str());
    let client = ("Client-Id", "pos-4");
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[client], "Idempotency-Key"),
        (&[good_key], "Client-Id"),
        (&[good_key, good_key, client], "Idempotency-Key"),
        (&[good_key, client, client], "Client-Id"),
        (&[good_key, ("Client-Id", "")], "Client-Id"),
        (&[good_key, ("Client-Id", &"x".repeat(256))], "Client-Id"),
        (&[("Idempotency-Key", "1"), client], "Idempotency-Key"),
        (&[("Idempotency-Key", "00000000-0000-0000-0000-000000000000"), client], "Idempotency-Key"),
        (&[good_key, client, ("Deadline", "tomorrow")], "Deadline"),
        (&[good_key, client, ("Deadline", "2027-01-01T00:00:00")], "Deadline"),
    ];
    for (headers, field) in cases {
        let body = error(&world.send("POST", COMMANDS, headers, NOTED), 400, "INVALID_ARGUMENT");
        assert_eq!(body["field"], *field, "{headers:?}");
        assert_eq!(body["outcome"], "refused");
    }
    let mut client = world.client();
    let bytes = request("POST", COMMANDS, &[good_key, ("Client-Id", "\u{fffd}")], b"{}");
    let bytes: Vec<u8> = bytes.split(|byte| *byte == 0xef).collect::<Vec<_>>().join(&0xff);
    client.write(&bytes).unwrap();
    assert_eq!(
        error(&client.read_answer().unwrap(), 400, "INVALID_ARGUMENT")["field"],
        "Client-Id"
    );
    assert_eq!(world.last_offset(), 0);
}

#[test]
fn bodies_of_commands_are_what_the_contract_says() {
    let world = World::shop();
    for (body, field) in [
        ("", ""),
        ("{", ""),
        ("[]", ""),
        ("{\"events\":[]}", "events"),
        (r#"{"events":[{"name":"A"}],"extra":1}"#, "extra"),
        (r#"{"events":[{"name":"A","changes":[{}]}]}"#, "events[0].changes[0]"),
        (r#"{"events":[{"name":"A","args":{"x":{"$ref":3}}}]}"#, "events[0].args.x.$ref"),
        (r#"{"events":[{"name":"A"}],"if_offset":-1}"#, "if_offset"),
        (r#"{"events":[{"name":"A","name":"B"}]}"#, "events[0].name"),
        (&"[".repeat(100_000), ""),
    ] {
        let answer = error(&world.command(1, body), 400, "INVALID_ARGUMENT");
        let shown: String = body.chars().take(60).collect();
        // Where JSON breaks off inside of something, that something is named.
        if !field.is_empty() || shown.len() < 3 {
            assert_eq!(answer["field"], field, "{shown}");
        }
        assert_eq!(answer["outcome"], "refused");
    }
    assert_eq!(world.last_offset(), 0);
}

#[test]
fn bodies_of_definitions_are_what_the_contract_says() {
    let world = World::shop();
    for (method, path, body, field) in [
        ("POST", "/v1/apps", "{}", "name"),
        ("POST", "/v1/apps", r#"{"name":""}"#, "name"),
        ("POST", "/v1/apps", r#"{"name":"x","partitions":0}"#, "partitions"),
        (
            "POST",
            "/v1/apps",
            r#"{"name":"x","idempotency_retention":"soon"}"#,
            "idempotency_retention",
        ),
        ("PUT", "/v1/apps/shop/kinds/x", "", ""),
        ("PUT", "/v1/apps/shop/kinds/x", r#"{"a":1}"#, "a"),
        ("PUT", "/v1/apps/shop/sequences/x", r#"{"reset":"monthly"}"#, "reset"),
        ("PUT", "/v1/apps/shop/records/x", r#"{"class":"x"}"#, "class"),
        ("PUT", "/v1/apps/shop/workspaces/x", r#"{"kind":7}"#, "kind"),
        ("PUT", "/v1/apps/shop/kinds/%0A", "{}", "name"),
        ("PUT", "/v1/apps/%0A/kinds/x", "{}", "app"),
    ] {
        let answer = error(&world.send(method, path, &[], body), 400, "INVALID_ARGUMENT");
        assert_eq!(answer["field"], field, "{method} {path} {body}");
    }
    assert_eq!(json(&world.get("/v1/apps/shop/definitions"))["version"], 6);
}

#[test]
fn queries_and_paths_are_checked() {
    let world = World::shop();
    world.commit(1, NOTED);
    for (path, field) in [
        ("events?from=x", "from"),
        ("events?from=-1", "from"),
        ("events?from=+1", "from"),
        ("events?from=", "from"),
        ("events?from=9007199254740992", "from"),
        ("events?from=1&from=2", "from"),
        ("events?form=1", "form"),
        ("events?limit=0", "limit"),
        ("events?limit=1001", "limit"),
        ("events?wait_ms=60001", "wait_ms"),
        ("events?min_offset=a", "min_offset"),
        ("records/0", "id"),
        ("records/abc", "id"),
        ("records", "kind"),
        ("records?kind=", "kind"),
        ("entities/%00", "key"),
        ("entities/a%0Ab", "key"),
        ("sequences/ticket?period=0", "period"),
        ("sequences/ticket?period=10000", "period"),
        ("receipts/pos-4/1", "key"),
        ("clients/%7F", "client"),
        ("proofs/0", "offset"),
        ("proofs/1?size=0", "size"),
        ("proofs/1?size=2", "size"),
        ("consistency", "from"),
        ("consistency?from=2&to=1", "to"),
        ("consistency?from=2", "from"),
        ("consistency?from=0&to=2", "to"),
        ("head?x=1", "x"),
        ("entities/%zz", "key"),
        ("entities/a/%", "key"),
        ("entities/%2E%2E", "key"),
        ("records?kind=%zz", "kind"),
        ("records?kind=%ff", "kind"),
        ("records?kind=%2E", "kind"),
        ("records?%zz=1", "%zz"),
        ("receipts/%ff/1", "client"),
        ("sequences/%ff", "name"),
    ] {
        let answer = error(&world.read("store-1", path), 400, "INVALID_ARGUMENT");
        assert_eq!(answer["field"], field, "{path}");
    }
    for (path, field) in [
        ("/v1/apps/shop/workspaces/%0A/head", "workspace"),
        ("/v1/apps/shop/workspaces/99999999999999999999999/head", "workspace"),
        ("/v1/apps/shop/partitions/x/events", "partition"),
        ("/v1/apps/shop/workspaces/%FF/head", "workspace"),
        ("/v1/apps/shop/workspaces/%2e/head", "workspace"),
        ("/v1/apps/%zz/workspaces/store-1/head", "app"),
        ("/v1/apps/%2e%2e", "app"),
        ("/v1/apps?x=1", "x"),
    ] {
        assert_eq!(error(&world.get(path), 400, "INVALID_ARGUMENT")["field"], field, "{path}");
    }
    let unknown = error(&world.read("store-1", "records?kind=nope"), 400, "UNKNOWN_KIND");
    assert_eq!((&unknown["field"], &unknown["kind"]), (&json!("kind"), &json!("nope")));
    let unknown = error(&world.get("/v1/apps?x=1"), 400, "INVALID_ARGUMENT");
    assert_eq!(unknown["message"], "x: is not known here: nothing is");
    assert_eq!(
        world.read("store-1", "entities/a%2B+%25").status,
        404,
        "a plus is a plus in a path"
    );
}

#[test]
fn what_is_not_there_is_not_found_and_a_wrong_method_is_told_the_right_ones() {
    let world = World::shop();
    for path in
        ["/", "/v1", "/v1/apps/", "/v1/nothing", "/v1/apps/shop/workspaces/x/entities/", "//"]
    {
        error(&world.get(path), 404, "NOT_FOUND");
    }
    error(&world.get("/v1/apps/shop/partitions/2/events"), 404, "NOT_FOUND");
    error(&world.post("/v1/partitions/shop/7/restart", ""), 404, "NOT_FOUND");
    for (method, path, allow) in [
        ("DELETE", "/v1/apps", &["GET", "HEAD", "POST"][..]),
        ("GET", COMMANDS, &["POST"]),
        ("POST", "/livez", &["GET", "HEAD"]),
        ("GET", "/v1/apps/shop/kinds/x", &["PUT"]),
        ("BREW", "/v1/apps/shop", &["GET", "HEAD", "PATCH"]),
    ] {
        let answer = world.send(method, path, &[], "");
        error(&answer, 405, "METHOD_NOT_ALLOWED");
        let mut allowed: Vec<&str> = answer.header("allow").unwrap().split(',').collect();
        allowed.sort_unstable();
        assert_eq!(allowed, allow, "{method} {path}");
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_before_it_is_sent() {
    let world = World::shop();
    let key = key(1);
    let headers = format!("Host: localhost\r\nIdempotency-Key: {key}\r\nClient-Id: a\r\n");
    let ask = |headers: &str, body: &[u8]| -> HttpAnswer {
        let mut client = world.client();
        let head = format!("POST {COMMANDS} HTTP/1.1\r\n{headers}\r\n");
        client.write(&[head.as_bytes(), body].concat()).unwrap();
        client.read_answer().unwrap()
    };
    // Nothing of the body was sent, so the answer can only come from what it says of itself.
    let answer = ask(&format!("{headers}Content-Length: 1048577\r\n"), b"");
    let body = error(&answer, 413, "TOO_LARGE");
    assert_eq!((&body["limit"], &body["outcome"]), (&json!(1_048_576), &json!("refused")));
    // This one does not say how long it is, and has no end.
    let chunk = [b"100001\r\n".as_slice(), &vec![b' '; 0x10_0001]].concat();
    let answer = ask(&format!("{headers}Transfer-Encoding: chunked\r\n"), &chunk);
    error(&answer, 413, "TOO_LARGE");
    assert_eq!(world.last_offset(), 0);
}

const METHODS: &[&str] = &["GET", "POST", "PUT", "DELETE", "PATCH"];
const PARTS: &[&str] = &[
    "v1",
    "apps",
    "shop",
    "none",
    "workspaces",
    "store-1",
    "7",
    "events",
    "commands",
    "records",
    "200001",
    "entities",
    "sequences",
    "ticket",
    "clients",
    "receipts",
    "head",
    "proofs",
    "1",
    "consistency",
    "partitions",
    "0",
    "restart",
    "kinds",
    "definitions",
    "%2F",
    "%00",
    "%ff",
    "%",
    "%zz",
    "",
    "..",
    "ü",
    "99999999999999999999",
    "-1",
    "a;b",
    "*",
    "{app}",
];
const QUERIES: &[&str] = &[
    "",
    "?",
    "?from=1",
    "?from=x&limit=2",
    "?wait_ms=1",
    "?min_offset=0",
    "?min_offset=9&wait_ms=0",
    "?kind=invoice",
    "?from=0&to=0",
    "?size=1",
    "?period=2026",
    "?%",
    "?=&&=",
    "?from=%31",
];

/// Requests put together at random from parts of good and bad ones.
#[test]
fn no_request_brings_the_server_down_or_leaves_a_trace() {
    let world = World::shop();
    let mut dice = Dice::new(7);
    let mut client = world.client();
    let key = key(1);
    for _ in 0..2000 {
        let mut pick = |list: &'static [&'static str]| list[dice.index_below(list.len())];
        let method = pick(METHODS);
        let known = pick(&["/v1/apps/shop/workspaces/store-1", "/v1/apps/shop", "/v1", ""]);
        let path = format!("{known}/{}/{}{}", pick(PARTS), pick(PARTS), pick(QUERIES));
        let mut body = NOTED.as_bytes().to_vec();
        let at = dice.index_below(body.len());
        body[at] = dice.next_u64().to_le_bytes()[0];
        let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "a")];
        // A command that is still a good one, and a restart, are none of this test's business.
        if path.contains("restart") || seriatim_json::command(&body).is_ok() {
            continue;
        }
        let Ok(answer) = client.send(method, &path, &headers, &body) else {
            // The server may hang up on what is not HTTP.
            client = world.client();
            continue;
        };
        assert!(answer.status < 500 || answer.status == 504, "{method} {path}: {}", answer.text());
    }
    assert_eq!(world.last_offset(), 0);
    assert_eq!(world.get("/readyz").status, 200);
}

/// It was read as JSON, and so called none.
#[test]
fn a_body_that_is_compressed_is_refused_for_that() {
    let world = World::shop();
    let send = |encoding: &str| {
        let headers = [("Content-Encoding", encoding)];
        world.send("POST", "/v1/apps", &headers, r#"{"name":"depot"}"#)
    };
    let body = error(&send("gzip"), 400, "INVALID_ARGUMENT");
    assert_eq!(body["field"], "Content-Encoding");
    assert_eq!(send("Identity").status, 201);
}
