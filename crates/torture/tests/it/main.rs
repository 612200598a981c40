//! The torture in its short form, and that it finds what it is there to find.

use std::path::Path;

use seriatim_torture::{Plan, Program, Summary, run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_seriatim-torture");

fn plan(program: Program, kills: u64, seed: u64, folder: &Path) -> Plan {
    let folder = folder.to_owned();
    Plan { program, kills, seed, clients: 8, acknowledged_max: 300, folder }
}

/// Ten kills. A server that fails leaves its folder behind.
fn survive(program: Program, seed: u64) -> Summary {
    let folder = tempfile::tempdir().expect("a temporary folder");
    match run(&plan(program, 10, seed, folder.path()), &mut |_| {}) {
        Ok(summary) => summary,
        Err(error) => {
            drop(folder.keep());
            panic!("{error:#}")
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_or_repeated_by_kills() {
    let summary = survive(Program::Serve(PROGRAM.into()), 1);
    assert_outcomes_are_resolved(&summary);
}

#[test]
fn nothing_acknowledged_is_lost_or_repeated_when_unsynced_data_goes_too() {
    let summary = survive(Program::ServeAndNote(PROGRAM.into()), 2);
    assert!(summary.cuts > 0, "no kill met anything that was not synced: {summary:?}");
    assert_outcomes_are_resolved(&summary);
}

#[test]
fn the_torture_finds_a_server_that_answers_before_its_sync() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Every other kill or so takes away something that was acknowledged.
    let plan = plan(Program::ServeHastily(PROGRAM.into()), 60, 3, folder.path());
    let mut kills = 0;
    let found = run(&plan, &mut |summary| kills = summary.kills);
    let found = found.expect_err("what was answered before its sync is lost");
    let found = format!("{found:#}");
    assert!(found.contains("seed 3"), "{found}");
    assert!(kills > 0, "only a kill can show it: {found}");
}

fn assert_outcomes_are_resolved(summary: &Summary) {
    let counts = summary.counts;
    assert!(counts.unknown > 0, "no kill met a command: {summary:?}");
    assert_eq!(counts.unknown, counts.resolved(), "{summary:?}");
}
