//! What an attack on the core found, each as the story of what went wrong.

use seriatim_codec::Stored;
use seriatim_core::{CommandOutcome, Fault, Machine, Outcome, Refusal, Rows, StepError};
use seriatim_sequencer::{RowsRead, Settings};
use seriatim_testkit::core::{Shop, ShopSettings, changes, name};
use seriatim_types::limits::KEYS_MAX;
use seriatim_types::{
    AppId, AppSettings, Body, Change, CommandLimits, DefineRequest, Definition, Filler, Hole,
    KindDefinition, KindId, PartitionRow, RecordClass, RecordDefinition, Reset, Retention,
    SequenceDefinition, SequenceId, Shown, Template, Time,
};

use crate::bare::Bare;
use crate::definitions::{System, fault};
use crate::world::{
    APP, ask, at, create, done, number, receipt, refusal, refused, state, unchecked,
};

/// A command of a few hundred bytes could rewrite so many large records that no storage batch
/// could hold them, and the partition would stop at it for ever.
#[test]
fn a_small_command_cannot_rewrite_more_than_its_limit() {
    let limits = CommandLimits { written_bytes: 4000, ..CommandLimits::default() };
    let mut shop = Shop::new(ShopSettings { limits, ..ShopSettings::default() });
    let value = "x".repeat(1000);
    for _ in 0..4 {
        done(
            &mut shop,
            &format!("{{'create': {{'id': 1, 'kind': 'note', 'fields': {{'a': '{value}'}}}}}}"),
        );
    }
    let update = |id: u64| format!("{{'update': {{'id': {id}, 'fields': {{}}}}}}");
    let three: Vec<String> = (200_001..200_004).map(update).collect();
    done(&mut shop, &three.join(", "));
    let before = state(&shop.node);
    let four: Vec<String> = (200_001..200_005).map(update).collect();
    let refusal = refused(&mut shop, &four.join(", "));
    let Refusal::TooLarge { what, max: 4000, .. } = refusal else { panic!("{refusal:?}") };
    assert_eq!(what, "bytes written by a command");
    // Rewriting one record again and again is no way around it.
    let again = [update(200_001), update(200_001), update(200_001), update(200_001)];
    assert_eq!(refused(&mut shop, &again.join(", ")).code(), "TOO_LARGE");
    assert_eq!(state(&shop.node), before);
}

/// The id of a singleton follows from its definition. One that was delivered in the same batch was
/// not known yet when rows were fetched, and what apply then read was not there.
#[test]
fn a_singleton_can_be_created_in_the_batch_that_defines_it() {
    let mut shop = Shop::default();
    done(&mut shop, "");
    let request =
        DefineRequest::Record { name: name("late"), class: RecordClass::C, singleton: true };
    let body = Body::Define(seriatim_types::Define { app: name("shop"), request });
    let effects = shop.system.apply(&[at(shop.now, body)]).remove(0);
    let delivery = effects.messages.into_iter().next().unwrap().delivery;
    let command = ask(&mut shop, "");
    let command =
        seriatim_types::Command { events: unchecked(vec![create(1, "late", None)]), ..command };
    let entries = [at(shop.now, Body::Delivery(delivery)), at(shop.now, Body::Command(command))];
    assert_eq!(Machine::fetched_together(&entries), 1);
    let outcome = shop.node.apply(&entries).remove(1).outcome;
    assert_eq!(receipt(outcome).ids, [(1, number(65_538))]);
}

/// Rows that were kept for another batch said of a new workspace that it has no numbers, long
/// after it had some.
#[test]
#[should_panic(expected = "a row was not read since the last checkpoint")]
fn a_new_workspace_is_taken_for_new_in_its_own_batch_only() {
    let mut shop = Shop::new(ShopSettings {
        sequencer: Settings { cached_rows_max: 1, ..Settings::default() },
        ..ShopSettings::default()
    });
    let one = shop.command("store-1", changes(""));
    let two = shop.command("store-1", changes(""));
    let other = shop.command("7", changes(""));
    let mut bare = Bare::of(&shop.node, APP);
    bare.machine = reopened(&shop, 1);
    let entry = |command| at(shop.now, Body::Command(command));
    let (one, two, other) = (entry(one), entry(two), entry(other));
    let mut rows = bare.fetched(&bare.read_set(&one));
    let ticket = bare.apply_on(&one, &mut rows).unwrap().ticket.unwrap();
    bare.machine.sequencer_mut().flush(ticket).unwrap();
    let ticket = bare.apply(&other).unwrap().ticket.unwrap();
    bare.machine.sequencer_mut().flush(ticket).unwrap();
    let checkpoint = bare.machine.sequencer_mut().take_checkpoint().unwrap();
    bare.machine.sequencer_mut().written(checkpoint);
    let none = RowsRead::new(bare.machine.sequencer().stamp(), []);
    let _second = bare.machine.apply(&two, &mut rows, &none);
}

