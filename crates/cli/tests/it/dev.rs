//! `seriatim dev` from its start to its end.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use rustix::process::Signal;
use seriatim_testkit::{HttpAnswer, HttpClient, request};

use crate::process::{Dev, command};

/// A line that somebody copies from the terminal, as the shell and curl understand it.
fn curl(client: &mut HttpClient, line: &str) -> HttpAnswer {
    let mut words: Vec<String> = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    let (mut method, mut path, mut headers, mut body) = ("GET", "", Vec::new(), "");
    let mut words = words.iter().map(String::as_str);
    assert_eq!(words.next(), Some("curl"));
    while let Some(word) = words.next() {
        match word {
            "-X" => method = words.next().unwrap(),
            "-H" => headers.push(words.next().unwrap().split_once(": ").unwrap()),
            "-d" => body = words.next().unwrap(),
            url => {
                path = url.strip_prefix("http://").and_then(|url| url.split_once('/')).unwrap().1
            }
        }
    }
    client.send(method, &format!("/{path}"), &headers, body.as_bytes()).unwrap()
}

fn invoice(client: &mut HttpClient, last: char) -> HttpAnswer {
    let key = format!("0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f5{last}");
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "me")];
    let body = br#"{"events":[{"name":"InvoiceIssued","args":{"number":{"$next":"invoice"}}}]}"#;
    client.send("POST", "/v1/apps/shop/workspaces/store-1/commands", &headers, body).unwrap()
}

fn define(client: &mut HttpClient) {
    let app = client.send("POST", "/v1/apps", &[], br#"{"name":"shop","partitions":2}"#).unwrap();
    assert_eq!(app.status, 201, "{}", app.text());
    let sequence = client.send("PUT", "/v1/apps/shop/sequences/invoice", &[], b"{}").unwrap();
    assert_eq!(sequence.status, 200, "{}", sequence.text());
}

#[test]
fn what_it_says_first_can_be_copied_and_works() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let mut client = dev.client();
    let lines: Vec<&str> = dev.said.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let [app, sequence, command, events] = lines.as_slice() else { panic!("{}", dev.said) };
    assert_eq!(curl(&mut client, app).status, 201);
    assert_eq!(curl(&mut client, sequence).status, 200);
    let first = curl(&mut client, command);
    assert_eq!(first.status, 200, "{}", first.text());
    assert!(first.text().contains("\"text\":\"INV-"), "{}", first.text());
    let again = curl(&mut client, command);
    assert_eq!((again.header("idempotent-replayed"), &again.body), (Some("true"), &first.body));
    assert!(curl(&mut client, events).text().contains("InvoiceIssued"));
}

#[test]
fn after_a_crash_a_repetition_is_known_and_numbers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let mut client = dev.client();
    define(&mut client);
    let first = invoice(&mut client, '0');
    assert_eq!((first.status, first.header("idempotent-replayed")), (200, Some("false")));
    dev.kill();
    let dev = Dev::start(folder.path());
    let mut client = dev.client();
    let again = invoice(&mut client, '0');
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    assert_eq!(again.body, first.body);
    assert!(invoice(&mut client, '1').text().contains("\"number\":2"));
    assert_eq!(client.send("GET", "/readyz", &[], b"").unwrap().status, 200);
}

/// A killed process holds its address and its folder for a moment, and scripts do not wait for that.
#[test]
fn a_server_that_is_started_behind_one_that_is_killed_waits_until_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let data = folder.path().to_str().unwrap().to_owned();
    let address = dev.address.to_string();
    let second = std::thread::spawn(move || {
        Dev::spawn(command(&["dev", "--listen", &address, "--data", &data]))
    });
    dev.signal(Signal::KILL);
    let second = second.join().expect("the second one serves");
    assert!(second.said.contains("Ready"), "{}", second.said);
}

