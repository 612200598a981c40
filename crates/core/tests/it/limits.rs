//! A command may hold as much as the limits of its app allow, and no more.

use seriatim_core::{CommandOutcome, Outcome, Refusal};
use seriatim_testkit::core::{Shop, ShopSettings, events};
use seriatim_types::{CommandEvent, CommandLimits};

use crate::world::refusal;

fn outcome(limits: CommandLimits, events: Vec<CommandEvent>) -> Result<Outcome, Refusal> {
    let mut shop = Shop::new(ShopSettings { limits, ..ShopSettings::default() });
    let command = shop.command("1", events);
    shop.outcome(command)
}

/// Checks that one command is within a limit and that the other has one too many.
fn check(limits: CommandLimits, what: &'static str, max: u64, fits: &str, too_large: &str) {
    let within = outcome(limits, events(fits));
    assert!(
        matches!(within, Ok(Outcome::Command(CommandOutcome::Committed(_)))),
        "{what}: {within:?}"
    );
    let beyond = refusal(outcome(limits, events(too_large)));
    assert_eq!(beyond, Refusal::TooLarge { what, max, found: max + 1 });
}

/// Events with so many plain changes each.
fn with_changes(counts: &[usize]) -> String {
    let change = "{'unset': {'key': 'k'}}";
    let event = |count: &usize| {
        format!("{{'name': 'E', 'changes': [{}]}}", vec![change; *count].join(", "))
    };
    counts.iter().map(event).collect::<Vec<_>>().join(", ")
}

#[test]
fn events_are_limited() {
    let limits = CommandLimits { events: 2, ..CommandLimits::default() };
    check(limits, "events of a command", 2, &with_changes(&[0, 0]), &with_changes(&[0, 0, 0]));
}

#[test]
fn changes_of_all_events_together_are_limited() {
    let limits = CommandLimits { changes: 3, ..CommandLimits::default() };
    check(limits, "changes of a command", 3, &with_changes(&[2, 1]), &with_changes(&[2, 2]));
}

#[test]
fn draws_are_limited_wherever_they_stand() {
    let limits = CommandLimits { draws: 2, ..CommandLimits::default() };
    let draw = "{'draw': {'sequence': 'ticket'}}";
    let set = "{'set': {'key': 'k', 'value': {'$next': 'ticket'}}}";
    let with = |args: &str, changes: &str| {
        format!("{{'name': 'E', 'args': {{{args}}}, 'changes': [{changes}]}}")
    };
    let repeated = "'a': {'$draw': 0}, 'b': {'$draw': 0}, 'c': {'$draw': 1}";
    let fits = with(repeated, &format!("{draw}, {set}"));
    let beyond = with("'n': {'$next': 'ticket'}", &format!("{draw}, {set}"));
    check(limits, "numbers drawn by a command", 2, &fits, &beyond);
}

#[test]
fn the_fields_of_a_new_record_and_of_an_update_are_limited() {
    let limits = CommandLimits { fields: 2, ..CommandLimits::default() };
    let create = |fields: &str| {
        let create = format!("{{'create': {{'id': 1, 'kind': 'order', 'fields': {{{fields}}}}}}}");
        format!("{{'name': 'E', 'changes': [{create}]}}")
    };
    let (two, three) = ("'a': 1, 'b': 1", "'a': 1, 'b': 1, 'c': 1");
    check(limits, "fields of a record", 2, &create(two), &create(three));
    let update = format!(
        "{{'name': 'E', 'changes': [{{'create': {{'id': 1, 'kind': 'order'}}}},
                                    {{'update': {{'id': 1, 'fields': {{{three}}}}}}}]}}"
    );
    check(limits, "fields of a record", 2, &create(two), &update);
}

