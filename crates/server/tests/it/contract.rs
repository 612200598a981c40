//! The server does what the table of methods says: each method takes its parameters, is refused with its
//! codes, says what came of what it was to write, and answers what `/openapi.json` describes.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use seriatim_api::code::ErrorCode;
use seriatim_api::method::{METHODS, Method, MethodId, Takes, Verb};
use seriatim_server::Settings;
use seriatim_testkit::{HttpAnswer, request};

use crate::raw::Raw;
use crate::schema::mismatch;
use crate::world::{NOTED, World, error, json, key};

/// What stands in the paths of a used shop.
fn part(method: &Method, name: &str) -> String {
    let part = match (method.id, name) {
        (MethodId::GetSequence | MethodId::DefineSequence, "name") => "ticket",
        (MethodId::GetReceipt, "key") => return key(1),
        (MethodId::ErrorPage, _) => "BUSY",
        (_, "app") => "shop",
        (_, "ws") => "store-1",
        (_, "p") => "0",
        (_, "id") => "200001",
        (_, "client") => "pos-4",
        (_, "key") => "stock/A-7",
        (_, "offset") => "1",
        (_, _) => "invoice",
    };
    part.to_owned()
}

fn path_in(method: &Method, app: &str) -> String {
    let parts = method.parts.iter().map(|it| match it.name {
        "app" => (it.name, app.to_owned()),
        name => (name, part(method, name)),
    });
    let parts: Vec<(&str, String)> = parts.collect();
    let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (*name, &**text)).collect();
    let path = method.path_with(&parts);
    let query = method.query.iter().filter(|it| it.is_required);
    let query: Vec<String> = query.map(|it| format!("{}={}", it.name, it.example)).collect();
    if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
}

fn path(method: &Method) -> String {
    path_in(method, "shop")
}

/// A command with a change of every kind.
const ALL_CHANGES: &str = r#"{"events":[{"name":"All","args":{"a":1},"changes":[
    {"create":{"id":1,"kind":"invoice","fields":{"no":{"$next":"invoice","as":"text"}}}},
    {"update":{"id":200001,"fields":{"open":false}}},
    {"set":{"key":"k","value":1,"expires_at":"2100-01-01T00:00:00Z"}},
    {"unset":{"key":"k"}},{"draw":{"sequence":"ticket"}}]}],"include_proof":true}"#;

