//! A command is carried out once, however often it is sent.

use seriatim_codec::Table;
use seriatim_core::{CommandOutcome, Outcome, Refusal, TickOutcome};
use seriatim_testkit::core::{Shop, ShopSettings, changes, command};
use seriatim_types::{
    Body, ClientId, Command, DefineRequest, Key, KeyRow, PartitionOffset, Retention, Tick, Time,
};

use crate::world::{WORKSPACE, ask, at, done, receipt, refusal, state};

const RETENTION_MS: u64 = 1000;
const START: Time = Time(1_782_000_000_000);
const DRAW: &str = "{'draw': {'sequence': 'ticket'}}";
const SET: &str = "{'set': {'key': 'k', 'value': 1}}";

/// A shop that keeps keys for a second, and at most so many.
fn shop(keys_max: u64) -> Shop {
    let retention = Retention::Milliseconds(RETENTION_MS);
    Shop::new(ShopSettings { retention, keys_max: Some(keys_max), ..ShopSettings::default() })
}

fn after(ms: u64) -> Time {
    Time(START.0 + ms)
}

/// The same key with something else to do.
fn reused(original: &Command) -> Command {
    command("pos-4", original.key, "1", changes(SET))
}

/// What a repetition is answered.
fn duplicate(first: u64, count: u32) -> Result<Outcome, Refusal> {
    Ok(Outcome::Command(CommandOutcome::Duplicate {
        first: PartitionOffset::new(first).unwrap(),
        count,
    }))
}

fn key_reused(first: u64) -> Refusal {
    Refusal::KeyReused { first: PartitionOffset::new(first).unwrap() }
}

/// Sweeps all that is due now.
fn sweep(shop: &mut Shop) -> Result<Outcome, Refusal> {
    let tick = shop.node.tick(shop.now, 1000);
    shop.node.apply(&[tick]).remove(0).outcome
}

/// How many keys the partition says that it keeps, which is how many there are.
fn kept(shop: &Shop) -> u64 {
    let rows = shop.node.rows().keys().filter(|row| row.table == Table::Keys).count();
    assert_eq!(shop.node.machine().row().keys, rows as u64, "the count is that of the rows");
    rows as u64
}

#[test]
fn a_new_key_is_carried_out_and_kept() {
    let mut shop = shop(9);
    let command = ask(&mut shop, DRAW);
    let fingerprint = command.fingerprint;
    assert_eq!(receipt(shop.outcome(command)).first_partition_offset, PartitionOffset::FIRST);
    let row = shop.node.rows().keys().find(|row| row.table == Table::Keys).unwrap();
    let row: KeyRow = shop.node.stored(row).unwrap();
    assert_eq!((row.first, row.count, row.time), (PartitionOffset::FIRST, 1, START));
    assert_eq!(row.fingerprint, fingerprint);
    assert_eq!(kept(&shop), 1);
}

#[test]
fn the_same_key_and_payload_again_gets_the_same_events_and_does_nothing() {
    let mut shop = shop(9);
    let command = ask(&mut shop, DRAW);
    receipt(shop.outcome(command.clone()));
    let before = state(&shop.node);
    let again = shop.send(command);
    assert_eq!(again.outcome, duplicate(1, 1));
    assert!(again.events.is_empty() && again.writes.is_empty() && again.ticket.is_none());
    assert_eq!(state(&shop.node), before);
}

#[test]
fn the_same_key_with_another_payload_is_refused_and_names_the_first_event() {
    let mut shop = shop(9);
    done(&mut shop, SET);
    let original = ask(&mut shop, DRAW);
    receipt(shop.outcome(original.clone()));
    assert_eq!(refusal(shop.outcome(reused(&original))), key_reused(2));
}

#[test]
fn a_key_whose_retention_is_over_is_new_with_any_payload() {
    for another in [false, true] {
        let mut shop = shop(9);
        let original = ask(&mut shop, DRAW);
        receipt(shop.outcome(original.clone()));
        shop.now = after(RETENTION_MS);
        let again = if another { reused(&original) } else { original };
        assert_eq!(receipt(shop.outcome(again)).client_sequence.get(), 2);
    }
}

