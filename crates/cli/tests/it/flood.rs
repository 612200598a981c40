//! Memory of the whole process under a flood of lists that nobody reads.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use seriatim_testkit::HttpClient;

use crate::process::{Dev, command};

const MIB: u64 = 1024 * 1024;
const KIB: u64 = 1024;

const HELD_BYTES_MAX: u64 = 32 * MIB;

/// What is published of the rest, beside what the process had before: the threads of reads and buffers
/// of connections, and each request in flight.
const FIXED_BYTES: u64 = 64 * MIB;
const REQUEST_BYTES: u64 = 32 * KIB;

const CONNECTIONS: u64 = 8;
const REQUESTS_EACH: u64 = 250;

const PATIENCE: Duration = Duration::from_secs(60);

/// It came to 1.7 GiB, and to two seconds without an answer of `/livez`.
#[test]
fn a_flood_of_lists_stays_within_the_memory_budget_and_livez_answers() {
    let folder = tempfile::tempdir().unwrap();
    let mut dev = command(&["dev", "--listen", "127.0.0.1:0"]);
    dev.args(["--data", folder.path().to_str().unwrap()]);
    dev.env("SERIATIM__SERVER__HELD_BYTES_MAX", "32 MiB");
    let dev = Dev::spawn(dev);
    let mut client = dev.client();
    fill(&mut client);
    let before = dev.peak_bytes();
    let address = dev.address;
    let floods: Vec<_> = (0..CONNECTIONS).map(|_| thread::spawn(move || flood(address))).collect();
    let mut slowest = Duration::ZERO;
    while floods.iter().any(|flood| !flood.is_finished()) {
        let began = Instant::now();
        let live = client.send("GET", "/livez", &[], b"").unwrap();
        slowest = slowest.max(began.elapsed());
        assert_eq!(live.status, 200);
    }
    // They are open up to here, and what was answered is held for them.
    let floods: Vec<_> = floods.into_iter().map(|flood| flood.join().unwrap()).collect();
    let lists: u64 = floods.iter().map(|(_, lists)| lists).sum();
    let peak = dev.peak_bytes();
    let bound = before + HELD_BYTES_MAX + FIXED_BYTES + CONNECTIONS * REQUESTS_EACH * REQUEST_BYTES;
    assert!(peak <= bound, "{} MiB of {} MiB", peak / MIB, bound / MIB);
    assert!((1..=HELD_BYTES_MAX / MIB).contains(&lists), "{lists} lists are held");
    // A tenth of a second is what is measured. A machine that runs other tests may take longer.
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    drop(floods);
    let until = Instant::now() + PATIENCE;
    while client.send("GET", EVENTS, &[], b"").unwrap().status != 200 {
        assert!(Instant::now() < until, "memory is given back when the clients are gone");
    }
}

const EVENTS: &str = "/v1/apps/shop/workspaces/store-1/events";

/// A megabyte of events.
fn fill(client: &mut HttpClient) {
    let app = client.send("POST", "/v1/apps", &[], br#"{"name":"shop"}"#).unwrap();
    assert_eq!(app.status, 201, "{}", app.text());
    let large = "x".repeat(250_000);
    let body = format!(r#"{{"events":[{{"name":"A","args":{{"a":"{large}"}}}}]}}"#);
    for number in 1..=4 {
        let key = format!("0b0e8a4e-5f0a-4c3e-9d6b-{number:012x}");
        let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "me")];
        let path = "/v1/apps/shop/workspaces/store-1/commands";
        let written = client.send("POST", path, &headers, body.as_bytes()).unwrap();
        assert_eq!(written.status, 200, "{}", written.text());
    }
}

/// Asks for lists on one HTTP/2 connection without opening a window for them, and waits until each
/// has a status. Returns how many are lists, and the connection, by which they are held.
fn flood(address: SocketAddr) -> (TcpStream, u64) {
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const PING: u8 = 6;
    /// Of a stream: it ends, and so do its headers. Of settings and pings: they are seen.
    const ENDS: u8 = 5;
    const SEEN: u8 = 1;
    /// `:status: 200`, as HPACK has it. Any other that the server sends is an error's.
    const OK: u8 = 0x88;
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    let no_window = [0, 4, 0, 0, 0, 0];
    stream.write_all(&frame(SETTINGS, 0, 0, &no_window)).unwrap();
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    // Method GET, scheme http, a path and an authority.
    let headers = [&[0x82, 0x86, 0x04][..], &text(EVENTS), &[0x01], &text("localhost")].concat();
    for number in 0..REQUESTS_EACH {
        let id = u32::try_from(2 * number + 1).unwrap();
        stream.write_all(&frame(HEADERS, ENDS, id, &headers)).unwrap();
    }
    let (mut answered, mut lists) = (0, 0);
    while answered < REQUESTS_EACH {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let [high, middle, low, kind, flags, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
        stream.read_exact(&mut payload).unwrap();
        match kind {
            HEADERS => {
                answered += 1;
                lists += u64::from(payload.first() == Some(&OK));
            }
            PING if flags & SEEN == 0 => {
                stream.write_all(&frame(PING, SEEN, 0, &payload)).unwrap();
            }
            SETTINGS if flags & SEEN == 0 => {
                stream.write_all(&frame(SETTINGS, SEEN, 0, &[])).unwrap();
            }
            _ => {}
        }
    }
    (stream, lists)
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
