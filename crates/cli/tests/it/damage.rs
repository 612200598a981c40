//! A table file that is damaged under a running server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use seriatim_testkit::HttpAnswer;

use crate::process::{Dev, command};

const PATIENCE: Duration = Duration::from_secs(60);
const EVENTS: &str = "/v1/apps/shop/workspaces/store-1/events";

/// The event whose bytes are damaged: not the first, which is read at every tick, and not one of the
/// last, which are not in a file yet.
pub(crate) const DAMAGED: u64 = 7;
const LAST: u64 = 40;

/// A server on a folder, with tables that are written out early and blocks that are not cached.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What the servers have said on standard error.
    fn complaints(&self) -> String {
        fs::read_to_string(self.folder.path().join("stderr")).unwrap()
    }

    fn start(&self) -> Dev {
        let stderr = self.folder.path().join("stderr");
        let stderr = fs::File::options().create(true).append(true).open(stderr).unwrap();
        let mut command: Command = command(&["dev", "--listen", "127.0.0.1:0"]);
        command.args(["--set", "storage.memtable_bytes=64 KiB", "--set", "storage.cache_bytes=0"]);
        command.arg("--data").arg(self.data()).stderr(stderr);
        Dev::spawn(command)
    }

    /// A shop with events. With checkpoints: the next start reads no event, and so does the one after it.
    fn fill(&self) {
        let dev = self.start();
        dev.run(&["app", "create", "shop", "--partitions", "1"]).ok();
        (1..=LAST).for_each(|number| assert_eq!(submit(&dev, number).status, 200));
        dev.end();
    }
}

/// A shop with an event that is damaged in a file: its folder, the file, and where the bit is.
pub(crate) fn damaged_shop() -> (tempfile::TempDir, PathBuf, usize) {
    let world = World { folder: tempfile::tempdir().unwrap() };
    world.fill();
    // A start writes out what the journal has brought back.
    let dev = world.start();
    let tables = world.data().join("fjall/keyspaces");
    let needle = needle(DAMAGED);
    let (file, at) = wait_for("it is written out", || find(&tables, needle.as_bytes()));
    dev.end();
    flip(&file, at);
    (world.folder, file, at)
}

fn get(dev: &Dev, path: &str) -> HttpAnswer {
    dev.client().send("GET", path, &[], b"").unwrap()
}

fn json(answer: &HttpAnswer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

pub(crate) fn read_damaged(dev: &Dev) -> HttpAnswer {
    get(dev, &format!("{EVENTS}?from={DAMAGED}&limit=1"))
}

fn submit(dev: &Dev, number: u64) -> HttpAnswer {
    let key = format!("0b0e8a4e-5f0a-4c3e-9d6b-{number:012x}");
    let headers = [("Idempotency-Key", key.as_str()), ("Client-Id", "pos-4")];
    let text = needle(number).repeat(400);
    let body = format!(r#"{{"events":[{{"name":"Noted","args":{{"text":"{text}"}}}}]}}"#);
    let path = "/v1/apps/shop/workspaces/store-1/commands";
    dev.client().send("POST", path, &headers, body.as_bytes()).unwrap()
}

fn needle(number: u64) -> String {
    format!("needle-{number:03}")
}

/// Where the event is in the files of the tables, once it was written out.
fn find(folder: &Path, needle: &[u8]) -> Option<(PathBuf, usize)> {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let found = if entry.is_dir() {
            find(&entry, needle)
        } else {
            let bytes = fs::read(&entry).unwrap_or_default();
            let at = bytes.windows(needle.len()).position(|part| part == needle);
            at.map(|at| (entry, at))
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Flips a bit of a file in place, as a disk does.
pub(crate) fn flip(file: &Path, at: usize) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::options().read(true).write(true).open(file).unwrap();
    let at = u64::try_from(at).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

/// The partition of the shop, as `/readyz` and `/v1/partitions` show it.
fn partition(dev: &Dev, path: &str) -> (String, String) {
    let body = json(&get(dev, path));
    let partitions = body.get("partitions").and_then(Value::as_array).unwrap();
    let text = |it: &Value, member: &str| {
        it.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let shop = partitions.iter().find(|it| text(it, "app") == "shop").unwrap();
    (text(shop, "state"), text(shop, "reason"))
}

/// A reader was told, `/readyz` said 200, writes went on, and nothing was logged.
#[test]
fn a_damaged_table_is_told_to_everyone_and_once_on_standard_error() {
    let world = World { folder: tempfile::tempdir().unwrap() };
    world.fill();
    let dev = world.start();
    let tables = world.data().join("fjall/keyspaces");
    let (file, at) = wait_for("it is written out", || find(&tables, needle(DAMAGED).as_bytes()));
    let sound = read_damaged(&dev);
    assert_eq!((sound.status, get(&dev, "/readyz").status), (200, 200));

    flip(&file, at);
    // The file may not be in use yet: until it is, the event is read from memory.
    let damaged = || Some(read_damaged(&dev)).filter(|answer| answer.status != 200);
    let answer = wait_for("the damage is found", damaged);
    let told = json(&answer);
    assert_eq!((answer.status, &told["code"]), (503, &"PARTITION_STOPPED".into()), "{told}");
    assert_eq!((&told["retryable"], answer.header("retry-after")), (&false.into(), None));
    let reason = told["message"].as_str().unwrap().to_owned();
    let stopped = ("stopped".to_owned(), reason.clone());
    assert_eq!(partition(&dev, "/v1/partitions"), stopped);
    assert_eq!(partition(&dev, "/readyz"), stopped);
    assert_eq!(get(&dev, "/readyz").status, 503);
    let metrics = get(&dev, "/metrics").text();
    assert!(metrics.contains("\nseriatim_damaged_reads_total 1\n"), "{metrics}");
    let refused = json(&submit(&dev, LAST + 1));
    assert_eq!(
        (&refused["code"], &refused["outcome"]),
        (&"PARTITION_STOPPED".into(), &"not_written".into())
    );
    assert_eq!(get(&dev, &format!("{EVENTS}?from={LAST}")).status, 200, "other rows can be read");

    // One line, however often the row is read and however long the server goes on.
    let line = wait_for("it is said", || world.complaints().lines().next().map(str::to_owned));
    let stopped_line = r#"ERROR partition stopped app="shop" app_id="#;
    assert!(line.contains(stopped_line) && line.contains(&format!("{reason:?}")), "{line}");
    assert!(line.contains("`seriatim verify --data FOLDER`"), "{line}");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(1) {
        assert_eq!(read_damaged(&dev).status, 503);
    }
    assert_eq!(world.complaints().lines().collect::<Vec<_>>(), [line]);
    dev.signal(rustix::process::Signal::TERM);
    assert!(!dev.ended().0.success(), "it says that something has stopped");

    // The next start reads what it needs. It serves until somebody meets the row again.
    let dev = world.start();
    assert_eq!(submit(&dev, LAST + 1).status, 200);
    assert_eq!(read_damaged(&dev).status, 503);
    assert_eq!(partition(&dev, "/readyz"), stopped);
    // Restored, it only has to be restarted.
    flip(&file, at);
    assert_eq!(dev.run(&["partition", "restart", "shop", "0"]).code, Some(0));
    wait_for("it serves", || (get(&dev, "/readyz").status == 200).then_some(()));
    assert_eq!(json(&read_damaged(&dev))["events"], json(&sound)["events"]);
    let receipt = json(&submit(&dev, LAST + 2));
    assert_eq!(receipt["first_offset"], LAST + 2, "{receipt}");
    dev.end();
}
