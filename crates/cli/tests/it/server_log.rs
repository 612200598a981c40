//! What a real server logs on standard error.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::damage::{DAMAGED, damaged_shop, flip, read_damaged};
use crate::process::{Dev, command};

const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose standard error is read as it comes.
pub(crate) struct Logged {
    pub(crate) server: Dev,
    lines: Arc<Mutex<Vec<String>>>,
    reader: std::thread::JoinHandle<()>,
}

impl Logged {
    /// `seriatim serve` on a folder, with these settings.
    fn serve(data: &Path, settings: &[&str]) -> Self {
        let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
        serve.arg("--data").arg(data);
        Self::spawn(with(serve, settings))
    }

    /// The same with a line of JSON for each event.
    fn serve_json(data: &Path, settings: &[&str]) -> Self {
        Self::serve(data, &[&["log.format=json"], settings].concat())
    }

    fn spawn(command: std::process::Command) -> Self {
        Self::spawn_until(command, "Ready")
    }

    fn spawn_until(mut command: std::process::Command, beginning: &str) -> Self {
        command.stderr(Stdio::piped());
        let mut server = Dev::spawn_until(command, beginning);
        let (lines, errors) = (Arc::<Mutex<Vec<_>>>::default(), server.errors().unwrap());
        let read = lines.clone();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(errors).lines() {
                read.lock().unwrap().push(line.unwrap());
            }
        });
        Self { server, lines, reader }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// The events with this message so far.
    fn events(&self, message: &str) -> Vec<Value> {
        events_of(&self.lines(), message)
    }

    /// Waits until there are so many events with this message.
    fn wait_for(&self, message: &str, count: usize) -> Vec<Value> {
        let begun = Instant::now();
        loop {
            let found = self.events(message);
            if found.len() >= count {
                assert_eq!(found.len(), count, "{found:?}");
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "{message} in {:#?}", self.lines());
            std::thread::yield_now();
        }
    }

    /// All that was logged until the end, and with which code that came.
    fn ended(self) -> (Vec<String>, Option<i32>) {
        self.server.signal(Signal::TERM);
        let (status, _) = self.server.ended();
        self.reader.join().unwrap();
        (self.lines.lock().unwrap().clone(), status.code())
    }
}

fn with(mut command: std::process::Command, settings: &[&str]) -> std::process::Command {
    for setting in settings {
        command.args(["--set", setting]);
    }
    command
}

fn parse(line: &str) -> Value {
    let event: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("JSON: {line}"));
    let has = |member| event.get(member).is_some_and(Value::is_string);
    assert!(["timestamp", "level", "message"].into_iter().all(has), "{event}");
    event
}

fn events_of(lines: &[String], message: &str) -> Vec<Value> {
    let events = lines.iter().map(|line| parse(line));
    events.filter(|event| event.get("message").is_some_and(|it| it == message)).collect()
}

fn only(lines: &[String], message: &str) -> Value {
    let found = events_of(lines, message);
    assert_eq!(found.len(), 1, "{message} in {lines:#?}");
    found.into_iter().next().unwrap()
}

fn submit(server: &Dev, workspace: &str) -> String {
    server.run(&["submit", "shop", workspace, "Noted"]).ok()
}

#[test]
fn start_recovery_and_shutdown_are_logged_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let logged = Logged::serve_json(&data, &["node.checkpoint_delay=1m"]);
    logged.server.run(&["app", "create", "shop", "--partitions", "1"]).ok();
    submit(&logged.server, "store-1");
    let new = logged.wait_for("partition recovered", 2);
    assert!(new.iter().all(|event| event["events"] == 0), "{new:?}");
    let address = logged.server.address.to_string();
    let pid = logged.server.pid();
    assert_eq!(logged.events("server started")[0]["pid"], pid);
    // It has no time for a checkpoint: the next start reads the log.
    logged.server.kill();
    logged.reader.join().unwrap();

    let logged = Logged::serve_json(&data, &[]);
    logged.wait_for("partition recovered", 2);
    let (lines, code) = logged.ended();
    assert_eq!(code, Some(0), "{lines:#?}");
    let opened = only(&lines, "store opened");
    assert_eq!(opened["data"], data.to_str().unwrap());
    assert!(opened["rewritten_bytes"].is_u64() && opened["torn_bytes"] == 0, "{opened}");
    let started = only(&lines, "server started");
    assert_eq!((&started["version"], &started["level"]), (&"0.1.0".into(), &"INFO".into()));
    assert_eq!(started["settings"], "log.format=json");
    assert_ne!(started["address"], address, "a port that was free");
    let recovered = events_of(&lines, "partition recovered");
    let shop = recovered.iter().find(|event| event["app"] == "shop").unwrap();
    assert_eq!((&shop["partition"], &shop["events"]), (&0.into(), &1.into()), "{shop}");
    assert!(shop["took_ms"].is_u64() && shop["app_id"].is_u64(), "{shop}");
    assert_eq!(only(&lines, "all partitions serve")["partitions"], 2);
    only(&lines, "shutdown begun");
    let ended = only(&lines, "shutdown ended");
    assert_eq!(ended["all_answered"], true, "{ended}");
    assert_eq!(lines.len(), 7, "nothing else: {lines:#?}");
}