/// No partition takes a command then, however well all of them are.
#[test]
fn a_server_whose_disk_is_almost_full_says_so_and_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    drop(Dev::start(folder.path()));
    let data = folder.path().to_str().unwrap();
    let mut dev = command(&["dev", "--listen", "127.0.0.1:0", "--data", data]);
    dev.args(["--set", "storage.disk_reserve_bytes=1024 GiB"]);
    let dev = Dev::spawn_until(dev, "Not ready: the disk is almost full");
    let answer = dev.client().send("GET", "/readyz", &[], b"").unwrap();
    let body = String::from_utf8(answer.body).unwrap();
    assert_eq!(answer.status, 503, "{body}");
    assert!(body.contains(r#""reason":"the disk is almost full: "#), "{body}");
}

#[test]
fn a_signal_ends_it_in_good_order() {
    let folder = tempfile::tempdir().unwrap();
    for signal in [Signal::TERM, Signal::INT] {
        let dev = Dev::start(folder.path());
        let mut client = dev.client();
        if signal == Signal::TERM {
            define(&mut client);
        }
        invoice(&mut client, '0');
        let mut follower = dev.client();
        let path = "/v1/apps/shop/workspaces/store-1/events";
        follower.write(&request("GET", path, &[("Accept", "text/event-stream")], b"")).unwrap();
        follower.read_head().unwrap();
        assert!(follower.read_event().unwrap().unwrap().starts_with("id: 1\n"));
        dev.signal(signal);
        assert_eq!(follower.read_event().unwrap(), None, "the stream ends");
        let (status, said) = dev.ended();
        assert!(status.success(), "{status}");
        assert!(said.contains("Stopping"), "{said}");
        assert!(said.contains("Everything that was acknowledged is on disk."), "{said}");
    }
}

/// It said nothing until it was asked, and then that everything was well.
#[test]
fn a_store_that_stops_is_said_at_once_and_again_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let complaints = folder.path().join("complaints");
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    // A disk of its own, in a namespace of its own.
    let script = "mount -t tmpfs -o size=16m tmpfs \"$1\" && exec \"$2\" dev --listen 127.0.0.1:0 \
                  --data \"$1/data\" --set storage.disk_reserve_bytes=0";
    let mut dev = std::process::Command::new("unshare");
    dev.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(&disk);
    dev.arg(env!("CARGO_BIN_EXE_seriatim")).stderr(std::fs::File::create(&complaints).unwrap());
    let dev = Dev::spawn(dev);
    let mut client = dev.client();
    define(&mut client);
    let large =
        format!(r#"{{"events":[{{"name":"A","args":{{"x":"{}"}}}}]}}"#, "x".repeat(500_000));
    let stopped = (1..200).find_map(|number| {
        let key = format!("0b0e8a4e-5f0a-4c3e-9d6b-{number:012}");
        let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "a")];
        let path = "/v1/apps/shop/workspaces/store-1/commands";
        let answer = client.send("POST", path, &headers, large.as_bytes()).unwrap();
        (answer.status != 200).then(|| answer.text())
    });
    let stopped = stopped.expect("the disk is full");
    assert!(stopped.contains("No space left on device"), "{stopped}");
    let said = || std::fs::read_to_string(&complaints).unwrap();
    while said().is_empty() {
        std::thread::yield_now();
    }
    assert!(
        said().contains(r#" ERROR store stopped reason="the store has stopped, because a commit failed: No space"#),
        "{}",
        said()
    );
    assert!(said().contains("No space left on device"), "{}", said());
    dev.signal(Signal::TERM);
    let (status, last) = dev.ended();
    assert_eq!(status.code(), Some(1), "{last}");
    assert!(!last.contains("Everything"), "{last}");
    let said = said();
    assert_eq!(
        said.matches("the store has stopped, ").count(),
        2,
        "at once, and at the end: {said}"
    );
    assert!(said.contains("ended, but not in good order: the store has stopped, "), "{said}");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    let mut client = dev.client();
    define(&mut client);
    // A request whose body never comes is waited for, and so the first signal is not enough.
    let head = "POST /v1/apps HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n";
    client.write(head.as_bytes()).unwrap();
    assert_eq!(client.read_head().unwrap().0, 100);
    dev.signal(Signal::INT);
    // Once it takes no more connections, it has heard the first one.
    while HttpClient::connect(dev.address).is_ok() {
        std::thread::yield_now();
    }
    dev.signal(Signal::TERM);
    let (status, _) = dev.ended();
    assert_eq!(status.code(), Some(130));
    let dev = Dev::start(folder.path());
    assert_eq!(dev.client().send("GET", "/v1/apps/shop", &[], b"").unwrap().status, 200);
}

/// They were cut off without a word.
#[test]
fn bytes_that_are_cut_off_at_a_start_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    define(&mut dev.client());
    dev.kill();
    let engine = folder.path().join("fjall");
    let files = std::fs::read_dir(&engine).unwrap().map(|entry| entry.unwrap().path());
    let journal =
        files.filter(|file| file.extension().is_some_and(|it| it == "jnl")).max().unwrap();
    let mut bytes = std::fs::read(&journal).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes[end] ^= 1;
    std::fs::write(&journal, bytes).unwrap();
    let data = folder.path().to_str().unwrap();
    for is_said in [true, false] {
        let mut server = command(&["dev", "--listen", "127.0.0.1:0", "--data", data]);
        let mut server = server.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().starts_with("Ready")));
        server.kill().unwrap();
        server.wait().unwrap();
        let mut said = String::new();
        server.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let what = "bytes behind the last whole commit were cut off";
        assert_eq!(said.contains(what), is_said, "{said}");
    }
}
