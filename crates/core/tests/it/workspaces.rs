//! Workspaces: they come into being when they are first used, by an id or by a name.

use seriatim_codec::{Stored, Table, decode_number};
use seriatim_core::{
    CommandOutcome, DeclareOutcome, Fault, Outcome, Refusal, RowId, Rows, partition_of_name,
};
use seriatim_testkit::core::{Node, Shop, changes, command, name};
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{
    Body, Command, Declare, Entry, Event, Key, KindId, NUMBER_MAX, WorkspaceId, WorkspaceRef,
    WorkspaceRow,
};

use crate::definitions::System;
use crate::world::{APP, at, receipt, refusal, state};

const SET: &str = "{'set': {'key': 'k', 'value': 1}}";
const REFUSED: &str = "{'unset': {'key': 'none', 'if': 'exists'}}";

fn send(shop: &mut Shop, workspace: &str) -> Result<Outcome, Refusal> {
    let command = shop.command(workspace, changes(SET));
    shop.outcome(command)
}

/// The workspace that a command is carried out in, and the place of its event there.
fn place(outcome: Result<Outcome, Refusal>) -> (u64, u64) {
    let receipt = receipt(outcome);
    (receipt.workspace.0, receipt.first_offset.get())
}

fn declare(shop: &mut Shop, workspace: &str, kind: &str) -> Result<Outcome, Refusal> {
    let entry = declaration(shop, workspace, kind);
    shop.node.apply(&[entry]).remove(0).outcome
}

fn declaration(shop: &mut Shop, workspace: &str, kind: &str) -> Entry {
    let workspace = shop.command(workspace, changes(SET)).workspace;
    at(shop.now, Body::Declare(Declare { workspace, kind: name(kind) }))
}

fn declared(workspace: u64, is_new: bool) -> Result<Outcome, Refusal> {
    Ok(Outcome::Declare(DeclareOutcome { workspace: WorkspaceId(workspace), is_new }))
}

fn row(node: &Node, id: u64) -> Option<WorkspaceRow> {
    let key = seriatim_codec::workspace_row_key(APP, WorkspaceId(id));
    node.stored(&RowId { table: Table::Partition, key })
}

/// The id that is stored for a name.
fn id_of(node: &Node, text: &str) -> Option<u64> {
    let key = seriatim_codec::workspace_name_key(APP, &name(text));
    let bytes = node.rows().get(&RowId { table: Table::Partition, key })?;
    Some(decode_number(bytes).unwrap())
}

fn last_event(shop: &Shop) -> Event {
    shop.node.events().pop().unwrap()
}

#[test]
fn an_id_below_two_to_the_40_is_its_callers_choice() {
    let mut shop = Shop::default();
    for id in [0, 1, 77, NAMED_WORKSPACE_FIRST - 1] {
        for offset in 1..3 {
            assert_eq!(place(send(&mut shop, &id.to_string())), (id, offset));
        }
        let row = row(&shop.node, id).unwrap();
        assert_eq!((row.kind, row.name), (KindId(0), None));
    }
}

#[test]
fn names_are_given_ids_from_two_to_the_40_on_in_the_order_of_their_first_use() {
    let mut shop = Shop::default();
    for (text, index, offset) in [("b", 0, 1), ("a", 1, 1), ("b", 0, 2), ("c", 2, 1), ("a", 1, 2)] {
        assert_eq!(place(send(&mut shop, text)), (NAMED_WORKSPACE_FIRST + index, offset));
        shop.node.restart();
    }
    assert_eq!(id_of(&shop.node, "a"), Some(NAMED_WORKSPACE_FIRST + 1));
    let row = row(&shop.node, NAMED_WORKSPACE_FIRST + 1).unwrap();
    assert_eq!(row.name, Some(name("a")));
    assert_eq!(shop.node.machine().row().names, 3);
}

#[test]
fn declared_names_are_given_ids_of_the_same_count() {
    let mut shop = Shop::default();
    for (index, text) in (0..).zip(["a", "b", "c"]) {
        let declared = declared(NAMED_WORKSPACE_FIRST + index, true);
        assert_eq!(declare(&mut shop, text, "default"), declared);
        shop.node.restart();
    }
    assert_eq!(place(send(&mut shop, "d")), (NAMED_WORKSPACE_FIRST + 3, 1));
    assert_eq!(place(send(&mut shop, "a")), (NAMED_WORKSPACE_FIRST, 1));
    assert_eq!(place(send(&mut shop, "e")), (NAMED_WORKSPACE_FIRST + 4, 1));
}

#[test]
fn a_refused_first_command_of_a_name_does_not_use_up_the_id() {
    let mut shop = Shop::default();
    let wrong = shop.command("wrong", changes(REFUSED));
    refusal(shop.outcome(wrong.clone()));
    assert_eq!(refusal(declare(&mut shop, "wrong", "none")).code(), "UNKNOWN_KIND");
    assert_eq!(id_of(&shop.node, "wrong"), None);
    assert_eq!(place(send(&mut shop, "right")), (NAMED_WORKSPACE_FIRST, 1));
    refusal(shop.outcome(wrong));
    assert_eq!(place(send(&mut shop, "wrong")), (NAMED_WORKSPACE_FIRST + 1, 1));
}

