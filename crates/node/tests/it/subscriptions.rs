//! Following logs while they grow.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use seriatim_core::Committed;
use seriatim_node::{AskError, Interest, Log, Node, Settings, SubscribeError, Subscription};
use seriatim_storage::memory::MemoryDisk;
use seriatim_testkit::core::name;
use seriatim_types::{PartitionId, WorkspaceRef};

use crate::node::{PATIENCE, ask, open, open_with, send, set_up};

fn of_workspace(node: &Node, workspace: &str, from: u64) -> Subscription {
    let log = Log::Workspace(WorkspaceRef::Name(name(workspace)));
    node.subscribe(&name("shop"), log, from).unwrap()
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

/// Takes until the log's event with this offset has come. All must come in their turn.
fn follow(subscription: &mut Subscription, through: u64, of: fn(&Committed) -> u64) {
    while subscription.next_offset() <= through {
        let mut expected = subscription.next_offset();
        let events = subscription.next_before(soon()).unwrap();
        assert!(!events.is_empty(), "it waits for {expected}");
        for committed in &events {
            assert_eq!(of(committed), expected);
            expected += 1;
        }
        assert_eq!(subscription.next_offset(), expected);
    }
}

#[test]
fn subscriptions_pass_from_stored_to_live_without_a_hole_or_a_repeat() {
    const BEFORE: u64 = 300;
    const AFTER: u64 = 900;
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    let write = |keys: std::ops::RangeInclusive<u64>| {
        let commands = keys.map(|key| ask("a", u128::from(key), "store-1")).collect();
        send(&node, commands);
    };
    write(1..=BEFORE);
    let of_it = WorkspaceRef::Name(name("store-1"));
    let partition = node.partition_of(&name("shop"), &of_it).unwrap().partition;
    std::thread::scope(|scope| {
        for from in [0, 1, 2, BEFORE - 1, BEFORE, BEFORE + 1, AFTER] {
            let mut workspace = of_workspace(&node, "store-1", from);
            let log = Log::Partition(partition);
            let mut whole = node.subscribe(&name("shop"), log, from).unwrap();
            scope.spawn(move || {
                follow(&mut workspace, AFTER, |committed| committed.event.offset.get());
                follow(&mut whole, AFTER, |committed| committed.event.partition_offset.get());
            });
        }
        for key in BEFORE + 1..=AFTER {
            write(key..=key);
        }
    });
}

#[test]
fn what_was_given_back_is_given_again_and_counts_as_behind() {
    let disk = MemoryDisk::new();
    let node = open_with(&disk, Settings { subscription_lag_max: 3, ..Settings::default() });
    set_up(&node);
    let write = |keys: std::ops::RangeInclusive<u64>| {
        send(&node, keys.map(|key| ask("a", u128::from(key), "store-1")).collect());
    };
    write(1..=3);
    let mut subscription = of_workspace(&node, "store-1", 1);
    let taken = subscription.take().unwrap();
    subscription.give_back(2);
    assert_eq!(subscription.next_offset(), 2);
    assert_eq!(subscription.take().unwrap(), taken[1..]);
    subscription.give_back(2);
    write(4..=5);
    let lagged = SubscribeError::Lagged { resume_from: 2, behind: 4 };
    assert_eq!(subscription.take(), Err(lagged), "it had caught up");
}

#[test]
fn a_workspace_that_is_not_there_yet_can_be_followed() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    let mut subscription = of_workspace(&node, "store-9", 0);
    assert_eq!(subscription.take(), Ok(vec![]));
    send(&node, vec![ask("a", 1, "store-8"), ask("a", 2, "store-9")]);
    follow(&mut subscription, 1, |committed| committed.event.offset.get());
    assert_eq!(subscription.take(), Ok(vec![]));
}

#[test]
fn a_subscriber_that_had_caught_up_and_falls_behind_is_told_where_to_go_on() {
    let disk = MemoryDisk::new();
    let node = open_with(&disk, Settings { subscription_lag_max: 10, ..Settings::default() });
    set_up(&node);
    let write = |keys: std::ops::RangeInclusive<u64>| {
        send(&node, keys.map(|key| ask("a", u128::from(key), "store-1")).collect());
    };
    write(1..=30);
    let mut behind = of_workspace(&node, "store-1", 1);
    assert_eq!(behind.take().unwrap().len(), 30, "it is not live, so nothing is late");
    write(31..=40);
    assert_eq!(behind.take().unwrap().len(), 10, "as far behind as it may be");
    write(41..=51);
    let lagged = SubscribeError::Lagged { resume_from: 41, behind: 11 };
    assert_eq!(behind.take(), Err(lagged.clone()));
    assert_eq!(behind.take(), Err(lagged), "and again");
    let mut resumed = of_workspace(&node, "store-1", 41);
    follow(&mut resumed, 51, |committed| committed.event.offset.get());
}

#[test]
fn a_subscription_ends_with_its_node_after_the_last_event() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    let mut subscription = of_workspace(&node, "store-1", 1);
    std::thread::scope(|scope| {
        let follower = scope.spawn(move || {
            follow(&mut subscription, 5, |committed| committed.event.offset.get());
            subscription.next_before(soon())
        });
        send(&node, (1..=5).map(|key| ask("a", key, "store-1")).collect());
        node.shutdown(PATIENCE).unwrap();
        assert_eq!(follower.join().unwrap(), Err(SubscribeError::Ended));
    });
}

#[test]
fn there_is_no_subscription_to_what_does_not_exist() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    let no_app = node.subscribe(&name("none"), Log::Partition(PartitionId(0)), 1);
    assert_eq!(no_app.unwrap_err().to_string(), "there is no app \"none\"");
    let no_partition = node.subscribe(&name("shop"), Log::Partition(PartitionId(3)), 1);
    assert_eq!(no_partition.unwrap_err(), AskError::PartitionNotFound { last: 2 });
}

#[test]
fn whoever_waits_for_a_workspace_is_woken_by_its_events_alone() {
    let disk = MemoryDisk::new();
    let node = open(&disk);
    set_up(&node);
    // Both are in partition 1 of 3.
    send(&node, vec![ask("a", 1, "1"), ask("a", 2, "4")]);
    let partition = node.partition_of(&name("shop"), &WorkspaceRef::Id(ID)).unwrap();
    let mut changed = pin!(node.changed(partition, Interest::Workspace(ID)).unwrap());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    let mut context = Context::from_waker(&waker);
    assert_eq!(changed.as_mut().poll(&mut context), Poll::Pending);
    send(&node, vec![ask("a", 3, "4")]);
    assert!(!woken.0.load(Ordering::SeqCst), "that was another workspace");
    send(&node, vec![ask("a", 4, "1")]);
    assert!(woken.0.load(Ordering::SeqCst));
    assert_eq!(changed.as_mut().poll(&mut context), Poll::Ready(()));
}

const ID: seriatim_types::WorkspaceId = seriatim_types::WorkspaceId(1);

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}
