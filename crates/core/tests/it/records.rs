//! Records: numbered documents that belong to each other, grow, and end.

use bytes::Bytes;
use seriatim_codec::Table;
use seriatim_core::{Refusal, RowId};
use seriatim_testkit::core::{Shop, ShopSettings, changes, events, name};
use seriatim_types::{
    Change, CommandChange, CommandEvent, CommandLimits, Hole, Number, RecordClass, Template,
};

use crate::world::{
    APP, WORKSPACE, create, done, entity, ids, number, receipt, record, refusal, refused, shown,
    state, text, unchecked,
};

const ORDER: &str = "{'create': {'id': 1, 'kind': 'order', 'fields': {'a': 1}}}";

fn parent_of(shop: &Shop, id: u64) -> Option<u64> {
    record(shop, id).unwrap().parent.map(Number::get)
}

/// Records of a kind, as they are listed.
fn listed(shop: &Shop, kind: &str) -> Vec<u64> {
    let front = seriatim_codec::records_of_kind_prefix(APP, WORKSPACE, &name(kind));
    let rows = shop.node.rows().keys().filter(|row| row.table == Table::Records);
    let rows = rows.filter(|row| row.key.starts_with(&front));
    let id = |row: &RowId| seriatim_codec::decode_record_of_kind_key(&row.key).unwrap().2.get();
    rows.map(id).collect()
}

fn fields_of(shop: &Shop, id: u64) -> String {
    shown(&record(shop, id).unwrap().fields)
}

/// Sends changes that the JSON edge would not let through, and returns the culprit.
fn culprit(shop: &mut Shop, changes: Vec<CommandChange>) -> String {
    let before = state(&shop.node);
    let command = shop.command("1", unchecked(changes));
    let refusal = refusal(shop.outcome(command));
    assert_eq!(state(&shop.node), before);
    match refusal {
        Refusal::InvalidArgument { field, .. } => field,
        other => panic!("it cannot be meant: {other}"),
    }
}

#[test]
fn a_tree_of_records_is_created_in_one_command_in_any_order() {
    let mut shop = Shop::default();
    let tree = "{'create': {'id': 30, 'kind': 'note', 'parent': 20}},
                {'create': {'id': 20, 'kind': 'line', 'parent': 10}},
                {'create': {'id': 10, 'kind': 'order'}},
                {'create': {'id': 21, 'kind': 'line', 'parent': 10}}";
    let receipt = done(&mut shop, tree);
    let expected = [(10, 200_003), (20, 200_002), (21, 200_004), (30, 200_001)];
    assert_eq!(ids(&receipt), expected);
    let parents = [200_001, 200_002, 200_003, 200_004].map(|id| parent_of(&shop, id));
    assert_eq!(parents, [Some(200_002), Some(200_003), None, Some(200_003)]);
}

#[test]
fn a_parent_may_be_created_by_a_later_event_of_the_same_command() {
    let mut shop = Shop::default();
    let child = changes("{'create': {'id': 1, 'kind': 'line'}}");
    let [mut child, parent] = [child, changes("{'create': {'id': 2, 'kind': 'order'}}")];
    child[0].changes = vec![create(1, "line", Some(2))];
    let command = shop.command("1", [child, parent].concat());
    receipt(shop.outcome(command));
    assert_eq!(parent_of(&shop, 200_001), Some(200_002));
}

#[test]
fn a_parent_may_have_been_there_and_must_be_if_it_is_named_by_its_id() {
    let mut shop = Shop::default();
    done(&mut shop, ORDER);
    let child =
        |parent: u64| format!("{{'create': {{'id': 1, 'kind': 'line', 'parent': {parent}}}}}");
    done(&mut shop, &child(200_001));
    assert_eq!(parent_of(&shop, 200_002), Some(200_001));
    for id in [200_003, 200_009, 65_536] {
        assert_eq!(refused(&mut shop, &child(id)), Refusal::RecordNotFound { id });
    }
    done(&mut shop, "{'delete': {'id': 200001}}");
    assert_eq!(refused(&mut shop, &child(200_001)), Refusal::RecordNotFound { id: 200_001 });
}

