//! The schemas of `/openapi.json` say of each member what the parser takes of it: what fits is not refused
//! for its form, and what does not fit is.

use serde_json::{Value, json};

use crate::schema::mismatch;
use crate::world::{World, changes, json, key};

/// The document, and a server that it describes.
struct Described {
    world: World,
    document: Value,
}

impl Described {
    fn new() -> Self {
        let world = World::used_shop();
        let document = json(&world.get("/openapi.json"));
        Self { world, document }
    }

    /// Sends a body to a path, whose template is given, and compares what comes of it with the schema.
    fn check(&self, verb: &str, template: &str, path: &str, body: &str) {
        let operation = &self.document["paths"][template][verb.to_lowercase()];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let document = serde_json::from_str(body).unwrap();
        let mismatch = mismatch(&self.document, schema, &document);
        let headers = [("Idempotency-Key", &*key(99)), ("Client-Id", "pos-4")];
        let answer = self.world.send(verb, path, &headers, body);
        let is_misshapen = matches!(answer.status, 400 | 413)
            && ["INVALID_ARGUMENT", "TOO_LARGE"].map(Value::from).contains(&json(&answer)["code"]);
        assert_eq!(mismatch.is_some(), is_misshapen, "{body}: {mismatch:?}, {}", answer.text());
    }

    fn check_app(&self, members: &Value) {
        let mut app = json!({"name": "other", "partitions": 1});
        app.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        self.check("POST", "/v1/apps", "/v1/apps", &app.to_string());
    }

    fn check_sequence(&self, members: &Value) {
        let template = "/v1/apps/{app}/sequences/{name}";
        self.check("PUT", template, "/v1/apps/shop/sequences/other", &members.to_string());
    }

    fn check_command(&self, body: &str) {
        let template = "/v1/apps/{app}/workspaces/{ws}/commands";
        self.check("POST", template, "/v1/apps/shop/workspaces/store-1/commands", body);
    }

    fn check_change(&self, change: &str) {
        self.check_command(&changes(change));
    }

    /// Whether a parameter can be this, as the document says.
    fn is_parameter(&self, verb: &str, template: &str, name: &str, value: &str) -> bool {
        let parameters = self.document["paths"][template][verb]["parameters"].as_array().unwrap();
        let found = parameters.iter().find(|it| it["name"] == name).unwrap();
        mismatch(&self.document, &found["schema"], &json!(value)).is_none()
    }
}

/// Texts of which some are names: the schema must know which.
fn names() -> Vec<String> {
    let mut names = ["", ".", "..", "...", "a", "é", "7", "7a", "a b", "\u{1}", "a\n", "a\u{7f}"]
        .map(str::to_owned)
        .to_vec();
    names.extend(["\u{85}".to_owned(), "n".repeat(255), "n".repeat(256)]);
    names
}

#[test]
fn apps_fit_their_schema_exactly_when_they_are_taken() {
    let described = Described::new();
    for name in names() {
        described.check_app(&json!({"name": name}));
    }
    for retention in [
        "forever",
        "90m",
        "24h",
        "7d",
        "500ms",
        "0s",
        "",
        "7",
        "d",
        "7w",
        "-1s",
        "007d",
        "00d",
        "3660d",
        "3661d",
        "9999d",
        "87840h",
        "87841h",
        "316224000000ms",
        "316224000001ms",
        "316223999999ms",
        " 7d",
        "7D",
    ] {
        described.check_app(&json!({"idempotency_retention": retention}));
    }
    for keys_max in [json!(0), json!(1), json!(1_000_000_000), json!(1_000_000_001), json!(null)] {
        described.check_app(&json!({"idempotency_keys_max": keys_max}));
        let body = json!({"idempotency_keys_max": keys_max}).to_string();
        described.check("PATCH", "/v1/apps/{app}", "/v1/apps/shop", &body);
    }
    for members in [
        json!({"partitions": 0}),
        json!({"partitions": 1025}),
        json!({"trust_level": 3}),
        json!({"record_ids": "both"}),
        json!({"record_ids": null}),
        json!({"unknown": 1}),
    ] {
        described.check_app(&members);
    }
}

