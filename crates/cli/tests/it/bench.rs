//! `bench`: what it proves, and a server that goes away meanwhile.

use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::process::{Dev, Ran};

const MODES: [&str; 3] = ["stream", "unary", "http"];

#[test]
fn a_bench_proves_what_it_got_in_every_mode() {
    let folder = tempfile::tempdir().unwrap();
    let dev = start(folder.path());
    for mode in MODES {
        let report = proven(&begin(&dev, mode, &["--seconds", "1"]).end().ok());
        assert_eq!((&report["mode"], &report["clients"]), (&mode.into(), &4.into()));
        assert_eq!(report["retries"], 0, "{report}");
    }
    for mode in ["stream", "unary"] {
        let more = ["--seconds", "1", "--in-flight", "3"];
        let report = proven(&begin(&dev, mode, &more).end().ok());
        assert_eq!((&report["clients"], &report["in_flight"]), (&4.into(), &3.into()));
    }
    for (wrong, what) in [
        (["--mode=http", "--in-flight=2"], "take more --clients"),
        (["--clients=10000", "--in-flight=7"], "at most 65536 commands"),
    ] {
        let Ran { code, err, .. } = dev.run(&[&["bench"], &wrong[..]].concat());
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains(what), "{err}");
    }
    let table = dev.run(&["bench", "--seconds", "1", "--clients", "2"]).ok();
    for part in [
        "mode      stream: ",
        "per second",
        "p99 ",
        "█",
        "gaps        0\nrepeats     0\nlost        0\n",
        "with equal receipts",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }
}

/// Those over HTTP gave up, and the others did not count what they had sent again.
#[test]
fn a_bench_goes_on_when_its_server_is_killed_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let dev = start(folder.path());
    let mut benches = MODES.map(|mode| begin(&dev, mode, &["--seconds", "5", "--timeout", "60s"]));
    benches.iter_mut().for_each(|bench| bench.is_in_the_middle(&dev));
    let dev = dev.killed_and_back(folder.path());
    for bench in benches {
        // It says how far it is every few seconds, so standard error is not empty.
        let Ran { code, out, err } = bench.end();
        assert_eq!(code, Some(0), "{err}");
        let report = proven(&out);
        assert!(report["retries"].as_u64().unwrap() > 0, "{report}");
    }
    drop(dev);
}

#[test]
fn a_bench_whose_server_stays_away_ends_with_the_figures_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let dev = start(folder.path());
    let mut benches =
        MODES.map(|mode| begin(&dev, mode, &["--seconds", "3600", "--timeout", "5s"]));
    benches.iter_mut().for_each(|bench| bench.is_in_the_middle(&dev));
    dev.kill();
    for bench in benches {
        let Ran { code, out, err } = bench.end();
        assert_eq!(code, Some(4), "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert!(report["commands"].as_u64().unwrap() > 0, "{report}");
        assert_eq!(report["proof"], Value::Null, "{report}");
        // Before it stands how far it was.
        let said: Value = serde_json::from_str(err.lines().last().unwrap()).unwrap();
        assert_eq!((&said["code"], &said["retryable"]), (&"UNAVAILABLE".into(), &true.into()));
        let message = said["message"].as_str().unwrap();
        assert!(message.starts_with("the bench gave up: cannot reach http://"), "{said}");
    }
}

/// A server with an app for each mode, of one partition: its log has everything.
fn start(data: &Path) -> Dev {
    let dev = Dev::start(data);
    for mode in MODES {
        dev.run(&["app", "create", mode, "--partitions", "1"]).ok();
    }
    dev
}

/// A bench that runs, with an app of its own.
struct Bench {
    mode: &'static str,
    child: Child,
}

fn begin(dev: &Dev, mode: &'static str, more: &[&str]) -> Bench {
    let arguments = ["bench", "--mode", mode, "--app", mode, "--clients", "4", "--workspaces", "3"];
    let mut command = dev.command(&[&arguments, more, &["-o", "json"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    Bench { mode, child }
}

impl Bench {
    /// Waits until some commands were carried out.
    fn is_in_the_middle(&mut self, dev: &Dev) {
        let path = format!("/v1/apps/{}/partitions/0/events?from=20&limit=1", self.mode);
        let mut http = dev.client();
        while http.send("GET", &path, &[], b"").unwrap().text().starts_with(r#"{"events":[]"#) {
            assert!(self.child.try_wait().unwrap().is_none(), "it has ended");
        }
    }

    fn end(self) -> Ran {
        self.child.wait_with_output().unwrap().into()
    }
}

/// A report that shows nothing but what should be.
fn proven(printed: &str) -> Value {
    let report: Value = serde_json::from_str(printed).unwrap();
    let proof = |member: &str| report.pointer(&format!("/proof/{member}")).unwrap();
    assert_eq!(Some(proof("events")), report.get("commands"), "{report}");
    for nothing in ["gaps", "repeats", "lost"] {
        assert_eq!(proof(nothing), 0, "{report}");
    }
    assert!(proof("sent_again").as_u64().unwrap() >= 4, "{report}");
    assert_eq!(proof("sent_again"), proof("equal"), "{report}");
    report
}