#[test]
fn a_key_is_kept_until_one_millisecond_before_its_end() {
    let mut shop = shop(9);
    let command = ask(&mut shop, DRAW);
    receipt(shop.outcome(command.clone()));
    shop.now = after(RETENTION_MS - 1);
    assert_eq!(shop.outcome(command.clone()), duplicate(1, 1));
    assert_eq!(refusal(shop.outcome(reused(&command))), key_reused(1));
    shop.now = after(RETENTION_MS);
    assert_eq!(receipt(shop.outcome(command)).first_offset.get(), 2);
}

#[test]
fn a_repetition_does_not_keep_its_key_longer() {
    let mut shop = shop(9);
    let command = ask(&mut shop, DRAW);
    receipt(shop.outcome(command.clone()));
    shop.now = after(RETENTION_MS - 1);
    assert_eq!(shop.outcome(command.clone()), duplicate(1, 1));
    shop.now = after(RETENTION_MS);
    receipt(shop.outcome(command));
}

#[test]
fn a_key_is_known_after_a_restart() {
    for checkpoint in [false, true] {
        let mut shop = shop(9);
        let command = ask(&mut shop, DRAW);
        receipt(shop.outcome(command.clone()));
        if checkpoint {
            shop.node.checkpoint();
        }
        shop.node.restart();
        assert_eq!(shop.outcome(command), duplicate(1, 1));
    }
}

#[test]
fn another_payload_under_the_same_key_is_refused_in_the_same_batch_too() {
    let mut shop = shop(9);
    let original = ask(&mut shop, DRAW);
    let batch = [original.clone(), reused(&original), original].map(Body::Command);
    let effects = shop.node.apply(&batch.map(|body| at(START, body)));
    let mut outcomes = effects.into_iter().map(|effects| effects.outcome);
    receipt(outcomes.next().unwrap());
    assert_eq!(refusal(outcomes.next().unwrap()), key_reused(1));
    assert_eq!(outcomes.next(), Some(duplicate(1, 1)));
}

#[test]
fn a_refused_command_does_not_use_up_its_key() {
    let mut shop = shop(9);
    let original = ask(&mut shop, "{'unset': {'key': 'k', 'if': 'exists'}}");
    refusal(shop.outcome(original.clone()));
    assert_eq!(kept(&shop), 0);
    receipt(shop.outcome(reused(&original)));
    assert_eq!(refusal(shop.outcome(original)), key_reused(1));
}

#[test]
fn a_refused_command_is_decided_anew_when_it_is_sent_again() {
    let mut shop = shop(9);
    let command = ask(&mut shop, "{'unset': {'key': 'k', 'if': 'exists'}}");
    refusal(shop.outcome(command.clone()));
    done(&mut shop, SET);
    assert_eq!(receipt(shop.outcome(command.clone())).first_offset.get(), 2);
    assert_eq!(shop.outcome(command), duplicate(2, 1));
}

#[test]
fn a_repetition_is_answered_although_its_conditions_hold_no_more() {
    let mut shop = shop(9);
    let mut command = ask(&mut shop, "{'set': {'key': 'k', 'value': 1, 'if': 'absent'}}");
    command.if_offset = Some(0);
    receipt(shop.outcome(command.clone()));
    assert_eq!(shop.outcome(command), duplicate(1, 1));
}

#[test]
fn twenty_equal_commands_in_one_batch_make_one_event() {
    let mut shop = shop(9);
    let body = Body::Command(ask(&mut shop, DRAW));
    let effects = shop.node.apply(&vec![at(START, body); 20]);
    let mut outcomes = effects.into_iter().map(|effects| effects.outcome);
    receipt(outcomes.next().unwrap());
    assert_eq!(outcomes.collect::<Vec<_>>(), vec![duplicate(1, 1); 19]);
    assert_eq!(shop.node.events().len(), 1);
    assert_eq!(kept(&shop), 1);
}

#[test]
fn the_range_of_a_repetition_is_that_of_all_events_of_its_command() {
    let mut shop = shop(9);
    done(&mut shop, SET);
    let events = [changes(DRAW), changes(SET), changes(DRAW)].concat();
    let command = shop.command("1", events);
    receipt(shop.outcome(command.clone()));
    assert_eq!(shop.outcome(command.clone()), duplicate(2, 3));
    done(&mut shop, SET);
    assert_eq!(shop.outcome(command), duplicate(2, 3));
}

