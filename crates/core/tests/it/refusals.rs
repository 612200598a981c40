//! What is refused leaves no trace, and of several reasons the first is told.

use seriatim_core::{CommandOutcome, Current, CurrentValue, Exhausted, Outcome, Refusal, Subject};
use seriatim_testkit::core::{Shop, ShopSettings, changes, events, name};
use seriatim_types::{
    Body, Command, CommandLimits, Declare, Define, DefineRequest, Key, Time, WorkspaceId,
    WorkspaceRef,
};

use crate::world::{
    ask, at, create, done, entity_key, number, receipt, refusal, refused, state, unchecked,
};

/// Draws from every sequence that a command can draw from: offsets and the client's own come
/// with it.
pub(crate) const DRAWS: &str =
    "{'create': {'id': 1, 'kind': 'order', 'fields': {'no': {'$next': 'invoice'}}}},
     {'draw': {'sequence': 'ticket'}}";

/// A shop whose records have at most four fields.
pub(crate) fn shop() -> Shop {
    let limits = CommandLimits { fields: 4, ..CommandLimits::default() };
    Shop::new(ShopSettings { limits, ..ShopSettings::default() })
}

/// Everything that a partition refuses, each with its code. All commands draw from every
/// sequence before the change for which they are refused. [`DRAWS`] was sent to workspace 1 once.
pub(crate) fn refusals(shop: &mut Shop, workspace: &str) -> Vec<(&'static str, Body)> {
    let mut all: Vec<(&'static str, Body)> = Vec::new();
    for (code, culprit) in CULPRITS {
        let command = shop.command(workspace, changes(&format!("{DRAWS}, {culprit}")));
        all.push((code, Body::Command(command)));
    }
    let mut with = |code, change: &dyn Fn(Command) -> Command| {
        let command = shop.command(workspace, changes(DRAWS));
        all.push((code, Body::Command(change(command))));
    };
    with("DEADLINE_EXCEEDED", &|command| Command { deadline: Some(Time(1)), ..command });
    with("OFFSET_MISMATCH", &|command| Command { if_offset: Some(999), ..command });
    let one = WorkspaceRef::Id(WorkspaceId(1));
    let reused = shop.command("1", changes(CULPRITS[0].1));
    let reused = Command { key: Key(1_u128.to_be_bytes()), ..reused };
    all.push(("IDEMPOTENCY_KEY_REUSED", Body::Command(reused)));
    let declare = Declare { workspace: one, kind: name("warehouse") };
    all.push(("KIND_CONFLICT", Body::Declare(declare)));
    let define = Define { app: name("shop"), request: DefineRequest::Kind { name: name("x") } };
    all.push(("PERMISSION_DENIED", Body::Define(define)));
    all
}

const CULPRITS: [(&str, &str); 12] = [
    ("RECORD_NOT_FOUND", "{'delete': {'id': 300001}}"),
    ("INVALID_ARGUMENT", "{'create': {'id': 300000, 'kind': 'settings'}}"),
    ("UNKNOWN_SEQUENCE", "{'draw': {'sequence': 'pallet'}}"),
    ("UNKNOWN_KIND", "{'create': {'id': 2, 'kind': 'unheard-of'}}"),
    (
        "RECORD_EXISTS",
        "{'create': {'id': 300000, 'kind': 'order'}}, {'create': {'id': 300000, 'kind': 'line'}}",
    ),
    (
        "SINGLETON_EXISTS",
        "{'create': {'id': 2, 'kind': 'settings'}}, {'create': {'id': 3, 'kind': 'settings'}}",
    ),
    (
        "SEQUENCE_EXHAUSTED",
        "{'draw': {'sequence': 'scarce'}}, {'draw': {'sequence': 'scarce'}},
         {'draw': {'sequence': 'scarce'}}, {'draw': {'sequence': 'scarce'}}",
    ),
    (
        "KEY_EXISTS",
        "{'set': {'key': 'new', 'value': 1}}, {'set': {'key': 'new', 'value': 1, 'if': 'absent'}}",
    ),
    ("KEY_NOT_FOUND", "{'unset': {'key': 'none', 'if': 'exists'}}"),
    (
        "VERSION_MISMATCH",
        "{'set': {'key': 'new', 'value': 1}},
         {'set': {'key': 'new', 'value': 1, 'if': {'version': 2}}}",
    ),
    (
        "VALUE_MISMATCH",
        "{'set': {'key': 'new', 'value': 1}},
         {'set': {'key': 'new', 'value': 1, 'if': {'value': 2}}}",
    ),
    ("TOO_LARGE", "{'update': {'id': 1, 'fields': {'a': 1, 'b': 2, 'c': 3, 'd': 4}}}"),
];

#[test]
fn every_code_has_its_case() {
    // These are refusals of a shop that is set up otherwise, or of the system app.
    let elsewhere = ["KEY_WINDOW_FULL", "APP_EXISTS", "APP_NOT_FOUND", "DEFINITION_CONFLICT"];
    let mut codes = Refusal::CODES.to_vec();
    codes.retain(|code| !elsewhere.contains(code));
    let mut cases: Vec<_> = refusals(&mut shop(), "1").into_iter().map(|(code, _)| code).collect();
    codes.sort_unstable();
    cases.sort_unstable();
    assert_eq!(cases, codes);
}

#[test]
fn a_refusal_leaves_rows_and_numbers_as_they_were() {
    for workspace in ["1", "new"] {
        let mut shop = shop();
        done(&mut shop, DRAWS);
        for (code, body) in refusals(&mut shop, workspace) {
            let before = state(&shop.node);
            let effects = shop.node.apply(&[at(shop.now, body)]).remove(0);
            assert_eq!(refusal(effects.outcome).code(), code);
            assert!(effects.writes.is_empty() && effects.events.is_empty(), "{code}");
            assert!(effects.nodes.is_empty() && effects.ticket.is_none(), "{code}");
            assert_eq!(state(&shop.node), before, "{code}");
        }
    }
}

#[test]
fn a_refusal_in_a_batch_changes_nothing_for_its_neighbours() {
    let mut shop = shop();
    done(&mut shop, DRAWS);
    for (code, body) in refusals(&mut shop, "1") {
        let probe = |shop: &mut Shop| at(shop.now, Body::Command(ask(shop, DRAWS)));
        let batch = [probe(&mut shop), at(shop.now, body), probe(&mut shop)];
        let effects = shop.node.apply(&batch);
        let outcomes = effects.into_iter().map(|it| it.outcome).collect::<Vec<_>>();
        let [one, middle, other] = outcomes.try_into().unwrap();
        assert_eq!(refusal(middle).code(), code);
        let (one, other) = (receipt(one), receipt(other));
        assert_eq!(other.first_offset.get(), one.last_offset.get() + 1, "{code}");
        assert_eq!(other.ids[0].1.get(), one.ids[0].1.get() + 1, "{code}");
    }
}

#[test]
fn a_refusal_moves_only_the_time() {
    let mut shop = shop();
    done(&mut shop, DRAWS);
    let later = Time(shop.now.0 + 5);
    let command = Body::Command(ask(&mut shop, CULPRITS[0].1));
    shop.node.apply(&[at(later, command)]);
    assert_eq!(shop.node.machine().row().time, Some(later));
    assert_eq!(done(&mut shop, DRAWS).committed_at, later, "a clock that goes back does not");
}

/// A command with everything wrong from a stage on, and its shop. In the document, what is found
/// last stands first.
fn wrong_from(stage: u32) -> (Shop, Command) {
    let limits = CommandLimits { fields: 4, ..CommandLimits::default() };
    let keys_max = Some(if stage <= 4 { 1 } else { 9 });
    let mut shop = Shop::new(ShopSettings { limits, keys_max, ..ShopSettings::default() });
    done(&mut shop, DRAWS);
    let mut json = vec!["{'unset': {'key': 'none', 'if': 'exists'}}"];
    let too_many = "{'update': {'id': 300000, 'fields': {'a':1, 'b':1, 'c':1, 'd':1, 'e':1}}}";
    let by_stage = [(8, CULPRITS[6].1), (6, CULPRITS[3].1), (5, too_many)];
    json.extend(by_stage.iter().filter(|(it, _)| *it >= stage).map(|(_, json)| json));
    let mut command = ask(&mut shop, &json.join(", "));
    if stage <= 7 {
        command.if_offset = Some(999);
    }
    if stage <= 3 {
        command.deadline = Some(Time(1));
    }
    if stage <= 2 {
        command.key = Key(1_u128.to_be_bytes());
    }
    if stage <= 1 {
        command.workspace = WorkspaceRef::Id(WorkspaceId(1 << 41));
    }
    (shop, command)
}

#[test]
fn of_all_that_is_wrong_the_first_in_the_order_of_stages_is_told() {
    let codes = [
        "INVALID_ARGUMENT",
        "IDEMPOTENCY_KEY_REUSED",
        "DEADLINE_EXCEEDED",
        "KEY_WINDOW_FULL",
        "TOO_LARGE",
        "UNKNOWN_KIND",
        "OFFSET_MISMATCH",
        "SEQUENCE_EXHAUSTED",
        "KEY_NOT_FOUND",
    ];
    for (stage, code) in (1..).zip(codes) {
        let (mut shop, command) = wrong_from(stage);
        assert_eq!(refusal(shop.outcome(command)).code(), code, "stage {stage}");
    }
}

#[test]
fn a_repetition_is_answered_whatever_is_wrong_with_it_by_now() {
    let (mut shop, mut command) = wrong_from(2);
    let fingerprint = ask(&mut shop, DRAWS).fingerprint;
    command.fingerprint = fingerprint;
    assert!(matches!(
        shop.outcome(command),
        Ok(Outcome::Command(CommandOutcome::Duplicate { count: 1, .. }))
    ));
}

#[test]
fn a_command_without_events_is_refused() {
    let mut shop = shop();
    let command = shop.command("1", Vec::new());
    let Refusal::InvalidArgument { field, .. } = refusal(shop.outcome(command)) else {
        panic!("nothing is asked for")
    };
    assert_eq!(field, "events");
}

/// Checks the code of each order of two changes.
fn check_both_orders(shop: &mut Shop, one: (&str, &str), other: (&str, &str)) {
    for [(code, first), (_, then)] in [[one, other], [other, one]] {
        assert_eq!(refused(shop, &format!("{first}, {then}")).code(), code);
        let two = [changes(first), changes(then)].concat();
        let command = shop.command("1", two);
        assert_eq!(refusal(shop.outcome(command)).code(), code, "as two events");
    }
}

#[test]
fn within_the_shape_the_first_in_the_document_is_told() {
    let shape = [CULPRITS[1], CULPRITS[2], CULPRITS[3]];
    for (one, other) in [(shape[0], shape[1]), (shape[1], shape[2]), (shape[2], shape[0])] {
        check_both_orders(&mut shop(), one, other);
    }
}

#[test]
fn arguments_come_before_changes() {
    let mut shop = shop();
    let json = "{'name': 'E', 'changes': [{'create': {'id': 1, 'kind': 'unheard-of'}}],
                 'args': {'n': {'$next': 'pallet'}}}";
    let command = shop.command("1", events(json));
    let field = "events[0].args.n.$next".to_owned();
    let expected = Refusal::UnknownSequence { name: name("pallet"), field };
    assert_eq!(refusal(shop.outcome(command)), expected);
}