fn reopened(shop: &Shop, cached_rows_max: usize) -> Machine {
    let row = shop.node.stored(&Machine::partition_row_id(APP));
    let definitions = shop.node.stored(&Machine::definitions_row_id(APP));
    let settings = Settings { cached_rows_max, ..Settings::default() };
    let mut machine = Machine::open(APP, row, definitions, settings).unwrap();
    machine.sequencer_mut().resume(None, 0).unwrap();
    machine.serve().unwrap();
    machine
}

/// A log of which the end was lost was served, and its last number given again.
#[test]
fn a_log_that_was_cut_short_is_not_served() {
    let mut shop = Shop::default();
    let first = ask(&mut shop, "");
    shop.send(first);
    let row: PartitionRow = shop.node.stored(&Machine::partition_row_id(APP)).unwrap();
    let definitions = shop.node.stored(&Machine::definitions_row_id(APP));
    let mut machine = Machine::open(APP, Some(row), definitions, Settings::default()).unwrap();
    machine.sequencer_mut().resume(None, 0).unwrap();
    let fault = machine.serve().unwrap_err();
    assert!(matches!(fault, Fault::Log { committed: Some(_), read: None }), "{fault:?}");
}

/// Limits were held against the text around the holes, and what filled them came on top.
#[test]
fn a_value_is_measured_with_its_holes_filled() {
    let limits = CommandLimits { field_bytes: 20, ..CommandLimits::default() };
    let mut shop = Shop::new(ShopSettings { limits, ..ShopSettings::default() });
    let text = "{'$next': 'invoice', 'as': 'text'}";
    done(&mut shop, &format!("{{'set': {{'key': 'k', 'value': {text}}}}}"));
    let two = format!("{{'set': {{'key': 'k', 'value': [{text}, {text}]}}}}");
    assert_eq!(refused(&mut shop, &two).code(), "TOO_LARGE");
    let field =
        format!("{{'create': {{'id': 1, 'kind': 'note', 'fields': {{'a': [{text}, {text}]}}}}}}");
    assert_eq!(refused(&mut shop, &field).code(), "TOO_LARGE");
    let args = format!("{{'name': 'E', 'args': {{'a': {text}}}}}");
    let command = shop.command("1", seriatim_testkit::core::events(&args));
    assert_eq!(refusal(shop.outcome(command)).code(), "TOO_LARGE");
}

/// At the end of all times every key was over, and the same command was carried out again and again.
#[test]
fn a_key_whose_end_lies_beyond_all_times_is_kept() {
    let mut shop = Shop::default();
    shop.now = Time(u64::MAX);
    let command = ask(&mut shop, "");
    receipt(shop.outcome(command.clone()));
    assert!(matches!(
        shop.outcome(command),
        Ok(Outcome::Command(CommandOutcome::Duplicate { .. }))
    ));
}

/// Definitions that nobody could have made were believed, and stopped the process later.
#[test]
fn a_definition_that_cannot_have_been_made_stops_the_partition() {
    let empty = seriatim_testkit::core::Node::new(APP, Settings::default());
    let node = System::with_partitions(1).partition(0);
    let app = node.machine().defined().unwrap().app().clone();
    let apps: [fn(&mut AppSettings); 4] = [
        |app| app.partitions = 0,
        |app| app.app = AppId(2),
        |app| app.retention = Retention::Milliseconds(0),
        |app| app.keys_max = Some(0),
    ];
    for change in apps {
        let mut app = app.clone();
        change(&mut app);
        check_unfounded(&fault(&empty, 1, Definition::App(app)));
    }
    let kind =
        |text: &str, id| Definition::Kind(KindDefinition { name: name(text), id: KindId(id) });
    let sequence = |id, kind| {
        Definition::Sequence(SequenceDefinition {
            name: name("s"),
            id: SequenceId(id),
            kind: KindId(kind),
            ranges: vec![(1, 9)],
            format: "{n}".to_owned(),
            reset: Reset::Never,
            utc_offset_minutes: 0,
        })
    };
    let singleton = |id| {
        let singleton = Some(number(id));
        Definition::Record(RecordDefinition { name: name("r"), class: RecordClass::C, singleton })
    };
    let steps = [
        kind("k", 0),
        kind("k", 2),
        kind("default", 1),
        sequence(256, 9),
        sequence(2, 0),
        sequence(257, 0),
        singleton(200_001),
        Definition::KeyLimit(Some(0)),
        Definition::KeyLimit(Some(KEYS_MAX + 1)),
        Definition::KeyLimit(app.keys_max),
    ];
    for step in steps {
        check_unfounded(&fault(&node, 2, step));
    }
}

