//! Too much to do, a disk that does not answer, a partition that has stopped: what others see.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bytes::Bytes;
use seriatim_codec::{PartitionPrefix, Stored, event_key};
use seriatim_core::{CommandOutcome, DefineOutcome};
use seriatim_node::{
    AskError, Busy, Clock, ClockAhead, Log, Node, Reason, Reply, RequestError, Settings, State,
    SubscribeError, SystemClock, schema,
};
use seriatim_storage::Batch;
use seriatim_storage::faulty::FaultyStore;
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::core::{command, events, name};
use seriatim_types::limits::PARTITIONS_MAX;
use seriatim_types::{
    AppId, Incarnation, Key, KindId, PartitionId, PartitionOffset, PartitionRef, Time, WorkspaceId,
    WorkspaceRef, WorkspaceRow,
};

use crate::faults::full_at_times;
use crate::gate::Gate;
use crate::node::{PATIENCE, app, ask, receipt, send, set_up};

fn open(gate: &Gate, settings: Settings) -> Node {
    let node = Node::open(gate.store.clone(), Arc::new(SystemClock::new()), settings);
    assert!(node.wait_until_ready(PATIENCE));
    set_up(&node);
    node
}

#[test]
fn a_flood_is_turned_away_with_the_reason_and_what_was_taken_is_carried_out() {
    let gate = Gate::new();
    let node = open(&gate, Settings { queue_max: 50, ..Settings::default() });
    gate.hold(true);
    let (sender, replies) = mpsc::channel();
    for key in 1..=200 {
        let sender = sender.clone();
        let answer = move |reply| sender.send(reply).unwrap();
        node.submit(&name("shop"), ask("flood", key, "1"), answer).unwrap();
    }
    // Nothing can be durable, so all but the first fifty are answered at once.
    let turned_away: Vec<Reply<CommandOutcome>> = replies.iter().take(150).collect();
    for reply in &turned_away {
        assert_eq!(*reply, Err(RequestError::Busy(Busy::QueueFull { queued: 50 })));
    }
    gate.hold(false);
    drop(sender);
    let offsets: BTreeSet<u64> = replies.iter().map(|it| receipt(&it).first_offset.get()).collect();
    assert_eq!(offsets, (1..=50).collect(), "a command that is turned away takes no number");
}

/// Two thousand commands of a stream may be on their way, each of them of up to a megabyte.
#[test]
fn a_flood_of_bytes_is_turned_away_with_the_reason_and_what_was_taken_is_carried_out() {
    let gate = Gate::new();
    let large = |key| {
        let args = format!("{{'name': 'E', 'args': {{'a': '{}'}}}}", "x".repeat(10_000));
        command("flood", Key(u128::to_be_bytes(key)), "1", events(&args))
    };
    let held = large(1).held_bytes();
    assert!((10_000..11_000).contains(&held), "{held}");
    let queue_bytes_max = 9 * held + 1;
    let node = open(&gate, Settings { queue_bytes_max, ..Settings::default() });
    gate.hold(true);
    let (sender, replies) = mpsc::channel();
    for key in 1..=30 {
        let sender = sender.clone();
        let answer = move |reply| sender.send(reply).unwrap();
        node.submit(&name("shop"), large(key), answer).unwrap();
    }
    let turned_away: Vec<Reply<CommandOutcome>> = replies.iter().take(20).collect();
    for reply in &turned_away {
        assert_eq!(*reply, Err(RequestError::Busy(Busy::QueueLarge { bytes: 10 * held })));
    }
    gate.hold(false);
    for offset in 1..=10 {
        assert_eq!(receipt(&replies.recv().unwrap()).first_offset.get(), offset);
    }
    assert_eq!(receipt(&send(&node, vec![large(31)])[0]).first_offset.get(), 11, "there is room");
}

/// A server on a disk that was almost full took all the time that it had to end.
#[test]
fn a_node_that_can_write_no_checkpoint_ends_all_the_same() {
    let (is_full, schedule) = full_at_times();
    let store = FaultyStore::new(Arc::new(MemoryStore::new(&schema())), schedule);
    let settings = Settings { checkpoint_delay: Duration::from_secs(3600), ..Settings::default() };
    let node = Node::open(Arc::new(store), Arc::new(SystemClock::new()), settings);
    assert!(node.wait_until_ready(PATIENCE));
    set_up(&node);
    receipt(&send(&node, vec![ask("a", 1, "1")])[0]);
    is_full.store(true, Ordering::Relaxed);
    node.shutdown(PATIENCE).unwrap();
}