#[test]
fn restart_of_a_partition_is_logged_with_its_recovery() {
    let folder = tempfile::tempdir().unwrap();
    let logged = Logged::serve_json(folder.path(), &[]);
    logged.server.run(&["app", "create", "shop", "--partitions", "1"]).ok();
    logged.wait_for("partition recovered", 2);
    logged.server.run(&["partition", "restart", "shop", "0"]).ok();
    let recovered = logged.wait_for("partition recovered", 3);
    assert_eq!(recovered[2]["app"], "shop");
    let (lines, _) = logged.ended();
    let restarted = only(&lines, "partition restarts");
    assert_eq!((&restarted["app"], &restarted["partition"]), (&"shop".into(), &0.into()));
}

#[test]
fn stop_of_a_partition_and_deliveries_that_fail_are_logged_once_with_advice() {
    let (folder, file, at) = damaged_shop();
    let settings = ["storage.cache_bytes=0", "storage.memtable_bytes=64 KiB"];
    let logged = Logged::serve_json(&folder.path().join("data"), &settings);
    while read_damaged(&logged.server).status != 503 {
        std::thread::yield_now();
    }
    let stopped = &logged.wait_for("partition stopped", 1)[0];
    assert_eq!((&stopped["app"], &stopped["level"]), (&"shop".into(), &"ERROR".into()));
    assert!(stopped["next"].as_str().unwrap().contains("seriatim verify"), "{stopped}");
    assert!(stopped["reason"].as_str().unwrap().contains("cannot be"), "{stopped}");
    // They are decided, and reach all partitions later.
    for name in ["one", "two"] {
        drop(logged.server.run(&["sequence", "define", "shop", name, "--timeout", "5s"]));
    }
    let failed = &logged.wait_for("delivery failed", 1)[0];
    assert_eq!((&failed["app"], &failed["partition"]), (&"shop".into(), &0.into()), "{failed}");
    assert_eq!(failed["reason"], stopped["reason"]);
    // Restored and restarted, it is given what it lacks.
    flip(&file, at);
    logged.server.run(&["partition", "restart", "shop", "0"]).ok();
    logged.wait_for("deliveries go on", 1);
    let (lines, code) = logged.ended();
    assert_eq!(code, Some(0), "event {DAMAGED} can be read: {lines:#?}");
    for message in ["partition stopped", "delivery failed", "deliveries go on"] {
        only(&lines, message);
    }
}

#[test]
fn slow_commits_and_syncs_are_logged_now_and_then() {
    let folder = tempfile::tempdir().unwrap();
    let begun = Instant::now();
    let logged = Logged::serve_json(folder.path(), &["node.slow_after=0ms"]);
    logged.server.run(&["app", "create", "shop", "--partitions", "1"]).ok();
    (0..20).for_each(|_| drop(submit(&logged.server, "store-1")));
    let (lines, _) = logged.ended();
    let most = begun.elapsed().as_secs() / 10 + 1;
    for message in ["slow commit", "slow sync"] {
        let found = events_of(&lines, message);
        assert!((1..=most).contains(&(found.len() as u64)), "{found:?}");
        assert!(found.iter().all(|it| it["took_ms"].is_u64() && it["unreported"].is_u64()));
    }
}

