//! `demo`, `bench`, `completion` and `version`.

use crate::process::{Dev, Ran, run};

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
fn a_bench_proves_what_it_got_in_every_mode() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());
    for mode in ["stream", "unary", "http"] {
        let arguments = [
            "bench",
            "--seconds",
            "1",
            "--clients",
            "4",
            "--workspaces",
            "3",
            "--mode",
            mode,
            "-o",
            "json",
        ];
        let report: serde_json::Value = serde_json::from_str(&dev.run(&arguments).ok()).unwrap();
        let commands = report["commands"].as_u64().unwrap();
        let proof = &report["proof"];
        assert!(commands > 0, "{report}");
        assert_eq!((&report["mode"], &report["clients"]), (&mode.into(), &4.into()));
        assert_eq!(proof["events"], commands, "{report}");
        for nothing in ["gaps", "repeats", "lost"] {
            assert_eq!(proof[nothing], 0, "{report}");
        }
        assert!(proof["sent_again"].as_u64().unwrap() >= 4, "{report}");
        assert_eq!(proof["sent_again"], proof["equal"], "{report}");
    }
    let table = dev.run(&["bench", "--seconds", "1", "--clients", "2"]).ok();
    for part in [
        "mode      stream: ",
        "per second",
        "p99 ",
        "█",
        "gaps                0\n",
        "with equal receipts",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }
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
