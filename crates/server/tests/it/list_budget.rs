//! Reads reserve their memory before they begin.
//!
//! 2,000 lists of a megabyte at the same time, or as many waiting reads that one write woke, made the
//! server hold more than two gigabytes: an answer counted only once it was whole.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::json;
use seriatim_node::{Settings as NodeSettings, schema};
use seriatim_server::Settings;
use seriatim_storage::faulty::{Call, CallKind, Fault, FaultyStore};
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::request;
use tokio::runtime::Handle;

use crate::raw::Raw;
use crate::world::{NOTED, PATIENCE, World, changes, error, json, key};

const EVENTS: &str = "/v1/apps/shop/workspaces/store-1/events";

/// What a list reserves to be read, of three eighths of the whole.
const LIST: usize = 24 * 1024 * 1024;

fn budget_of(lists: usize) -> usize {
    lists * LIST / 3 * 8
}

/// What a scan of the server meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scans {
    Pass,
    /// So many may go on, the others wait.
    Wait(usize),
    Fail,
    Panic,
}

#[derive(Debug)]
struct State {
    scans: Scans,
    passed: usize,
    waiting: usize,
    /// The most that ever waited at the same time.
    waiting_max: usize,
}

/// A store that holds up the server's own scans: those of reads, not those of partitions.
#[derive(Clone)]
struct Reads(Arc<(Mutex<State>, Condvar)>);

impl Reads {
    fn world(settings: Settings) -> (Self, World) {
        let state = State { scans: Scans::Pass, passed: 0, waiting: 0, waiting_max: 0 };
        let reads = Self(Arc::new((Mutex::new(state), Condvar::new())));
        let inside = reads.clone();
        let schedule = move |call: Call| {
            // Partitions run on threads of their own.
            let is_read = call.kind == CallKind::Scan && Handle::try_current().is_ok();
            is_read.then(|| inside.meet()).flatten()
        };
        let store = FaultyStore::new(Arc::new(MemoryStore::new(&schema())), Box::new(schedule));
        let world = World::ready(Arc::new(store), NodeSettings::default(), settings);
        world.define_shop();
        (reads, world)
    }

    fn meet(&self) -> Option<Fault> {
        let mut state = self.state();
        state.waiting += 1;
        state.waiting_max = state.waiting_max.max(state.waiting);
        self.0.1.notify_all();
        let mut state = self.0.1.wait_while(state, |it| it.scans == Scans::Wait(0)).unwrap();
        state.waiting -= 1;
        state.passed += 1;
        if let Scans::Wait(left) = &mut state.scans {
            *left -= 1;
        }
        self.0.1.notify_all();
        match state.scans {
            Scans::Fail => Some(Fault::Fail),
            Scans::Panic => {
                drop(state);
                panic!("planned")
            }
            Scans::Pass | Scans::Wait(_) => None,
        }
    }

    fn set(&self, scans: Scans) {
        let mut state = self.state();
        state.scans = scans;
        state.waiting_max = 0;
        self.0.1.notify_all();
    }

    /// Lets one more scan pass.
    fn let_one_pass(&self) {
        self.state().scans = Scans::Wait(1);
        self.0.1.notify_all();
    }

    fn wait_until(&self, mut reached: impl FnMut(&State) -> bool) {
        let (state, waited) =
            self.0.1.wait_timeout_while(self.state(), PATIENCE, |it| !reached(it)).unwrap();
        let state = format!("{:?}", *state);
        assert!(!waited.timed_out(), "{state}");
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap()
    }
}

/// However a test ends, no read waits for ever.
struct Opened<'r>(&'r Reads);

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.0.set(Scans::Pass);
    }
}

