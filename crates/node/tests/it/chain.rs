//! Commands of a chain: what is written is what was sent first, whatever turns some of them away.

use std::sync::{Arc, mpsc};

use seriatim_core::CommandOutcome;
use seriatim_node::{Busy, Chain, Node, Reply, RequestError, Settings, SystemClock};
use seriatim_storage::memory::MemoryDisk;
use seriatim_testkit::core::name;
use seriatim_types::{AppId, PartitionId, PartitionRef};

use crate::gate::Gate;
use crate::node::{PATIENCE, ask, open_with, receipt, set_up};

/// Sends commands one after the other, with something else in between, and returns the answers in
/// the order of the commands.
fn send(
    node: &Node,
    chain: &Chain,
    keys: &[u128],
    between: impl Fn(u128),
) -> Vec<Reply<CommandOutcome>> {
    let (sender, replies) = mpsc::channel();
    for key in keys.iter().copied() {
        let sender = sender.clone();
        let answer = move |reply| sender.send((key, reply)).unwrap();
        let command = ask("a", key, "1");
        let partition = node.partition_of(&name("shop"), &command.workspace).unwrap();
        node.submit_in(chain, partition, command, answer).unwrap();
        between(key);
    }
    drop(sender);
    let mut replies: Vec<(u128, Reply<CommandOutcome>)> = replies.iter().collect();
    replies.sort_unstable_by_key(|(key, _)| *key);
    replies.into_iter().map(|(_, reply)| reply).collect()
}

/// How many of the first were written; none after them was.
fn written(replies: &[Reply<CommandOutcome>]) -> usize {
    let is_written = |reply: &Reply<CommandOutcome>| reply.is_ok();
    let count = replies.iter().take_while(|reply| is_written(reply)).count();
    assert!(!replies[count..].iter().any(is_written), "a later one was written: {replies:?}");
    for (reply, offset) in replies[..count].iter().zip(1..) {
        assert_eq!(receipt(reply).first_offset.get(), offset);
    }
    count
}

const KEYS: std::ops::RangeInclusive<u128> = 1..=400;

#[test]
fn behind_a_command_that_found_the_queue_full_nothing_is_written() {
    let gate = Gate::new();
    let settings = Settings { queue_max: 20, ..Settings::default() };
    let node = Node::open(gate.store.clone(), Arc::new(SystemClock::new()), settings);
    assert!(node.wait_until_ready(PATIENCE));
    set_up(&node);
    // A definition can be seen before its delivery is answered, and what is not answered counts. All
    // of it is answered before this one is.
    let answered = node.submit_and_wait(&name("shop"), ask("b", 2_000_000, "4"), PATIENCE);
    assert!(matches!(answered, Ok(Ok(_))), "{answered:?}");
    gate.hold(true);
    let keys: Vec<u128> = KEYS.collect();
    let is_taken = |key| {
        let reply = node.submit_and_wait(&name("shop"), ask("b", key, "4"), PATIENCE);
        reply.unwrap().is_ok()
    };
    let until_there_is_room = |key| {
        if key == 300 {
            gate.hold(false);
            assert!((1..1_000_000).any(is_taken));
        }
    };
    let replies = send(&node, &Chain::new(), &keys, until_there_is_room);
    let count = written(&replies);
    assert_eq!(count, 20, "what came before the queue was full is carried out");
    assert_eq!(
        replies[300],
        Err(RequestError::Busy(Busy::Behind)),
        "it came to a queue that had room"
    );
    // Sent again from there, alone, they keep their order.
    let chain = Chain::new();
    for (key, offset) in (1_001..=1_020).zip(u64::try_from(count).unwrap() + 1..) {
        let reply = send(&node, &chain, &[key], |_| ()).remove(0);
        assert_eq!(receipt(&reply).first_offset.get(), offset);
    }
}

#[test]
fn behind_a_command_that_a_restart_turned_away_nothing_is_written() {
    let node = open_with(&MemoryDisk::new(), Settings::default());
    set_up(&node);
    let partition = PartitionRef { app: AppId(1), partition: PartitionId(1) };
    let keys: Vec<u128> = KEYS.collect();
    let restart = |key| {
        if key == 200 {
            assert!(node.restart(partition));
            assert!(node.submit_and_wait(&name("shop"), ask("b", 1, "2"), PATIENCE).is_ok());
        }
        // The rest is sent when the partition serves again.
        if key == 300 {
            assert!(node.wait_until_ready(PATIENCE));
        }
    };
    let replies = send(&node, &Chain::new(), &keys, restart);
    assert!(written(&replies) < 400, "the restart turned some away");
    assert!(replies[300..].iter().all(|reply| *reply == Err(RequestError::Busy(Busy::Behind))));
}