#[test]
fn the_same_key_of_another_client_or_in_another_workspace_is_another_command() {
    let mut shop = shop(9);
    let key = Key([7; 16]);
    for (client, workspace) in [("pos-4", "1"), ("pos-5", "1"), ("pos-4", "2"), ("pos-4", "name")] {
        let command = command(client, key, workspace, changes(DRAW));
        assert_eq!(receipt(shop.outcome(command)).client_sequence.get(), 1);
    }
    assert_eq!(kept(&shop), 4);
}

#[test]
fn a_full_window_refuses_new_commands_and_still_answers_repetitions() {
    let mut shop = shop(2);
    let first = ask(&mut shop, DRAW);
    receipt(shop.outcome(first.clone()));
    done(&mut shop, DRAW);
    let third = ask(&mut shop, DRAW);
    let before = state(&shop.node);
    let full = refusal(shop.outcome(third));
    assert_eq!(full, Refusal::KeyWindowFull { max: 2, keys_expire: true });
    assert!(full.is_retryable(), "some expire");
    assert_eq!(shop.outcome(first.clone()), duplicate(1, 1));
    assert_eq!(refusal(shop.outcome(reused(&first))), key_reused(1));
    assert_eq!(state(&shop.node), before);
}

/// Changes the limit of the shop's keys.
fn limit(shop: &mut Shop, keys_max: Option<u64>) {
    let outcome = shop.define(DefineRequest::KeyLimit { keys_max });
    assert!(matches!(outcome, Ok(Outcome::Define(_))), "{outcome:?}");
    let defined = shop.node.machine().defined().map(|defined| defined.app().keys_max);
    assert_eq!(defined, Some(keys_max), "the partition has it");
}

#[test]
fn lowered_limit_refuses_new_keys_and_forgets_none_until_it_is_raised_or_removed() {
    let mut shop = shop(3);
    let known: Vec<Command> = (0..3).map(|_| ask(&mut shop, DRAW)).collect();
    for command in &known {
        receipt(shop.outcome(command.clone()));
    }
    limit(&mut shop, Some(1));
    let new = ask(&mut shop, DRAW);
    let full = Refusal::KeyWindowFull { max: 1, keys_expire: true };
    assert_eq!(refusal(shop.outcome(new.clone())), full);
    for (first, command) in (1..).zip(&known) {
        assert_eq!(shop.outcome(command.clone()), duplicate(first, 1));
        assert_eq!(refusal(shop.outcome(reused(command))), key_reused(first));
    }
    assert_eq!(kept(&shop), 3);
    limit(&mut shop, Some(4));
    receipt(shop.outcome(new));
    let fifth = ask(&mut shop, DRAW);
    assert_eq!(refusal(shop.outcome(fifth.clone())).code(), "KEY_WINDOW_FULL");
    limit(&mut shop, None);
    receipt(shop.outcome(fifth));
    done(&mut shop, DRAW);
    assert_eq!(kept(&shop), 6);
}

#[test]
fn window_without_a_limit_is_never_full() {
    let retention = Retention::Forever;
    let mut shop = Shop::new(ShopSettings { retention, keys_max: None, ..ShopSettings::default() });
    (0..300).for_each(|_| drop(done(&mut shop, DRAW)));
    assert_eq!(kept(&shop), 300);
}

#[test]
fn full_window_of_keys_that_never_expire_is_not_to_be_waited_for() {
    let (retention, keys_max) = (Retention::Forever, Some(1));
    let mut shop = Shop::new(ShopSettings { retention, keys_max, ..ShopSettings::default() });
    done(&mut shop, DRAW);
    let second = ask(&mut shop, DRAW);
    let full = refusal(shop.outcome(second));
    assert_eq!(full, Refusal::KeyWindowFull { max: 1, keys_expire: false });
    assert!(!full.is_retryable());
}

#[test]
fn sweeping_makes_room_in_a_full_window() {
    let mut shop = shop(2);
    done(&mut shop, DRAW);
    shop.now = after(1);
    done(&mut shop, DRAW);
    shop.now = after(RETENTION_MS);
    let waiting = ask(&mut shop, DRAW);
    assert_eq!(refusal(shop.outcome(waiting.clone())).code(), "KEY_WINDOW_FULL", "not swept yet");
    assert_eq!(sweep(&mut shop), Ok(Outcome::Tick(TickOutcome { entities: 0, keys: 1 })));
    assert_eq!(kept(&shop), 1);
    receipt(shop.outcome(waiting));
    assert_eq!(kept(&shop), 2);
}

