//! Numbers follow each other without a hole, and only what is carried out draws any.

use seriatim_core::{DefineOutcome, Exhausted, Outcome, Refusal};
use seriatim_testkit::core::{Shop, ShopSettings, changes, events, name};
use seriatim_types::{
    Body, Change, DefineRequest, NUMBER_MAX, Number, Receipt, RecordClass, RecordIdScheme, Reset,
    Retention, Time, Year,
};

use crate::refusals::{self, DRAWS, refusals};
use crate::world::{
    ask, at, done, drawn, ids, receipt, record, refusal, refused, state, text, unchecked,
};

const TICKET: &str = "{'draw': {'sequence': 'ticket'}}";
const SCARCE: &str = "{'draw': {'sequence': 'scarce'}}";
const INVOICE: &str = "{'draw': {'sequence': 'invoice'}}";
const ORDER: &str = "{'create': {'id': 1, 'kind': 'order'}}";

/// 2027-01-01T00:00:00+01:00.
const NEW_YEAR: u64 = 1_798_758_000_000;

/// All that a receipt of [`DRAWS`] was given of its workspace.
fn given(receipt: &Receipt) -> [u64; 5] {
    let numbers = &receipt.numbers;
    [
        receipt.first_offset.get(),
        receipt.client_sequence.get(),
        receipt.ids[0].1.get() - 200_000,
        numbers[0].number.get(),
        numbers[1].number.get(),
    ]
}

fn import(id: u64) -> String {
    format!("{{'create': {{'id': {id}, 'kind': 'order'}}}}")
}

fn id_of(receipt: &Receipt) -> u64 {
    receipt.ids[0].1.get()
}

fn text_of(receipt: &Receipt) -> &str {
    &receipt.numbers[0].text
}

fn define(shop: &mut Shop, text: &str, ranges: Vec<(u64, u64)>, format: &str, reset: Reset) {
    let (name, kind, format) = (name(text), name("default"), format.to_owned());
    let utc_offset_minutes = 60;
    let request = DefineRequest::Sequence { name, kind, ranges, format, reset, utc_offset_minutes };
    let outcome = shop.define(request);
    assert!(
        matches!(outcome, Ok(Outcome::Define(DefineOutcome { is_new: true, .. }))),
        "{outcome:?}"
    );
}

#[test]
fn no_refusal_draws_a_number() {
    let mut shop = refusals::shop();
    done(&mut shop, DRAWS);
    let here = refusals(&mut shop, "1");
    let elsewhere = refusals(&mut shop, "new");
    for (turn, ((code, here), (_, elsewhere))) in (0_u64..).zip(here.into_iter().zip(elsewhere)) {
        for body in [here, elsewhere] {
            let outcome = shop.node.apply(&[at(shop.now, body)]).remove(0).outcome;
            assert_eq!(refusal(outcome).code(), code);
        }
        let next = done(&mut shop, DRAWS);
        assert_eq!(given(&next), [turn + 2; 5], "{code}");
        assert_eq!(next.first_partition_offset.get(), 2 * turn + 2, "{code}");
        let first = shop.command(&format!("name-{turn}"), changes(DRAWS));
        let first = receipt(shop.outcome(first));
        assert_eq!((given(&first), first.workspace.0), ([1; 5], (1 << 40) + turn), "{code}");
    }
}

#[test]
fn a_full_key_window_draws_no_number() {
    let retention = Retention::Milliseconds(1000);
    let settings = ShopSettings { retention, keys_max: Some(1), ..ShopSettings::default() };
    let mut shop = Shop::new(settings);
    done(&mut shop, DRAWS);
    assert_eq!(refused(&mut shop, DRAWS).code(), "KEY_WINDOW_FULL");
    shop.now = Time(shop.now.0 + 1000);
    let tick = shop.node.tick(shop.now, 9);
    shop.node.apply(&[tick]);
    assert_eq!(given(&done(&mut shop, DRAWS)), [2; 5]);
}

