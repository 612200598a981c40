//! All measurements, at sizes at which they mean nothing.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use seriatim_bench::node::NodeSizes;
use seriatim_bench::sequencer::SequencerSizes;
use seriatim_bench::sizes::Sizes;
use seriatim_bench::{Options, node, sequencer, storage};

const BENCH: &str = env!("CARGO_BIN_EXE_bench");

fn tiny() -> Sizes {
    Sizes {
        name: "tiny",
        rounds: 2,
        commits: [(1, 10), (16, 4), (256, 1)],
        shared_batches: 3,
        busy_batches: 5,
        busy_time_max: Duration::from_secs(5),
        filled_commands: 200,
        reads: 100,
        short_scans: 3,
        condition_batches: 3,
        reopens: [(800, 2), (2_000, 1)],
        stall_batches: 12,
        stall_passes: 2,
        stall_floor_batches: 3,
    }
}

#[test]
fn every_measurement_is_made_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let report = storage(&Options {
        sizes: tiny(),
        folder: folder.path().to_owned(),
        filler: BENCH.into(),
        command_line: "a test".to_owned(),
    })
    .unwrap();
    let sizes: Vec<_> =
        report.tables.iter().map(|it| (it.title, it.rows.len(), it.columns.len())).collect();
    let expected = [
        ("commit + sync", 3, 9),
        ("writers sharing syncs", 2, 3),
        ("commits while the disk is busy", 3, 3),
        ("point reads", 6, 4),
        ("scans", 3, 3),
        ("conditions", 4, 3),
        ("reopen after SIGKILL", 3, 5),
        ("write stalls", 5, 9),
        ("bytes on disk and in memory", 2, 6),
    ];
    assert_eq!(sizes, expected);
    let (markdown, json, text) = (report.markdown(), report.json(), report.text());
    for table in &report.tables {
        assert!(markdown.contains(&format!("\n## {}\n\n{}\n", table.title, table.meaning)));
        assert!(json.contains(&format!("\"{}\": [", table.title)));
        assert!(text.contains(&format!("\n{}\n", table.title)));
        for (label, values) in &table.rows {
            assert_eq!(values.len(), table.columns.len(), "{} / {label}", table.title);
            let are_figures = values.iter().all(|it| it.is_finite() && *it > 0.0);
            assert!(are_figures, "{} / {label}: {values:?}", table.title);
            assert!(markdown.contains(&format!("\n| {label} | ")));
            assert!(json.contains(&format!("{{\"row\": \"{label}\", ")));
        }
    }
    for fact in ["date", "cpu", "cores", "memory", "file system", "kernel", "command line"] {
        assert!(markdown.contains(&format!("\n| {fact} | ")), "{fact}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "everything is removed");
}

#[test]
fn every_measurement_of_the_sequencer_is_made_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        sizes: tiny(),
        folder: folder.path().to_owned(),
        filler: BENCH.into(),
        command_line: "a test".to_owned(),
    };
    let sizes =
        SequencerSizes { draws: 1_000, logs: vec![1_500, 3_000], workspaces: vec![100, 1_000] };
    let report = sequencer(&options, &sizes).unwrap();
    let found: Vec<_> =
        report.tables.iter().map(|it| (it.title, it.rows.len(), it.columns.len())).collect();
    assert_eq!(found, [("draws", 3, 2), ("time to ready", 2, 4), ("memory", 2, 3)]);
    for (label, values) in report.tables.iter().flat_map(|table| &table.rows) {
        assert!(values.iter().all(|it| it.is_finite() && *it > 0.0), "{label}: {values:?}");
    }
}

#[test]
fn a_bad_command_line_is_answered_with_the_usage() {
    for bad in [&["storage", "--fast"][..], &["storage", "--report"], &["stor"], &[]] {
        let output = Command::new(Path::new(BENCH)).args(bad).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{bad:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).starts_with("usage: bench storage|sequencer")
        );
    }
}

#[test]
fn every_measurement_of_the_node_is_made_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        sizes: tiny(),
        folder: folder.path().to_owned(),
        filler: BENCH.into(),
        command_line: "a test".to_owned(),
    };
    let sizes = NodeSizes {
        rounds: 2,
        commands: 300,
        lone: 100,
        keys: 5_000,
        retries: 500,
        killed: [(200, 50), (500, 400)],
    };
    let report = node(&options, &sizes).unwrap();
    let shapes: Vec<_> =
        report.tables.iter().map(|it| (it.title, it.rows.len(), it.columns.len())).collect();
    let expected = [
        ("throughput", 4, 9),
        ("a lone submitter", 1, 5),
        ("trust levels and proofs", 4, 2),
        ("a flood of one workspace", 1, 7),
        ("retries", 1, 5),
        ("ready after SIGKILL", 3, 5),
        ("memory and disk", 2, 2),
    ];
    assert_eq!(shapes, expected);
}
