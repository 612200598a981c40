//! Entities: named documents, written under conditions, absent from their expiry on.

use seriatim_codec::Table;
use seriatim_core::{CommandOutcome, Outcome, Refusal, TickOutcome};
use seriatim_testkit::core::Shop;
use seriatim_types::limits::TICK_ITEMS_MAX;
use seriatim_types::{Body, Change, DueEntity, Tick, Time};

use crate::world::{WORKSPACE, ask, at, done, entity, entity_key, refused, state, text};

/// 2026-06-21T00:00:00Z, when the shop opens.
const START: Time = Time(1_782_000_000_000);

/// A second later.
const SOON: &str = "'expires_at': '2026-06-21T00:00:01Z'";

fn after(ms: u64) -> Time {
    Time(START.0 + ms)
}

/// When each listed entity expires, in milliseconds from [`START`].
fn expiries(shop: &Shop) -> Vec<(u64, String)> {
    let rows = shop.node.rows().keys().filter(|row| row.table == Table::Entities);
    let rows = rows.filter_map(|row| seriatim_codec::decode_expiry_key(&row.key).ok());
    rows.map(|(time, _, key)| (time.0 - START.0, key.to_string())).collect()
}

fn version_of(shop: &Shop, key: &str) -> Option<u64> {
    entity(shop, key).map(|row| row.version)
}

/// Applies a tick that names these entities.
fn sweep(shop: &mut Shop, time: Time, entities: Vec<DueEntity>) -> Result<Outcome, Refusal> {
    let tick = Body::Tick(Tick { entities, ..Tick::default() });
    shop.node.apply(&[at(time, tick)]).remove(0).outcome
}

fn due(key: &str, expires_at: Time) -> DueEntity {
    DueEntity { workspace: WORKSPACE, key: entity_key(key), expires_at }
}

fn swept(entities: u32) -> Result<Outcome, Refusal> {
    Ok(Outcome::Tick(TickOutcome { entities, keys: 0 }))
}

/// A shop with an entity `here` and one `over` that has expired but was not swept, both of
/// version 2 and value `{"a":1}`.
fn shop() -> Shop {
    let mut shop = Shop::default();
    for (key, rest) in [("here", ""), ("over", SOON)] {
        let comma = if rest.is_empty() { "" } else { "," };
        let set = format!("{{'set': {{'key': '{key}', 'value': {{'a': 1}}{comma} {rest}}}}}");
        done(&mut shop, &format!("{set}, {set}"));
    }
    shop.now = after(1000);
    shop
}

/// The code that changing an entity under a condition gets; none if it is done.
fn code(word: &str, key: &str, condition: &str) -> &'static str {
    let mut shop = shop();
    let value = if word == "set" { ", 'value': 0" } else { "" };
    let command = format!("{{'{word}': {{'key': '{key}'{value}{condition}}}}}");
    let command = ask(&mut shop, &command);
    match shop.outcome(command) {
        Err(refusal) => refusal.code(),
        _ => "",
    }
}

#[test]
fn a_condition_holds_or_is_refused_with_its_code() {
    let conditions = [
        ("", "", ""),
        (", 'if': 'exists'", "", "KEY_NOT_FOUND"),
        (", 'if': 'absent'", "KEY_EXISTS", ""),
        (", 'if': {'version': 2}", "", "KEY_NOT_FOUND"),
        (", 'if': {'version': 1}", "VERSION_MISMATCH", "KEY_NOT_FOUND"),
        (", 'if': {'version': 3}", "VERSION_MISMATCH", "KEY_NOT_FOUND"),
        (", 'if': {'value': {'a': 1}}", "", "KEY_NOT_FOUND"),
        (", 'if': {'value': {'a': 2}}", "VALUE_MISMATCH", "KEY_NOT_FOUND"),
        (", 'if': {'value': null}", "VALUE_MISMATCH", "KEY_NOT_FOUND"),
    ];
    for (condition, if_present, if_absent) in conditions {
        for word in ["set", "unset"] {
            assert_eq!(code(word, "here", condition), if_present, "{word} present {condition}");
            assert_eq!(code(word, "never", condition), if_absent, "{word} absent {condition}");
            assert_eq!(code(word, "over", condition), if_absent, "{word} expired {condition}");
        }
    }
}

#[test]
fn a_version_counts_the_changes_and_begins_anew_after_the_end() {
    let mut shop = Shop::default();
    let (set, unset) = ("{'set': {'key': 'k', 'value': 1}}", "{'unset': {'key': 'k'}}");
    for version in 1..4 {
        done(&mut shop, set);
        assert_eq!(version_of(&shop, "k"), Some(version));
    }
    done(&mut shop, unset);
    assert_eq!(entity(&shop, "k"), None);
    done(&mut shop, set);
    assert_eq!(version_of(&shop, "k"), Some(1));
    done(&mut shop, &format!("{set}, {unset}, {set}, {set}"));
    assert_eq!(version_of(&shop, "k"), Some(2));
}