#[test]
fn a_record_that_is_imported_before_in_the_same_command_can_be_a_parent() {
    let mut shop = Shop::default();
    let import = "{'create': {'id': 300000, 'kind': 'order'}}";
    let child = "{'create': {'id': 1, 'kind': 'line', 'parent': 300000}}";
    done(&mut shop, &format!("{import}, {child}"));
    assert_eq!(parent_of(&shop, 300_001), Some(300_000));
}

#[test]
fn records_are_referred_to_from_anywhere_in_their_command() {
    let mut shop = Shop::default();
    let json = "{'name': 'E', 'args': {'order': {'$ref': 1}, 'line': {'$ref': 2}},
                 'changes': [{'create': {'id': 1, 'kind': 'order', 'fields': {'line': {'$ref': 2}}}},
                             {'set': {'key': 'last', 'value': [{'$ref': 1}, {'$ref': 300000}]}}]},
                {'name': 'F', 'args': {'order': {'$ref': 1}, 'one': {'$ref': 65536}},
                 'changes': [{'create': {'id': 2, 'kind': 'line', 'parent': 1}},
                             {'create': {'id': 3, 'kind': 'settings'}},
                             {'update': {'id': 1, 'fields': {'one': {'$ref': 3}}}}]}";
    let command = shop.command("1", events(json));
    let receipt = receipt(shop.outcome(command));
    assert_eq!(ids(&receipt), [(1, 200_001), (2, 200_002), (3, 65_536)]);
    let stored = shop.node.events();
    assert_eq!(text(&stored[0].args), r#"{"line":200002,"order":200001}"#);
    assert_eq!(text(&stored[1].args), r#"{"one":65536,"order":200001}"#);
    assert_eq!(fields_of(&shop, 200_001), "line=200002 one=65536");
    assert_eq!(text(&entity(&shop, "last").unwrap().value), "[200001,300000]");
    assert_eq!(parent_of(&shop, 200_002), Some(200_001));
}

#[test]
fn a_raw_id_means_something_else_in_every_command() {
    let mut shop = Shop::default();
    done(&mut shop, ORDER);
    assert_eq!(ids(&done(&mut shop, ORDER)), [(1, 200_002)]);
}

#[test]
fn a_raw_id_stands_for_one_record() {
    let mut shop = Shop::default();
    let twice = vec![create(7, "order", None), create(7, "line", None)];
    assert_eq!(culprit(&mut shop, twice), "events[0].changes[1].create.id");
    let event = unchecked(vec![create(7, "order", None)]);
    let command = shop.command("1", [event.clone(), event].concat());
    let Refusal::InvalidArgument { field, .. } = refusal(shop.outcome(command)) else {
        panic!("also in two events")
    };
    assert_eq!(field, "events[1].changes[0].create.id");
}

#[test]
fn a_raw_id_that_no_record_has_is_refused_wherever_it_stands() {
    let mut shop = Shop::default();
    let update = |id| CommandChange::Update { id, fields: Vec::new(), if_version: None };
    let delete = |id| CommandChange::Delete { id, if_version: None };
    let field = |change, shop: &mut Shop| culprit(shop, vec![create(1, "order", None), change]);
    assert_eq!(field(update(2), &mut shop), "events[0].changes[1].update.id");
    assert_eq!(field(delete(2), &mut shop), "events[0].changes[1].delete.id");
    let child = create(3, "line", Some(2));
    assert_eq!(field(child, &mut shop), "events[0].changes[1].create.parent");
    let hole = Hole { at: 0, order: 0, filler: seriatim_types::Filler::Ref(2) };
    let value = Template::new(Bytes::new(), vec![hole]).unwrap();
    let key = crate::world::entity_key("k");
    let set = CommandChange::Set { key, value: value.clone(), condition: None, expires_at: None };
    assert_eq!(field(set, &mut shop), "events[0].changes[1].set.value.$ref");
    let event = CommandEvent { name: name("E"), args: value, changes: Vec::new() };
    let command = shop.command("1", vec![event]);
    let Refusal::InvalidArgument { field, .. } = refusal(shop.outcome(command)) else {
        panic!("also in arguments")
    };
    assert_eq!(field, "events[0].args.$ref");
}

#[test]
fn ids_that_nothing_can_have_are_refused() {
    let mut shop = Shop::default();
    for id in [0, seriatim_types::NUMBER_MAX + 1, u64::MAX] {
        let delete = CommandChange::Delete { id, if_version: None };
        assert_eq!(culprit(&mut shop, vec![delete]), "events[0].changes[0].delete.id");
        let child = create(1, "line", Some(id));
        assert_eq!(culprit(&mut shop, vec![child]), "events[0].changes[0].create.parent");
    }
}

#[test]
fn a_record_can_be_changed_and_ended_in_the_command_that_creates_it() {
    let mut shop = Shop::default();
    let update = "{'update': {'id': 1, 'fields': {'b': 2}, 'if_version': 1}}";
    done(&mut shop, &format!("{ORDER}, {update}"));
    assert_eq!(fields_of(&shop, 200_001), "a=1 b=2");
    assert_eq!(record(&shop, 200_001).unwrap().version, 2);
    let receipt = done(&mut shop, &format!("{ORDER}, {{'delete': {{'id': 1, 'if_version': 1}}}}"));
    assert_eq!(ids(&receipt), [(1, 200_002)], "it was there for a moment");
    assert_eq!(record(&shop, 200_002), None);
    assert_eq!(listed(&shop, "order"), [200_001]);
}

#[test]
fn a_record_cannot_be_changed_before_it_is_created() {
    let mut shop = Shop::default();
    let update = CommandChange::Update { id: 1, fields: Vec::new(), if_version: None };
    let delete = CommandChange::Delete { id: 1, if_version: None };
    for (change, field) in [(update, "update.id"), (delete, "delete.id")] {
        let found = culprit(&mut shop, vec![change, create(1, "order", None)]);
        assert_eq!(found, format!("events[0].changes[0].{field}"));
    }
}

#[test]
fn an_update_replaces_the_fields_that_it_names_and_keeps_the_order_of_utf_16() {
    let mut shop = Shop::default();
    let fields = "{'\u{fb33}': 1, 'b': {'deep': [1]}, 'a': 1}";
    done(&mut shop, &format!("{{'create': {{'id': 1, 'kind': 'order', 'fields': {fields}}}}}"));
    let fields = "{'\u{1f600}': 2, 'b': {}, '': 0}";
    done(&mut shop, &format!("{{'update': {{'id': 200001, 'fields': {fields}}}}}"));
    assert_eq!(fields_of(&shop, 200_001), "=0 a=1 b={} \u{1f600}=2 \u{fb33}=1");
    let Change::Update { fields, version, .. } = &shop.node.events()[1].changes[0] else {
        panic!("it was updated")
    };
    assert_eq!((shown(fields).as_str(), *version), ("=0 b={} \u{1f600}=2", 2));
}

#[test]
fn a_version_counts_the_changes_of_a_record_and_its_offset_is_that_of_the_last() {
    let mut shop = Shop::default();
    done(&mut shop, ORDER);
    let update = "{'update': {'id': 200001, 'fields': {'a': 1}}}";
    let at = |shop: &Shop| {
        let row = record(shop, 200_001).unwrap();
        (row.version, row.offset.get())
    };
    assert_eq!(at(&shop), (1, 1));
    done(&mut shop, update);
    assert_eq!(at(&shop), (2, 2), "also by a change that changes nothing");
    done(&mut shop, &format!("{update}, {update}"));
    assert_eq!(at(&shop), (4, 3));
    done(&mut shop, "{'set': {'key': 'k', 'value': 1}}");
    assert_eq!(at(&shop), (4, 3));
}

#[test]
fn an_update_without_fields_counts_too() {
    let mut shop = Shop::default();
    done(&mut shop, ORDER);
    done(&mut shop, "{'update': {'id': 200001, 'fields': {}}}");
    assert_eq!(record(&shop, 200_001).unwrap().version, 2);
    assert_eq!(fields_of(&shop, 200_001), "a=1");
}

#[test]
fn an_expected_version_is_the_one_before_the_change() {
    let mut shop = Shop::default();
    done(&mut shop, ORDER);
    let with = |word: &str, version: u64| match word {
        "update" => {
            format!("{{'update': {{'id': 200001, 'fields': {{}}, 'if_version': {version}}}}}")
        }
        _ => format!("{{'delete': {{'id': 200001, 'if_version': {version}}}}}"),
    };
    for word in ["update", "delete"] {
        assert_eq!(refused(&mut shop, &with(word, 2)).code(), "VERSION_MISMATCH");
    }
    done(&mut shop, &with("update", 1));
    assert_eq!(refused(&mut shop, &with("update", 1)).code(), "VERSION_MISMATCH");
    done(&mut shop, &with("delete", 2));
}

#[test]
fn a_record_that_ended_is_gone_and_its_id_is_free_for_an_import_only() {
    let mut shop = Shop::default();
    done(&mut shop, ORDER);
    done(&mut shop, "{'delete': {'id': 200001}}");
    assert_eq!(record(&shop, 200_001), None);
    let gone = Refusal::RecordNotFound { id: 200_001 };
    assert_eq!(refused(&mut shop, "{'update': {'id': 200001, 'fields': {}}}"), gone);
    assert_eq!(refused(&mut shop, "{'delete': {'id': 200001}}"), gone);
    assert_eq!(ids(&done(&mut shop, ORDER)), [(1, 200_002)], "it is not drawn again");
    done(&mut shop, "{'create': {'id': 200001, 'kind': 'line'}}");
    let row = record(&shop, 200_001).unwrap();
    assert_eq!((row.kind, row.version, row.fields), (name("line"), 1, vec![]));
    assert_eq!(ids(&done(&mut shop, ORDER)), [(1, 200_003)]);
}

#[test]
fn a_workspace_has_one_record_of_a_singleton_kind_always_with_the_same_id() {
    let mut shop = Shop::default();
    let settings = "{'create': {'id': 9, 'kind': 'settings', 'fields': {'a': 1}}}";
    assert_eq!(ids(&done(&mut shop, settings)), [(9, 65_536)]);
    let exists = Refusal::SingletonExists { kind: name("settings"), id: number(65_536) };
    assert_eq!(refused(&mut shop, settings), exists);
    done(&mut shop, "{'update': {'id': 65536, 'fields': {'a': 2}, 'if_version': 1}}");
    assert_eq!(fields_of(&shop, 65_536), "a=2");
    done(&mut shop, "{'delete': {'id': 65536}}");
    assert_eq!(ids(&done(&mut shop, settings)), [(9, 65_536)]);
    assert_eq!(record(&shop, 65_536).unwrap().version, 1);
    let other = "{'create': {'id': 9, 'kind': 'profile'}}";
    assert_eq!(ids(&done(&mut shop, other)), [(9, 65_537)], "each kind has its own");
    let elsewhere = shop.command("2", changes(settings));
    assert_eq!(ids(&receipt(shop.outcome(elsewhere))), [(9, 65_536)]);
}

#[test]
fn a_singleton_draws_no_id_and_cannot_be_imported() {
    let mut shop = Shop::default();
    done(&mut shop, "{'create': {'id': 1, 'kind': 'settings'}}");
    assert_eq!(ids(&done(&mut shop, ORDER)), [(1, 200_001)]);
    for id in [65_537, 300_000] {
        let field = culprit(&mut shop, vec![create(id, "profile", None)]);
        assert_eq!(field, "events[0].changes[0].create.id");
    }
}

#[test]
fn a_singleton_may_end_and_begin_again_in_one_command() {
    let mut shop = Shop::default();
    let settings = "{'create': {'id': 9, 'kind': 'settings'}}";
    done(&mut shop, settings);
    done(&mut shop, &format!("{{'delete': {{'id': 65536}}}}, {settings}"));
    assert_eq!(record(&shop, 65_536).unwrap().version, 1);
    assert_eq!(listed(&shop, "settings"), [65_536]);
}

#[test]
fn only_records_of_class_c_are_listed_by_their_kind() {
    let mut shop = Shop::default();
    let all = "{'create': {'id': 1, 'kind': 'order'}}, {'create': {'id': 2, 'kind': 'line'}},
               {'create': {'id': 3, 'kind': 'note'}}, {'create': {'id': 4, 'kind': 'settings'}},
               {'create': {'id': 5, 'kind': 'profile'}}, {'create': {'id': 300000, 'kind': 'order'}}";
    done(&mut shop, all);
    assert_eq!(listed(&shop, "order"), [200_001, 300_000]);
    assert_eq!(listed(&shop, "settings"), [65_536]);
    assert_eq!(record(&shop, 200_001).unwrap().class, RecordClass::C);
    for kind in ["line", "note", "profile"] {
        assert_eq!(listed(&shop, kind), [], "{kind}");
    }
    done(&mut shop, "{'update': {'id': 200001, 'fields': {}}}, {'delete': {'id': 300000}}");
    assert_eq!(listed(&shop, "order"), [200_001]);
    done(&mut shop, "{'delete': {'id': 65536}}, {'delete': {'id': 200002}}");
    assert_eq!(listed(&shop, "settings"), []);
}

#[test]
fn a_record_that_is_imported_anew_as_another_kind_is_listed_as_that() {
    let mut shop = Shop::default();
    done(&mut shop, ORDER);
    let anew = "{'create': {'id': 200001, 'kind': 'line'}}";
    done(&mut shop, &format!("{{'delete': {{'id': 200001}}}}, {anew}"));
    assert_eq!(listed(&shop, "order"), []);
    assert_eq!(record(&shop, 200_001).unwrap().kind, name("line"));
}

/// A shop whose records have at most three fields of eleven bytes together.
fn small() -> Shop {
    let limits = CommandLimits { fields: 3, record_bytes: 11, ..CommandLimits::default() };
    Shop::new(ShopSettings { limits, ..ShopSettings::default() })
}

#[test]
fn a_record_may_grow_up_to_its_limits_and_not_beyond() {
    let mut shop = small();
    done(&mut shop, "{'create': {'id': 1, 'kind': 'order', 'fields': {'a': 1, 'bb': 2222}}}");
    let before = state(&shop.node);
    let grow = |fields: &str| format!("{{'update': {{'id': 200001, 'fields': {{{fields}}}}}}}");
    let count = Refusal::TooLarge { what: "fields of a record", max: 3, found: 4 };
    assert_eq!(refused(&mut shop, &grow("'c': 1, 'd': 1")), count);
    let bytes = Refusal::TooLarge { what: "bytes of a record", max: 11, found: 12 };
    assert_eq!(refused(&mut shop, &grow("'c': 333")), bytes);
    assert_eq!(state(&shop.node), before);
    done(&mut shop, &grow("'c': 33"));
    assert_eq!(fields_of(&shop, 200_001), "a=1 bb=2222 c=33");
    done(&mut shop, &grow("'a': 9, 'bb': 1, 'c': 55555"));
}

#[test]
fn a_new_record_is_measured_with_its_numbers_filled_in() {
    let mut shop = small();
    let create = "{'create': {'id': 1, 'kind': 'order', 'fields': {'1234': {'$ref': 1}}}}";
    done(&mut shop, create);
    let create = "{'create': {'id': 1, 'kind': 'order', 'fields': {'123456': {'$ref': 1}}}}";
    let bytes = Refusal::TooLarge { what: "bytes of a record", max: 11, found: 12 };
    assert_eq!(refused(&mut shop, create), bytes);
}
