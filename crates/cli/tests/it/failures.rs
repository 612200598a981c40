//! Commands that fail: with the right exit code, with the code of the error, and with advice.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{Dev, Ran, command, run};
use crate::shop::{KEY, OTHER_KEY, shop};

#[test]
fn what_a_server_refuses_ends_with_3_and_advice() {
    let (_folder, dev) = shop();
    for (arguments, code, advice) in [
        (&["app", "show", "nope"][..], "APP_NOT_FOUND", "seriatim app list"),
        (&["app", "create", "shop", "--partitions", "9"], "APP_EXISTS", "seriatim app show"),
        (&["app", "create", "big", "--partitions", "9999"], "INVALID_ARGUMENT", ""),
        (&["app", "definitions", "nope"], "APP_NOT_FOUND", "seriatim app list"),
        (
            &["sequence", "define", "shop", "ticket", "--reset", "yearly"],
            "DEFINITION_CONFLICT",
            "only the format of a sequence",
        ),
        (&["sequence", "show", "shop", "store-1", "nope"], "NOT_FOUND", "seriatim sequence list"),
        (
            &["workspace", "declare", "shop", "store-1", "nope"],
            "UNKNOWN_KIND",
            "seriatim app definitions",
        ),
        (&["record", "get", "shop", "store-1", "7"], "RECORD_NOT_FOUND", "seriatim record list"),
        (
            &["record", "list", "shop", "store-1", "nope"],
            "UNKNOWN_KIND",
            "seriatim app definitions",
        ),
        (&["entity", "get", "shop", "store-1", "nope"], "NOT_FOUND", "seriatim log read"),
        (&["client", "show", "shop", "store-1", "nope"], "NOT_FOUND", "seriatim log read"),
        (&["partition", "status", "shop", "9"], "NOT_FOUND", "seriatim partition list"),
        (&["partition", "restart", "shop", "9"], "NOT_FOUND", "seriatim partition list"),
        (&["partition", "status", "nope", "0"], "APP_NOT_FOUND", "seriatim app list"),
        (&["partition", "restart", "nope", "0"], "APP_NOT_FOUND", "seriatim app list"),
        (&["proof", "get", "shop", "store-1", "99"], "NOT_FOUND", "seriatim proof head"),
        (&["submit", "nope", "store-1", "X"], "APP_NOT_FOUND", "seriatim app create"),
        (
            &["submit", "shop", "store-1", "X", "--args", r#"{"a":{"$next":"nope"}}"#],
            "UNKNOWN_SEQUENCE",
            "seriatim sequence define",
        ),
        (
            &["submit", "shop", "store-1", "X", "--args", r#"{"a":{"$draw":7}}"#],
            "INVALID_ARGUMENT",
            "",
        ),
        (
            &["submit", "shop", "store-1", "X", "--if-offset", "0"],
            "OFFSET_MISMATCH",
            "somebody was faster",
        ),
        (
            &["submit", "shop", "store-1", "X", "--key", KEY],
            "IDEMPOTENCY_KEY_REUSED",
            "leave --key out",
        ),
        (&["verify", "--app", "shop", "--sequence", "nope"], "NOT_FOUND", "seriatim sequence list"),
    ] {
        let said = dev.run(arguments).failed(3);
        assert!(
            said.starts_with("seriatim: ") && said.contains(&format!("code: {code}\n")),
            "{said}"
        );
        assert!(said.contains(advice) && said.contains("next: ") != advice.is_empty(), "{said}");
    }
    // It was said not to exist, although it does without periods.
    let yearly = ["sequence", "show", "shop", "store-1", "ticket", "--period", "2026"];
    let said = dev.run(&yearly).failed(3);
    assert!(said.contains("no sequence ticket with periods in store-1"), "{said}");
    let receipt = ["receipt", "get", "shop", "store-1", "boss", KEY];
    assert!(dev.run(&receipt).failed(3).contains("send the command again"));
}

#[test]
fn as_json_an_error_has_the_members_of_http() {
    let (_folder, dev) = shop();
    let arguments = ["submit", "shop", "store-1", "X", "--if-offset", "0", "--key", OTHER_KEY];
    let said = dev.run(&[&arguments[..], &["-o", "json"]].concat()).failed(3);
    let error: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(error["code"], "OFFSET_MISMATCH");
    assert_eq!(error["current_offset"], 3);
    assert_eq!((&error["retryable"], &error["outcome"]), (&false.into(), &"refused".into()));
    assert_eq!(error["idempotency_key"], OTHER_KEY);
}

#[test]
fn wrong_arguments_end_with_2_before_any_server_is_asked() {
    for (arguments, said) in [
        (&["submit", "shop", "store-1"][..], "<EVENT>"),
        (&["submit", "shop", "store-1", "X", "--args", "{"], "write an object in quotes"),
        (&["submit", "shop", "store-1", "X", "--key", "7"], "UUID"),
        (&["submit", "shop", "store-1", "X", "--timeout", "soon"], "such as 30s"),
        (
            &["receipt", "get", "shop", "store-1", "me", "00000000-0000-0000-0000-000000000000"],
            "nil",
        ),
        (&["sequence", "define", "shop", "s", "--range", "5"], "FIRST..LAST"),
        (&["app", "create", "shop", "--partitions", "0"], "'--partitions <COUNT>'"),
        (&["app", "create", "shop", "--idempotency-keys-max", "0"], "'--idempotency-keys-max"),
        (&["app", "create", "shop", "--idempotency-retention", "0ms"], "1ms to 87840h, or forever"),
        (&["app", "create", "shop", "--idempotency-retention", "87841h"], "1ms to 87840h"),
        (&["log", "read", "shop", "store-1", "--limit", "0"], "'--limit <COUNT>'"),
        (&["log", "read", "shop", "store-1", "--from", "0"], "'--from <OFFSET>'"),
        (&["record", "list", "shop", "store-1", "order", "--limit", "0"], "'--limit <COUNT>'"),
        (&["proof", "get", "shop", "store-1", "1", "--size", "0"], "'--size <SIZE>'"),
        (&["proof", "consistency", "shop", "store-1", "1", "0"], "'[TO]'"),
        (&["sequence", "define", "shop", "s", "--utc-offset", "1"], "+01:00"),
        (&["log", "read", "shop"], "<WORKSPACE>"),
        (&["log", "read", "shop", "store-1", "--partition", "0"], "cannot be used with"),
        (&["verify", "--sequence", "s"], "--app"),
        (&["app", "lisst"], "list"),
        (&["app", "list", "--server", "ftp://x"], "http://127.0.0.1:7600"),
        (&["app", "list", "--server", "https://127.0.0.1:1"], "TLS, which is not there yet"),
        (&["submit", "shop", "store-1", "X", "--server", "http://a:b@c"], "a user or a password"),
        (&["bench", "--server", "http://127.0.0.1:1/v1"], "goes on behind the port"),
    ] {
        let complaint = Ran::from(run(arguments)).failed(2);
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("command.json");
    std::fs::write(&file, r#"{"events":[{"name":"X"}]"#).unwrap();
    let complaint = run(&["submit", "shop", "store-1", "--file", file.to_str().unwrap()]);
    assert!(Ran::from(complaint).failed(2).contains("this is no command"));
    std::fs::write(&file, b"{\"events\": \xff}").unwrap();
    let complaint = run(&["submit", "shop", "store-1", "--file", file.to_str().unwrap()]);
    assert!(Ran::from(complaint).failed(2).contains("is no UTF-8: 0xff at byte 12"));
}

/// Those that were found here, and not by a server, had neither a code nor `retryable`.
#[test]
fn as_json_every_error_says_its_code_and_whether_to_try_again() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    for (line, exit, expected) in [
        ("submit shop store-1 X AWAY", 4, "UNAVAILABLE true not_written"),
        ("app create shop AWAY", 4, "UNAVAILABLE true not_written"),
        ("sequence define shop s AWAY", 4, "UNAVAILABLE true not_written"),
        ("app list AWAY", 4, "UNAVAILABLE true -"),
        ("bench AWAY", 4, "UNAVAILABLE true -"),
        ("submit shop store-1 X --key 7", 2, "INVALID_ARGUMENT false refused"),
        ("submit shop store-1 X --args {", 2, "INVALID_ARGUMENT false refused"),
        ("submit shop store-1 --file EMPTY/none", 1, "IO_FAILED false not_written"),
        ("app create shop --partitions 0", 2, "INVALID_ARGUMENT false refused"),
        ("app lisst", 2, "INVALID_ARGUMENT false -"),
        ("app list --server ftp://x", 2, "INVALID_ARGUMENT false -"),
        ("verify --proof EMPTY/none", 1, "IO_FAILED false -"),
        ("verify --data EMPTY", 3, "NOT_FOUND false -"),
        ("config print --config EMPTY/none", 2, "INVALID_ARGUMENT false -"),
        ("dev --listen x", 2, "INVALID_ARGUMENT false -"),
        ("serve --data /dev/null", 1, "FAILED false -"),
    ] {
        let line = line.replace("AWAY", "--server http://127.0.0.1:1 --timeout 300ms");
        let line = format!("{} -o json", line.replace("EMPTY", empty));
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let said = Ran::from(run(&arguments)).failed(exit);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let text = |member: &str| said[member].as_str().unwrap_or("-");
        let found = format!("{} {} {}", text("code"), said["retryable"], text("outcome"));
        assert_eq!(found, expected, "{line}: {said}");
        assert_ne!(text("message"), "-", "{line}: {said}");
    }
}

#[test]
fn what_a_definition_is_refused_for_says_so() {
    let (_folder, dev) = shop();
    for arguments in [
        &["app", "create", "shop", "--partitions", "9"][..],
        &["record", "define", "shop", "order", "--class", "w"],
        &["kind", "define", "nope", "depot"],
        &["workspace", "declare", "shop", "store-1", "nope"],
    ] {
        let said = dev.run(&[arguments, &["-o", "json"]].concat()).failed(3);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&said["outcome"], &said["retryable"]), (&"refused".into(), &false.into()));
    }
}

/// It spoke of a limit that nobody has.
#[test]
fn what_is_too_large_is_measured_by_the_limit_of_the_server() {
    let (_folder, dev) = shop();
    let file = tempfile::NamedTempFile::new().unwrap();
    for bytes in [1_100_000, 2_200_000] {
        let args = "x".repeat(bytes);
        let command = format!(r#"{{"events":[{{"name":"X","args":{{"x":"{args}"}}}}]}}"#);
        std::fs::write(file.path(), command).unwrap();
        let file = file.path().to_str().unwrap();
        let said = dev.run(&["submit", "shop", "store-1", "--file", file, "-o", "json"]).failed(3);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&said["code"], &said["outcome"]), (&"TOO_LARGE".into(), &"refused".into()));
        let limit = seriatim_types::limits::COMMAND_BYTES_MAX;
        assert!(said["message"].as_str().unwrap().contains(&limit.to_string()), "{said}");
        assert!(said.get("limit").is_none_or(|it| *it == limit), "{said}");
    }
}

