//! A server whose clock is far ahead of the newest time in its store.
//!
//! To the server it is the same whether the clock is wrong, or nobody has written for so long. So the
//! store is filled by a clock of the past, and the machine's own is far ahead of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use seriatim::{AppOptions, Clock, ClockAhead, Key, Numbering, Options, Time};

use crate::process::{Dev, command};
use crate::shop::KEY;

const DAY: Duration = Duration::from_secs(86_400);

/// A clock that stands still.
struct Past(Time);

impl Clock for Past {
    fn now(&self) -> Result<Time, ClockAhead> {
        Ok(self.0)
    }
}

const INVOICE: &str = r#"{"events": [{"name": "InvoiceIssued", "changes": [
    {"set": {"key": "offer", "value": 1, "expires_at": "EXPIRY"}}, {"draw": {"sequence": "invoice"}}]}]}"#;

/// A store whose only command came so long ago, with an entity that has thirty days to live.
fn fill(folder: &Path, ago: Duration) {
    let past = time(SystemTime::now().checked_sub(ago).unwrap());
    let options = Options { clock: Arc::new(Past(past)), ..Options::default() };
    let seriatim = options.open(folder).unwrap();
    let app = seriatim.app("shop", AppOptions::default()).unwrap();
    app.define_sequence("invoice", Numbering::continuous("INV-{n}")).unwrap();
    let store = app.workspace("store-1").unwrap();
    let expiry =
        SystemTime::now().checked_sub(ago).unwrap().checked_add(DAY.saturating_mul(30)).unwrap();
    let body = INVOICE
        .replace("EXPIRY", &seriatim_api::message::Timestamp::from(time(expiry)).to_string());
    let key = u128::from_str_radix(&KEY.replace('-', ""), 16).unwrap();
    store.submit("cli", Key(key.to_be_bytes()), &body).unwrap();
    seriatim.close().unwrap();
}

fn time(time: SystemTime) -> Time {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Time(u64::try_from(since.as_millis()).unwrap())
}

struct Served {
    server: Dev,
    complaints: BufReader<std::process::ChildStderr>,
}

/// A server on the folder that takes no kernel's word, once it listens.
fn serve(kind: &str, folder: &Path) -> Served {
    let mut server =
        command(&[kind, "--listen", "127.0.0.1:0", "--set", "clock.trust_kernel=false"]);
    server.args(["--set", "log.level=warn"]);
    server.arg("--data").arg(folder).stderr(Stdio::piped());
    let mut server = Dev::spawn_until(server, "Process ");
    let complaints = BufReader::new(server.errors().unwrap());
    Served { server, complaints }
}

impl Served {
    /// The next line on standard error.
    fn complaint(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.complaints.read_line(&mut line).unwrap(), 0, "it has ended");
        line
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let answer = self.server.client().send("GET", path, &[], b"").unwrap();
        (answer.status, serde_json::from_str(&answer.text()).unwrap_or_default())
    }

    fn post(&self, path: &str, key: &str, body: &str) -> (u16, Value) {
        let headers = [("Idempotency-Key", key), ("Client-Id", "cli")];
        let answer = self.server.client().send("POST", path, &headers, body.as_bytes()).unwrap();
        (answer.status, serde_json::from_str(&answer.text()).unwrap())
    }

    fn wait_until_it_reads(&self) {
        while self.get(EVENTS).0 != 200 {
            std::thread::yield_now();
        }
    }
}

const EVENTS: &str = "/v1/apps/shop/workspaces/store-1/events";
const COMMANDS: &str = "/v1/apps/shop/workspaces/store-1/commands";
const OFFER: &str = "/v1/apps/shop/workspaces/store-1/entities/offer";
const NOTED: &str = r#"{"events":[{"name":"Noted"}]}"#;

/// What the server had not written was perhaps done for whoever asked by the command line.
#[test]
fn definition_that_is_not_taken_is_not_written_for_the_command_line_too() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 60 * DAY);
    let served = serve("serve", folder.path());
    served.wait_until_it_reads();
    let path = "/v1/apps/shop/kinds/depot";
    let answer = served.server.client().send("PUT", path, &[], b"{}").unwrap();
    let over_http: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!((answer.status, &over_http["code"]), (503, &"BUSY".into()));
    assert_eq!(over_http["outcome"], "not_written");
    let define = ["kind", "define", "shop", "depot", "--timeout", "900ms"];
    let said = served.server.run(&define).failed(4);
    assert!(said.starts_with("seriatim: not written: "), "{said}");
    let said = served.server.run(&[&define[..], &["-o", "json"]].concat()).failed(4);
    let said: Value = serde_json::from_str(&said).unwrap();
    let shared = |body: &Value| {
        ["code", "outcome", "reason", "retryable"].map(|member| body[member].clone())
    };
    assert_eq!(shared(&said), shared(&over_http));
}

