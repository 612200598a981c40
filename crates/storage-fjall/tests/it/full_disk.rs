//! A disk that is really full: a file system of a few megabytes, in a namespace of its own.

use std::process::Command;

/// Runs a part of the writer on a file system of 128 MiB. Returns what it has said.
fn run(part: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = "mount -t tmpfs -o size=128m tmpfs \"$1\" && exec \"$2\" \"$3\" \"$1\" $4";
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(env!("CARGO_BIN_EXE_fjall-writer"))
        .arg(part)
        .arg(arguments.join(" "))
        .output()
        .expect("unshare is installed");
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        output.status.success() && said.ends_with("passed\n"),
        "{}: {said}{complained}\n(mounting a small file system needs root or user namespaces)",
        output.status
    );
    said.into_owned()
}

#[test]
fn with_a_reserve_commits_are_refused_in_time_and_go_on_when_there_is_room() {
    run("full-disk", &["16777216"]);
}

#[test]
fn without_a_reserve_the_store_stops_at_the_end_of_the_disk_and_loses_nothing() {
    run("full-disk", &["0"]);
}

/// Free space was asked for after every mebibyte of commits, so that another process could fill the disk
/// in between: the store ran into its end and stopped.
#[test]
fn disk_that_somebody_else_fills_between_two_commits_is_full_and_the_store_goes_on() {
    run("neighbour", &[]);
}

/// A store that stopped because of its own background threads said how many bytes were free, and not
/// what the system had said.
#[test]
fn failure_in_the_background_says_what_the_system_said() {
    let said = run("background", &[]);
    assert!(said.contains("No space left on device (os error 28)"), "{said}");
}