#[test]
fn as_json_wrong_arguments_have_a_code_too() {
    for form in [&["-o", "json"][..], &["-ojson"], &["--output=json"], &["--output", "json"]] {
        let arguments = [&["app", "create", "shop", "--partitions", "0"], form].concat();
        let said = Ran::from(run(&arguments)).failed(2);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let message =
            "invalid value '0' for '--partitions <COUNT>': it is a whole number from 1 on";
        assert_eq!(
            (&said["code"], &said["message"]),
            (&"INVALID_ARGUMENT".into(), &message.into())
        );
    }
}

/// The tip was cut off with the rest of the help.
#[test]
fn as_json_wrong_arguments_keep_their_tip() {
    let said = Ran::from(run(&["app", "shwo", "-o", "json"])).failed(2);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["message"], "unrecognized subcommand 'shwo'");
    assert!(said["advice"].as_str().unwrap().contains("'show'"), "{said}");
}

/// A variable made its option look required, and an empty one was taken for a value.
#[test]
fn variables_of_the_environment_are_defaults() {
    let with = |name: &str, value: &str, arguments: &[&str]| {
        Ran::from(command(arguments).env(name, value).output().unwrap())
    };
    let said = with("SERIATIM_SERVER", "http://127.0.0.1:1", &["submit", "shop"]).failed(2);
    assert!(said.contains("Usage: seriatim submit <APP> <WORKSPACE> <EVENT>"), "{said}");
    let said = with("SERIATIM_SERVER", "http://127.0.0.1:1", &["app", "list"]).failed(4);
    assert!(said.contains("cannot reach http://127.0.0.1:1"), "{said}");
    let help = with("SERIATIM_SERVER", "", &["submit", "--help"]).ok();
    assert!(help.contains("[default: http://127.0.0.1:7600]"), "{help}");
    let help = with("SERIATIM_CLIENT", "", &["submit", "--help"]).ok();
    assert!(help.contains("[default: cli]"), "{help}");
}

