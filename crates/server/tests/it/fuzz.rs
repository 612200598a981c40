//! Good requests with a few wrong bytes: no panic, no hang, no fault of the server, and what is
//! answered with an error has left the log as it was.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use prost::Message;
use seriatim_api::grpc::StreamRequest;
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::faulty::Dice;
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::{HttpClient, request};
use seriatim_types::{PartitionOffset, PartitionRef};
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;

use crate::grpc::request as message;
use crate::raw::{Raw, framed};
use crate::world::{NOTED, World, json, key};

const HTTP_ROUNDS: u64 = 1000;
const GRPC_ROUNDS: u64 = 2500;

/// Panics of a server's threads, which would otherwise only close a connection.
static PANICS: AtomicUsize = AtomicUsize::new(0);

fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if thread::current().name() == Some("tokio-rt-worker") {
                PANICS.fetch_add(1, Ordering::Relaxed);
            }
            before(panic);
        }));
    });
}

fn world(settings: Settings) -> World {
    count_panics();
    let store = Arc::new(MemoryStore::new(&schema()));
    let world = World::ready(store, NodeSettings::default(), settings);
    world.define_shop();
    world.commit(1_000_000, RICH);
    world
}

const RICH: &str = r#"{"events":[{"name":"Changed","args":{"a":{"$next":"invoice"},"b":[1,2.5]},
    "changes":[{"create":{"id":1,"kind":"invoice","fields":{"x":{"$ref":1}}}},
    {"set":{"key":"k","value":{"left":4}}},{"unset":{"key":"hold","if":"absent"}}]}],
    "include_proof":true}"#;

/// How far every log is.
fn heads(world: &World) -> BTreeMap<PartitionRef, Option<PartitionOffset>> {
    let partitions = world.node.partitions().into_iter();
    partitions.map(|(it, _)| (it, world.node.view(it).and_then(|(view, _)| view.offset))).collect()
}

/// What is put into requests.
const TOKENS: &[u8] = b"0123456789{}[]\":,\\\r\n %\xff\0";

/// Changes a few bytes. What is inserted is short, so that no second request comes to be.
fn spoil(dice: &mut Dice, bytes: &mut Vec<u8>) {
    for _ in 0..=dice.index_below(3) {
        let at = dice.index_below(bytes.len().max(1));
        let byte = dice.next_u64().to_le_bytes()[0];
        match dice.index_below(10) {
            0 | 1 if !bytes.is_empty() => bytes[at] = byte,
            2 | 3 if !bytes.is_empty() => bytes[at] ^= 1 << (byte % 8),
            4 | 5 if !bytes.is_empty() => drop(bytes.remove(at)),
            6 => bytes.truncate(at),
            7 => {
                let end = (at + dice.index_below(24)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = dice.index_below(bytes.len().max(1));
                bytes.splice(to..to, piece);
            }
            _ => {
                let odd = TOKENS[dice.index_below(TOKENS.len())];
                bytes.insert(at, odd);
            }
        }
    }
}

fn http_requests(number: u64) -> Vec<Vec<u8>> {
    let key = key(number);
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "fuzz")];
    let deadline = [&headers[..], &[("Deadline", "2099-01-01T00:00:00Z")]].concat();
    let workspace = "/v1/apps/shop/workspaces/store-1";
    let post = |headers: &[(&str, &str)], body: &str| {
        request("POST", &format!("{workspace}/commands"), headers, body.as_bytes())
    };
    let get = |path: &str| request("GET", path, &[], b"");
    let sequence = br#"{"ranges":[[1,99]],"format":"N-{n:03}","reset":"never"}"#;
    vec![
        post(&headers, NOTED),
        post(&deadline, RICH),
        request("PUT", "/v1/apps/shop/sequences/fuzz", &[], sequence),
        request("POST", "/v1/apps", &[], br#"{"name":"shop","partitions":2}"#),
        get(&format!("{workspace}/events?from=1&limit=10&min_offset=1&wait_ms=1")),
        get(&format!("{workspace}/proofs/1?size=1")),
        get(&format!("{workspace}/receipts/pos-4/{key}")),
        get("/v1/apps/shop/partitions/1/events"),
    ]
}