#[test]
fn a_tick_never_forgets_a_key_whose_retention_lasts() {
    let mut shop = shop(9);
    let command = shop.command("1", [changes(DRAW), changes(DRAW)].concat());
    receipt(shop.outcome(command.clone()));
    let tick = shop.node.tick(after(RETENTION_MS), 9);
    let Body::Tick(Tick { keys, .. }) = &tick.body else { panic!("a tick") };
    assert_eq!(keys.len(), 1, "its proposer finds the key to be over");
    let early = at(after(RETENTION_MS - 1), tick.body.clone());
    let swept = shop.node.apply(&[early]).remove(0).outcome;
    assert_eq!(swept, Ok(Outcome::Tick(TickOutcome { entities: 0, keys: 0 })));
    assert_eq!(shop.node.machine().row().keys_through, None, "it is looked at again");
    shop.now = after(RETENTION_MS - 1);
    assert_eq!(shop.outcome(command), duplicate(1, 2));
    shop.now = after(RETENTION_MS);
    assert_eq!(sweep(&mut shop), Ok(Outcome::Tick(TickOutcome { entities: 0, keys: 1 })));
    assert_eq!(shop.node.machine().row().keys_through, PartitionOffset::new(2));
}

#[test]
fn a_tick_that_knows_of_events_to_come_does_not_pass_over_their_keys() {
    let mut shop = shop(9);
    done(&mut shop, DRAW);
    let tick = Tick { keys_through: PartitionOffset::new(9), ..Tick::default() };
    shop.node.apply(&[at(START, Body::Tick(tick))]);
    done(&mut shop, DRAW);
    shop.now = after(RETENTION_MS);
    assert_eq!(sweep(&mut shop), Ok(Outcome::Tick(TickOutcome { entities: 0, keys: 1 })));
    assert_eq!(kept(&shop), 1, "that of the event which the tick said was looked at");
}

#[test]
fn a_tick_that_comes_late_does_not_have_keys_looked_at_again() {
    let mut shop = shop(9);
    done(&mut shop, DRAW);
    done(&mut shop, DRAW);
    let late = shop.node.tick(after(RETENTION_MS), 1);
    shop.now = after(RETENTION_MS);
    assert_eq!(sweep(&mut shop), Ok(Outcome::Tick(TickOutcome { entities: 0, keys: 2 })));
    shop.node.apply(&[late]);
    assert_eq!(shop.node.machine().row().keys_through, PartitionOffset::new(2));
}

#[test]
fn a_key_that_a_tick_names_twice_is_counted_once() {
    let mut shop = shop(9);
    done(&mut shop, DRAW);
    done(&mut shop, DRAW);
    let mut tick = shop.node.tick(after(RETENTION_MS), 1);
    let Body::Tick(Tick { keys, .. }) = &mut tick.body else { panic!("a tick") };
    keys.push(keys[0].clone());
    let swept = shop.node.apply(&[tick.clone(), tick]);
    let swept: Vec<_> = swept.into_iter().map(|effects| effects.outcome).collect();
    let [once, never] = [1, 0].map(|keys| Ok(Outcome::Tick(TickOutcome { entities: 0, keys })));
    assert_eq!(swept, [once, never]);
    assert_eq!(kept(&shop), 1);
}

#[test]
fn keys_are_swept_in_bounded_steps() {
    let mut shop = shop(9);
    (0..5).for_each(|_| drop(done(&mut shop, DRAW)));
    shop.now = after(RETENTION_MS);
    for (swept, left) in [(2, 3), (2, 1), (1, 0), (0, 0)] {
        let tick = shop.node.tick(shop.now, 2);
        let outcome = shop.node.apply(&[tick]).remove(0).outcome;
        assert_eq!(outcome, Ok(Outcome::Tick(TickOutcome { entities: 0, keys: swept })));
        assert_eq!(kept(&shop), left);
    }
    assert_eq!(shop.node.events().len(), 5);
}

