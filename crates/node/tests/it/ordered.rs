//! Entries that a replicated log has ordered: the applying half alone, with positions.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use seriatim_core::{CommandOutcome, Outcome};
use seriatim_node::parts::Applier;
use seriatim_node::{Reply, RequestError, Settings, State, View, schema};
use seriatim_storage::faulty::{FaultyStore, Schedule};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Read, Store};
use seriatim_testkit::core::{Shop, ShopSettings, command, events};
use seriatim_types::{Body, Entry, Key, LogIndex, Position, Time};

use crate::driver::APP;
use crate::faults::full_at_times;

/// A replica of one partition. Whoever sends a request is a number.
struct Replica {
    store: FaultyStore,
    applier: Applier<usize>,
    now: Time,
    answers: Vec<(usize, Reply)>,
    view: Option<View>,
}

impl Replica {
    fn new(schedule: Schedule, settings: Settings) -> Self {
        let store = FaultyStore::new(Arc::new(MemoryStore::new(&schema())), schedule);
        let mut replica = Self::open(store, settings);
        let deliveries = Shop::deliveries(ShopSettings::default()).into_iter();
        let bodies: Vec<Body> = deliveries.map(Body::Delivery).collect();
        replica.order(1, bodies);
        replica.settle();
        replica
    }

    fn open(store: FaultyStore, settings: Settings) -> Self {
        let applier = Applier::new(Arc::new(store.clone()), APP, settings);
        Self { store, applier, now: Time(50), answers: Vec::new(), view: None }
    }

    /// A payload is committed by the log. Its entries were proposed at one time.
    fn order(&mut self, index: u64, bodies: Vec<Body>) {
        let time = Time(1_782_000_000_000 + index * 1_000);
        let entries = bodies.into_iter().map(|body| Entry { time, body });
        self.applier.order(LogIndex(index), entries.zip((0..).map(Some)));
    }

    fn step(&mut self) -> bool {
        self.now = Time(self.now.0 + 10);
        let work = self.applier.work(self.now);
        self.answers.extend(work.replies);
        let has_flown = work.flight.is_some();
        if let Some(flight) = work.flight {
            self.store.sync().unwrap();
            self.answers.extend(flight.replies);
            self.view = Some(flight.view);
        }
        work.has_more || has_flown
    }

    fn settle(&mut self) {
        while self.step() || !matches!(self.applier.state(), State::Serving | State::Stopped(_)) {}
    }

    fn position(&self) -> Option<(u64, u32)> {
        self.applier.position().map(|Position { index, entries }| (index.0, entries))
    }

    /// Everything that is stored, but for what is local to a replica.
    fn rows(&self) -> Vec<(String, Vec<u8>, Vec<u8>)> {
        let tables = ["log", "workspace_log", "records", "entities", "keys", "partition"];
        let mut rows = Vec::new();
        for name in tables {
            let table = schema().table(name).unwrap();
            let scan = seriatim_storage::Scan::new(table, seriatim_storage::KeyRange::prefix(b""));
            let scanned = self.store.scan(&scan, &mut |row| {
                rows.push((name.to_owned(), row.key.to_vec(), row.value.to_vec()));
                std::ops::ControlFlow::Continue(())
            });
            assert!(scanned.is_ok(), "{scanned:?}");
        }
        rows
    }
}

fn sold(index: u8) -> Body {
    let text = format!("{{'name': 'Sold', 'args': {{'no': {index}}}}}");
    Body::Command(command("a", Key([index; 16]), "1", events(&text)))
}

/// A command that is refused whatever is stored.
fn refused() -> Body {
    let text = "{'name': 'X', 'changes': [{'unset': {'key': 'k', 'if': {'version': 9}}}]}";
    Body::Command(command("a", Key([200; 16]), "1", events(text)))
}

fn never() -> Schedule {
    Box::new(|_| None)
}

#[test]
fn a_refusal_alone_moves_position_and_time_in_one_commit() {
    let mut replica = Replica::new(never(), Settings::default());
    let before = replica.store.clone();
    replica.order(5, vec![refused()]);
    replica.settle();
    assert!(matches!(replica.answers.last(), Some((0, Err(RequestError::Refused(_))))));
    assert_eq!(replica.position(), Some((5, 1)));
    let time = replica.view.as_ref().and_then(|view| view.time);
    assert_eq!(time, Some(Time(1_782_000_005_000)));

    let mut again = Replica::open(before, Settings::default());
    again.settle();
    assert_eq!(again.position(), Some((5, 1)));
    assert_eq!(again.view.and_then(|view| view.time), time, "a restart forgets no time");
}

#[test]
fn a_payload_that_comes_again_is_applied_from_its_position_on() {
    let payload = || vec![sold(1), sold(2), refused(), sold(3)];
    let mut whole = Replica::new(never(), Settings::default());
    whole.order(5, payload());
    whole.settle();

    // Each entry that writes has a commit of its own. The process ends after the first.
    let small = Settings { commit_bytes: 1, ..Settings::default() };
    let mut cut = Replica::new(never(), small);
    cut.order(5, payload());
    cut.step();
    assert_eq!(cut.position(), Some((5, 1)));
    let mut again = Replica::open(cut.store.clone(), small);
    again.order(1, Vec::new());
    again.order(5, payload());
    again.settle();
    assert_eq!(again.position(), Some((5, 4)));
    let answered: Vec<usize> = again.answers.iter().map(|(handle, _)| *handle).collect();
    assert_eq!(answered, [1, 2, 3], "the first entry was applied before");
    assert_eq!(again.rows(), whole.rows(), "grouping and restarts leave no trace");
}

#[test]
fn a_full_disk_is_waited_out_and_no_ordered_entry_is_given_up() {
    let (is_full, schedule) = full_at_times();
    let mut replica = Replica::new(schedule, Settings::default());
    replica.answers.clear();
    is_full.store(true, Ordering::Relaxed);
    replica.order(5, vec![sold(1), sold(2)]);
    for _ in 0..50 {
        replica.step();
    }
    assert_eq!(replica.answers, [], "nobody is told that it was not written");
    is_full.store(false, Ordering::Relaxed);
    while replica.answers.len() < 2 {
        replica.step();
    }
    let is_written = |(_, reply): &(usize, Reply)| {
        matches!(reply, Ok(Outcome::Command(CommandOutcome::Committed(_))))
    };
    assert!(replica.answers.iter().all(is_written), "{:?}", replica.answers);
    assert_eq!(replica.position(), Some((5, 2)));
}

#[test]
fn after_a_fault_an_ordered_entry_is_unknown() {
    let mut replica = Replica::new(never(), Settings::default());
    replica.answers.clear();
    replica.order(5, vec![sold(1), sold(2)]);
    let replies = replica.applier.stop(seriatim_node::Reason::Unready { what: "x".to_owned() });
    let is_unknown =
        |(_, reply): &(usize, Reply)| matches!(reply, Err(RequestError::Unknown { .. }));
    assert_eq!(replies.len(), 2);
    assert!(replies.iter().all(is_unknown), "{replies:?}");
}

/// Nobody was told anything, and what was ordered was kept for ever.
#[test]
fn entry_that_is_ordered_after_a_stop_is_answered_and_not_kept() {
    let mut replica = Replica::new(never(), Settings::default());
    replica.applier.stop(seriatim_node::Reason::Unready { what: "x".to_owned() });
    replica.answers.clear();
    replica.order(5, vec![sold(1)]);
    replica.settle();
    assert!(
        matches!(replica.answers[..], [(0, Err(RequestError::Unknown { .. }))]),
        "{:?}",
        replica.answers
    );
}