/// A body that the method carries out in a used shop.
fn body(method: &Method) -> &'static str {
    let bodies = [
        (MethodId::CreateApp, r#"{"name":"other","partitions":1}"#),
        (MethodId::ChangeApp, r#"{"idempotency_keys_max":null}"#),
        (MethodId::DefineSequence, r#"{"format":"T-{n}","ranges":[[1,3]]}"#),
        (MethodId::DefineRecord, r#"{"class":"c"}"#),
        (MethodId::Submit, ALL_CHANGES),
    ];
    bodies.iter().find(|(id, _)| *id == method.id).map_or("{}", |(_, body)| body)
}

fn ask(world: &World, method: &Method, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
    world.send(method.verb.as_str(), path, headers, "{}")
}

/// That an answer is one of the method's errors, and complete.
fn is_error_of(method: &Method, answer: &HttpAnswer) -> Value {
    let body = json(answer);
    let code: ErrorCode = body["code"].as_str().unwrap().parse().unwrap();
    assert!(method.error_codes().contains(&code), "{:?} does not list {code}", method.id);
    let body = error(answer, code.status(), code.as_str());
    assert_eq!(body["outcome"].is_string(), method.writes, "{:?} {body}", method.id);
    body
}

fn with_query(path: &str, query: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}{query}")
}

#[test]
fn every_layer_that_refuses_says_what_came_of_what_was_to_be_written() {
    let world = World::used_shop();
    for method in METHODS {
        let path = path(method);
        let evil = ask(&world, method, &path, &[("Origin", "http://evil.example")]);
        assert_eq!(is_error_of(method, &evil)["code"], "PERMISSION_DENIED");
        let twice = ask(&world, method, &path, &[("Host", "twice")]);
        assert_eq!(is_error_of(method, &twice)["field"], "Host");
        if method.path.starts_with("/v1/") {
            let unknown = ask(&world, method, &with_query(&path, "zzz=1"), &[]);
            assert_eq!(is_error_of(method, &unknown)["field"], "zzz");
        }
        if method.parts.iter().any(|it| it.name == "app") {
            let headers = [("Idempotency-Key", key(9)), ("Client-Id", "a".to_owned())];
            let headers = headers.each_ref().map(|(name, text)| (*name, text.as_str()));
            let (verb, path) = (method.verb.as_str(), path_in(method, "none"));
            let none = world.send(verb, &path, &headers, body(method));
            assert_eq!(is_error_of(method, &none)["code"], "APP_NOT_FOUND", "{:?}", method.id);
            let broken = path.replacen("none", "%zz", 1);
            let broken = ask(&world, method, &broken, &[]);
            assert_eq!(is_error_of(method, &broken)["field"], "app");
        }
        if method.request.is_some() {
            let headers =
                [("Content-Encoding", "gzip"), ("Idempotency-Key", &key(9)), ("Client-Id", "a")];
            let compressed = ask(&world, method, &path, &headers);
            assert_eq!(is_error_of(method, &compressed)["field"], "Content-Encoding");
            let mut client = world.client();
            let (verb, key) = (method.verb.as_str(), key(9));
            let head = format!(
                "{verb} {path} HTTP/1.1\r\nHost: localhost\r\nClient-Id: a\r\nIdempotency-Key: {key}\r\n\
                 Content-Length: 1048577\r\n\r\n"
            );
            client.write(head.as_bytes()).unwrap();
            let large = client.read_answer().unwrap();
            assert_eq!(is_error_of(method, &large)["code"], "TOO_LARGE");
            let mut client = world.client();
            let head = head.replace("1048577", "9");
            client.write(format!("{head}{{").as_bytes()).unwrap();
            client.end().unwrap();
            let broken_off = is_error_of(method, &client.read_answer().unwrap());
            assert_eq!(broken_off["outcome"], "not_written", "{broken_off}");
        }
    }
    assert_eq!(world.last_offset(), 3);
}

/// Of a request that is for no method, the verb says whether something was to be written.
#[test]
fn what_is_no_method_and_would_write_is_refused() {
    let world = World::new();
    for (verb, path, status, code) in [
        ("DELETE", "/v1/apps", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/livez", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/v1/none", 404, "NOT_FOUND"),
    ] {
        assert_eq!(error(&world.send(verb, path, &[], ""), status, code)["outcome"], "refused");
    }
    let read = error(&world.get("/v1/none"), 404, "NOT_FOUND");
    assert!(read["outcome"].is_null(), "{read}");
    let path = "/v1/apps/shop/workspaces/store-1/commands";
    assert!(error(&world.get(path), 405, "METHOD_NOT_ALLOWED")["outcome"].is_null());
}

#[test]
fn a_head_with_too_many_headers_says_what_came_of_what_was_to_be_written() {
    let store =
        std::sync::Arc::new(seriatim_storage::memory::MemoryStore::new(&seriatim_node::schema()));
    let settings = Settings { headers_max: 10, ..Settings::default() };
    let world = World::ready(store, seriatim_node::Settings::default(), settings);
    let mut raw = Raw::connect(&world);
    for method in METHODS {
        let address = format!("http://localhost{}", path(method));
        let mut request = axum::http::Request::builder().method(method.verb.as_str()).uri(address);
        for number in 0..11 {
            request = request.header(format!("x-{number}"), "1");
        }
        let answer = raw.ask(request.body(axum::body::Body::empty()).unwrap()).unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!((answer.http.as_u16(), &body["code"]), (431, &json!("TOO_LARGE")));
        assert_eq!(body["outcome"] == "refused", method.writes, "{:?} {body}", method.id);
    }
}

#[test]
fn help_leads_to_the_page_of_the_code() {
    let world = World::new();
    let help = error(&world.get("/v1/apps/none"), 404, "APP_NOT_FOUND")["help"].clone();
    let page = world.get(help.as_str().unwrap());
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, Some("text/markdown; charset=utf-8"))
    );
    assert!(page.text().starts_with("# APP_NOT_FOUND\n"), "{}", page.text());
    for code in ErrorCode::ALL {
        assert_eq!(world.get(code.help()).text(), code.page());
    }
    let none = error(&world.get("/errors/NONE"), 404, "NOT_FOUND");
    assert!(none["message"].as_str().unwrap().contains("\"NONE\""), "{none}");
}

#[test]
fn every_path_takes_the_verbs_of_its_methods_and_no_other() {
    let world = World::used_shop();
    for method in METHODS {
        let refused = world.send("BREW", &path(method), &[], "");
        error(&refused, 405, "METHOD_NOT_ALLOWED");
        let allowed = refused.header("allow").unwrap().split(',').filter(|it| *it != "HEAD");
        let of_table = METHODS.iter().filter(|it| it.path == method.path);
        let of_table: BTreeSet<&str> = of_table.map(|it| it.verb.as_str()).collect();
        assert_eq!(allowed.collect::<BTreeSet<_>>(), of_table, "{}", method.path);
    }
}