#[test]
fn an_empty_client_is_named_as_the_contract_does() {
    let arguments = ["submit", "shop", "store-1", "X", "--client", "", "-o", "json"];
    let said = Ran::from(run(&arguments)).failed(3);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["field"], "client");
}

#[test]
fn without_a_server_nothing_was_written_and_one_is_suggested() {
    for arguments in [&["app", "list"][..], &["submit", "shop", "store-1", "X"], &["bench"]] {
        let more = ["--server", "http://127.0.0.1:1", "--timeout", "300ms"];
        let said = Ran::from(run(&[arguments, &more].concat())).failed(4);
        assert!(
            said.contains("cannot reach http://127.0.0.1:1")
                && said.contains("code: UNAVAILABLE\n")
                && said.contains("`seriatim dev --listen 127.0.0.1:1`"),
            "{said}"
        );
    }
}

/// The line that sends a command again.
fn again(said: &str) -> &str {
    said.lines().find_map(|line| line.strip_prefix("  again: ")).unwrap()
}

/// What a shell makes of a line.
fn shell(line: &str) -> Ran {
    shell_with(line, "SERIATIM_SERVER", "")
}

/// The same, with a variable set.
fn shell_with(line: &str, name: &str, value: &str) -> Ran {
    let folder = Path::new(env!("CARGO_BIN_EXE_seriatim")).parent().unwrap().to_str().unwrap();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", line]).env("PATH", path).env(name, value).output().unwrap().into()
}

