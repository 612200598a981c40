//! Web pages of other sites, in the browser of somebody who can reach the server.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use seriatim_api::grpc::SubscribeRequest;
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::HttpAnswer;
use tonic::Code;
use tonic::transport::Endpoint;

use crate::grpc::{Grpc, failed, workspace_log};
use crate::raw::Raw;
use crate::world::{NOTED, World, error};

const APP: &str = r#"{"name":"evil","partitions":1}"#;

/// Asks with these lines as all of its headers.
fn ask(world: &World, method: &str, path: &str, lines: &[&str]) -> HttpAnswer {
    let headers: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let (body, length) = if method == "POST" { (APP, APP.len()) } else { ("", 0) };
    let request = format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n");
    let mut client = world.client();
    client.write(&[request.as_bytes(), body.as_bytes()].concat()).unwrap();
    client.read_answer().unwrap()
}

/// That it was refused, and that the answer to a write says what came of it.
fn is_denied(world: &World, lines: &[&str]) -> Value {
    let written = error(&ask(world, "POST", "/v1/apps", lines), 403, "PERMISSION_DENIED");
    assert_eq!((&written["outcome"], &written["retryable"]), (&json!("refused"), &json!(false)));
    let read = error(&ask(world, "GET", "/v1/apps", lines), 403, "PERMISSION_DENIED");
    assert!(read["outcome"].is_null());
    assert_eq!(ask(world, "GET", "/livez", lines).status, 403, "{lines:?}");
    written
}

fn is_taken(world: &World, lines: &[&str]) {
    let answer = ask(world, "GET", "/v1/apps", lines);
    assert_eq!(answer.status, 200, "{lines:?} {}", answer.text());
}

fn world(hosts: &[&str]) -> World {
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let store = Arc::new(MemoryStore::new(&schema()));
    World::ready(store, NodeSettings::default(), Settings { hosts, ..Settings::default() })
}

fn apps(world: &World) -> Value {
    crate::world::json(&world.get("/v1/apps"))["apps"].clone()
}

/// Any page could make an app, without its browser asking first.
#[test]
fn a_page_of_another_site_can_neither_write_nor_read() {
    let world = World::new();
    for origin in [
        "http://evil.example",
        "http://localhost:3000",
        "https://localhost:7600",
        "http://127.0.0.1:7600.evil.example",
        "null",
        "file://",
        "moz-extension://localhost:7600",
        "http://",
        "",
    ] {
        let origin = format!("Origin: {origin}");
        let denied = is_denied(&world, &["Host: localhost", "Content-Type: text/plain", &origin]);
        assert!(denied["message"].as_str().unwrap().contains("from a program"), "{denied}");
    }
    is_denied(&world, &["Host: localhost", "Sec-Fetch-Site: cross-site"]);
    let both = ["Host: localhost:7600", "Origin: http://localhost:7600", "Origin: http://evil"];
    is_denied(&world, &both);
    assert_eq!(apps(&world), json!([]));
}

#[test]
fn a_page_of_this_server_and_what_is_no_page_are_let_through() {
    let world = World::new();
    let own = format!("Host: {}", world.address);
    let origin = format!("Origin: http://{}", world.address);
    is_taken(&world, &[&own]);
    is_taken(&world, &[&own, &origin, "Sec-Fetch-Site: same-origin"]);
    is_taken(&world, &[&own, "Sec-Fetch-Site: none"]);
    is_taken(&world, &["Host: Localhost", "Origin: http://localHost:80"]);
    // A proxy that speaks TLS passes the host on as it came.
    is_taken(&world, &["Host: localhost", "Origin: https://localhost"]);
    is_taken(&world, &["Host: localhost:443", "Origin: https://localhost"]);
    assert_eq!(ask(&world, "POST", "/v1/apps", &[&own, &origin]).status, 201);
}

/// A page whose name is bound to this machine's address is of the same site as the server.
#[test]
fn a_name_that_is_bound_to_a_loopback_address_is_of_no_use() {
    let world = World::new();
    for host in ["evil.example:7600", "localhost.evil.example", "evillocalhost", "127.0.0.1.nip.io"]
    {
        let lines = [format!("Host: {host}"), format!("Origin: http://{host}")];
        let denied = is_denied(&world, &[&lines[0], &lines[1]]);
        assert!(denied["message"].as_str().unwrap().contains("server.hosts"), "{denied}");
        is_denied(&world, &[&lines[0]]);
    }
    for host in ["127.0.0.1", "127.0.0.1:7600", "[::1]:7600", "10.0.0.7", "shop.localhost:1"] {
        is_taken(&world, &[&format!("Host: {host}")]);
    }
    assert_eq!(apps(&world), json!([]));
}

#[test]
fn names_that_are_set_are_taken_and_a_star_takes_all() {
    let named = world(&["db.internal", "Other"]);
    for host in ["db.internal", "DB.internal:7600", "other:1"] {
        is_taken(&named, &[&format!("Host: {host}")]);
    }
    is_denied(&named, &["Host: sub.db.internal"]);
    let any = world(&["*"]);
    is_taken(&any, &["Host: whatever.example"]);
    is_denied(&any, &["Host: whatever.example", "Origin: http://evil.example"]);
}

#[test]
fn a_request_of_http_1_1_names_its_host_once() {
    let world = World::new();
    for lines in [&[][..], &["Host: localhost", "Host: localhost"], &["Host: a b"], &["Host:"]] {
        let refused = error(&ask(&world, "POST", "/v1/apps", lines), 400, "INVALID_ARGUMENT");
        assert_eq!((&refused["field"], &refused["outcome"]), (&json!("Host"), &json!("refused")));
    }
    // A probe of the old kind names none, and no browser is like that.
    let mut client = world.client();
    client.write(b"GET /livez HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(client.read_answer().unwrap().status, 200);
}

#[test]
fn the_same_holds_over_http_2_and_grpc() {
    let world = World::new();
    let mut raw = Raw::connect(&world);
    let mut ask = |authority: &str, origin: Option<&str>| {
        let mut request = Request::get(format!("http://{authority}/v1/apps"));
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        raw.ask(request.body(Body::empty()).unwrap()).unwrap().http.as_u16()
    };
    assert_eq!(ask("localhost:1", Some("http://localhost:1")), 200);
    assert_eq!(ask("localhost:1", Some("http://localhost:2")), 403);
    assert_eq!(ask("evil.example", None), 403);
    let channel = |name: &str| {
        let origin = format!("http://{name}").parse().unwrap();
        let endpoint = Endpoint::from_shared(format!("http://{}", world.address)).unwrap();
        let endpoint = endpoint.origin(origin);
        let channel = world.runtime.block_on(endpoint.connect()).unwrap();
        Grpc { runtime: &world.runtime, channel }
    };
    let evil = channel("evil.example");
    let follow = || SubscribeRequest { log: workspace_log("store-1"), from: 1 };
    let followed = evil.wait(evil.reads().subscribe(follow()));
    let denied = failed(followed, Code::PermissionDenied, "PERMISSION_DENIED");
    assert!(denied["outcome"].is_null(), "{denied}");
    let denied = failed(evil.command(1, NOTED), Code::PermissionDenied, "PERMISSION_DENIED");
    assert_eq!(denied["outcome"], "refused");
    let good = channel("localhost:7600");
    failed(good.wait(good.reads().subscribe(follow())), Code::NotFound, "APP_NOT_FOUND");
    assert_eq!(apps(&world), json!([]));
}