#[test]
fn a_version_begins_anew_after_the_expiry_whether_or_not_it_was_swept() {
    let mut shop = shop();
    done(&mut shop, "{'set': {'key': 'over', 'value': 1}}");
    assert_eq!(version_of(&shop, "over"), Some(1));
    assert_eq!(expiries(&shop), [], "nobody sweeps what is alive again");
}

#[test]
fn an_entity_holds_its_value_and_the_offset_of_the_event_that_wrote_it() {
    let mut shop = Shop::default();
    done(&mut shop, "{'set': {'key': 'k', 'value': {'b': 1.0, 'a': [true, null]}}}");
    done(&mut shop, "{'set': {'key': 'l', 'value': 2}}");
    let row = entity(&shop, "k").unwrap();
    assert_eq!(text(&row.value), r#"{"a":[true,null],"b":1}"#);
    assert_eq!((row.offset.get(), row.expires_at), (1, None));
    assert_eq!(entity(&shop, "l").unwrap().offset.get(), 2);
}

#[test]
fn values_are_equal_if_their_canonical_bytes_are() {
    let mut shop = Shop::default();
    done(&mut shop, "{'set': {'key': 'k', 'value': {'a': 1, 'b': 'ü'}}}");
    let with = |value: &str| {
        format!(
            "{{'set': {{'key': 'k', 'value': {{'a': 1, 'b': 'ü'}}, 'if': {{'value': {value}}}}}}}"
        )
    };
    for equal in ["{'b': '\\u00fc', 'a': 1.0}", "{ 'a' : 10e-1, 'b': 'ü' }"] {
        done(&mut shop, &with(equal));
    }
    for other in ["{'a': 1}", "{'a': '1', 'b': 'ü'}", "{'a': 1, 'b': 'u\u{308}'}", "[]"] {
        assert_eq!(refused(&mut shop, &with(other)).code(), "VALUE_MISMATCH", "{other}");
    }
}

#[test]
fn a_value_with_numbers_is_compared_as_it_was_filled_in() {
    let mut shop = Shop::default();
    done(&mut shop, "{'set': {'key': 'k', 'value': {'n': {'$next': 'ticket'}}}}");
    done(&mut shop, "{'unset': {'key': 'k', 'if': {'value': {'n': 1}}}}");
}

#[test]
fn removing_what_is_not_there_is_an_event_that_changes_nothing() {
    let mut shop = Shop::default();
    assert_eq!(done(&mut shop, "{'unset': {'key': 'k'}}").first_offset.get(), 1);
    let expected = Change::Unset { key: entity_key("k"), version: None };
    assert_eq!(shop.node.events()[0].changes, [expected]);
    assert!(shop.node.rows().keys().all(|row| row.table != Table::Entities));
}

#[test]
fn an_event_tells_the_version_that_an_entity_has_since_or_had_before() {
    let mut shop = shop();
    done(&mut shop, "{'unset': {'key': 'here'}}, {'unset': {'key': 'over'}}");
    let event = shop.node.events().pop().unwrap();
    let versions = event.changes.iter().map(|change| match change {
        Change::Unset { version, .. } => *version,
        other => panic!("it was removed: {other:?}"),
    });
    assert_eq!(versions.collect::<Vec<_>>(), [Some(2), None]);
    assert_eq!((entity(&shop, "over"), expiries(&shop)), (None, vec![]), "the row went with it");
}

#[test]
fn an_entity_is_absent_from_the_millisecond_of_its_expiry_on() {
    for (ms, is_present) in [(999, true), (1000, false), (1001, false)] {
        let mut shop = Shop::default();
        done(&mut shop, &format!("{{'set': {{'key': 'k', 'value': 1, {SOON}}}}}"));
        shop.now = after(ms);
        let command = ask(&mut shop, "{'unset': {'key': 'k', 'if': 'exists'}}");
        let is_done =
            matches!(shop.outcome(command), Ok(Outcome::Command(CommandOutcome::Committed(_))));
        assert_eq!(is_done, is_present, "{ms}");
    }
}

#[test]
fn an_expiry_that_has_come_already_leaves_the_entity_absent() {
    let mut shop = Shop::default();
    shop.now = after(1000);
    let set = format!("{{'set': {{'key': 'k', 'value': 1, 'if': 'absent', {SOON}}}}}");
    done(&mut shop, &format!("{set}, {set}"));
    assert_eq!(version_of(&shop, "k"), Some(1));
    assert_eq!(sweep(&mut shop, after(1000), vec![due("k", after(1000))]), swept(1));
}

#[test]
fn the_list_of_expiries_follows_the_entities() {
    let mut shop = Shop::default();
    let set = |rest: &str| format!("{{'set': {{'key': 'k', 'value': 1{rest}}}}}");
    let later = ", 'expires_at': '2026-06-21T00:00:02Z'";
    let soon = format!(", {SOON}");
    done(&mut shop, &set(&soon));
    assert_eq!(expiries(&shop), [(1000, "k".to_owned())]);
    done(&mut shop, &set(&soon));
    assert_eq!(expiries(&shop), [(1000, "k".to_owned())], "the same again");
    done(&mut shop, &set(later));
    assert_eq!(expiries(&shop), [(2000, "k".to_owned())], "another one");
    done(&mut shop, &set(""));
    assert_eq!(expiries(&shop), [], "none");
    done(&mut shop, &format!("{}, {}", set(later), set(&soon)));
    assert_eq!(expiries(&shop), [(1000, "k".to_owned())], "two in one command");
    done(&mut shop, "{'unset': {'key': 'k'}}");
    assert_eq!(expiries(&shop), [], "its end");
}

#[test]
fn a_sweep_removes_what_is_due_makes_no_event_and_takes_no_offset() {
    let mut shop = shop();
    let events = shop.node.events();
    let tick = shop.node.tick(shop.now, 9);
    let effects = shop.node.apply(&[tick]).remove(0);
    assert_eq!(effects.outcome, swept(1));
    assert!(effects.events.is_empty() && effects.ticket.is_none() && effects.nodes.is_empty());
    assert_eq!((entity(&shop, "over"), expiries(&shop)), (None, vec![]));
    assert_eq!(version_of(&shop, "here"), Some(2));
    assert_eq!(shop.node.events(), events);
    assert_eq!(done(&mut shop, "{'unset': {'key': 'here'}}").first_offset.get(), 3);
}

#[test]
fn sweeping_changes_nothing_that_a_command_can_see() {
    for is_swept in [false, true] {
        let mut shop = shop();
        if is_swept {
            assert_eq!(sweep(&mut shop, after(1000), vec![due("over", after(1000))]), swept(1));
        }
        done(&mut shop, "{'set': {'key': 'over', 'value': 1, 'if': 'absent'}}");
        let event = shop.node.events().pop().unwrap();
        assert!(matches!(event.changes[0], Change::Set { version: 1, .. }));
    }
}

#[test]
fn a_tick_removes_nothing_that_is_alive_and_nothing_by_an_expiry_that_is_not_its_own() {
    let mut shop = Shop::default();
    done(&mut shop, &format!("{{'set': {{'key': 'k', 'value': 1, {SOON}}}}}"));
    done(&mut shop, "{'set': {'key': 'l', 'value': 1}}");
    let before = state(&shop.node);
    let items = || vec![due("k", after(1000)), due("l", after(1)), due("never", after(1))];
    assert_eq!(sweep(&mut shop, after(999), items()), swept(0), "not yet");
    assert_eq!(sweep(&mut shop, after(999), vec![due("k", START)]), swept(0));
    assert_eq!(state(&shop.node), before);
    assert_eq!(sweep(&mut shop, after(1000), vec![due("k", after(999))]), swept(0), "not its own");
    assert_eq!(state(&shop.node), before);
    assert_eq!(sweep(&mut shop, after(1000), items()), swept(1));
}

#[test]
fn a_stale_tick_looks_again() {
    let mut shop = shop();
    let stale = shop.node.tick(shop.now, 9);
    let set = "{'set': {'key': 'over', 'value': 1, 'expires_at': '2026-06-21T00:00:02Z'}}";
    done(&mut shop, set);
    let apply = |shop: &mut Shop| shop.node.apply(std::slice::from_ref(&stale)).remove(0).outcome;
    assert_eq!(apply(&mut shop), swept(0));
    assert_eq!(expiries(&shop), [(2000, "over".to_owned())]);
    done(&mut shop, "{'unset': {'key': 'over'}}");
    assert_eq!(apply(&mut shop), swept(0));
}

#[test]
fn an_entity_that_a_tick_names_twice_is_swept_once() {
    let mut shop = shop();
    let twice = vec![due("over", after(1000)); 2];
    assert_eq!(sweep(&mut shop, after(1000), twice), swept(1));
}

#[test]
fn entities_are_swept_in_bounded_steps_the_earliest_first() {
    let mut shop = Shop::default();
    let set = |index: u32| {
        let expires_at = format!("2026-06-21T00:00:00.{:03}Z", 900 - index);
        format!("{{'set': {{'key': 'k{index}', 'value': 1, 'expires_at': '{expires_at}'}}}}")
    };
    done(&mut shop, &(0..5).map(set).collect::<Vec<_>>().join(", "));
    shop.now = after(1000);
    for (count, left) in [(2, 3), (2, 1), (1, 0), (0, 0)] {
        let tick = shop.node.tick(shop.now, 2);
        assert_eq!(shop.node.apply(&[tick]).remove(0).outcome, swept(count));
        let rest = expiries(&shop).into_iter().map(|(_, key)| key);
        assert!(rest.eq((0..left).rev().map(|index| format!("k{index}"))));
    }
}

#[test]
fn a_tick_names_no_more_than_its_limit() {
    let mut shop = shop();
    let full = vec![due("never", START); TICK_ITEMS_MAX];
    let too_many = [full.clone(), vec![due("over", after(1000))]].concat();
    let before = state(&shop.node);
    let Err(refusal) = sweep(&mut shop, after(1000), too_many) else { panic!("one too many") };
    assert_eq!(refusal.code(), "TOO_LARGE");
    assert_eq!(state(&shop.node), before);
    assert_eq!(sweep(&mut shop, after(1000), full), swept(0));
}