#[test]
fn no_bytes_over_http_bring_the_server_down_or_leave_a_trace() {
    // The server does not wait long for what does not come.
    let soon = Duration::from_millis(30);
    // And it takes any name, so that what is spoiled is looked at further.
    let hosts = vec!["*".to_owned()];
    let settings =
        Settings { hosts, header_within: soon, body_within: soon, ..Settings::default() };
    let world = world(settings);
    let mut dice = Dice::new(11);
    let mut before = heads(&world);
    let (mut refused, mut taken, mut closed) = (0, 0, 0);
    for number in 0..HTTP_ROUNDS {
        let mut requests = http_requests(number);
        let mut bytes = requests.swap_remove(dice.index_below(requests.len()));
        spoil(&mut dice, &mut bytes);
        let mut client = HttpClient::connect(world.address).unwrap();
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        // The server may have closed already.
        let answer = client.write(&bytes).and_then(|()| client.read_answer());
        let after = heads(&world);
        match answer {
            Ok(answer) if answer.status < 400 => taken += 1,
            Ok(answer) => {
                refused += 1;
                assert_eq!(after, before, "{shown}\n{}", answer.text());
                assert!(answer.status < 500 || answer.status == 504, "{shown}\n{}", answer.text());
                assert!(answer.status != 504 || json(&answer)["code"].is_string());
            }
            Err(error) => {
                closed += 1;
                assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "it hangs: {shown}");
                assert_eq!(after, before, "{shown}");
            }
        }
        before = after;
    }
    assert!(refused > 200 && taken > 30 && closed < 200, "{refused} {taken} {closed}");
    assert_eq!(world.get("/readyz").status, 200);
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}

fn grpc_requests(number: u64) -> Vec<(&'static str, Vec<u8>)> {
    let submit = "/seriatim.v1.CommandService/Submit";
    let health = HealthCheckRequest { service: "seriatim.v1.CommandService".to_owned() };
    vec![
        (submit, message("store-1", number, NOTED).encode_to_vec()),
        (submit, message("store-1", number, RICH).encode_to_vec()),
        (submit, message("store-2", number, RICH).encode_to_vec()),
        ("/grpc.health.v1.Health/Check", health.encode_to_vec()),
        ("/seriatim.v1.ReadService/GetHead", Vec::new()),
    ]
}

/// Whether a status is one that a good server has for a bad request.
fn check_status(code: Code, shown: &str) {
    let faults =
        [Code::Internal, Code::Unknown, Code::Unavailable, Code::Cancelled, Code::DataLoss];
    assert!(!faults.contains(&code), "{code:?} for {shown}");
}

#[test]
fn no_bytes_over_grpc_bring_the_server_down_or_leave_a_trace() {
    let world = world(Settings::default());
    let mut raw = Raw::connect(&world);
    let mut dice = Dice::new(13);
    let mut before = heads(&world);
    let (mut refused, mut taken) = (0, 0);
    for number in 0..GRPC_ROUNDS {
        let mut requests = grpc_requests(number);
        let (path, mut message) = requests.swap_remove(dice.index_below(requests.len()));
        // Mostly the message, and sometimes what is around it.
        let mut bytes = if dice.index_below(4) > 0 {
            spoil(&mut dice, &mut message);
            framed(&message)
        } else {
            framed(&message)
        };
        if dice.index_below(4) == 0 {
            spoil(&mut dice, &mut bytes);
        }
        let shown = format!("{path} {bytes:02x?}");
        let answer = raw.send(path, &[], bytes).unwrap_or_else(|error| panic!("{error}: {shown}"));
        let after = heads(&world);
        assert!(answer.http.is_success(), "{answer:?} for {shown}");
        match answer.status() {
            None => taken += 1,
            Some(status) => {
                refused += 1;
                check_status(status.code(), &shown);
                assert!(!status.details().is_empty(), "{status:?} for {shown}");
                assert_eq!(after, before, "{status:?} for {shown}");
            }
        }
        before = after;
    }
    assert!(refused > 500 && taken > 200, "{refused} {taken}");
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}

#[test]
fn no_bytes_on_a_stream_bring_the_server_down() {
    let world = world(Settings::default());
    let mut raw = Raw::connect(&world);
    let mut dice = Dice::new(17);
    for number in 0..GRPC_ROUNDS / 5 {
        let request = |id: u64, body: &str| {
            let request = Some(message("store-1", 5 * number + id, body));
            framed(&StreamRequest { id, generation: 0, request }.encode_to_vec())
        };
        let mut bytes = [request(1, NOTED), request(2, RICH), request(3, NOTED)].concat();
        spoil(&mut dice, &mut bytes);
        let shown = format!("{bytes:02x?}");
        let path = "/seriatim.v1.CommandService/SubmitStream";
        let answer = raw.send(path, &[], bytes).unwrap_or_else(|error| panic!("{error}: {shown}"));
        if let Some(status) = answer.status() {
            check_status(status.code(), &shown);
        }
    }
    assert_eq!(world.get("/readyz").status, 200);
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}