fn check_unfounded(fault: &Fault) {
    let is_unfounded = matches!(fault, Fault::Definitions(StepError::Unfounded { .. }));
    assert!(is_unfounded, "{fault:?}");
}

/// Two holes with the same turn were given the same number, whatever they asked for.
#[test]
fn two_holes_with_the_same_turn_are_refused() {
    let mut shop = Shop::default();
    let next = |at, sequence| {
        let filler = Filler::Next { sequence: name(sequence), shown: Shown::Number };
        Hole { at, order: 3, filler }
    };
    let holes = vec![next(1, "invoice"), next(2, "ticket")];
    let mut events = changes("");
    events[0].args = Template::new("[,]".into(), holes).unwrap();
    let command = shop.command("1", events);
    let Refusal::InvalidArgument { field, .. } = refusal(shop.outcome(command)) else {
        panic!("two holes cannot have one turn")
    };
    assert_eq!(field, "events[0].args");
}

/// A stored event that does not follow from the rows stopped the process that looked for such.
#[test]
fn an_event_that_does_not_follow_is_a_fault() {
    let mut shop = Shop::default();
    done(&mut shop, "{'create': {'id': 1, 'kind': 'order'}}");
    done(&mut shop, "{'update': {'id': 200001, 'fields': {'a': 1}}}");
    done(&mut shop, "{'delete': {'id': 200001}}");
    let mut machine = reopened(&Shop::default(), 9);
    for event in shop.node.events().into_iter().skip(1) {
        let mut rows = Rows::new();
        for row in machine.read_set_of_event(&event, &rows).rows {
            rows.fetched(row, None);
        }
        let fault = machine.evolve(&event, event.to_bytes(), &mut rows).unwrap_err();
        assert!(matches!(fault, Fault::Unfounded { .. }), "{fault:?}");
    }
    let mut event = shop.node.events().remove(1);
    let Change::Update { version, .. } = &mut event.changes[0] else { panic!("an update") };
    *version = 9;
    let mut bare = Bare::of(&shop.node, APP);
    let set = bare.machine.read_set_of_event(&event, &Rows::new()).rows;
    let mut rows = bare.fetched(&set);
    let fault = bare.machine.evolve(&event, event.to_bytes(), &mut rows).unwrap_err();
    assert!(matches!(fault, Fault::Unfounded { .. }), "{fault:?}");
}

/// Records could belong to themselves.
#[test]
fn records_do_not_belong_to_each_other_in_a_circle() {
    let mut shop = Shop::default();
    let mut field = |parents: &[(u64, Option<u64>)]| {
        let create = |(id, parent): &(u64, Option<u64>)| create(*id, "note", *parent);
        let command = shop.command("1", unchecked(parents.iter().map(create).collect()));
        match shop.outcome(command) {
            Err(Refusal::InvalidArgument { field, .. }) => Some(field),
            Ok(Outcome::Command(CommandOutcome::Committed(_))) => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(field(&[(1, Some(2)), (2, Some(3)), (3, None)]), None);
    assert_eq!(field(&[(1, Some(1))]).unwrap(), "events[0].changes[0].create.parent");
    // The first is below the circle and not in it.
    let circle = [(1, Some(2)), (2, Some(3)), (3, Some(2))];
    assert_eq!(field(&circle).unwrap(), "events[0].changes[1].create.parent");
}

/// A name of digits could be given an id, and nobody could have used the name afterwards.
#[test]
fn a_name_is_not_of_digits_alone() {
    let mut shop = Shop::default();
    let mut command = shop.command("1", changes(""));
    command.workspace = seriatim_types::WorkspaceRef::Name(name("123"));
    let Refusal::InvalidArgument { field, .. } = refusal(shop.outcome(command)) else {
        panic!("digits are an id")
    };
    assert_eq!(field, "workspace");
}
