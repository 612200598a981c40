//! A disk that is really full: a file system of a few megabytes, in a namespace of its own.

use std::process::Command;

/// Runs the suite's case on a file system of 128 MiB.
fn run(disk_reserve_bytes: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = "mount -t tmpfs -o size=128m tmpfs \"$1\" && exec \"$2\" full-disk \"$1\" \"$3\"";
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(folder.path())
        .arg(env!("CARGO_BIN_EXE_fjall-writer"))
        .arg(disk_reserve_bytes.to_string())
        .output()
        .expect("unshare is installed");
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        output.status.success() && said.ends_with("passed\n"),
        "{}: {said}{complained}\n(mounting a small file system needs root or user namespaces)",
        output.status
    );
}

#[test]
fn with_a_reserve_commits_are_refused_in_time_and_go_on_when_there_is_room() {
    run(16 * 1024 * 1024);
}

#[test]
fn without_a_reserve_the_store_stops_at_the_end_of_the_disk_and_loses_nothing() {
    run(0);
}
