//! Every command that asks a server something, in both forms.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{Dev, Ran};
use crate::shop::{KEY, ORDER, masked, shop};

/// What tables look like, line by line.
const TABLES: &[(&[&str], &str)] = &[
    (
        &["app", "create", "shop", "--partitions", "1"],
        "\
name                   shop
partitions             1
record ids             single
trust level            0
idempotency retention  24h
idempotency keys max   -
created                true
",
    ),
    (
        &["sequence", "define", "shop", "ticket", "--format", "T-{n:03}"],
        "\
name        ticket
kind        default
ranges      [[1,9007199254740991]]
format      T-{n:03}
reset       never
utc offset  +00:00
version     2
changed     true
",
    ),
    (
        &[
            "sequence", "define", "shop", "receipt", "--kind", "depot", "--range", "1..9", "--range",
            "50..99", "--reset", "yearly", "--utc-offset", "-03:30",
        ],
        "\
name        receipt
kind        depot
ranges      [[1,9],[50,99]]
format      {n}
reset       yearly
utc offset  -03:30
version     4
changed     true
",
    ),
    (
        &["record", "define", "shop", "order", "--class", "c"],
        "name       order\nclass      c\nsingleton  false\nversion    5\nchanged    true\n",
    ),
    (
        &["record", "define", "shop", "setup", "--class", "w", "--singleton"],
        "name       setup\nclass      w\nsingleton  true\nversion    6\nchanged    true\n",
    ),
    (
        &["workspace", "declare", "shop", "depot-1", "depot"],
        "\
workspace     depot-1
workspace id  1099511627776
kind          depot
created       true
",
    ),
    (
        &["app", "list"],
        "\
NAME  PARTITIONS  RECORD IDS  TRUST LEVEL  RETENTION  KEYS MAX
shop  1           single      0            24h        -
",
    ),
    (
        &["app", "definitions", "shop"],
        "\
version 6

WORKSPACE KIND
default
depot

SEQUENCE  FORMAT    RESET   UTC OFFSET  KIND     RANGES
ticket    T-{n:03}  never   +00:00      default  [[1,9007199254740991]]
receipt   {n}       yearly  -03:30      depot    [[1,9],[50,99]]

RECORD KIND  CLASS  SINGLETON
order        c      false
setup        w      true
",
    ),
    (
        &["submit", "shop", "store-1", "--file", "-", "--key", KEY, "--proof"],
        "\
workspace         store-1 (id 1099511627777)
offset            1 to 2
partition         0, offset 1 to 2
client's command  1
ticket            1 = T-001
ticket            2 = T-002
record            1 is 200001
committed at      <time>
head              2 events, root <hash>
key               0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50
replayed          no
",
    ),
    (
        &["log", "read", "shop", "store-1"],
        "\
OFFSET  COMMITTED AT              WORKSPACE  CLIENT  EVENT        ARGS            CHANGES
1       <time>  store-1    cli     OrderPlaced  {\"total\":12.5}  create order 200001, set stock/A-7 to version 1
2       <time>  store-1    cli     TicketDrawn  {}              draw ticket T-002
",
    ),
    (
        &["log", "read", "shop", "--partition", "0", "--from", "2", "--limit", "1"],
        "\
OFFSET  COMMITTED AT              WORKSPACE  CLIENT  EVENT        ARGS  CHANGES
2       <time>  store-1    cli     TicketDrawn  {}    draw ticket T-002
",
    ),
    (
        &["record", "get", "shop", "store-1", "200001"],
        "\
id       200001
kind     order
class    c
parent   0
version  1
fields   {\"sku\":\"A-7\",\"ticket\":1}
offset   1
",
    ),
    (
        &["record", "list", "shop", "store-1", "order"],
        "\
ID      VERSION  PARENT  OFFSET  FIELDS
200001  1        0       1       {\"sku\":\"A-7\",\"ticket\":1}
",
    ),
    (
        &["entity", "get", "shop", "store-1", "stock/A-7", "--min-offset", "2"],
        "\
key         stock/A-7
value       {\"left\":4}
version     1
expires at  -
offset      1
",
    ),
    (
        &["sequence", "show", "shop", "store-1", "ticket"],
        "name       ticket\nlast       2\nnext       3\nnext text  T-003\n",
    ),
    (
        &["client", "show", "shop", "store-1", "cli"],
        "client                cli\nlast client sequence  1\nlast offset           2\n",
    ),
    (&["proof", "head", "shop", "store-1"], "workspace  store-1\nsize       2\nroot       <hash>\n"),
    (
        &["proof", "get", "shop", "store-1", "1"],
        "offset  1\nsize    2\nleaf    <hash>\npath    [\"<hash>\"]\nroot    <hash>\n",
    ),
    (
        &["proof", "consistency", "shop", "store-1", "1"],
        "\
from       1
to         2
path       [\"<hash>\"]
from root  <hash>
to root    <hash>
",
    ),
    (
        &["partition", "list"],
        "\
APP     PARTITION  STATE    DONE  TOTAL  REASON
system  0          serving  0     0      -
shop    0          serving  0     0      -
",
    ),
    (
        &["partition", "status", "shop", "0"],
        "\
app        shop
partition  0
state      serving
done       0
total      0
reason     -
",
    ),
];

#[test]
fn every_command_prints_a_table_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    for (arguments, expected) in TABLES {
        if arguments.contains(&"depot") && arguments[0] == "sequence" {
            let kind = dev.run(&["kind", "define", "shop", "depot"]).ok();
            assert_eq!(kind, "name     depot\nversion  3\nchanged  true\n");
        }
        let printed = dev.run_with(arguments, ORDER).ok();
        assert_eq!(masked(&printed), *expected, "{arguments:?}");
    }
    let restarted = dev.run(&["partition", "restart", "shop", "0"]).ok();
    assert!(restarted.starts_with("app        shop\npartition  0\nstate      "), "{restarted}");
}

#[test]
fn as_json_every_read_prints_what_http_answers() {
    let (_folder, dev) = shop();
    let mut http = dev.client();
    let workspace = "/v1/apps/shop/workspaces/store-1";
    for (arguments, path) in [
        (&["app", "list"][..], "/v1/apps".to_owned()),
        (&["app", "show", "shop"], "/v1/apps/shop".to_owned()),
        (&["app", "definitions", "shop"], "/v1/apps/shop/definitions".to_owned()),
        (&["log", "read", "shop", "store-1"], format!("{workspace}/events")),
        (&["log", "read", "shop", "--partition", "0"], "/v1/apps/shop/partitions/0/events".into()),
        (&["record", "get", "shop", "store-1", "200001"], format!("{workspace}/records/200001")),
        (
            &["record", "list", "shop", "store-1", "order"],
            format!("{workspace}/records?kind=order"),
        ),
        (
            &["entity", "get", "shop", "store-1", "stock/A-7"],
            format!("{workspace}/entities/stock/A-7"),
        ),
        (
            &["sequence", "show", "shop", "store-1", "ticket"],
            format!("{workspace}/sequences/ticket"),
        ),
        (&["client", "show", "shop", "store-1", "boss"], format!("{workspace}/clients/boss")),
        (
            &["receipt", "get", "shop", "store-1", "cli", KEY],
            format!("{workspace}/receipts/cli/{KEY}"),
        ),
        (&["proof", "head", "shop", "store-1"], format!("{workspace}/head")),
        (&["proof", "get", "shop", "store-1", "2"], format!("{workspace}/proofs/2")),
        (
            &["proof", "get", "shop", "store-1", "1", "--size", "2"],
            format!("{workspace}/proofs/1?size=2"),
        ),
        (
            &["proof", "consistency", "shop", "store-1", "1", "3"],
            format!("{workspace}/consistency?from=1&to=3"),
        ),
        (&["partition", "list"], "/v1/partitions".to_owned()),
    ] {
        let printed = dev.run(&[arguments, &["-o", "json"]].concat()).ok();
        let answered = http.send("GET", &path, &[], b"").unwrap().text();
        assert_eq!(printed, format!("{answered}\n"), "{arguments:?}");
    }
}

#[test]
fn a_receipt_as_json_says_also_its_key_and_whether_it_is_a_repeat() {
    let (_folder, dev) = shop();
    let path = format!("/v1/apps/shop/workspaces/store-1/receipts/cli/{KEY}");
    let receipt = dev.client().send("GET", &path, &[], b"").unwrap().text();
    let receipt = receipt.strip_suffix('}').unwrap();
    let again = ["submit", "shop", "store-1", "--file", "-", "--key", KEY, "-o", "json"];
    let again = dev.run_with(&again, ORDER).ok();
    assert_eq!(again, format!("{receipt},\"key\":\"{KEY}\",\"replayed\":true}}\n"));
    let table =
        dev.run_with(&["submit", "shop", "store-1", "--file", "-", "--key", KEY], ORDER).ok();
    assert!(table.ends_with("replayed          yes: it was carried out before\n"), "{table}");
    // Before its key and the last line stands the receipt, as it is shown by itself.
    let shown = dev.run(&["receipt", "get", "shop", "store-1", "cli", KEY]).ok();
    assert!(table.starts_with(&format!("{shown}key ")), "{table}{shown}");
}

#[test]
fn as_json_every_definition_has_what_http_answers() {
    let (_folder, dev) = shop();
    let mut http = dev.client();
    let app = "/v1/apps/shop";
    for (arguments, path, body) in [
        (&["kind", "define", "shop", "depot"][..], "kinds/depot", "{}"),
        (&["sequence", "define", "shop", "ticket"], "sequences/ticket", r#"{"format":"T-{n:03}"}"#),
        (
            &["record", "define", "shop", "order", "--class", "c"],
            "records/order",
            r#"{"class":"c"}"#,
        ),
        (
            &["workspace", "declare", "shop", "17", "default"],
            "workspaces/17",
            r#"{"kind":"default"}"#,
        ),
        (
            &["workspace", "declare", "shop", "depot-1", "depot"],
            "workspaces/depot-1",
            r#"{"kind":"depot"}"#,
        ),
    ] {
        dev.run(arguments).ok();
        let printed = dev.run(&[arguments, &["-o", "json"]].concat()).ok();
        let answered = http.send("PUT", &format!("{app}/{path}"), &[], body.as_bytes()).unwrap();
        assert_eq!(answered.status, 200, "{}", answered.text());
        // A definition stands before what came of it.
        let members = answered.text();
        assert!(printed.ends_with(&format!("{}\n", &members[1..])), "{printed}{members}");
        assert!(arguments[0] != "workspace" || printed == format!("{members}\n"), "{printed}");
    }
}

/// It was reset to `{n}`.
#[test]
fn a_limit_of_keys_is_set_and_lifted() {
    let (_folder, dev) = shop();
    let set = |limit: &str| dev.run(&["app", "set", "shop", "--idempotency-keys-max", limit]);
    assert!(set("5").ok().contains("idempotency keys max   5\n"));
    let http = dev.client().send("GET", "/v1/apps/shop", &[], b"").unwrap().text();
    let show = dev.run(&["app", "show", "shop", "-o", "json"]).ok();
    assert_eq!(show.trim_end(), http);
    assert!(http.contains(r#""idempotency_keys_max":5"#), "{http}");
    assert!(set("none").ok().contains("idempotency keys max   -\n"));
    let made = ["app", "create", "books", "--idempotency-keys-max", "none"];
    assert!(dev.run(&made).ok().contains("idempotency keys max   -\n"));
    let none = dev.run(&["app", "set", "nowhere", "--idempotency-keys-max", "5"]);
    assert!(none.failed(3).contains("APP_NOT_FOUND"));
    let none = dev.run(&["app", "set", "nowhere", "--idempotency-keys-max", "5", "-o", "json"]);
    assert!(none.failed(3).contains(r#""outcome":"refused""#));
}

/// The client had a second parser of commands, which said other things than the server.
#[test]
fn what_is_wrong_in_a_document_the_server_says() {
    let (_folder, dev) = shop();
    let send =
        |document: &str| dev.run_with(&["submit", "shop", "store-1", "--file", "-"], document);
    let said = send(r#"{"events":[{"name":"X"},{"nam":"Y"}]}"#).failed(3);
    assert!(said.contains("events[1].nam"), "{said}");
    let said = send(r#"{"events":[{"name":"X","args":{"a":1,"a":2}}]}"#).failed(3);
    assert!(said.contains("events[0].args.a"), "{said}");
    let options = ["--if-offset", "3", "--proof", "-o", "json"];
    let arguments = [&["submit", "shop", "store-1", "--file", "-"][..], &options].concat();
    let proven = dev.run_with(&arguments, r#"{"if_offset":1,"events":[{"name":"X"}]}"#).ok();
    assert!(proven.contains(r#""proof":{"offset":4,"#), "{proven}");
}

#[test]
fn what_is_not_said_of_a_sequence_stays_as_it_is() {
    let (_folder, dev) = shop();
    let define = |more: &[&str]| {
        let arguments = [&["sequence", "define", "shop", "bill"], more, &["-o", "json"]].concat();
        dev.run(&arguments).ok()
    };
    let yearly =
        ["--format", "B-{n}", "--reset", "yearly", "--utc-offset", "+01:00", "--range", "5..9"];
    let defined = define(&yearly);
    assert!(defined.ends_with("\"changed\":true}\n"), "{defined}");
    assert_eq!(define(&[]), defined.replace("true", "false"));
    let shown = define(&["--format", "C-{n}"]);
    let expected = defined.replace("B-{n}", "C-{n}").replace("\"version\":4", "\"version\":5");
    assert_eq!(shown, expected);
}

#[test]
fn a_log_is_followed_event_by_event() {
    let (_folder, dev) = shop();
    let last = dev.run(&["log", "tail", "shop", "store-1", "--count", "3"]).ok();
    let expected = "\
1  <time>  store-1  cli  OrderPlaced  {\"total\":12.5}  create order 200001, set stock/A-7 to version 1
2  <time>  store-1  cli  TicketDrawn  {}  draw ticket T-002
3  <time>  store-1  boss  Closed  {}  -
";
    assert_eq!(masked(&last), expected);
    let arguments = ["log", "tail", "shop", "store-1", "--from", "3", "--count", "2", "-o", "json"];
    let mut tail = dev.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let third = lines.next().unwrap().unwrap();
    dev.run(&["submit", "shop", "store-1", "Opened", "--args", r#"{"at":8}"#]).ok();
    let fourth = lines.next().unwrap().unwrap();
    for (line, name) in [(third, "Closed"), (fourth, "Opened")] {
        let event: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(event["name"], name);
    }
    assert!(lines.next().is_none());
    assert!(tail.wait().unwrap().success());
}

/// `017` is 17: what consists of digits is an id.
#[test]
fn digits_are_the_id_of_a_workspace_and_have_no_zeros_in_front() {
    let (_folder, dev) = shop();
    let declared = dev.run(&["workspace", "declare", "shop", "17", "default"]).ok();
    assert!(declared.starts_with("workspace     17\nworkspace id  17\n"), "{declared}");
    assert!(
        dev.run(&["submit", "shop", "17", "X"]).ok().starts_with("workspace         17 (id 17)")
    );
    assert!(dev.run(&["log", "read", "shop", "17"]).ok().contains("  17  "));
    for text in ["017", "1099511627776"] {
        let said = dev.run(&["submit", "shop", text, "X"]).failed(3);
        assert!(said.contains("INVALID_ARGUMENT") && said.contains(text), "{said}");
    }
}

#[test]
fn keys_are_kept_as_long_as_http_allows() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    for (name, time) in [("a", "1ms"), ("b", "25h"), ("c", "87840h"), ("d", "forever")] {
        let made = dev.run(&["app", "create", name, "--idempotency-retention", time]).ok();
        assert!(made.contains(&format!("idempotency retention  {time}\n")), "{made}");
    }
}

#[test]
fn a_log_that_is_followed_goes_on_behind_a_restart_and_ends_when_interrupted() {
    let (folder, dev) = shop();
    let mut tail = dev.command(&["log", "tail", "shop", "store-1", "--from", "3", "-o", "json"]);
    let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("\"Closed\""));
    let dev = dev.killed_and_back(folder.path());
    dev.run(&["submit", "shop", "store-1", "Opened"]).ok();
    assert!(lines.next().unwrap().unwrap().contains("\"Opened\""));
    kill_process(Pid::from_child(&tail), Signal::INT).unwrap();
    let ended = Ran::from(tail.wait_with_output().unwrap());
    assert_eq!(
        (ended.code, ended.err.as_str()),
        (Some(130), "{\"code\":\"INTERRUPTED\",\"message\":\"interrupted\",\"retryable\":true}\n")
    );
}

/// Only a write told it, and in a quiet workspace none came: `log tail … | head -1` hung.
#[test]
fn a_log_that_nobody_reads_any_more_is_no_longer_followed() {
    let (_folder, dev) = shop();
    let mut tail = dev.command(&["log", "tail", "shop", "store-1"]);
    let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        lines.next().unwrap().unwrap();
    }
    drop(lines);
    let pid = Pid::from_child(&tail);
    let (sender, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(Ran::from(tail.wait_with_output().unwrap())));
    let ended = ended.recv_timeout(Duration::from_secs(20));
    let ended = ended.inspect_err(|_| kill_process(pid, Signal::KILL).unwrap());
    assert_eq!(ended.expect("it ends by itself").ok(), "");
}

/// Whoever mistyped a name saw nothing, and waited.
#[test]
fn a_log_without_events_is_followed_with_a_word_about_it() {
    let (_folder, dev) = shop();
    for (arguments, said) in [
        (
            &["shop", "stroe-1"][..],
            "Workspace stroe-1 has no events yet: waiting for the first one.\n",
        ),
        (&["shop", "stroe-2", "-o", "json"], ""),
        (&["shop", "store-1"], ""),
    ] {
        let arguments = [&["log", "tail", "--count", "1"], arguments].concat();
        let mut tail = dev.command(&arguments);
        let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut complaints = BufReader::new(tail.stderr.take().unwrap());
        let mut line = String::new();
        if !said.is_empty() {
            complaints.read_line(&mut line).unwrap();
        }
        dev.run(&["submit", "shop", arguments[5], "Opened"]).ok();
        let ended = Ran::from(tail.wait_with_output().unwrap());
        complaints.read_to_string(&mut line).unwrap();
        assert_eq!((ended.code, line.as_str()), (Some(0), said), "{arguments:?}");
        assert_eq!(ended.out.lines().count(), 1, "{}", ended.out);
    }
}

#[test]
fn a_log_is_followed_into_a_file() {
    let (_folder, dev) = shop();
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut tail = dev.command(&["log", "tail", "shop", "store-1", "--from", "3", "--count", "2"]);
    let mut tail = tail.stdout(file.reopen().unwrap()).spawn().unwrap();
    dev.run(&["submit", "shop", "store-1", "Opened"]).ok();
    assert!(tail.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(file.path()).unwrap().lines().count(), 2);
}

/// It stood on standard output, among the events.
#[test]
fn that_a_log_has_more_events_is_said_beside_them() {
    let (_folder, dev) = shop();
    let read = ["log", "read", "shop", "--partition", "0", "--limit", "1"];
    let Ran { code, out, err } = dev.run(&read);
    assert_eq!((code, out.lines().count()), (Some(0), 2), "{out}");
    assert_eq!(err, "There are more, up to 3: --from 2\n");
    let json = dev.run(&[&read[..], &["-o", "json"]].concat()).ok();
    assert!(json.contains("\"next\":2"), "{json}");
}

/// An escape that somebody had stored coloured the terminal of whoever looked.
#[test]
fn what_is_stored_commands_no_terminal() {
    let (_folder, dev) = shop();
    let set = r#"{"events":[{"name":"X","args":{"a":"\u009b2J"},
        "changes":[{"set":{"key":"note","value":"red \u001b[31m\nnext"}}]}]}"#;
    dev.run_with(&["submit", "shop", "store-1", "--file", "-"], set).ok();
    let entity = ["entity", "get", "shop", "store-1", "note"];
    let table = dev.run(&entity).ok();
    assert!(table.contains(r"value       red \u001b[31m\nnext"), "{table}");
    let json = dev.run(&[&entity[..], &["-o", "json"]].concat()).ok();
    assert!(json.contains(r#""value":"red \u001b[31m\nnext""#), "{json}");
    let tail = dev.run(&["log", "tail", "shop", "store-1", "--from", "4", "--count", "1"]).ok();
    assert!(tail.contains(r#"{"a":"\u009b2J"}  set note to version 1"#), "{tail}");
}

/// It was the only read of a workspace without it.
#[test]
fn a_reading_of_a_log_waits_for_an_offset() {
    let (_folder, dev) = shop();
    let read = ["log", "read", "shop", "store-1", "-o", "json", "--min-offset"];
    let mut waiting = dev.command(&[&read[..], &["4"]].concat());
    let waiting = waiting.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    dev.run(&["submit", "shop", "store-1", "Opened"]).ok();
    let events = Ran::from(waiting.wait_with_output().unwrap()).ok();
    assert!(events.contains("\"Opened\""), "{events}");
    let said = dev.run(&[&read[..], &["99", "--timeout", "300ms"]].concat()).failed(4);
    assert!(said.contains("NOT_YET"), "{said}");
}

#[test]
fn a_pipe_that_is_closed_ends_a_command_quietly() {
    let (_folder, dev) = shop();
    for arguments in [
        &["log", "tail", "shop", "store-1"][..],
        &["log", "read", "shop", "store-1"],
        &["completion", "bash"],
        &["config", "print"],
    ] {
        let mut command = dev.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{arguments:?}");
    }
}