#[test]
fn arguments_draw_before_changes_and_members_as_they_are_written() {
    let mut shop = Shop::default();
    let json = "{'name': 'E',
                 'changes': [{'set': {'key': 'k', 'value': [{'$next': 'ticket'}]}}],
                 'args': {'z': {'$next': 'ticket'}, 'a': {'deep': {'$next': 'ticket'}}}},
                {'name': 'F', 'args': {'n': {'$next': 'ticket'}}}";
    let command = shop.command("1", events(json));
    receipt(shop.outcome(command));
    let stored = shop.node.events();
    assert_eq!(text(&stored[0].args), r#"{"a":{"deep":2},"z":1}"#);
    let Change::Set { value, .. } = &stored[0].changes[0] else { panic!("it was set") };
    assert_eq!(text(value), "[3]");
    assert_eq!(text(&stored[1].args), r#"{"n":4}"#);
    let of = |index: usize| stored[index].numbers.iter().map(|it| it.number.get());
    assert_eq!((of(0).collect(), of(1).collect()), (vec![1, 2, 3], vec![4]));
}

#[test]
fn the_fields_of_a_record_draw_as_they_are_written() {
    let mut shop = Shop::default();
    let fields = "'z': {'$next': 'scarce'}, 'b': [{'$next': 'ticket'}, {'$next': 'scarce'}],
                  'a': {'$next': 'ticket'}";
    let create = format!("{{'create': {{'id': 1, 'kind': 'order', 'fields': {{{fields}}}}}}}");
    let receipt = done(&mut shop, &format!("{create}, {TICKET}"));
    let order = ["scarce 7 7", "ticket 1 1", "scarce 8 8", "ticket 2 2", "ticket 3 3"];
    assert_eq!(drawn(&receipt), order);
    let row = record(&shop, 200_001).unwrap();
    assert_eq!(crate::world::shown(&row.fields), "a=2 b=[1,8] z=7");
}

#[test]
fn a_drawing_change_says_which_of_its_events_numbers_it_is() {
    let mut shop = Shop::default();
    let event = format!(
        "{{'name': 'E', 'args': {{'n': {{'$next': 'ticket'}}}},
                          'changes': [{TICKET}, {{'unset': {{'key': 'k'}}}}, {SCARCE}]}}"
    );
    let command = shop.command("1", events(&format!("{event}, {event}")));
    receipt(shop.outcome(command));
    for event in shop.node.events() {
        let changes = [&event.changes[0], &event.changes[2]];
        assert_eq!(changes, [&Change::Draw { number: 1 }, &Change::Draw { number: 2 }]);
        let names = event.numbers.iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
        assert_eq!(names, ["ticket", "ticket", "scarce"]);
    }
}