#[test]
fn a_command_waits_for_its_server_and_says_how_to_send_it_again() {
    let (folder, dev) = shop();
    let address = dev.address.to_string();
    let args = r#"{"who": "O'Neil", "n": {"$next": "ticket"}}"#;
    let submit = ["submit", "shop", "store 1", "Paid", "--args", args, "--client", "me"];
    let patient = |time: &str| dev.command(&[&submit[..], &["--timeout", time]].concat());
    let (mut brief, mut long) = (patient("1s"), patient("60s"));
    dev.end();
    let said = Ran::from(brief.output().unwrap()).failed(4);
    assert!(said.starts_with("seriatim: not written: cannot reach http://"), "{said}");
    let again = again(&said);
    let key = again.rsplit(' ').next().unwrap();
    assert!(said.contains(&format!("idempotency key: {key}\n")), "{said}");
    // One that has time gets its receipt as soon as the server is there.
    let waiting = long.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let data = folder.path().to_str().unwrap();
    let dev = Dev::spawn(command(&["dev", "--listen", &address, "--data", data]));
    let receipt = Ran::from(waiting.wait_with_output().unwrap());
    assert_eq!(receipt.code, Some(0), "{receipt:?}");
    assert!(shell(again).ok().ends_with("replayed          no\n"));
    assert!(shell(again).ok().ends_with("replayed          yes: it was carried out before\n"));
    let events = dev.run(&["log", "read", "shop", "store 1", "-o", "json"]).ok();
    assert_eq!(events.matches("O'Neil").count(), 2, "{events}");
    assert_eq!(events.matches("\"client\":\"me\"").count(), 2, "{events}");
}

/// Names that look like options were taken for some, and standard input, `--timeout` and `-o` were left
/// out.
#[test]
fn the_line_that_sends_a_command_again_sends_the_same() {
    let (folder, dev) = shop();
    let (address, data) = (dev.address.to_string(), folder.path().to_str().unwrap());
    dev.end();
    let server = format!("http://{address}");
    let mut odd = command(&["submit", "--args={\"x\": 1}", "--client=-me", "--timeout=900ms"]);
    odd.args(["--proof", "-o", "json", "--server", &server, "--", "shop", "-1", "-Paid"]);
    let odd = Ran::from(odd.output().unwrap()).failed(4);
    let odd: serde_json::Value = serde_json::from_str(&odd).unwrap();
    let odd = odd["again"].as_str().unwrap();
    let piped = ["submit", "shop", "store-1", "--file", "-", "--timeout", "900ms"];
    let piped = command(&piped).env("SERIATIM_SERVER", &server).stdin(input()).output().unwrap();
    let piped = Ran::from(piped).failed(4);
    assert!(piped.contains("send it again with the same standard input"), "{piped}");
    assert!(again(&piped).contains(" --file - --server "), "{piped}");
    let dev = Dev::spawn(command(&["dev", "--listen", &address, "--data", data]));
    // Whatever is set meanwhile, it goes where it was to go.
    let receipt = shell_with(odd, "SERIATIM_SERVER", "http://127.0.0.1:1").ok();
    assert!(receipt.contains("\"proof\":{") && odd.contains("--timeout 900ms"), "{receipt}{odd}");
    let events = dev.run(&["log", "read", "shop", "-o", "json", "--", "-1"]).ok();
    for part in ["\"name\":\"-Paid\"", "\"client\":\"-me\"", "\"args\":{\"x\":1}"] {
        assert_eq!(events.matches(part).count(), 1, "{part} in {events}");
    }
}