#[test]
fn the_end_of_a_node_is_bounded_while_its_disk_does_not_answer() {
    let gate = Gate::new();
    let node = open(&gate, Settings::default());
    gate.hold(true);
    let (sender, replies) = mpsc::channel();
    node.submit(&name("shop"), ask("a", 1, "1"), move |reply| sender.send(reply).unwrap()).unwrap();
    let begun = Instant::now();
    let not_ended = node.shutdown(Duration::from_millis(20)).unwrap_err();
    assert!(begun.elapsed() < PATIENCE, "it did not wait for the disk");
    let first = PartitionRef { app: AppId(1), partition: PartitionId(1) };
    assert!(not_ended.partitions.contains(&first), "{not_ended:?}");
    let late = node.submit_and_wait(&name("shop"), ask("a", 2, "2"), PATIENCE).unwrap();
    assert!(matches!(late, Err(RequestError::NotWritten { .. })), "{late:?}");
    gate.hold(false);
    let reply = replies.recv_timeout(PATIENCE).unwrap();
    assert_eq!(receipt(&reply).first_offset.get(), 1, "it was taken before, so it is answered");
    node.shutdown(PATIENCE).unwrap();
}

/// An event lies where the next one of partition 1 belongs.
fn sabotage(gate: &Gate) {
    let (app, partition) = (AppId(1), PartitionId(1));
    let prefix = PartitionPrefix { app, partition, incarnation: Incarnation(1) };
    let key = event_key(prefix, PartitionOffset::new(2).unwrap());
    let mut batch = Batch::new();
    batch.put(schema().table("log").unwrap(), key, Bytes::from_static(b"planted"));
    gate.store.commit(batch).unwrap();
}

#[test]
fn a_violation_stops_its_partition_and_others_keep_serving() {
    let gate = Gate::new();
    let node = open(&gate, Settings::default());
    send(&node, vec![ask("a", 1, "1"), ask("a", 2, "2")]);
    sabotage(&gate);
    let replies = send(&node, vec![ask("a", 3, "1"), ask("a", 4, "2"), ask("a", 5, "3")]);
    let Err(RequestError::Stopped(Reason::Violation { what })) = &replies[0] else {
        panic!("a violation: {:?}", replies[0])
    };
    assert_eq!(receipt(&replies[1]).first_offset.get(), 2);
    assert_eq!(receipt(&replies[2]).first_offset.get(), 1);
    assert!(!node.is_ready());
    let log = Log::Workspace(WorkspaceRef::Id(WorkspaceId(1)));
    let mut follower = node.subscribe(&name("shop"), log, 1).unwrap();
    assert_eq!(follower.take().unwrap().len(), 1, "what was durable before");
    let reason = Reason::Violation { what: what.clone() };
    assert_eq!(follower.take(), Err(SubscribeError::Stopped(reason)), "nothing is silent");
    let stopped = PartitionRef { app: AppId(1), partition: PartitionId(1) };
    for (partition, state) in node.partitions() {
        let reason = Reason::Violation { what: what.clone() };
        let expected = if partition == stopped { State::Stopped(reason) } else { State::Serving };
        assert_eq!(state, expected, "{partition:?}");
    }
    // What was planted is no event, so a restart stops again, and says why.
    assert!(node.restart(stopped));
    let again = loop {
        let changed = node.changed(stopped, seriatim_node::Interest::Partition).unwrap();
        let state = node.partitions().into_iter().find(|(name, _)| *name == stopped).unwrap().1;
        match state {
            State::Stopped(Reason::Unreadable { what }) => break what,
            State::Stopped(_) | State::Actualizing(_) | State::Serving => {
                assert!(changed.wait_until(Instant::now() + PATIENCE));
            }
        }
    };
    assert!(again.starts_with("Event cannot be read"), "{again}");
    let replies = send(&node, vec![ask("a", 6, "2"), ask("a", 7, "1")]);
    assert!(matches!(&replies[0], Ok(CommandOutcome::Committed(_))), "{:?}", replies[0]);
    assert!(
        matches!(&replies[1], Err(RequestError::Stopped(Reason::Unreadable { .. }))),
        "{:?}",
        replies[1]
    );
}