#[test]
fn commands_of_one_batch_for_new_names_find_each_other() {
    let mut shop = Shop::default();
    let wrong = shop.command("one", changes(REFUSED));
    let mut batch = vec![wrong];
    batch.extend(["one", "two", "one", "two"].map(|text| shop.command(text, changes(SET))));
    let batch: Vec<_> = batch.into_iter().map(|it| at(shop.now, Body::Command(it))).collect();
    let mut outcomes = shop.node.apply(&batch).into_iter().map(|effects| effects.outcome);
    refusal(outcomes.next().unwrap());
    let (one, two) = (NAMED_WORKSPACE_FIRST, NAMED_WORKSPACE_FIRST + 1);
    let expected = [(one, 1), (two, 1), (one, 2), (two, 2)];
    assert!(outcomes.map(place).eq(expected));
    assert_eq!(shop.node.machine().row().names, 2);
}

#[test]
fn a_name_that_is_declared_and_used_in_one_batch_is_one_workspace() {
    let mut shop = Shop::default();
    let pallet = shop.command("depot", changes("{'draw': {'sequence': 'pallet'}}"));
    let batch = [
        declaration(&mut shop, "depot", "warehouse"),
        at(shop.now, Body::Command(pallet)),
        declaration(&mut shop, "depot", "warehouse"),
    ];
    let mut outcomes = shop.node.apply(&batch).into_iter().map(|effects| effects.outcome);
    assert_eq!(outcomes.next(), Some(declared(NAMED_WORKSPACE_FIRST, true)));
    assert_eq!(place(outcomes.next().unwrap()), (NAMED_WORKSPACE_FIRST, 1));
    assert_eq!(outcomes.next(), Some(declared(NAMED_WORKSPACE_FIRST, false)));
}

#[test]
fn an_id_from_two_to_the_40_on_is_never_good_also_once_a_name_has_it() {
    let mut shop = Shop::default();
    let check = |shop: &mut Shop| {
        for id in [NAMED_WORKSPACE_FIRST, NAMED_WORKSPACE_FIRST + 1, NUMBER_MAX, u64::MAX] {
            let refusals = [send(shop, &id.to_string()), declare(shop, &id.to_string(), "default")];
            for refused in refusals.map(refusal) {
                let is_workspace = matches!(
                    &refused,
                    Refusal::InvalidArgument { field, .. } if field == "workspace"
                );
                assert!(is_workspace, "{id}: {refused:?}");
            }
        }
    };
    check(&mut shop);
    assert_eq!(place(send(&mut shop, "name")), (NAMED_WORKSPACE_FIRST, 1));
    check(&mut shop);
    assert_eq!(place(send(&mut shop, "name")), (NAMED_WORKSPACE_FIRST, 2));
}

#[test]
fn a_workspace_belongs_to_one_partition() {
    let system = System::with_partitions(4);
    let mut nodes = [0, 1, 2, 3].map(|partition| system.partition(partition));
    let mut seen = Vec::new();
    for (index, workspace) in ["0", "1", "6", "store-1", "store-2", "ü"].into_iter().enumerate() {
        let home = workspace.parse().map_or_else(
            |_| usize::from(partition_of_name(&name(workspace), 4).0),
            |id: usize| id % 4,
        );
        for (partition, node) in nodes.iter_mut().enumerate() {
            let before = state(node);
            let key = Key([u8::try_from(index).unwrap() + 1; 16]);
            let command = command("pos-4", key, workspace, changes(SET));
            let entry = Entry { time: seriatim_types::Time(1), body: Body::Command(command) };
            match node.apply(&[entry]).remove(0).outcome {
                Ok(Outcome::Command(CommandOutcome::Committed(receipt))) => {
                    assert_eq!(partition, home, "{workspace}");
                    assert_eq!(receipt.workspace.0 % 4, partition as u64, "{workspace}");
                    seen.push(receipt.workspace.0);
                }
                other => {
                    assert_ne!(partition, home, "{workspace}");
                    let Refusal::InvalidArgument { field, .. } = refusal(other) else {
                        panic!("{workspace} is not here")
                    };
                    assert_eq!(field, "workspace");
                    assert_eq!(state(node), before);
                }
            }
        }
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 6, "no two of them are one");
}

#[test]
fn a_kind_is_declared_before_the_first_use_and_stays() {
    for (workspace, id) in [("7", 7), ("depot", NAMED_WORKSPACE_FIRST)] {
        let mut shop = Shop::default();
        assert_eq!(declare(&mut shop, workspace, "warehouse"), declared(id, true));
        assert!(shop.node.events().is_empty(), "a declaration is no event");
        assert_eq!(declare(&mut shop, workspace, "warehouse"), declared(id, false));
        let conflict = Refusal::KindConflict { current: name("warehouse") };
        assert_eq!(refusal(declare(&mut shop, workspace, "default")), conflict);
        shop.node.restart();
        let pallet = shop.command(workspace, changes("{'draw': {'sequence': 'pallet'}}"));
        assert_eq!(place(shop.outcome(pallet)), (id, 1));
        assert_eq!(declare(&mut shop, workspace, "warehouse"), declared(id, false));
        assert_eq!(refusal(declare(&mut shop, workspace, "default")), conflict);
        assert_eq!(row(&shop.node, id).unwrap().kind, KindId(1));
    }
}

