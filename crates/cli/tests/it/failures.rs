//! Commands that fail: with the right exit code, with the code of the error, and with advice.

use rustix::process::Signal;

use crate::process::{Dev, Ran, run};
use crate::shop::{KEY, OTHER_KEY, fill};

#[test]
fn what_a_server_refuses_ends_with_3_and_advice() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    fill(&dev);
    for (arguments, code, advice) in [
        (&["app", "show", "nope"][..], "APP_NOT_FOUND", "seriatim app list"),
        (&["app", "create", "shop", "--partitions", "9"], "APP_EXISTS", "seriatim app show"),
        (&["app", "create", "big", "--partitions", "9999"], "INVALID_ARGUMENT", ""),
        (&["app", "definitions", "nope"], "APP_NOT_FOUND", "seriatim app list"),
        (
            &["sequence", "define", "shop", "ticket", "--reset", "yearly"],
            "DEFINITION_CONFLICT",
            "only a format",
        ),
        (&["sequence", "show", "shop", "store-1", "nope"], "NOT_FOUND", ""),
        (
            &["workspace", "declare", "shop", "store-1", "nope"],
            "UNKNOWN_KIND",
            "seriatim app definitions",
        ),
        (&["record", "get", "shop", "store-1", "7"], "RECORD_NOT_FOUND", ""),
        (
            &["record", "list", "shop", "store-1", "nope"],
            "UNKNOWN_KIND",
            "seriatim app definitions",
        ),
        (&["entity", "get", "shop", "store-1", "nope"], "NOT_FOUND", ""),
        (&["client", "show", "shop", "store-1", "nope"], "NOT_FOUND", ""),
        (&["partition", "status", "shop", "9"], "NOT_FOUND", ""),
        (&["partition", "restart", "shop", "9"], "NOT_FOUND", ""),
        (&["proof", "get", "shop", "store-1", "99"], "NOT_FOUND", ""),
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
        (&["verify", "--app", "shop", "--sequence", "nope"], "NOT_FOUND", ""),
    ] {
        let said = dev.run(arguments).failed(3);
        assert!(
            said.starts_with("seriatim: ") && said.contains(&format!("code: {code}\n")),
            "{said}"
        );
        assert!(said.contains(advice) && said.contains("next: ") != advice.is_empty(), "{said}");
    }
    let receipt = ["receipt", "get", "shop", "store-1", "boss", KEY];
    assert!(dev.run(&receipt).failed(3).contains("send the command again"));
}

#[test]
fn as_json_an_error_has_the_members_of_http() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    fill(&dev);
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
        (&["submit", "shop", "store-1", "X", "--args", "{"], "--args is no JSON"),
        (&["submit", "shop", "store-1", "X", "--key", "7"], "UUID"),
        (&["submit", "shop", "store-1", "X", "--timeout", "soon"], "such as 30s"),
        (
            &["receipt", "get", "shop", "store-1", "me", "00000000-0000-0000-0000-000000000000"],
            "nil",
        ),
        (&["sequence", "define", "shop", "s", "--range", "5"], "FIRST..LAST"),
        (&["sequence", "define", "shop", "s", "--utc-offset", "1"], "+01:00"),
        (&["log", "read", "shop"], "<WORKSPACE>"),
        (&["log", "read", "shop", "store-1", "--partition", "0"], "cannot be used with"),
        (&["verify", "--sequence", "s"], "--app"),
        (&["app", "lisst"], "list"),
        (&["app", "list", "--server", "ftp://x"], "http://127.0.0.1:7600"),
    ] {
        let complaint = Ran::from(run(arguments)).failed(2);
        assert!(complaint.contains(said), "{arguments:?}: {complaint}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("command.json");
    std::fs::write(&file, r#"{"events":[{"nam":"X"}]}"#).unwrap();
    let complaint = run(&["submit", "shop", "store-1", "--file", file.to_str().unwrap()]);
    assert!(Ran::from(complaint).failed(2).contains("this is no command"));
}

#[test]
fn without_a_server_nothing_was_written_and_one_is_suggested() {
    for arguments in [&["app", "list"][..], &["submit", "shop", "store-1", "X"], &["bench"]] {
        let said = run(&[arguments, &["--server", "http://127.0.0.1:1"]].concat());
        let said = Ran::from(said).failed(4);
        assert!(
            said.contains("cannot reach http://127.0.0.1:1") && said.contains("seriatim dev"),
            "{said}"
        );
    }
}

#[test]
fn an_outcome_that_is_unknown_is_resolved_by_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    fill(&dev);
    // A server that hangs: it takes connections, and nobody knows what it does with commands.
    dev.signal(Signal::STOP);
    let said = dev.run(&["submit", "shop", "store-1", "Paid", "--timeout", "500ms"]).failed(5);
    dev.signal(Signal::CONT);
    assert!(said.starts_with("seriatim: perhaps written: "), "{said}");
    let key = said.split("--key ").nth(1).and_then(|rest| rest.split(':').next()).unwrap();
    dev.run(&["submit", "shop", "store-1", "Paid", "--key", key]).ok();
    let events = dev.run(&["log", "read", "shop", "store-1", "-o", "json"]).ok();
    assert_eq!(events.matches("\"Paid\"").count(), 1, "{events}");
}

#[test]
fn a_command_that_comes_too_late_was_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    fill(&dev);
    let late =
        ["record", "get", "shop", "store-1", "200001", "--min-offset", "99", "--timeout", "300ms"];
    let said = dev.run(&late).failed(4);
    assert!(said.contains("--timeout"), "{said}");
}