/// A command on standard input.
fn input() -> Stdio {
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, br#"{"events":[{"name":"Paid"}]}"#).unwrap();
    reader.into()
}

/// It said only that there was no answer.
#[test]
fn a_definition_without_an_answer_is_perhaps_done() {
    let (_folder, dev) = shop();
    dev.signal(Signal::STOP);
    let said = dev.run(&["kind", "define", "shop", "depot", "--timeout", "500ms"]).failed(5);
    dev.signal(Signal::CONT);
    assert!(said.starts_with("seriatim: perhaps done: ") && said.contains("same again"), "{said}");
}

/// Whoever had something else there was asked whether the server was still running.
#[test]
fn somebody_else_at_the_address_is_thought_of() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", other.local_addr().unwrap());
    let answer = move || {
        while let Ok((mut it, _)) = other.accept() {
            let _ = it.read(&mut [0; 64]);
            let _ = std::io::Write::write_all(&mut it, b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    };
    std::thread::spawn(answer);
    let said = Ran::from(run(&["app", "list", "--server", &server, "--timeout", "1s"])).failed(4);
    assert!(said.contains("does something else listen there?"), "{said}");
    let submit = ["submit", "shop", "store-1", "X", "--server", &server, "--timeout", "1s"];
    let Ran { code, err, .. } = Ran::from(run(&submit));
    assert!(
        matches!(code, Some(4 | 5)) && err.contains("whether something else listens there"),
        "{err}"
    );
}

#[test]
fn an_outcome_that_is_unknown_is_resolved_by_the_key() {
    let (_folder, dev) = shop();
    // A server that hangs: it takes connections, and nobody knows what it does with commands.
    dev.signal(Signal::STOP);
    let said = dev.run(&["submit", "shop", "store-1", "Paid", "--timeout", "1s"]).failed(5);
    dev.signal(Signal::CONT);
    assert!(said.starts_with("seriatim: perhaps written: "), "{said}");
    shell(again(&said)).ok();
    let events = dev.run(&["log", "read", "shop", "store-1", "-o", "json"]).ok();
    assert_eq!(events.matches("\"Paid\"").count(), 1, "{events}");
}

/// A timeout of a shell sends SIGTERM, and the key was gone with the process.
#[test]
fn a_command_that_is_told_to_end_says_its_key() {
    let (_folder, dev) = shop();
    for signal in [Signal::INT, Signal::TERM] {
        dev.signal(Signal::STOP);
        let mut submit = dev.command(&["submit", "shop", "store-1", "Paid", "--timeout", "600s"]);
        let mut submit = submit.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut err = BufReader::new(submit.stderr.take().unwrap());
        let mut said = String::new();
        // From then on it surely listens.
        while !said.contains("has not answered") {
            assert_ne!(err.read_line(&mut said).unwrap(), 0, "it ended early: {said}");
        }
        kill_process(Pid::from_child(&submit), signal).unwrap();
        said.clear();
        err.read_to_string(&mut said).unwrap();
        assert_eq!(submit.wait().unwrap().code(), Some(5), "{said}");
        dev.signal(Signal::CONT);
        assert!(said.contains("interrupted: perhaps written"), "{said}");
        shell(again(&said)).ok();
    }
    let events = dev.run(&["log", "read", "shop", "store-1", "-o", "json"]).ok();
    assert_eq!(events.matches("\"Paid\"").count(), 2, "{events}");
}

#[test]
fn a_command_that_comes_too_late_was_not_written() {
    let (_folder, dev) = shop();
    let late =
        ["record", "get", "shop", "store-1", "200001", "--min-offset", "99", "--timeout", "300ms"];
    let said = dev.run(&late).failed(4);
    assert!(said.contains("--timeout"), "{said}");
}