/// A megabyte of events in `store-1`.
fn fill(world: &World) {
    let large = "x".repeat(250_000);
    for number in 1..=4 {
        world.commit(number, &format!(r#"{{"events":[{{"name":"A","args":{{"a":"{large}"}}}}]}}"#));
    }
}

#[test]
fn lists_beyond_the_budget_are_rate_limited_before_they_read() {
    let held_bytes_max = budget_of(2);
    let settings =
        Settings { held_bytes_max, reserve_within: Duration::ZERO, ..Settings::default() };
    let (reads, world) = Reads::world(settings);
    fill(&world);
    reads.set(Scans::Wait(0));
    let opened = Opened(&reads);
    let mut clients: Vec<_> = (0..10).map(|_| world.client()).collect();
    for client in &mut clients[..2] {
        client.write(&request("GET", EVENTS, &[], b"")).unwrap();
    }
    reads.wait_until(|it| it.waiting == 2);
    for client in &mut clients[2..] {
        let refused = client.send("GET", EVENTS, &[], b"").unwrap();
        assert_eq!(error(&refused, 429, "RATE_LIMITED")["retryable"], true);
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    assert_eq!(reads.state().waiting_max, 2, "the others have not begun to read");
    assert_eq!(world.get("/livez").status, 200);
    drop(opened);
    for client in &mut clients[..2] {
        assert_eq!(client.read_answer().unwrap().status, 200);
    }
    assert_eq!(world.get(EVENTS).status, 200);
}

/// One write woke 2,000 reads, and all of them read at the same time.
#[test]
fn reads_that_one_write_wakes_read_in_turns_and_are_all_answered() {
    const READS: usize = 20;
    let held_bytes_max = budget_of(1);
    let settings =
        Settings { held_bytes_max, reserve_within: Duration::ZERO, ..Settings::default() };
    let (reads, world) = Reads::world(settings);
    let partition = world.commit(1, NOTED)["partition"].as_u64().unwrap();
    let path = format!("/v1/apps/shop/partitions/{partition}/events?from=2&wait_ms=60000");
    let before = reads.state().passed;
    let mut clients: Vec<_> = (0..READS).map(|_| world.client()).collect();
    for client in &mut clients {
        client.write(&request("GET", &path, &[], b"")).unwrap();
    }
    // Each has found its app, and waits. What wakes it does not scan: it is in the view.
    reads.wait_until(|it| it.passed == before + READS);
    reads.set(Scans::Wait(0));
    let _opened = Opened(&reads);
    world.commit(2, NOTED);
    for _ in 0..READS {
        reads.wait_until(|it| it.waiting == 1);
        // Time for any other read to begin.
        assert_eq!(world.get("/livez").status, 200);
        let passed = reads.state().passed;
        reads.let_one_pass();
        reads.wait_until(|it| it.passed == passed + 1);
    }
    for client in &mut clients {
        let answer = client.read_answer().unwrap();
        assert_eq!((answer.status, &json(&answer)["last"]), (200, &json!(2)), "{}", answer.text());
    }
    assert_eq!(reads.state().waiting_max, 1, "one at a time");
}

/// The budget has room for one list, so a byte that is not given back stops all of them.
#[test]
fn memory_is_given_back_however_a_list_ends() {
    let settings = Settings { held_bytes_max: budget_of(1), ..Settings::default() };
    let (reads, world) = Reads::world(Settings { reserve_within: PATIENCE, ..settings });
    fill(&world);
    let list = || request("GET", EVENTS, &[], b"");
    let served = |what: &str| {
        let answer = world.get(EVENTS);
        assert_eq!(answer.status, 200, "{what}: {}", answer.text());
    };
    served("an answer that was read");

    reads.set(Scans::Wait(0));
    let opened = Opened(&reads);
    let (mut reading, mut waiting) = (world.client(), world.client());
    reading.write(&list()).unwrap();
    reads.wait_until(|it| it.waiting == 1);
    waiting.write(&list()).unwrap();
    assert_eq!(world.get("/livez").status, 200);
    drop((waiting, reading));
    drop(opened);
    served("clients that left while they waited and while it was read");

    let mut deaf = Raw::deaf(&world);
    assert_eq!(deaf.head(EVENTS), 200);
    drop(deaf);
    served("an answer that nobody read");

    reads.set(Scans::Fail);
    error(&world.get(EVENTS), 503, "PARTITION_STOPPED");
    reads.set(Scans::Pass);
    served("a read that failed");

    reads.set(Scans::Panic);
    error(&world.get(EVENTS), 503, "PARTITION_STOPPED");
    reads.set(Scans::Pass);
    served("a read that panicked");

    error(&world.read("store-1", "records?kind=none"), 400, "UNKNOWN_KIND");
    served("a request that was refused");
}

/// Clients that do not read their lists take the memory for unsent answers and no other: every small
/// read is served, and a retry gets its receipt.
#[test]
fn unread_lists_refuse_lists_and_no_small_read_and_no_retry() {
    let store = Arc::new(MemoryStore::new(&schema()));
    // Less than any read reserves: each takes all of it, and one unread list leaves too little for another.
    let (held_bytes_max, reserve_within) = (3_200_000, Duration::ZERO);
    let settings = Settings { held_bytes_max, reserve_within, ..Settings::default() };
    let world = World::ready(store, NodeSettings::default(), settings);
    world.define_shop();
    fill(&world);
    let made = world.commit(5, &changes(r#"{"create":{"id":1,"kind":"invoice"}}"#));
    world.commit(6, &changes(r#"{"set":{"key":"stock/A-7","value":{"left":4}}}"#));
    let of_workspace = |path: String| format!("/v1/apps/shop/workspaces/store-1/{path}");
    let lists = [
        of_workspace("events".to_owned()),
        of_workspace("records?kind=invoice".to_owned()),
        format!("/v1/apps/shop/partitions/{}/events", made["partition"]),
    ];
    let small = [
        format!("records/{}", made["ids"]["1"]),
        "entities/stock/A-7".to_owned(),
        "sequences/ticket".to_owned(),
        "clients/pos-4".to_owned(),
        format!("receipts/pos-4/{}", key(1)),
        "head".to_owned(),
        "proofs/1".to_owned(),
        "consistency?from=1".to_owned(),
    ];
    let small = small.map(of_workspace);
    // A body that was read is given back a moment after its last byte.
    let until = Instant::now() + PATIENCE;
    for path in lists.iter().chain(&small) {
        while world.get(path).status != 200 {
            assert!(Instant::now() < until, "{path}");
        }
    }
    let mut deaf = Raw::deaf(&world);
    while deaf.head(EVENTS) != 200 {
        assert!(Instant::now() < until, "one list fits");
    }
    for path in &lists {
        error(&world.get(path), 429, "RATE_LIMITED");
    }
    for path in &small {
        let answer = world.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    let repeated = changes(r#"{"set":{"key":"stock/A-7","value":{"left":4}}}"#);
    let repeated = world.command(6, &repeated);
    assert_eq!(repeated.header("idempotent-replayed"), Some("true"), "{}", repeated.text());
    for path in ["/livez", "/readyz", "/version", "/metrics", "/v1/partitions", "/v1/apps"] {
        assert_eq!(world.get(path).status, 200, "{path}");
    }
    assert_eq!(world.command(7, NOTED).status, 200, "commands need nothing of it");
    drop(deaf);
}

/// While one read is under way in a budget for one, every other read that may be large waits for its
/// turn, and is refused before it reads when that does not come in time.
#[test]
fn every_read_that_may_be_large_reserves_before_it_reads() {
    let (held_bytes_max, reserve_within) = (1_600_000, Duration::ZERO);
    let settings = Settings { held_bytes_max, reserve_within, ..Settings::default() };
    let (reads, world) = Reads::world(settings);
    let made = world.commit(5, &changes(r#"{"create":{"id":1,"kind":"invoice"}}"#));
    world.commit(6, &changes(r#"{"set":{"key":"stock/A-7","value":{"left":4}}}"#));
    reads.set(Scans::Wait(0));
    let opened = Opened(&reads);
    let mut reading = world.client();
    reading.write(&request("GET", EVENTS, &[], b"")).unwrap();
    reads.wait_until(|it| it.waiting == 1);
    for path in [
        "events".to_owned(),
        format!("records/{}", made["ids"]["1"]),
        "records?kind=invoice".to_owned(),
        "entities/stock/A-7".to_owned(),
        "sequences/ticket".to_owned(),
        "clients/pos-4".to_owned(),
        format!("receipts/pos-4/{}", key(5)),
        "head".to_owned(),
        "proofs/1".to_owned(),
        "consistency?from=1".to_owned(),
    ] {
        error(&world.read("store-1", &path), 429, "RATE_LIMITED");
    }
    let repeated = changes(r#"{"set":{"key":"stock/A-7","value":{"left":4}}}"#);
    let repeated = error(&world.command(6, &repeated), 429, "RATE_LIMITED");
    assert_eq!(repeated["outcome"], "unknown", "it was written, and cannot be shown now");
    assert_eq!(world.command(7, NOTED).status, 200, "commands need nothing of it");
    assert_eq!(reads.state().waiting_max, 1, "none of them has begun to read");
    drop(opened);
    assert_eq!(reading.read_answer().unwrap().status, 200);
}
