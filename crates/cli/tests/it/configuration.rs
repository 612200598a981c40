//! Settings from files, the environment and flags, as a server takes them.

use std::fs;
use std::path::Path;

use crate::process::{Dev, Ran, command};

fn write(folder: &Path, text: &str) {
    fs::write(folder.join("seriatim.toml"), text).unwrap();
}

/// A command that finds the file of its folder, with a variable of the environment.
fn ran(folder: &Path, arguments: &[&str], variable: (&str, &str)) -> Ran {
    let (name, value) = variable;
    command(arguments).current_dir(folder).env(name, value).output().unwrap().into()
}

const NO_VARIABLE: (&str, &str) = ("SERIATIM_CLIENT", "me");

#[test]
fn what_is_in_force_is_printed_with_where_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "data = \"d\"\n[node]\nqueue_max = 7\n[apps]\npartitions = 3\n");
    let variable = ("SERIATIM__NODE__QUEUE_MAX", "8");
    let printed =
        ran(folder.path(), &["config", "print", "--set", "apps.trust_level=1"], variable).ok();
    for line in [
        "data = \"d\"    # seriatim.toml:1",
        "queue_max = 8    # SERIATIM__NODE__QUEUE_MAX",
        "partitions = 3    # seriatim.toml:5",
        "trust_level = 1    # --set",
        "listen = \"127.0.0.1:7600\"    # default",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line} in {printed}");
    }
    // What is printed is a file that says the same.
    fs::write(folder.path().join("again.toml"), &printed).unwrap();
    let again = ["config", "print", "--config", "again.toml", "-o", "json"];
    let again: serde_json::Value =
        serde_json::from_str(&ran(folder.path(), &again, NO_VARIABLE).ok()).unwrap();
    let settings = again["settings"].as_array().unwrap();
    let queue_max = settings.iter().find(|it| it["name"] == "node.queue_max").unwrap();
    assert_eq!((&queue_max["value"], &queue_max["default"]), (&8.into(), &4096.into()));
    assert!(queue_max["source"].as_str().unwrap().starts_with("again.toml:"), "{queue_max}");
}

#[test]
fn errors_are_all_said_with_their_places() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "[server]\nconnection_max = 7\n\n[node]\nqueue_max = 0\n");
    for task in [&["config", "validate"][..], &["config", "print"], &["serve", "--data", "d"]] {
        let said = ran(folder.path(), task, NO_VARIABLE).failed(2);
        assert!(said.contains("seriatim.toml:2: server.connection_max: there is no such setting; did you mean server.connections_max?"), "{said}");
        assert!(
            said.contains("seriatim.toml:5: node.queue_max: \"0\" is not a whole number from 1"),
            "{said}"
        );
    }
    assert!(!folder.path().join("d").exists(), "nothing was made");
    write(folder.path(), "listen = \n[server]\nconnections_max = 7 7\n");
    let said = ran(folder.path(), &["config", "validate"], NO_VARIABLE).failed(2);
    assert!(said.contains("2 settings cannot be taken") && said.lines().count() == 3, "{said}");
    write(folder.path(), "[server]\nconnections_max = 7\n");
    let valid = ran(folder.path(), &["config", "validate"], NO_VARIABLE).ok();
    assert_eq!(valid, "Nothing is wrong. Settings that are set: 1.\n");
    let wrong = ("SERIATIM__SERVER__CONNECTIONS", "7");
    let said = ran(folder.path(), &["config", "validate"], wrong).failed(2);
    assert!(
        said.contains("SERIATIM__SERVER__CONNECTIONS: server.connections: there is no"),
        "{said}"
    );
    let said = ran(folder.path(), &["config", "validate", "--set", "x"], NO_VARIABLE).failed(2);
    assert!(said.contains("--set x: write NAME=VALUE"), "{said}");
    let said =
        ran(folder.path(), &["config", "validate", "--config", "no.toml"], NO_VARIABLE).failed(2);
    assert!(said.contains("no.toml: there is no such file"), "{said}");
}

#[test]
fn a_server_is_told_where_its_data_lies_and_listens_to_this_machine_only() {
    let folder = tempfile::tempdir().unwrap();
    let said = ran(folder.path(), &["serve"], NO_VARIABLE).failed(2);
    assert!(said.contains("where its data lies") && said.contains("seriatim dev"), "{said}");
    write(folder.path(), "data = \"d\"\nlisten = \"0.0.0.0:7600\"\n");
    let said = ran(folder.path(), &["serve"], NO_VARIABLE).failed(2);
    assert!(said.contains("seriatim.toml:2") && said.contains("no authentication"), "{said}");
}

#[test]
fn a_server_does_as_it_was_configured() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "data = \"kept\"\nlisten = \"127.0.0.1:0\"\n[apps]\npartitions = 3\ntrust_level = 1\n\
         idempotency_retention = \"forever\"\nidempotency_keys_max = 500\n",
    );
    let mut serve = command(&["serve"]);
    serve.current_dir(folder.path());
    let dev = Dev::spawn(serve);
    assert!(folder.path().join("kept").exists());
    // New apps get the defaults over gRPC and over HTTP.
    dev.run(&["app", "create", "one"]).ok();
    let two = dev.client().send("POST", "/v1/apps", &[], br#"{"name":"two"}"#).unwrap();
    assert_eq!(two.status, 201, "{}", two.text());
    let listed = dev.run(&["app", "list"]).ok();
    let expected = "\
NAME  PARTITIONS  RECORD IDS  TRUST LEVEL  RETENTION  KEYS MAX
one   3           single      1            forever    500
two   3           single      1            forever    500
";
    assert_eq!(listed, expected);
    dev.end();
}

#[test]
fn handles_that_do_not_suffice_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let program = env!("CARGO_BIN_EXE_seriatim");
    let mut shell = std::process::Command::new("sh");
    let line = format!("ulimit -n 600 && exec {program} dev --listen 127.0.0.1:0 --data {data}");
    shell.args(["-c", &line]);
    let dev = Dev::spawn(shell);
    assert!(dev.said.contains("At most 344 connections instead of 1100"), "{}", dev.said);
    dev.end();
}