#[test]
fn a_draw_is_repeated_forward_and_backward_as_number_and_as_text() {
    let mut shop = Shop::default();
    let json =
        "{'name': 'E', 'args': {'later': {'$draw': 2}, 'later_text': {'$draw': 2, 'as': 'text'},
                                       'own': {'$next': 'ticket'}},
                 'changes': [{'set': {'key': 'k', 'value': {'$draw': 1, 'as': 'text'}}}]},
                {'name': 'F', 'args': {'early': {'$draw': 0}},
                 'changes': [{'draw': {'sequence': 'scarce'}},
                             {'set': {'key': 'l', 'value': {'$next': 'invoice', 'as': 'text'}}}]}";
    let command = shop.command("1", events(json));
    let receipt = receipt(shop.outcome(command));
    assert_eq!(drawn(&receipt), ["ticket 1 1", "scarce 7 7", "invoice 1 INV-2026-000001"]);
    let stored = shop.node.events();
    let args = r#"{"later":1,"later_text":"INV-2026-000001","own":1}"#;
    assert_eq!(text(&stored[0].args), args);
    assert_eq!(text(&stored[1].args), r#"{"early":1}"#);
    let value = |key| text(&crate::world::entity(&shop, key).unwrap().value).to_owned();
    assert_eq!((value("k"), value("l")), (r#""7""#.into(), r#""INV-2026-000001""#.into()));
}

#[test]
fn a_draw_that_the_command_does_not_make_cannot_be_repeated() {
    let mut shop = Shop::default();
    let json = "{'set': {'key': 'k', 'value': {'$draw': 1}}}";
    let mut both = changes(&format!("{TICKET}, {TICKET}, {json}"));
    both[0].changes.remove(0);
    let command = shop.command("1", both);
    assert_eq!(refusal(shop.outcome(command)).code(), "INVALID_ARGUMENT");
}

#[test]
fn a_text_is_written_as_canonical_json() {
    let mut shop = Shop::default();
    let format = "\"\\/{n}<\u{2028}ü\u{1f600}>";
    define(&mut shop, "odd", vec![(1, 9)], format, Reset::Never);
    let set = "{'set': {'key': 'k', 'value': {'a': {'$next': 'odd', 'as': 'text'}}}}";
    let receipt = done(&mut shop, set);
    assert_eq!(text_of(&receipt), format.replace("{n}", "1"), "the receipt has the bare text");
    let value = crate::world::entity(&shop, "k").unwrap().value;
    assert_eq!(text(&value), "{\"a\":\"\\\"\\\\/1<\u{2028}ü\u{1f600}>\"}");
}

#[test]
fn a_yearly_sequence_begins_anew_at_midnight_of_its_utc_offset() {
    let mut shop = Shop::default();
    done(&mut shop, INVOICE);
    shop.now = Time(NEW_YEAR - 1);
    let last = done(&mut shop, INVOICE);
    assert_eq!(text_of(&last), "INV-2026-000002");
    assert_eq!(last.numbers[0].year, Year::new(2026));
    shop.now = Time(NEW_YEAR);
    let first = done(&mut shop, &format!("{INVOICE}, {TICKET}"));
    assert_eq!(drawn(&first), ["invoice 1 INV-2027-000001", "ticket 1 1"]);
    assert_eq!((first.numbers[0].year, first.numbers[1].year), (Year::new(2027), None));
}

#[test]
fn a_clock_that_is_set_back_does_not_bring_the_old_year_back() {
    let mut shop = Shop::default();
    shop.now = Time(NEW_YEAR);
    done(&mut shop, INVOICE);
    shop.now = Time(NEW_YEAR - 1);
    let receipt = done(&mut shop, INVOICE);
    assert_eq!(text_of(&receipt), "INV-2027-000002");
    assert_eq!(receipt.committed_at, Time(NEW_YEAR));
    shop.node.restart();
    assert_eq!(text_of(&done(&mut shop, INVOICE)), "INV-2027-000003");
}

#[test]
fn another_format_changes_later_texts_only() {
    let mut shop = Shop::default();
    let early = ask(&mut shop, TICKET);
    let before = receipt(shop.outcome(early));
    define(&mut shop, "ticket", vec![(1, NUMBER_MAX)], "T{n:03}", Reset::Never);
    assert_eq!(drawn(&done(&mut shop, TICKET)), ["ticket 2 T002"]);
    let stored = shop.node.events();
    assert_eq!(seriatim_core::receipt(&stored[..1]), Some(before), "what was given stays given");
    assert_eq!(stored[0].numbers[0].text, "1");
}

#[test]
fn a_sequence_that_has_given_all_its_numbers_refuses_and_stops_nothing_else() {
    let mut shop = Shop::default();
    let both = format!("{TICKET}, {SCARCE}");
    for (number, ticket) in [(7, 1), (8, 2), (9, 3)] {
        let expected = [format!("ticket {ticket} {ticket}"), format!("scarce {number} {number}")];
        assert_eq!(drawn(&done(&mut shop, &both)), expected);
    }
    for _ in 0..3 {
        let exhausted = Refusal::SequenceExhausted { what: Exhausted::Sequence(name("scarce")) };
        assert_eq!(refused(&mut shop, &both), exhausted);
        shop.node.checkpoint();
        shop.node.restart();
    }
    assert_eq!(drawn(&done(&mut shop, TICKET)), ["ticket 4 4"]);
    let elsewhere = shop.command("2", changes(SCARCE));
    assert_eq!(drawn(&receipt(shop.outcome(elsewhere))), ["scarce 7 7"]);
}

#[test]
fn one_command_too_many_for_a_sequence_draws_nothing_of_it() {
    let mut shop = Shop::default();
    assert_eq!(refused(&mut shop, &[SCARCE; 4].join(", ")).code(), "SEQUENCE_EXHAUSTED");
    let all = done(&mut shop, &[SCARCE; 3].join(", "));
    assert_eq!(drawn(&all), ["scarce 7 7", "scarce 8 8", "scarce 9 9"]);
}

#[test]
fn ranges_are_used_in_their_order() {
    let mut shop = Shop::default();
    define(&mut shop, "zone", vec![(100, 101), (7, 8)], "{n}", Reset::Never);
    let zone = "{'draw': {'sequence': 'zone'}}";
    for number in [100, 101, 7, 8] {
        assert_eq!(done(&mut shop, zone).numbers[0].number.get(), number);
        shop.node.restart();
    }
    assert_eq!(refused(&mut shop, zone).code(), "SEQUENCE_EXHAUSTED");
}

#[test]
fn every_year_has_all_ranges_of_a_yearly_sequence() {
    let mut shop = Shop::default();
    define(&mut shop, "season", vec![(5, 5)], "{yyyy}/{n}", Reset::Yearly);
    let season = "{'draw': {'sequence': 'season'}}";
    assert_eq!(text_of(&done(&mut shop, season)), "2026/5");
    assert_eq!(refused(&mut shop, season).code(), "SEQUENCE_EXHAUSTED");
    shop.now = Time(NEW_YEAR);
    assert_eq!(text_of(&done(&mut shop, season)), "2027/5");
}

#[test]
fn a_workspace_has_the_sequences_of_its_kind_and_no_others() {
    let mut shop = Shop::default();
    let field = "events[0].changes[0].draw.sequence".to_owned();
    let pallet = "{'draw': {'sequence': 'pallet'}}";
    let unknown = Refusal::UnknownSequence { name: name("pallet"), field };
    assert_eq!(refused(&mut shop, pallet), unknown);
    let declare = seriatim_types::Declare {
        workspace: seriatim_types::WorkspaceRef::Name(name("depot")),
        kind: name("warehouse"),
    };
    shop.node.apply(&[at(shop.now, Body::Declare(declare))]);
    let inside = shop.command("depot", changes(pallet));
    assert_eq!(drawn(&receipt(shop.outcome(inside))), ["pallet 1 P01"]);
    let outside = shop.command("depot", changes(TICKET));
    assert_eq!(refusal(shop.outcome(outside)).code(), "UNKNOWN_SEQUENCE");
}

#[test]
fn every_workspace_counts_for_itself() {
    let mut shop = Shop::default();
    for (workspace, turn) in [("1", 1), ("2", 1), ("store", 1), ("1", 2), ("store", 2), ("2", 2)] {
        let command = shop.command(workspace, changes(DRAWS));
        assert_eq!(given(&receipt(shop.outcome(command))), [turn; 5], "{workspace}");
    }
}

#[test]
fn an_imported_id_raises_the_sequence_past_it() {
    let mut shop = Shop::default();
    assert_eq!(id_of(&done(&mut shop, ORDER)), 200_001);
    assert!(done(&mut shop, &import(200_010)).ids.is_empty());
    assert_eq!(id_of(&done(&mut shop, ORDER)), 200_011);
    done(&mut shop, &import(200_005));
    assert_eq!(id_of(&done(&mut shop, ORDER)), 200_012, "an id below moves nothing");
    shop.node.restart();
    assert_eq!(id_of(&done(&mut shop, ORDER)), 200_013, "the log tells the same");
}

#[test]
fn an_imported_id_that_is_taken_is_refused_however_it_was_taken() {
    let mut shop = Shop::default();
    done(&mut shop, ORDER);
    done(&mut shop, &import(200_005));
    for id in [200_001, 200_005] {
        let exists = Refusal::RecordExists { id: Number::new(id).unwrap() };
        assert_eq!(refused(&mut shop, &import(id)), exists);
    }
    assert_eq!(id_of(&done(&mut shop, ORDER)), 200_006);
}

#[test]
fn an_import_and_a_draw_in_one_command_go_by_their_order() {
    let mut shop = Shop::default();
    let (low, high) = (import(200_001), import(200_009));
    let receipt = done(&mut shop, &format!("{low}, {ORDER}"));
    assert_eq!(ids(&receipt), [(1, 200_002)], "the draw goes on behind the import");
    let receipt = done(&mut shop, &format!("{ORDER}, {high}"));
    assert_eq!(ids(&receipt), [(1, 200_003)], "the draw came first");
    let taken = format!("{ORDER}, {}", import(200_010));
    assert_eq!(refused(&mut shop, &taken).code(), "RECORD_EXISTS", "the draw took it");
    assert_eq!(id_of(&done(&mut shop, ORDER)), 200_010);
}

#[test]
fn the_last_id_of_all_can_be_imported_and_ends_the_sequence() {
    let mut shop = Shop::default();
    assert_eq!(done(&mut shop, &import(NUMBER_MAX)).ids, []);
    assert_eq!(refused(&mut shop, ORDER).code(), "SEQUENCE_EXHAUSTED");
    done(&mut shop, &import(200_001));
    shop.node.restart();
    assert_eq!(refused(&mut shop, ORDER).code(), "SEQUENCE_EXHAUSTED");
}

#[test]
fn ids_that_are_none_cannot_be_imported() {
    let mut shop = Shop::default();
    for id in [0, 65_536, 66_047, 66_048, 200_000, NUMBER_MAX + 1, u64::MAX] {
        let command = shop.command("1", unchecked(vec![crate::world::create(id, "order", None)]));
        assert_eq!(refusal(shop.outcome(command)).code(), "INVALID_ARGUMENT", "{id}");
    }
    for id in [200_001, 1, 65_535] {
        let command = shop.command("1", unchecked(vec![crate::world::create(id, "order", None)]));
        receipt(shop.outcome(command));
    }
}

const C_FIRST: u64 = 322_685_000_131_072;
const OW_FIRST: u64 = 322_680_000_131_072;

fn split() -> Shop {
    let record_ids = RecordIdScheme::Split;
    Shop::new(ShopSettings { record_ids, ..ShopSettings::default() })
}

#[test]
fn the_split_scheme_has_one_sequence_for_class_c_and_one_for_o_and_w() {
    let mut shop = split();
    let create = |id: u64, kind: &str| format!("{{'create': {{'id': {id}, 'kind': '{kind}'}}}}");
    let all = [(1, "order"), (2, "line"), (3, "note"), (4, "order"), (5, "settings")];
    let all = all.map(|(id, kind)| create(id, kind)).join(", ");
    for turn in 0..2 {
        if turn == 1 {
            done(&mut shop, "{'delete': {'id': 65536}}");
            shop.node.restart();
        }
        let (c, ow) = (C_FIRST + 2 * turn, OW_FIRST + 2 * turn);
        let expected = [(1, c), (2, ow), (3, ow + 1), (4, c + 1), (5, 65_536)];
        assert_eq!(ids(&done(&mut shop, &all)), expected);
    }
}

#[test]
fn an_import_of_the_split_scheme_lies_in_the_range_of_its_class_and_raises_it_alone() {
    let mut shop = split();
    let create = |id: u64, kind: &str| format!("{{'create': {{'id': {id}, 'kind': '{kind}'}}}}");
    let outside = [
        (200_001, "order"),
        (C_FIRST - 1, "order"),
        (OW_FIRST - 1, "line"),
        (C_FIRST, "line"),
        (C_FIRST, "note"),
    ];
    for (id, kind) in outside {
        assert_eq!(refused(&mut shop, &create(id, kind)).code(), "INVALID_ARGUMENT", "{id} {kind}");
    }
    done(&mut shop, &create(C_FIRST + 4, "order"));
    assert_eq!(id_of(&done(&mut shop, &create(1, "line"))), OW_FIRST);
    assert_eq!(id_of(&done(&mut shop, &create(1, "order"))), C_FIRST + 5);
    done(&mut shop, &create(C_FIRST - 1, "note"));
    assert_eq!(refused(&mut shop, &create(1, "line")).code(), "SEQUENCE_EXHAUSTED");
    assert_eq!(id_of(&done(&mut shop, &create(1, "order"))), C_FIRST + 6, "they never meet");
}

#[test]
fn numbers_follow_each_other_across_restarts_with_and_without_a_checkpoint() {
    let mut shop = Shop::default();
    let mut turn = 0;
    for step in 0..16 {
        turn += 1;
        assert_eq!(given(&done(&mut shop, DRAWS)), [turn; 5]);
        assert_eq!(
            refused(&mut shop, &format!("{DRAWS}, {{'delete': {{'id': 300000}}}}")).code(),
            "RECORD_NOT_FOUND"
        );
        if step & 1 != 0 {
            shop.node.checkpoint();
        }
        if step & 2 != 0 {
            turn += 1;
            assert_eq!(given(&done(&mut shop, DRAWS)), [turn; 5]);
        }
        if step & 4 != 0 {
            let before = state(&shop.node);
            shop.node.restart();
            assert_eq!(state(&shop.node), before);
        }
    }
    let offsets = shop.node.events().into_iter().map(|event| event.partition_offset.get());
    assert!(offsets.eq(1..=turn));
}

#[test]
fn there_is_no_513th_singleton_kind() {
    let mut shop = Shop::default();
    let defined = shop.node.machine().defined().unwrap().plain().records.clone();
    let before = defined.iter().filter(|record| record.singleton.is_some()).count();
    let request = |index: usize| DefineRequest::Record {
        name: name(&format!("single-{index}")),
        class: RecordClass::O,
        singleton: true,
    };
    let mut outcomes = (before..513).map(|index| shop.define(request(index))).collect::<Vec<_>>();
    let too_large = Refusal::TooLarge { what: "singleton kinds", max: 512, found: 513 };
    assert_eq!(refusal(outcomes.pop().unwrap()), too_large);
    assert!(
        outcomes
            .iter()
            .all(|it| matches!(it, Ok(Outcome::Define(DefineOutcome { is_new: true, .. }))))
    );
    let last = done(&mut shop, "{'create': {'id': 1, 'kind': 'single-511'}}");
    assert_eq!(id_of(&last), 66_047);
}