#[test]
fn disk_that_is_almost_full_is_logged_and_that_it_has_room_again() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    // A disk of its own, in a namespace of its own.
    let script = "mount -t tmpfs -o size=32m tmpfs \"$1\" && head -c 20000000 /dev/zero >\"$1/other\" && \
                  exec \"$2\" dev --listen 127.0.0.1:0 --data \"$1/data\" --set log.format=json \
                  --set storage.disk_reserve_bytes=\"14 MiB\"";
    let mut dev = std::process::Command::new("unshare");
    dev.args(["--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(&disk);
    dev.arg(env!("CARGO_BIN_EXE_seriatim"));
    dev.stderr(Stdio::piped()).stdout(Stdio::piped()).stdin(Stdio::null());
    let logged = Logged::spawn_until(dev, "Process ");
    let full = &logged.wait_for("disk almost full", 1)[0];
    assert_eq!(full["reserve_bytes"], 14 << 20, "{full}");
    assert!(full["free_bytes"].as_u64().unwrap() < 14 << 20, "{full}");
    // The disk as the process sees it.
    let other = format!("/proc/{}/root{}/other", logged.server.pid(), disk.display());
    std::fs::remove_file(other).unwrap();
    logged.wait_for("disk has room again", 1);
    let metrics = logged.server.client().send("GET", "/metrics", &[], b"").unwrap().text();
    let free = metrics.lines().find_map(|it| it.strip_prefix("seriatim_disk_free_bytes "));
    assert!(free.unwrap().parse::<u64>().unwrap() > 14 << 20, "{free:?}");
    let (lines, _) = logged.ended();
    assert_eq!(lines.len(), 2, "`dev` logs from warn on: {lines:#?}");
}

#[test]
fn level_and_format_are_settings() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, _) = Logged::serve(folder.path(), &["log.level=warn"]).ended();
    assert_eq!(lines, Vec::<String>::new());
    let (lines, _) = Logged::serve(folder.path(), &["node.queue_max=77"]).ended();
    let started = lines.iter().find(|line| line.contains(" INFO server started ")).unwrap();
    assert!(started.contains(r#" settings="node.queue_max=77""#), "{started}");
    let time = started.split_whitespace().next().unwrap();
    assert!(time.len() == 27 && time.ends_with('Z'), "{started}");
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0"]);
    serve.arg("--data").arg(folder.path()).env("SERIATIM__LOG__LEVEL", "debug");
    let logged = Logged::spawn(with(serve, &["log.format=json"]));
    logged.server.run(&["app", "create", "shop"]).ok();
    let (lines, _) = logged.ended();
    let of_ours = lines.iter().map(|line| parse(line));
    assert!(of_ours.into_iter().all(|event| event["level"] != "TRACE"), "{lines:#?}");
}

#[test]
fn wrong_level_or_format_is_refused() {
    for (setting, takes) in
        [("log.level=loud", "error, warn, info or debug"), ("log.format=xml", "human or json")]
    {
        let (name, value) = setting.split_once('=').unwrap();
        let ran: crate::process::Ran =
            crate::process::run(&["config", "validate", "--set", setting]).into();
        let said = ran.failed(2);
        assert_eq!(said, format!("seriatim: --set: {name}: {value:?} is not {takes}\n"));
    }
}

/// Programs that read the log read how it ended there too.
#[test]
fn error_that_ends_a_server_is_an_event_where_the_log_is_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--set", "log.format=json"]);
    let ran: crate::process::Ran = serve.arg("--data").arg(&file).output().unwrap().into();
    let said = ran.failed(1);
    let lines: Vec<String> = said.lines().map(str::to_owned).collect();
    let event = only(&lines, "server ended with an error");
    assert!(event["reason"].as_str().unwrap().contains("is no folder"), "{event}");
    assert_eq!((&event["code"], lines.len()), (&"FAILED".into(), 1));
}

/// Events are emitted by the threads that commit.
#[test]
fn server_goes_on_while_nobody_reads_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = command(&["serve", "--listen", "127.0.0.1:0", "--set", "log.format=json"]);
    serve.arg("--data").arg(folder.path()).stderr(Stdio::piped());
    let mut server = Dev::spawn(serve);
    server.run(&["app", "create", "shop", "--partitions", "1"]).ok();
    let unread = server.errors().unwrap();
    let mut client = server.client();
    // Twice what the pipe holds.
    for _ in 0..700 {
        let restarted = client.send("POST", "/v1/partitions/shop/0/restart", &[], b"").unwrap();
        assert_eq!(restarted.status, 202);
    }
    submit(&server, "store-1");
    let reader = std::thread::spawn(move || {
        let lines = BufReader::new(unread).lines();
        lines
            .map(|line| parse(&line.unwrap()))
            .filter(|it| it["message"] == "partition restarts")
            .count()
    });
    server.end();
    assert_eq!(reader.join().unwrap(), 700, "what waited is written at last");
}
