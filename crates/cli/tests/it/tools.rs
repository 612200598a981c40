//! `demo`, `completion` and `version`.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{Ran, run};

#[test]
fn the_demo_runs_by_itself_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut demo = crate::process::command(&["demo"]);
    let said = Ran::from(demo.env("TMPDIR", folder.path()).output().unwrap()).ok();
    for (step, part) in [
        "A server listens on 127.0.0.1:",
        "An app \"shop\" numbers its invoices INV-{yyyy}-{n:06}",
        "Three orders (200001, 200002, 200003) get three invoices: INV-",
        "the same receipt, INV-",
        "is refused (KEY_NOT_FOUND) and draws no number",
        "killed (SIGKILL) and started again",
        "Every number from 1 to 405 is in the log, exactly once.",
        "nothing differs.",
    ]
    .iter()
    .enumerate()
    {
        let line = said.lines().find(|line| line.starts_with(&format!("{}. ", step + 1)));
        assert!(line.is_some_and(|line| line.contains(part)), "{part} in {said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn as_json_the_demo_is_a_line_for_each_step() {
    let said = Ran::from(run(&["demo", "-o", "json"])).ok();
    for (step, line) in (1_u64..).zip(said.lines()) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["step"], step);
        assert!(line["text"].is_string(), "{line}");
    }
    assert_eq!(said.lines().count(), 8);
}

#[test]
fn help_knows_every_command() {
    let help = Ran::from(run(&["help", "submit"])).ok();
    assert!(help.contains("--key <UUID>"), "{help}");
    assert!(Ran::from(run(&["help", "app", "create"])).ok().contains("--partitions"));
    // Some braces are line ends to whoever lays out help.
    let help = Ran::from(run(&["help", "sequence", "define"])).ok();
    assert!(help.contains("--format 'INV-{yyyy}-{n:06}'") && help.contains("{{ and }}"), "{help}");
}

/// Its server and its folder stayed behind: when it was interrupted, and later when it was only told to
/// end, as by a timeout.
#[test]
fn a_demo_that_is_interrupted_leaves_nothing_behind() {
    [Signal::INT, Signal::TERM].into_iter().for_each(|it| interrupt_a_demo(it, "\n2. "));
}

/// Signals were listened to only once its server was ready, or by chance before that: it died by one
/// that came earlier, and its folder stayed behind.
#[test]
fn a_demo_whose_server_is_being_started_leaves_nothing_behind() {
    for _ in 0..5 {
        [Signal::INT, Signal::TERM].into_iter().for_each(|it| interrupt_a_demo(it, "A small"));
    }
}

fn interrupt_a_demo(signal: Signal, when: &str) {
    let folder = tempfile::tempdir().unwrap();
    let ended = end_a_demo(folder.path(), signal, when);
    assert_eq!((ended.code, ended.err.as_str()), (Some(130), ""));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Its server went on, on a port that nobody knew.
#[test]
fn the_server_of_a_demo_that_is_killed_ends_in_good_order() {
    let folder = tempfile::tempdir().unwrap();
    let ended = end_a_demo(folder.path(), Signal::KILL, "\n2. ");
    assert_eq!((ended.code, ended.err.as_str()), (None, ""));
    let left = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    Ran::from(run(&["verify", "--data", left.to_str().unwrap()])).ok();
}

/// Sends a signal to a demo that has said something, and waits for the end of it and its server.
fn end_a_demo(folder: &Path, signal: Signal, when: &str) -> Ran {
    let mut demo = crate::process::command(&["demo"]);
    let demo = demo.env("TMPDIR", folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = demo.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains(when) {
        assert_ne!(out.read_line(&mut said).unwrap(), 0, "it ended early: {said}");
    }
    kill_process(Pid::from_child(&child), signal).unwrap();
    // The server has the same standard error: it is closed when both have ended.
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
fn shells_learn_to_complete() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Ran::from(run(&["completion", shell])).ok();
        assert!(script.contains("seriatim") && script.contains("definitions"), "{shell}");
    }
    assert!(Ran::from(run(&["completion", "dos"])).failed(2).contains("possible values"));
}

#[test]
fn the_version_is_said() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(Ran::from(run(&["version"])).ok(), format!("seriatim {version}\n"));
    let json = Ran::from(run(&["version", "-o", "json"])).ok();
    assert_eq!(json, format!("{{\"name\":\"seriatim\",\"version\":\"{version}\"}}\n"));
}
