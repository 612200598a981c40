//! The directory, and threads that end by a fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use seriatim_core::DefineOutcome;
use seriatim_node::{
    Busy, Chain, Node, Reason, RequestError, Settings, State, SystemClock, schema,
};
use seriatim_storage::hooked::HookedStore;
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::core::name;
use seriatim_types::{AppId, DefineRequest, PartitionId, PartitionRef};

use crate::gate::Gate;
use crate::node::{PATIENCE, app, ask, receipt, send, set_up};

/// A node on a store in which a commit of the thread of that name is a fault while the flag is set.
fn faulty(thread: &'static str) -> (Node, Arc<AtomicBool>) {
    let is_faulty = Arc::new(AtomicBool::new(false));
    let flag = is_faulty.clone();
    let store = HookedStore::new(Arc::new(MemoryStore::new(&schema()))).before_commit(move |_| {
        let is_it = std::thread::current().name() == Some(thread);
        assert!(!(is_it && flag.swap(false, Ordering::Relaxed)), "a fault on purpose");
    });
    let node = Node::open(Arc::new(store), Arc::new(SystemClock::new()), Settings::default());
    assert!(node.wait_until_ready(PATIENCE));
    set_up(&node);
    (node, is_faulty)
}

fn kind(named: &str) -> DefineRequest {
    DefineRequest::Kind { name: name(named) }
}

/// The request was dropped with the thread, and nobody told the directory, which waits for its answer.
#[test]
fn definer_hears_that_the_thread_of_the_system_partition_has_ended() {
    let (node, is_faulty) = faulty("0.0");
    is_faulty.store(true, Ordering::Relaxed);
    let reply = node.define(&name("shop"), kind("x"), PATIENCE);
    assert!(matches!(reply, Ok(Err(RequestError::Unknown { .. }))), "{reply:?}");
}

#[test]
fn partition_whose_thread_has_ended_by_a_fault_answers_all_and_can_be_started_anew() {
    let (node, is_faulty) = faulty("1.1");
    receipt(&send(&node, vec![ask("a", 1, "1")])[0]);
    is_faulty.store(true, Ordering::Relaxed);
    let chain = Chain::new();
    let first = PartitionRef { app: AppId(1), partition: PartitionId(1) };
    let (sender, replies) = std::sync::mpsc::channel();
    for key in 2..=40 {
        let sender = sender.clone();
        let answer = move |reply| sender.send((key, reply)).unwrap();
        node.submit_in(&chain, first, ask("a", key, "1"), answer).unwrap();
    }
    for _ in 2..=40 {
        let (key, reply) = replies.recv_timeout(PATIENCE).unwrap();
        assert!(reply.is_err(), "{key}: {reply:?}");
    }
    let deadline = Instant::now() + PATIENCE;
    let state = || node.partitions().into_iter().find(|(it, _)| *it == first).unwrap().1;
    while node.queued().requests > 0 || node.queued().bytes > 0 {
        assert!(Instant::now() < deadline, "answered requests take no room: {:?}", node.queued());
        std::thread::yield_now();
    }
    assert!(matches!(state(), State::Stopped(Reason::Unready { .. })), "{:?}", state());
    assert!(node.restart(first));
    while state() != State::Serving || !node.is_ready() {
        assert!(Instant::now() < deadline);
        std::thread::yield_now();
    }
    assert_eq!(receipt(&send(&node, vec![ask("a", 2, "1")])[0]).first_offset.get(), 2);
    node.define(&name("shop"), kind("x"), PATIENCE).unwrap().unwrap();
}

/// The app was made and never entered the callers' copy of the directory: until the next start, each of
/// its commands read all apps from the store.
#[test]
fn app_whose_definer_has_given_up_is_known_all_the_same() {
    let gate = Gate::new();
    let node = Node::open(gate.store.clone(), Arc::new(SystemClock::new()), Settings::default());
    assert!(node.wait_until_ready(PATIENCE));
    set_up(&node);
    gate.hold(true);
    let soon = Duration::from_millis(50);
    assert!(node.define(&name("late"), app(1), soon).is_err());
    assert!(node.define(&name("later"), app(1), soon).is_err());
    gate.hold(false);
    let DefineOutcome { app: made, .. } =
        node.define(&name("later"), app(1), PATIENCE).unwrap().unwrap();
    assert_eq!(made, AppId(3), "the first was made too");
    assert_eq!(node.app_name(AppId(2)), Some(name("late")));
}

/// Before the system partition could be read, no app counted against the limit.
#[test]
fn partitions_max_holds_also_before_the_apps_are_known() {
    let gate = Gate::new();
    let open = || {
        let settings = Settings { partitions_max: 3, ..Settings::default() };
        Node::open(gate.store.clone(), Arc::new(SystemClock::new()), settings)
    };
    let node = open();
    assert!(node.wait_until_ready(PATIENCE));
    set_up(&node);
    node.shutdown(PATIENCE).unwrap();
    gate.hold(true);
    let node = open();
    while !gate.is_somebody_waiting() {
        std::thread::yield_now();
    }
    let reply = node.define(&name("other"), app(3), PATIENCE);
    gate.hold(false);
    let is_busy = matches!(reply, Ok(Err(RequestError::Busy(Busy::Actualizing(_)))));
    assert!(is_busy, "how many partitions there are is not known yet: {reply:?}");
}

/// The first one held a lock while it waited, and the second waited for that.
#[test]
fn second_shutdown_is_bounded_by_its_own_time() {
    let gate = Gate::new();
    let node = Node::open(gate.store.clone(), Arc::new(SystemClock::new()), Settings::default());
    assert!(node.wait_until_ready(PATIENCE));
    set_up(&node);
    gate.hold(true);
    node.submit(&name("shop"), ask("a", 1, "1"), |_| ()).unwrap();
    let has_first_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The disk answers again before its time is over.
            drop(node.shutdown(Duration::from_secs(10)));
            has_first_ended.store(true, Ordering::Relaxed);
        });
        while !is_ending(&node) {
            std::thread::yield_now();
        }
        node.shutdown(Duration::from_millis(20)).unwrap_err();
        assert!(!has_first_ended.load(Ordering::Relaxed), "it did not wait for the first one");
        gate.hold(false);
    });
}

/// Whether the node takes no command any more.
fn is_ending(node: &Node) -> bool {
    let (sender, reply) = std::sync::mpsc::channel();
    let answer = move |reply| drop(sender.send(reply));
    node.submit(&name("shop"), ask("b", 2, "1"), answer).unwrap();
    matches!(reply.try_recv(), Ok(Err(RequestError::NotWritten { .. })))
}