/// Apps that could not be read looked like no apps at all, so a client was told that there was none.
#[test]
fn apps_that_cannot_be_read_stop_the_node_and_are_not_missing() {
    let gate = Gate::new();
    let node = open(&gate, Settings::default());
    node.shutdown(PATIENCE).unwrap();
    let (app, partition) = (AppId(0), PartitionId(0));
    let system = PartitionPrefix { app, partition, incarnation: Incarnation(1) };
    let mut key = seriatim_codec::apps_prefix(system).to_vec();
    key.extend([0; 8]);
    let mut batch = Batch::new();
    batch.put(schema().table("partition").unwrap(), key, Bytes::from_static(b"planted"));
    gate.store.commit(batch).unwrap();
    let node = Node::open(gate.store.clone(), Arc::new(SystemClock::new()), Settings::default());
    assert!(!node.wait_until_ready(PATIENCE));
    let system = PartitionRef { app, partition };
    let [(stopped, State::Stopped(Reason::Unreadable { what }))] = &node.partitions()[..] else {
        panic!("it says why: {:?}", node.partitions())
    };
    assert_eq!(*stopped, system);
    assert!(what.contains("cannot be read"), "{what}");
    let asked = node.submit_and_wait(&name("shop"), ask("a", 1, "1"), PATIENCE);
    assert!(matches!(asked, Err(AskError::Unreadable(_))), "{asked:?}");
}

/// While a node starts, an app that is there was sometimes said to be missing.
#[test]
fn before_the_apps_are_known_none_is_missing() {
    let gate = Gate::new();
    drop(open(&gate, Settings::default()));
    let mut early = 0;
    for _ in 0..50 {
        let node =
            Node::open(gate.store.clone(), Arc::new(SystemClock::new()), Settings::default());
        loop {
            match node.partition_of(&name("shop"), &WorkspaceRef::Id(WorkspaceId(1))) {
                Ok(_) => break,
                Err(AskError::AppsUnknown) => early += 1,
                Err(other) => panic!("it is there: {other}"),
            }
        }
    }
    assert!(early > 0, "somebody asked before the apps were known");
}

fn has_view(node: &Node, partition: PartitionRef, deadline: Instant) -> bool {
    while node.view(partition).is_none() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    node.view(partition).is_some()
}

/// Whoever asked waited until it gave up, and readiness said that all was well.
#[test]
fn a_clock_that_is_not_believed_turns_callers_away_and_is_not_ready() {
    const AHEAD: ClockAhead = ClockAhead { time: Time(2_000_000), last_time: Time(7) };
    struct Lost;
    impl Clock for Lost {
        fn now(&self) -> Result<Time, ClockAhead> {
            Err(AHEAD)
        }
    }
    let gate = Gate::new();
    drop(open(&gate, Settings::default()));
    let node = Node::open(gate.store.clone(), Arc::new(Lost), Settings::default());
    let partition = PartitionRef { app: AppId(1), partition: PartitionId(1) };
    let soon = Instant::now() + PATIENCE;
    assert!(has_view(&node, partition, soon), "it reads its log all the same");
    assert!(!node.is_ready() && node.time() == Err(AHEAD));
    let asked = node.submit_and_wait(&name("shop"), ask("a", 1, "1"), PATIENCE);
    assert_eq!(asked, Ok(Err(RequestError::Busy(Busy::Clock(AHEAD)))));
    let begun = Instant::now();
    node.shutdown(PATIENCE).unwrap();
    assert!(begun.elapsed() < PATIENCE / 2, "it waits for nothing");
}

/// The partitions ended in time, and then the thread that syncs was waited for without a bound.
#[test]
fn the_end_of_a_node_is_bounded_while_its_last_sync_does_not_return() {
    let gate = Gate::new();
    let node = open(&gate, Settings::default());
    gate.hold_syncer();
    let (sender, replies) = mpsc::channel();
    // Whoever comes while a partition syncs by itself shares a commit, which goes to the syncer.
    let mut sent = 0;
    while !gate.is_somebody_waiting() {
        sent += 1;
        let sender = sender.clone();
        let answer = move |reply| sender.send(reply).unwrap();
        node.submit(&name("shop"), ask("a", sent, "1"), answer).unwrap();
    }
    assert!(node.shutdown(Duration::from_millis(20)).is_err());
    gate.hold(false);
    for _ in 1..=sent {
        let reply = replies.recv_timeout(PATIENCE).unwrap();
        if !matches!(reply, Err(RequestError::NotWritten { .. }) | Err(RequestError::Busy(_))) {
            receipt(&reply);
        }
    }
    node.shutdown(PATIENCE).unwrap();
}