/// A start at sixty days ahead, in which nobody wrote, was enough: afterwards a known key was carried
/// out a second time, and an entity with thirty days to live was gone.
#[test]
fn server_started_with_a_clock_far_ahead_serves_reads_and_forgets_no_key() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 60 * DAY);
    let mut served = serve("serve", folder.path());
    let said = served.complaint();
    assert!(said.contains("clock is 60 days ahead"), "{said}");
    served.wait_until_it_reads();
    assert_eq!(served.get(OFFER).0, 200, "nothing expires by a clock that is not believed");
    let (status, ready) = served.get("/readyz");
    assert_eq!((status, &ready["ready"]), (503, &Value::Bool(false)));
    assert!(ready["reason"].as_str().unwrap().contains("60 days ahead"), "{ready}");
    let (_, events) = served.get(EVENTS);
    let newest = &events["events"][0]["committed_at"];
    let (status, busy) = served.post(COMMANDS, KEY, NOTED);
    assert_eq!((status, &busy["code"], &busy["reason"]), (503, &"BUSY".into(), &"clock".into()));
    assert_eq!((&busy["outcome"], &busy["last_time"]), (&"not_written".into(), newest), "{busy}");
    assert!(busy["time"].as_str() > newest.as_str(), "{busy}");
    let said = served.server.run(&["submit", "shop", "store-1", "Noted", "--timeout", "1s"]);
    assert!(said.failed(4).contains("seriatim clock accept"));
    served.server.end();

    // Whatever that server did while it was wrong, a server that knows better has all keys.
    let served = serve("serve", folder.path());
    served.wait_until_it_reads();
    let path = format!("/v1/apps/shop/workspaces/store-1/receipts/cli/{KEY}");
    assert_eq!(served.get(&path).0, 200);
    served.server.end();
}

#[test]
fn clock_that_an_operator_accepts_is_believed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 60 * DAY);
    let mut served = serve("serve", folder.path());
    served.complaint();
    served.wait_until_it_reads();
    let (status, refused) = served.post("/v1/clock/accept", KEY, r#"{"time":"now"}"#);
    assert_eq!((status, &refused["code"]), (400, &"INVALID_ARGUMENT".into()), "{refused}");
    assert_eq!(served.post(COMMANDS, KEY, NOTED).0, 503, "that changed nothing");
    let accepted = served.server.run(&["clock", "accept", "-o", "json"]).ok();
    let accepted: Value = serde_json::from_str(&accepted).unwrap();
    let (status, receipt) = served.post(COMMANDS, "11111111-1111-1111-1111-111111111111", NOTED);
    assert_eq!(status, 200, "{receipt}");
    assert!(receipt["committed_at"].as_str() >= accepted["time"].as_str(), "{receipt} {accepted}");
    assert!(served.complaint().contains("believed again"));
    assert_eq!(served.get("/readyz").0, 200);
    assert_eq!(served.post("/v1/clock/accept", KEY, "").0, 200, "again changes nothing");
    assert_eq!(served.get(OFFER).0, 404, "thirty days have passed");
    served.server.end();
}

#[test]
fn ordinary_downtime_is_believed_and_said() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), DAY / 2);
    let mut served = serve("serve", folder.path());
    let said = served.complaint();
    assert!(said.contains("12 hours ahead") && said.contains("clock.jump_max"), "{said}");
    served.wait_until_it_reads();
    assert_eq!(served.post(COMMANDS, "11111111-1111-1111-1111-111111111111", NOTED).0, 200);
    served.server.end();
}

#[test]
fn dev_believes_any_clock_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 60 * DAY);
    let mut served = serve("dev", folder.path());
    let said = served.complaint();
    assert!(said.contains("60 days ahead") && said.contains("is believed"), "{said}");
    served.wait_until_it_reads();
    assert_eq!(served.post(COMMANDS, "11111111-1111-1111-1111-111111111111", NOTED).0, 200);
    served.server.end();
}

/// Only the server wrote it, and verify called it wrong.
#[test]
fn verify_takes_a_time_of_the_future_for_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), Duration::ZERO);
    let folder = folder.path().to_str().unwrap();
    let ran = crate::process::run(&["verify", "--data", folder, "-o", "json"]);
    assert_eq!(String::from_utf8(ran.stderr).unwrap(), "");

    let future = tempfile::tempdir().unwrap();
    let ahead = time(SystemTime::now().checked_add(DAY.saturating_mul(60)).unwrap());
    let options = Options { clock: Arc::new(Past(ahead)), ..Options::default() };
    let seriatim = options.open(future.path()).unwrap();
    seriatim.app("shop", AppOptions::default()).unwrap();
    seriatim.close().unwrap();
    drop(seriatim);
    let data = future.path().to_str().unwrap();
    let ran = crate::process::run(&["verify", "--data", data, "-o", "json"]);
    let (out, err) =
        (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert!(ran.status.success(), "{err}");
    assert!(err.contains("ahead of this machine's clock"), "{err}");
    let shown: Value = serde_json::from_str(&out).unwrap();
    assert!(shown["newest_time"].is_string(), "{shown}");
}