#[test]
fn a_workspace_that_was_used_first_is_of_the_default_kind_and_stays() {
    let mut shop = Shop::default();
    for workspace in ["7", "name"] {
        let (id, _) = place(send(&mut shop, workspace));
        let conflict = Refusal::KindConflict { current: name("default") };
        assert_eq!(refusal(declare(&mut shop, workspace, "warehouse")), conflict);
        assert_eq!(declare(&mut shop, workspace, "default"), declared(id, false));
    }
}

#[test]
fn a_kind_that_is_not_defined_cannot_be_declared() {
    let mut shop = Shop::default();
    let field = "kind".to_owned();
    let unknown = Refusal::UnknownKind { name: name("none"), field };
    let before = state(&shop.node);
    for workspace in ["7", "name"] {
        assert_eq!(refusal(declare(&mut shop, workspace, "none")), unknown);
    }
    assert_eq!(state(&shop.node), before);
}

#[test]
fn a_refused_first_command_leaves_a_workspace_to_be_declared() {
    let mut shop = Shop::default();
    let wrong = shop.command("7", changes(REFUSED));
    refusal(shop.outcome(wrong));
    assert_eq!(declare(&mut shop, "7", "warehouse"), declared(7, true));
}

#[test]
fn the_first_event_of_a_workspace_carries_its_name_and_every_one_its_kind() {
    let mut shop = Shop::default();
    drop(declare(&mut shop, "depot", "warehouse"));
    let cases = [("depot", Some("depot"), 1), ("store", Some("store"), 0), ("7", None, 0)];
    for (workspace, text, kind) in cases {
        for expected in [text, None] {
            let command = shop.command(workspace, [changes(SET), changes(SET)].concat());
            receipt(shop.outcome(command));
            let events = shop.node.events();
            let [.., first, second] = events.as_slice() else { panic!("two were made") };
            assert_eq!(first.workspace_name, expected.map(name), "{workspace}");
            assert_eq!(second.workspace_name, None, "{workspace}");
            assert_eq!((first.kind, second.kind), (KindId(kind), KindId(kind)), "{workspace}");
        }
    }
}

#[test]
fn a_first_event_of_a_declared_name_carries_the_name_too() {
    let mut shop = Shop::default();
    drop(declare(&mut shop, "depot", "warehouse"));
    drop(send(&mut shop, "depot"));
    assert_eq!(last_event(&shop).workspace_name, Some(name("depot")));
    assert_eq!(shop.node.machine().row().names, 1);
}

#[test]
fn the_ids_of_names_end() {
    let mut shop = Shop::default();
    let command: Command = shop.command("name", changes(SET));
    let mut bare = crate::bare::Bare::of(&shop.node, APP);
    let row = seriatim_types::PartitionRow {
        names: NUMBER_MAX - NAMED_WORKSPACE_FIRST + 1,
        ..bare.machine.row().clone()
    };
    let definitions = shop.node.machine().defined().unwrap().plain().clone();
    let settings = seriatim_sequencer::Settings::default();
    let full = seriatim_core::Machine::open(APP, Some(row), Some(definitions), settings);
    bare.machine = full.unwrap();
    assert_eq!(command.workspace, WorkspaceRef::Name(name("name")));
    let outcome = bare.apply(&at(shop.now, Body::Command(command))).unwrap().outcome;
    assert_eq!(refusal(outcome).code(), "SEQUENCE_EXHAUSTED");
}

#[test]
fn a_stored_first_event_with_a_name_has_an_id_that_names_have() {
    let mut shop = Shop::default();
    drop(send(&mut shop, "store"));
    drop(send(&mut shop, "7"));
    let [named, plain] = <[Event; 2]>::try_from(shop.node.events()).unwrap();
    let foreign = Event { workspace: WorkspaceId(7), ..named.clone() };
    for (event, is_founded) in [(named, true), (plain, true), (foreign, false)] {
        let mut bare = crate::bare::Bare::of(&Shop::default().node, APP);
        let mut rows = Rows::new();
        let wanted = bare.machine.read_set_of_event(&event, &rows).rows;
        wanted.into_iter().for_each(|row| rows.fetched(row, None));
        match bare.machine.evolve(&event, event.to_bytes(), &mut rows) {
            Ok(_) => assert!(is_founded, "{event:?}"),
            Err(fault) => {
                assert!(matches!(fault, Fault::Unfounded { .. }), "{fault:?}");
                assert!(!is_founded, "{event:?}");
            }
        }
    }
}