#[test]
fn sequences_fit_their_schema_exactly_when_they_are_taken() {
    let described = Described::new();
    for format in [
        "{n}",
        "",
        "INV",
        "{n}{n}",
        "{n:06}",
        "{n:6}",
        "{n:00}",
        "{n:0}",
        "{n:01}",
        "{n:020}",
        "{n:021}",
        "{n:006}",
        "{n:0006}",
        "{yy}-{n}",
        "{yyyy}{n}",
        "{yyyy}",
        "{{n}}",
        "{{{n}}}",
        "}{n}",
        "{n}}",
        "{",
        "a{n}b{{c}}{yyyy}",
        "\u{99}{n}",
        "é{n}",
    ] {
        described.check_sequence(&json!({"format": format}));
    }
    for length in [125, 126] {
        described.check_sequence(&json!({"format": format!("{}{{n}}", "x".repeat(length))}));
    }
    for offset in [
        "Z", "z", "+00:00", "-00:00", "+01:00", "-11:59", "-12:00", "-12:01", "+13:59", "+14:00",
        "+14:01", "+52:99", "+1:00", "01:00", "", "+01:60", "+0100",
    ] {
        described.check_sequence(&json!({"utc_offset": offset}));
    }
    let many = |count: u64| -> Value { (1..=count).map(|at| json!([at, at])).collect() };
    for ranges in [
        json!([]),
        json!([[]]),
        json!([[1]]),
        json!([[1, 2]]),
        json!([[1, 2, 3]]),
        json!([[0, 1]]),
        json!([[1, (1_u64 << 53) - 1]]),
        json!([[1, 1_u64 << 53]]),
        many(16),
        many(17),
        json!(1),
    ] {
        described.check_sequence(&json!({"ranges": ranges}));
    }
    for kind in names() {
        described.check_sequence(&json!({"kind": kind}));
        let body = json!({"kind": kind}).to_string();
        let template = "/v1/apps/{app}/workspaces/{ws}";
        described.check("PUT", template, "/v1/apps/shop/workspaces/store-1", &body);
    }
}

#[test]
fn commands_fit_their_schema_exactly_when_they_are_taken() {
    let described = Described::new();
    for name in names() {
        described.check_command(&json!({"events": [{"name": name}]}).to_string());
        let text = json!(name);
        described.check_change(&format!(r#"{{"create":{{"id":1,"kind":{text}}}}}"#));
        described.check_change(&format!(r#"{{"draw":{{"sequence":{text}}}}}"#));
        described.check_change(&format!(r#"{{"set":{{"key":{text},"value":1,"if":"exists"}}}}"#));
        described.check_change(&format!(r#"{{"unset":{{"key":{text},"if":"exists"}}}}"#));
    }
    for length in [1024, 1025] {
        let key = "k".repeat(length);
        described.check_change(&format!(r#"{{"unset":{{"key":"{key}","if":"exists"}}}}"#));
    }
    let largest = (1_u64 << 53) - 1;
    for number in [0, 1, 200_000, 200_001, largest, largest + 1] {
        described.check_change(&format!(r#"{{"create":{{"id":{number},"kind":"none"}}}}"#));
        described.check_command(&format!(r#"{{"events":[{{"name":"A"}}],"if_offset":{number}}}"#));
        for change in [
            format!(r#""update":{{"id":300000,"fields":{{}},"if_version":{number}}}"#),
            format!(r#""delete":{{"id":300000,"if_version":{number}}}"#),
            format!(r#""unset":{{"key":"none","if":{{"version":{number}}}}}"#),
        ] {
            described.check_change(&format!("{{{change}}}"));
        }
    }
    // Ids up to 65535 are raw, and what they name is beyond a schema.
    for id in [0, 200_001, largest, largest + 1] {
        described.check_change(&format!(r#"{{"delete":{{"id":{id},"if_version":9}}}}"#));
        described.check_change(&format!(r#"{{"create":{{"id":1,"kind":"none","parent":{id}}}}}"#));
    }
    for time in [
        "1969-12-31T23:59:59Z",
        "1501-09-22T09:41:01Z",
        "1970-01-01T00:00:00Z",
        "2030-01-01T00:00:00Z",
    ] {
        described.check_change(&format!(
            r#"{{"set":{{"key":"none","value":1,"if":"exists","expires_at":"{time}"}}}}"#
        ));
    }
    for count in [0, 1, 256, 257] {
        let events = vec![json!({"name": "A"}); count];
        described.check_command(&json!({"events": events, "if_offset": 999}).to_string());
    }
}

#[test]
fn parameters_fit_their_schema_exactly_when_they_are_taken() {
    let described = Described::new();
    let is_refused =
        |answer: &seriatim_testkit::HttpAnswer| json(answer)["code"] == "INVALID_ARGUMENT";
    for workspace in [
        "store-1",
        "0",
        "7",
        "9",
        "10",
        "07",
        "00",
        "1099511627775",
        "1099511627776",
        "999999999999",
        "9999999999999",
        "7a",
        "1099511627699",
        "1100000000000",
        "1099511627769",
    ] {
        let template = "/v1/apps/{app}/workspaces/{ws}/head";
        let fits = described.is_parameter("get", template, "ws", workspace);
        assert_eq!(fits, !is_refused(&described.world.read(workspace, "head")), "{workspace}");
    }
    for deadline in [
        "1501-09-22T09:41:01Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
    ] {
        let template = "/v1/apps/{app}/workspaces/{ws}/commands";
        let fits = described.is_parameter("post", template, "Deadline", deadline);
        let key = key(99);
        let headers = [("Idempotency-Key", &*key), ("Client-Id", "a"), ("Deadline", deadline)];
        let path = "/v1/apps/shop/workspaces/store-1/commands";
        let answer = described.world.send(
            "POST",
            path,
            &headers,
            r#"{"events":[{"name":"A"}],"if_offset":99}"#,
        );
        assert_eq!(fits, !is_refused(&answer), "{deadline}: {}", answer.text());
    }
}