#[test]
fn one_value_is_limited_wherever_it_stands() {
    let limits = CommandLimits { field_bytes: 7, ..CommandLimits::default() };
    let args = |value: &str| format!("{{'name': 'E', 'args': {{'a': {value}}}}}");
    check(limits, "bytes of a field", 7, &args("1"), &args("12"));
    let set = |value: &str| {
        format!("{{'name': 'E', 'changes': [{{'set': {{'key': 'k', 'value': {value}}}}}]}}")
    };
    check(limits, "bytes of a field", 7, &set("1234567"), &set("12345678"));
    let field = |value: &str| {
        let create =
            format!("{{'create': {{'id': 1, 'kind': 'order', 'fields': {{'f': {value}}}}}}}");
        format!("{{'name': 'E', 'changes': [{create}]}}")
    };
    check(limits, "bytes of a field", 7, &field("1234567"), &field("12345678"));
}

#[test]
fn all_names_keys_and_values_count_together() {
    let whole = "{'name': 'Event', 'args': {'who': {'$next': 'ticket'}}, 'changes': [
                   {'create': {'id': 1, 'kind': 'order', 'fields': {'colour': 11}}},
                   {'update': {'id': 1, 'fields': {'weight': 22}}},
                   {'set': {'key': 'here', 'value': 33}}, {'unset': {'key': 'there'}},
                   {'draw': {'sequence': 'scarce'}}]}";
    let names = "Event ticket order colour weight here there scarce".replace(' ', "").len();
    let size = names + r#"{"who":}112233"#.len();
    let limits = CommandLimits { bytes: u32::try_from(size).unwrap(), ..CommandLimits::default() };
    let parts = "Event who ticket order colour 11 weight 22 here 33 there scarce";
    for part in parts.split(' ') {
        let longer = whole.replacen(part, &format!("{part}1"), 1);
        check(limits, "bytes of a command", size as u64, whole, &longer);
    }
}

#[test]
fn holes_are_limited_whatever_fills_them() {
    let limits = CommandLimits { holes: 3, ..CommandLimits::default() };
    let with = |more: &str| {
        format!(
            "{{'name': 'E', 'args': {{'a': {{'$ref': 300000}}, 'b': {{'$next': 'ticket'}}}},
                   'changes': [{{'set': {{'key': 'k', 'value': [{{'$draw': 0}}{more}]}}}}]}}"
        )
    };
    check(limits, "holes of a command", 3, &with(""), &with(", {'$ref': 300000}"));
}

#[test]
fn the_value_of_a_condition_is_limited_too() {
    let set = |expected: &str| {
        format!(
            "{{'name': 'E', 'changes': [
                   {{'set': {{'key': 'k', 'value': 12}}}},
                   {{'set': {{'key': 'k', 'value': 1, 'if': {{'value': {expected}}}}}}}]}}"
        )
    };
    let limits = CommandLimits { field_bytes: 2, ..CommandLimits::default() };
    check(limits, "bytes of a field", 2, &set("12"), &set("123"));
    let size = "E{}k12k112".len() as u32;
    let limits = CommandLimits { bytes: size, ..CommandLimits::default() };
    check(limits, "bytes of a command", u64::from(size), &set("12"), &set("123"));
}

#[test]
fn the_arguments_of_all_events_count_among_what_a_command_writes() {
    let limits = CommandLimits { written_bytes: 300, ..CommandLimits::default() };
    let value = "x".repeat(200);
    let event = format!(
        "{{'name': 'E', 'args': {{'a': '{value}'}}, 'changes': [{{'unset': {{'key': 'k'}}}}]}}"
    );
    let two = format!("{event}, {event}");
    let found = 2 * (r#"{"a":""}"#.len() + value.len()) as u64;
    let within = outcome(limits, events(&event));
    assert!(matches!(within, Ok(Outcome::Command(CommandOutcome::Committed(_)))), "{within:?}");
    let what = "bytes written by a command";
    let beyond = refusal(outcome(limits, events(&two)));
    assert_eq!(beyond, Refusal::TooLarge { what, max: 300, found });
    let bare = format!("{{'name': 'E', 'args': {{'a': '{value}'}}}}");
    let beyond = refusal(outcome(limits, events(&format!("{bare}, {bare}"))));
    assert_eq!(beyond, Refusal::TooLarge { what, max: 300, found }, "without changes too");
}