/// Rows that contradict each other ended the partition's thread by a panic, and it looked healthy.
#[test]
fn rows_that_do_not_fit_stop_their_partition_and_say_so() {
    let (app, partition) = (AppId(1), PartitionId(1));
    let prefix = PartitionPrefix { app, partition, incarnation: Incarnation(1) };
    let workspace = WorkspaceId(1);
    for table in ["numbers", "partition"] {
        let gate = Gate::new();
        let node = open(&gate, Settings::default());
        send(&node, (1..=3).map(|key| ask("a", key, "1")).collect());
        node.shutdown(PATIENCE).unwrap();
        drop(node);
        let mut batch = Batch::new();
        let handle = schema().table(table).unwrap();
        if table == "numbers" {
            let key = seriatim_codec::workspace_key(prefix, workspace);
            let row = gate.store.get(handle, &key).unwrap().unwrap();
            let (series, frontier) = seriatim_codec::decode_row(&row).unwrap();
            let shorter = seriatim_codec::encode_row(series.into_iter(), &frontier[..1]);
            batch.put(handle, key, shorter);
        } else {
            let key = seriatim_codec::workspace_row_key(prefix, workspace);
            let row = gate.store.get(handle, &key).unwrap().unwrap();
            let row = WorkspaceRow::from_bytes(&row).unwrap();
            batch.put(handle, key, WorkspaceRow { kind: KindId(77), ..row }.to_bytes());
        }
        gate.store.commit(batch).unwrap();
        let node =
            Node::open(gate.store.clone(), Arc::new(SystemClock::new()), Settings::default());
        assert!(node.wait_until_ready(PATIENCE));
        let replies = send(&node, vec![ask("a", 9, "1"), ask("a", 10, "2")]);
        let Err(RequestError::Stopped(Reason::Unreadable { what })) = &replies[0] else {
            panic!("{table}: {:?}", replies[0])
        };
        assert!(what.contains("workspace 1 does not fit"), "{table}: {what}");
        assert_eq!(receipt(&replies[1]).first_offset.get(), 1, "others go on");
        assert!(!node.is_ready());
    }
}

/// Some twenty apps of a thousand partitions ended the process for lack of stacks, and every start on
/// the same data after it.
#[test]
fn an_app_is_refused_whose_partitions_would_be_too_many_for_the_node() {
    let store = Arc::new(MemoryStore::new(&schema()));
    let settings = Settings { partitions_max: 10, ..Settings::default() };
    let node = Node::open(store.clone(), Arc::new(SystemClock::new()), settings);
    assert!(node.wait_until_ready(PATIENCE));
    let make = |node: &Node, named: &str, partitions| {
        let reply = node.define(&name(named), app(partitions), PATIENCE).unwrap();
        if let Err(RequestError::Refused(refusal)) = &reply {
            return Err(refusal.code());
        }
        let Ok(DefineOutcome { is_new, .. }) = reply else {
            panic!("it is there, or not: {reply:?}");
        };
        Ok(is_new)
    };
    // Nobody gets what another one is being given.
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let makers = ["a", "b", "c", "d", "e"].map(|named| scope.spawn(|| make(&node, named, 3)));
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    let made = outcomes.iter().filter(|outcome| **outcome == Ok(true)).count();
    let refused = outcomes.iter().filter(|outcome| **outcome == Err("TOO_LARGE")).count();
    assert_eq!((made, refused), (3, 2));
    assert_eq!(make(&node, "f", 2), Err("TOO_LARGE"));
    assert_eq!(make(&node, "f", 1), Ok(true), "exactly as many as may be");
    assert_eq!(make(&node, "f", 1), Ok(false), "it is there");
    assert_eq!(make(&node, "f", 2), Err("APP_EXISTS"));
    assert_eq!(make(&node, "g", PARTITIONS_MAX + 1), Err("INVALID_ARGUMENT"));
    node.shutdown(PATIENCE).unwrap();
    // What is there is served, whatever is set later.
    let settings = Settings { partitions_max: 1, ..Settings::default() };
    let node = Node::open(store, Arc::new(SystemClock::new()), settings);
    assert!(node.wait_until_ready(PATIENCE));
    assert_eq!(node.partitions().len(), 11, "those of the apps and the system's own");
    assert_eq!(make(&node, "f", 1), Ok(false));
}
