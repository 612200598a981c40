//! One fault at each storage call of a pipelined run: no number is lost or repeated, and everybody
//! is told what is true.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use seriatim_core::{CommandOutcome, Outcome};
use seriatim_node::{Busy, Partition, Reason, RequestError, Settings, State};
use seriatim_storage::Store;
use seriatim_storage::faulty::{self, Call, CallKind, Dice, Fault, FaultyStore, Schedule};
use seriatim_storage::hooked::HookedStore;
use seriatim_testkit::core::{ShopSettings, command, events};
use seriatim_types::{Command, Event, Key, Receipt};

use crate::driver::{APP, Driver};

const COMMANDS: usize = 24;

/// Commands that nothing refuses: several workspaces and clients, records, numbers, entities, and
/// some with two events.
fn commands() -> Vec<Command> {
    let shape = |index: usize| match index % 4 {
        0 => "{'name': 'A', 'changes': [{'create': {'id': 1, 'kind': 'order', 'fields': \
              {'no': {'$next': 'invoice', 'as': 'text'}}}}]}"
            .to_owned(),
        1 => format!(
            "{{'name': 'B', 'changes': [{{'set': {{'key': 'k{}', 'value': {index}}}}}]}}",
            index % 3
        ),
        2 => "{'name': 'C', 'args': {'t': {'$next': 'ticket'}}}, \
              {'name': 'D', 'changes': [{'create': {'id': 7, 'kind': 'line'}}]}"
            .to_owned(),
        _ => "{'name': 'E', 'changes': [{'draw': {'sequence': 'ticket'}}]}".to_owned(),
    };
    let make = |index: usize| {
        let key = Key(u128::try_from(index + 1).unwrap().to_be_bytes());
        let workspace = ["1", "2", "store-1"][index % 3];
        command(["a", "b"][index % 2], key, workspace, events(&shape(index)))
    };
    (0..COMMANDS).map(make).collect()
}

fn settings(depth: usize) -> Settings {
    Settings {
        batch_entries_max: 3,
        commits_in_flight_max: depth,
        cached_rows_max: 2,
        actualize_events: 4,
        checkpoint_delay: std::time::Duration::from_millis(3),
        ..Settings::default()
    }
}

/// Sends all commands that are not done, a few at a time, with flights landing late.
fn drive(
    driver: &mut Driver,
    commands: &[Command],
    done: &mut BTreeMap<usize, Receipt>,
    seed: u64,
) {
    let mut dice = Dice::new(seed);
    for (handle, command) in commands.iter().enumerate() {
        if done.contains_key(&handle) {
            continue;
        }
        while matches!(driver.partition.state(), State::Actualizing(_)) {
            driver.step();
        }
        driver.submit(handle, command);
        for _ in 0..dice.below(3) {
            driver.step();
        }
        if dice.below(3) == 0 {
            driver.land();
        }
    }
    driver.settle();
    for handle in 0..commands.len() {
        if let Some(receipt) = driver.receipt_if_open(handle) {
            // What was acknowledged once is the same for ever.
            let before = done.insert(handle, receipt.clone());
            assert!(before.is_none_or(|before| before == receipt), "receipt of {handle}");
        }
    }
}

impl Driver {
    /// The receipt of an answered command; a repetition's needs a store that can be read.
    fn receipt_if_open(&self, handle: usize) -> Option<Receipt> {
        let is_open = !matches!(self.partition.state(), State::Stopped(Reason::Store { .. }));
        let is_first = matches!(
            self.answers.get(&handle),
            Some(Ok(Outcome::Command(CommandOutcome::Committed(_))))
        );
        (is_open || is_first).then(|| self.receipt(handle)).flatten()
    }
}

/// The log has no hole, workspaces and sequences neither, and every command is there once.
fn check(events: &[Event], done: &BTreeMap<usize, Receipt>) {
    let mut offsets: BTreeMap<u64, u64> = BTreeMap::new();
    let mut numbers: BTreeMap<_, u64> = BTreeMap::new();
    let mut keys: BTreeMap<_, u32> = BTreeMap::new();
    for (event, expected) in events.iter().zip(1..) {
        assert_eq!(event.partition_offset.get(), expected, "the partition's log has a hole");
        let offset = offsets.entry(event.workspace.0).or_default();
        *offset += 1;
        assert_eq!(event.offset.get(), *offset, "a workspace's log has a hole");
        for drawn in &event.numbers {
            let last =
                numbers.entry((event.workspace, drawn.name.clone(), drawn.year)).or_default();
            *last += 1;
            assert_eq!(drawn.number.get(), *last, "a sequence has a hole or a repeat");
        }
        *keys.entry(event.origin.as_ref().unwrap().key).or_default() += 1;
        assert!(keys[&event.origin.as_ref().unwrap().key] <= event.count, "a command came twice");
    }
    for receipt in done.values() {
        let of_it = |event: &&Event| {
            (receipt.first_partition_offset..=receipt.last_partition_offset)
                .contains(&event.partition_offset)
        };
        let events: Vec<Event> = events.iter().filter(of_it).cloned().collect();
        assert_eq!(
            seriatim_core::receipt(&events).as_ref(),
            Some(receipt),
            "an acknowledged command"
        );
    }
}