#[test]
fn every_method_takes_its_parameters_within_their_ranges_and_no_other() {
    let world = World::used_shop();
    for method in METHODS.iter().filter(|it| it.path.starts_with("/v1/")) {
        let path = path(method);
        let refused = is_error_of(method, &ask(&world, method, &with_query(&path, "zzz=1"), &[]));
        let message = refused["message"].as_str().unwrap();
        let words = message.strip_prefix("zzz: is not known here: ").unwrap();
        let words = words
            .split([',', ' '])
            .filter(|it| !["", "and", "is", "are", "only", "nothing"].contains(it));
        let of_table: Vec<&str> = method.query.iter().map(|it| it.name).collect();
        assert_eq!(words.collect::<Vec<_>>(), of_table, "{:?}", method.id);
        for parameter in method.query.iter().filter(|it| !it.is_required) {
            let name = parameter.name;
            let Takes::Whole { max, .. } = parameter.takes else { panic!("{name} is a number") };
            // The range is that of the table: the greatest is taken, unless there have to be as many events.
            let greatest = with_query(&path, &format!("{name}={max}"));
            if !["min_offset", "wait_ms", "size", "to"].contains(&name) {
                let answer = ask(&world, method, &greatest, &[]);
                assert_ne!(answer.status, 400, "{:?} {name} {}", method.id, answer.text());
            }
            let beyond = with_query(&path, &format!("{name}={}", max + 1));
            let beyond = is_error_of(method, &ask(&world, method, &beyond, &[]));
            assert_eq!(
                (&beyond["code"], &beyond["field"]),
                (&json!("INVALID_ARGUMENT"), &json!(name))
            );
        }
    }
}

#[test]
fn what_can_be_followed_streams_and_nothing_else_does() {
    let world = World::used_shop();
    for method in METHODS.iter().filter(|it| it.verb == Verb::Get) {
        let mut client = world.client();
        let accept = [("Accept", "text/event-stream")];
        client.write(&request("GET", &path(method), &accept, b"")).unwrap();
        let (status, headers) = client.read_head().unwrap();
        let kind = headers.iter().find(|(name, _)| name == "content-type");
        let is_stream = kind.is_some_and(|(_, kind)| kind == "text/event-stream");
        assert_eq!((status, is_stream), (200, method.streams), "{:?}", method.id);
    }
}

/// The answer's body as its method's response of that status describes it.
fn is_as_described(document: &Value, method: &Method, answer: &HttpAnswer) {
    let operation = &document["paths"][method.template()][method.verb.as_str().to_lowercase()];
    let response = &operation["responses"][answer.status.to_string()];
    let pointer = response["$ref"].as_str().map(|it| it.trim_start_matches('#'));
    let response = pointer.map_or(response, |it| document.pointer(it).unwrap());
    let kind = answer.header("content-type").unwrap().split(';').next().unwrap();
    let content = &response["content"][kind];
    assert!(content.is_object(), "{:?} {} {kind}", method.id, answer.status);
    if kind == "application/json" {
        let mismatch = mismatch(document, &content["schema"], &json(answer));
        assert_eq!(mismatch, None, "{:?} {}", method.id, answer.text());
    }
    for (name, header) in response["headers"].as_object().into_iter().flatten() {
        let is_there = answer.header(&name.to_lowercase()).is_some();
        assert!(is_there || header["required"] != true, "{:?} {name}", method.id);
    }
}

#[test]
fn answers_of_every_method_are_as_the_document_describes_them() {
    let world = World::used_shop();
    let document = json(&world.get("/openapi.json"));
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    for method in METHODS {
        let (key, verb) = (key(20), method.verb.as_str());
        let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "pos-4")];
        let body = body(method);
        let answer = world.send(verb, &path(method), &headers, body);
        assert!((200..300).contains(&answer.status), "{:?} {}", method.id, answer.text());
        is_as_described(&document, method, &answer);
        let evil = world.send(verb, &path(method), &[("Origin", "http://evil.example")], "");
        is_as_described(&document, method, &evil);
        if method.path.starts_with("/v1/") {
            let unknown = world.send(verb, &with_query(&path(method), "zzz=1"), &headers, body);
            is_as_described(&document, method, &unknown);
        }
    }
    // What the commands above have left, and the log of the server's own app.
    let list = MethodId::ListEvents.method();
    is_as_described(&document, list, &world.read("store-1", "events"));
    is_as_described(&document, list, &world.get("/v1/apps/system/workspaces/shop/events"));
    let refused = r#"{"events":[{"name":"A","changes":[{"set":{"key":"stock/A-7","value":1,"if":"absent"}}]}]}"#;
    is_as_described(&document, MethodId::Submit.method(), &world.command(30, refused));
    let old = world.command(1, NOTED);
    assert_eq!(json(&old)["code"], "IDEMPOTENCY_KEY_REUSED");
    is_as_described(&document, MethodId::Submit.method(), &old);
    let late = world.read("store-1", "head?min_offset=1000&wait_ms=0");
    assert_eq!(json(&late)["code"], "NOT_YET");
    is_as_described(&document, MethodId::GetHead.method(), &late);
}