#[test]
fn a_raw_id_that_is_given_twice_is_found_where_it_stands() {
    let mut shop = shop();
    let twice =
        |kind| vec![create(1, kind, None), create(2, "order", None), create(2, "line", None)];
    let command = shop.command("1", unchecked(twice("unheard-of")));
    let field = "events[0].changes[0].create.kind".to_owned();
    let expected = Refusal::UnknownKind { name: name("unheard-of"), field };
    assert_eq!(refusal(shop.outcome(command)), expected);
    let command = shop.command("1", unchecked(twice("order")));
    let Refusal::InvalidArgument { field, .. } = refusal(shop.outcome(command)) else {
        panic!("a raw id stands for one record")
    };
    assert_eq!(field, "events[0].changes[2].create.id");
}

#[test]
fn of_two_sequences_without_numbers_the_first_in_the_document_is_told() {
    let mut shop = shop();
    done(&mut shop, &["{'draw': {'sequence': 'scarce'}}"; 3].join(", "));
    done(&mut shop, &format!("{{'create': {{'id': {}, 'kind': 'line'}}}}", (1_u64 << 53) - 1));
    let [ids, scarce] =
        ["{'create': {'id': 1, 'kind': 'order'}}", "{'draw': {'sequence': 'scarce'}}"];
    let what = |json: String, shop: &mut Shop| match refused(shop, &json) {
        Refusal::SequenceExhausted { what } => what,
        other => panic!("there are no more numbers: {other}"),
    };
    assert_eq!(what(format!("{ids}, {scarce}"), &mut shop), Exhausted::RecordIds(name("order")));
    assert_eq!(what(format!("{scarce}, {ids}"), &mut shop), Exhausted::Sequence(name("scarce")));
}