/// A run with one fault, and what follows: a store that died is opened again, and every command
/// that is not known to be done is sent again.
fn run(depth: usize, schedule: faulty::Schedule, seed: u64) -> u64 {
    let commands = commands();
    let mut done = BTreeMap::new();
    let mut driver = Driver::new(settings(depth), schedule);
    driver.define(ShopSettings::default());
    drive(&mut driver, &commands, &mut done, seed);
    let calls = driver.store.calls();
    for round in 0..4 {
        if done.len() == commands.len() {
            break;
        }
        if driver.store.health().is_err() {
            driver = reopen(driver, depth, seed + round);
        } else if matches!(driver.partition.state(), State::Stopped(_)) {
            driver.partition.restart();
        }
        driver.define(ShopSettings::default());
        drive(&mut driver, &commands, &mut done, seed + round);
    }
    assert_eq!(done.len(), commands.len(), "every command is carried out in the end");
    if driver.store.health().is_err() {
        driver = reopen(driver, depth, seed);
        driver.settle();
    }
    check(&driver.events(), &done);
    // Opened once more, everything is as it was.
    let events = driver.events();
    let mut driver = reopen(driver, depth, seed);
    driver.settle();
    assert_eq!(driver.partition.state(), State::Serving);
    assert_eq!(driver.events(), events);
    calls
}

fn reopen(driver: Driver, depth: usize, seed: u64) -> Driver {
    let Driver { store, partition, .. } = driver;
    drop(partition);
    let (store, _): (FaultyStore, _) = store.reopen(seed, faulty::never()).unwrap();
    Driver::open(store, settings(depth))
}

/// New names have no id when numbers are fetched, so their rows were not counted. They pushed a row
/// out of the cache whose entry was still to come, and the process ended.
#[test]
fn new_names_do_not_push_out_what_a_later_entry_of_the_batch_needs() {
    let settings = Settings { cached_rows_max: 4, ..Settings::default() };
    let mut driver = Driver::new(settings, faulty::never());
    driver.define(ShopSettings::default());
    let ask = |handle: usize, workspace: &str| {
        let key = Key(u128::try_from(handle + 1).unwrap().to_be_bytes());
        command("a", key, workspace, events("{'name': 'E'}"))
    };
    driver.submit(0, &ask(0, "1"));
    driver.settle();
    for (workspace, handle) in ["x", "y", "1"].into_iter().zip(1..) {
        driver.submit(handle, &ask(handle, workspace));
    }
    driver.settle();
    assert_eq!(driver.receipt(3).unwrap().first_offset.get(), 2);
}

/// A disk that has no room for commits while the flag is set.
pub(crate) fn full_at_times() -> (Arc<AtomicBool>, Schedule) {
    let is_full = Arc::new(AtomicBool::new(false));
    let flag = is_full.clone();
    let refuse = move |call: Call| {
        (call.kind == CallKind::Commit && flag.load(Ordering::Relaxed)).then_some(Fault::Refuse)
    };
    (is_full, Box::new(refuse))
}

/// Whoever asked while the partition waited for room was told that it reads its log, 0 of 0 events.
#[test]
fn a_partition_whose_commit_failed_says_why_until_it_serves_again() {
    let (is_full, schedule) = full_at_times();
    let mut driver = Driver::new(Settings::default(), schedule);
    driver.define(ShopSettings::default());
    let ask = |key: u128| command("a", Key(key.to_be_bytes()), "1", events("{'name': 'E'}"));
    is_full.store(true, Ordering::Relaxed);
    driver.submit(1, &ask(1));
    driver.step();
    driver.submit(2, &ask(2));
    let Some(full @ Err(RequestError::Busy(Busy::DiskFull { .. }))) = driver.answers.get(&1) else {
        panic!("there is no room: {:?}", driver.answers);
    };
    assert_eq!(driver.answers.get(&2), Some(full));
    is_full.store(false, Ordering::Relaxed);
    driver.settle();
    driver.submit(3, &ask(1));
    driver.settle();
    assert_eq!(driver.receipt(3).unwrap().first_offset.get(), 1);
}

/// The sync of another partition failed while a command was between its reads and its commit. It
/// was told to come again soon, and only the next one that the store has stopped.
#[test]
fn a_commit_on_a_store_that_has_just_stopped_is_answered_that_it_has() {
    let is_failing = Arc::new(AtomicBool::new(false));
    let flag = is_failing.clone();
    let fail = move |call: Call| {
        (call.kind == CallKind::Sync && flag.load(Ordering::Relaxed)).then_some(Fault::FailAfter)
    };
    let mut driver = Driver::new(Settings::default(), Box::new(fail));
    let (flag, shared) = (is_failing.clone(), driver.store.clone());
    let hooked = HookedStore::new(Arc::new(driver.store.clone())).before_commit(move |_| {
        if flag.load(Ordering::Relaxed) {
            shared.sync().unwrap_err();
        }
    });
    driver.partition = Partition::new(Arc::new(hooked), APP, Settings::default());
    driver.define(ShopSettings::default());
    is_failing.store(true, Ordering::Relaxed);
    driver.submit(1, &command("a", Key([1; 16]), "1", events("{'name': 'E'}")));
    driver.step();
    let what = driver.store.health().unwrap_err().to_string();
    let reason = Reason::Store { what };
    assert_eq!(driver.answers.get(&1), Some(&Err(RequestError::Stopped(reason.clone()))));
    assert_eq!(driver.partition.state(), State::Stopped(reason));
}

#[test]
fn without_faults_everything_is_carried_out_at_every_depth() {
    for depth in 1..=4 {
        run(depth, faulty::never(), 1);
    }
}

#[test]
fn one_fault_at_every_storage_call_loses_and_repeats_no_number() {
    for depth in 1..=4 {
        let calls = run(depth, faulty::never(), 7);
        assert!(calls > 50, "a run that makes calls: {calls}");
        for index in 0..calls {
            for fault in [Fault::Refuse, Fault::Fail, Fault::FailAfter, Fault::LosePower] {
                run(depth, faulty::at(index, fault), 7);
            }
        }
    }
}
