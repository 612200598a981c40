//! The document at `/openapi.json`, the server and the reference say the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::world::{World, json};

const REFERENCE: &str = include_str!("../../../../docs/reference/http.md");
const ROUTER: &str = include_str!("../../src/router.rs");

/// An endpoint: its method and its path.
type Endpoint = (String, String);

/// What is said of an endpoint: parameters and headers, and statuses.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    parameters: BTreeSet<String>,
    statuses: BTreeSet<String>,
}

fn document(world: &World) -> Value {
    json(&world.get("/openapi.json"))
}

fn of_document(document: &Value) -> BTreeMap<Endpoint, Said> {
    let mut endpoints = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = parameters(document, operation);
            let parameters = parameters.into_iter().filter(|it| it["in"] != "path");
            let said = Said {
                parameters: parameters.map(|it| it["name"].as_str().unwrap().to_owned()).collect(),
                statuses: operation["responses"].as_object().unwrap().keys().cloned().collect(),
            };
            endpoints.insert((method.to_uppercase(), path.clone()), said);
        }
    }
    endpoints
}

fn parameters<'d>(document: &'d Value, operation: &'d Value) -> Vec<&'d Value> {
    let listed = operation["parameters"].as_array().into_iter().flatten();
    let follow = |it: &'d Value| {
        let pointer = it["$ref"].as_str().unwrap().trim_start_matches('#');
        document.pointer(pointer).unwrap()
    };
    listed.map(follow).collect()
}

/// The cells of the table rows whose first cell is in backquotes or a link.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with("| `") || line.starts_with("| ["));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// The words in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

fn of_reference() -> BTreeMap<Endpoint, Said> {
    let endpoints = rows(REFERENCE).filter(|cells| cells.len() == 5);
    let endpoint = |cells: Vec<&str>| {
        let said = Said {
            parameters: quoted(cells[2]).collect(),
            statuses: cells[3].split(' ').map(str::to_owned).collect(),
        };
        let mut endpoint = quoted(cells[0]).chain(quoted(cells[1]));
        ((endpoint.next().unwrap(), endpoint.next().unwrap()), said)
    };
    endpoints.map(endpoint).collect()
}

/// The routes in the source of the router.
fn of_router() -> BTreeSet<Endpoint> {
    let mut endpoints = BTreeSet::new();
    let workspace = "/v1/apps/{app}/workspaces/{ws}/";
    for (begin, prefix) in [(".route(\"", ""), (".route(&at(\"", workspace)] {
        for line in ROUTER.lines().filter_map(|line| line.trim().strip_prefix(begin)) {
            let (path, handlers) = line.split_once('"').unwrap();
            for method in ["get", "post", "put", "delete", "patch"] {
                if handlers.contains(&format!(" {method}("))
                    || handlers.contains(&format!(".{method}("))
                {
                    let path = format!("{prefix}{}", path.replace("{*", "{"));
                    endpoints.insert((method.to_uppercase(), path));
                }
            }
        }
    }
    endpoints
}

#[test]
fn the_document_has_the_routes_of_the_server_and_no_other() {
    let world = World::shop();
    let document = of_document(&document(&world));
    assert!(document.keys().eq(of_router().iter()), "{:?}", of_router());
    assert!(document.len() > 20, "{}", document.len());
}

#[test]
fn the_reference_has_what_the_document_has() {
    let world = World::shop();
    let document = document(&world);
    let (of_reference, of_document) = (of_reference(), of_document(&document));
    for (endpoint, said) in &of_document {
        assert_eq!(of_reference.get(endpoint), Some(said), "{endpoint:?}");
    }
    assert_eq!(of_reference.len(), of_document.len());
    let codes = &document["components"]["schemas"]["Error"]["properties"]["code"]["enum"];
    let codes: Vec<String> =
        codes.as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()).collect();
    let of_page = rows(REFERENCE).filter(|cells| cells.len() == 3);
    let of_page: Vec<String> = of_page.filter_map(|cells| quoted(cells[0]).next()).collect();
    assert_eq!(of_page, codes);
    let reasons = &document["components"]["schemas"]["Error"]["properties"]["reason"]["enum"];
    for reason in reasons.as_array().unwrap() {
        assert!(quoted(REFERENCE).any(|word| word == *reason), "{reason} is explained");
    }
}

/// A path with something in the place of its parts.
fn filled(path: &str) -> String {
    let parts = [
        ("{app}", "shop"),
        ("{ws}", "store-1"),
        ("{name}", "x"),
        ("{p}", "0"),
        ("{id}", "200001"),
        ("{client}/{key}", "a/0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50"),
        ("{client}", "a"),
        ("{key}", "k"),
        ("{offset}", "1"),
    ];
    parts.iter().fold(path.to_owned(), |path, (part, text)| path.replace(part, text))
}

/// They were answered everywhere, and listed for some.
#[test]
fn what_every_request_can_be_refused_for_is_listed_for_every_endpoint() {
    let world = World::shop();
    let evil = [("Origin", "http://evil.example")];
    for ((method, path), said) in of_document(&document(&world)) {
        for (query, headers) in [("", &evil[..]), ("?zzz=1", &[]), ("", &[("Host", "twice")])] {
            let answer = world.send(&method, &format!("{}{query}", filled(&path)), headers, "{}");
            let status = answer.status.to_string();
            assert!(said.statuses.contains(&status), "{method} {path}{query}: {status}");
        }
    }
}

#[test]
fn every_endpoint_takes_the_methods_and_the_parameters_of_the_document() {
    let world = World::shop();
    let document = document(&world);
    for (path, methods) in document["paths"].as_object().unwrap() {
        let filled = filled(path);
        let refused = world.send("BREW", &filled, &[], "");
        assert_eq!(refused.status, 405, "{path}");
        let allowed = refused.header("allow").unwrap().split(',').filter(|it| *it != "HEAD");
        let allowed: BTreeSet<String> = allowed.map(str::to_lowercase).collect();
        assert!(allowed.iter().eq(methods.as_object().unwrap().keys().collect::<BTreeSet<_>>()));
        for (method, operation) in methods.as_object().unwrap() {
            let probed = format!("{filled}?zzz=1");
            let answer = world.send(&method.to_uppercase(), &probed, &[], "{}");
            // The probes, the metrics and this document take anything.
            if !path.starts_with("/v1/") {
                assert!(answer.status < 400, "{path}");
                continue;
            }
            let message = json(&answer)["message"].as_str().unwrap().to_owned();
            let said = message.strip_prefix("zzz: is not known here: ").unwrap();
            let words = said
                .split([',', ' '])
                .filter(|it| !["", "and", "is", "are", "only", "nothing"].contains(it));
            let known: BTreeSet<&str> = words.collect();
            let parameters = parameters(&document, operation);
            let of_query = parameters.iter().filter(|it| it["in"] == "query");
            let of_query: BTreeSet<&str> =
                of_query.map(|it| it["name"].as_str().unwrap()).collect();
            assert_eq!(known, of_query, "{method} {path}");
        }
    }
}