#[test]
fn within_the_state_the_first_change_in_the_document_is_told() {
    let state = [0, 4, 5, 7, 8, 9, 10, 11].map(|index| CULPRITS[index]);
    // The one for too many fields needs its record.
    let create = |(code, json): (&'static str, &'static str)| match code {
        "TOO_LARGE" => (code, "{'update': {'id': 200001, 'fields': {'a':1, 'b':2, 'c':3, 'd':4}}}"),
        _ => (code, json),
    };
    let mut shop = shop();
    done(&mut shop, DRAWS);
    for (index, one) in state.into_iter().enumerate() {
        for other in state.into_iter().skip(index + 1) {
            check_both_orders(&mut shop, create(one), create(other));
        }
    }
}

#[test]
fn a_change_sees_what_the_changes_before_it_did() {
    let mut shop = shop();
    let set = "{'set': {'key': 'k', 'value': 1, 'if': 'absent'}}";
    let unset = "{'unset': {'key': 'k', 'if': {'version': 1}}}";
    done(&mut shop, &format!("{set}, {unset}, {set}, {unset}"));
    assert_eq!(refused(&mut shop, &format!("{set}, {unset}, {unset}")).code(), "KEY_NOT_FOUND");
}

#[test]
fn a_refusal_carries_what_is_there_now() {
    let mut shop = shop();
    done(&mut shop, "{'set': {'key': 'k', 'value': {'left': 4}}}");
    done(&mut shop, "{'set': {'key': 'k', 'value': {'left': 3}}}");
    let value = CurrentValue::Entity("{\"left\":3}".into());
    let current = Current { version: 2, value };
    let with = |json: &str, shop: &mut Shop| {
        refused(shop, &format!("{{'set': {{'key': 'k', 'value': 1, 'if': {json}}}}}"))
    };
    let (key, subject) = (entity_key("k"), Subject::Entity(entity_key("k")));
    let exists = Refusal::KeyExists { key: key.clone(), current: current.clone() };
    assert_eq!(with("'absent'", &mut shop), exists);
    let version = Refusal::VersionMismatch { subject, current: current.clone() };
    assert_eq!(with("{'version': 1}", &mut shop), version);
    let value = Refusal::ValueMismatch { key, current };
    assert_eq!(with("{'value': {'left': 4}}", &mut shop), value);
    done(&mut shop, DRAWS);
    let fields = vec![(seriatim_types::FieldName::new("no").unwrap(), "1".into())];
    let current = Current { version: 1, value: CurrentValue::Record(fields) };
    let subject = Subject::Record(number(200_001));
    let version = Refusal::VersionMismatch { subject, current };
    assert_eq!(refused(&mut shop, "{'delete': {'id': 200001, 'if_version': 2}}"), version);
    let mut command = ask(&mut shop, DRAWS);
    command.if_offset = Some(2);
    assert_eq!(refusal(shop.outcome(command)), Refusal::OffsetMismatch { current: 3 });
}

#[test]
fn the_last_offset_is_0_before_the_first_event_and_matches_only_itself() {
    let mut shop = shop();
    for (seen, is_last) in [(1, false), (0, true), (0, false), (2, false), (1, true)] {
        let mut command = ask(&mut shop, DRAWS);
        command.if_offset = Some(seen);
        let outcome = shop.outcome(command);
        assert_eq!(
            matches!(outcome, Ok(Outcome::Command(CommandOutcome::Committed(_)))),
            is_last,
            "{outcome:?}"
        );
    }
}