#[test]
fn a_key_that_is_used_anew_before_it_is_swept_is_counted_once_and_outlives_its_first_sweep() {
    let mut shop = shop(9);
    let command = ask(&mut shop, DRAW);
    receipt(shop.outcome(command.clone()));
    shop.now = after(RETENTION_MS);
    receipt(shop.outcome(command.clone()));
    assert_eq!(kept(&shop), 1);
    assert_eq!(sweep(&mut shop), Ok(Outcome::Tick(TickOutcome { entities: 0, keys: 0 })));
    let through = shop.node.machine().row().keys_through;
    assert_eq!(through, Some(PartitionOffset::FIRST), "its first event needs no other look");
    assert_eq!(shop.outcome(command), duplicate(2, 1));
    shop.now = after(2 * RETENTION_MS);
    assert_eq!(sweep(&mut shop), Ok(Outcome::Tick(TickOutcome { entities: 0, keys: 1 })));
    assert_eq!(kept(&shop), 0);
}

#[test]
fn the_window_is_counted_right_after_everything_together() {
    let mut shop = shop(100);
    for round in 0..40 {
        shop.now = after(round * 100);
        let command = ask(&mut shop, DRAW);
        drop(shop.outcome(command.clone()));
        drop(shop.outcome(reused(&command)));
        drop(shop.outcome(command.clone()));
        // A key of half a retention ago, one that may just be over, and one that is.
        for back in [5, 10, 11] {
            let key = Key(u128::from(round.saturating_sub(back) + 1).to_be_bytes());
            drop(shop.outcome(Command { key, ..command.clone() }));
        }
        if round % 3 == 0 {
            let tick = shop.node.tick(shop.now, 4);
            shop.node.apply(&[tick]);
        }
        if round % 7 == 0 {
            shop.node.restart();
        }
        kept(&shop);
    }
    shop.now = after(100_000);
    drop(sweep(&mut shop));
    assert_eq!(kept(&shop), 0);
}

#[test]
fn a_key_can_be_kept_for_ever() {
    let retention = Retention::Forever;
    let mut shop = Shop::new(ShopSettings { retention, ..ShopSettings::default() });
    let command = ask(&mut shop, DRAW);
    receipt(shop.outcome(command.clone()));
    let due = seriatim_types::DueKey {
        workspace: WORKSPACE,
        client: ClientId::new(b"pos-4").unwrap(),
        key: command.key,
    };
    let keys_through = Some(PartitionOffset::FIRST);
    let tick = Body::Tick(Tick { keys: vec![due], keys_through, ..Tick::default() });
    let swept = shop.node.apply(&[at(Time(u64::MAX), tick)]).remove(0).outcome;
    assert_eq!(swept, Ok(Outcome::Tick(TickOutcome { entities: 0, keys: 0 })));
    assert_eq!(shop.outcome(command), duplicate(1, 1));
    assert_eq!(kept(&shop), 1);
}

#[test]
fn a_deadline_is_the_last_moment_at_which_a_command_is_carried_out() {
    for (ms, is_in_time) in [(9, true), (10, true), (11, false)] {
        let mut shop = shop(9);
        let command = Command { deadline: Some(after(10)), ..ask(&mut shop, DRAW) };
        shop.now = after(ms);
        let outcome = shop.outcome(command);
        let late = Refusal::DeadlineExceeded { deadline: after(10), time: after(ms) };
        match outcome {
            Ok(Outcome::Command(CommandOutcome::Committed(_))) => assert!(is_in_time, "{ms}"),
            other => assert_eq!((refusal(other), is_in_time), (late, false), "{ms}"),
        }
    }
}

#[test]
fn a_deadline_is_compared_with_the_time_of_the_partition_and_not_with_a_clock_that_was_set_back() {
    let mut shop = shop(9);
    shop.now = after(11);
    done(&mut shop, DRAW);
    shop.now = START;
    let command = Command { deadline: Some(after(10)), ..ask(&mut shop, DRAW) };
    assert_eq!(refusal(shop.outcome(command)).code(), "DEADLINE_EXCEEDED");
}

#[test]
fn a_repetition_is_answered_after_its_deadline() {
    let mut shop = shop(9);
    let command = Command { deadline: Some(after(10)), ..ask(&mut shop, DRAW) };
    receipt(shop.outcome(command.clone()));
    shop.now = after(RETENTION_MS - 1);
    assert_eq!(shop.outcome(command.clone()), duplicate(1, 1));
    let sooner = Command { deadline: Some(START), ..command };
    assert_eq!(shop.outcome(sooner), duplicate(1, 1), "a deadline is no part of what is asked");
}
