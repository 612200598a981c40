//! What a partition writes under the condition that nothing is there yet.

use seriatim_codec::Table;
use seriatim_core::{Effects, RowChange, Write};
use seriatim_testkit::core::{Shop, ShopSettings};
use seriatim_types::TrustLevel;

use crate::world::{ask, done, record, record_id, shown};

const LEVELS: [TrustLevel; 3] = [TrustLevel::Zero, TrustLevel::One, TrustLevel::Two];

fn shop(trust_level: TrustLevel) -> Shop {
    Shop::new(ShopSettings { trust_level, ..ShopSettings::default() })
}

fn send(shop: &mut Shop, json: &str) -> Effects {
    let command = ask(shop, json);
    shop.send(command)
}

fn word(write: &Write) -> &'static str {
    match write.change {
        RowChange::Put(_) => "put",
        RowChange::Insert(_) => "insert",
        RowChange::Delete => "delete",
    }
}

/// How the rows of a table are written.
fn modes(effects: &Effects, table: Table) -> Vec<&'static str> {
    effects.writes.iter().filter(|write| write.row.table == table).map(word).collect()
}

/// How a record of the workspace is written.
fn mode(effects: &Effects, id: u64) -> &'static str {
    let mut writes = effects.writes.iter().filter(|write| write.row == record_id(id));
    let found = word(writes.next().unwrap());
    assert_eq!(writes.next(), None, "a row is written once");
    found
}

#[test]
fn a_level_says_which_new_rows_must_not_be_there() {
    let new = "{'create': {'id': 1, 'kind': 'line'}}, {'create': {'id': 2, 'kind': 'settings'}},
               {'create': {'id': 300000, 'kind': 'note'}}";
    for (level, log, record) in [(0, "insert", "insert"), (1, "insert", "put"), (2, "put", "put")] {
        let effects = send(&mut shop(LEVELS[level]), new);
        assert_eq!(modes(&effects, Table::Log), [log], "level {level}");
        assert_eq!(modes(&effects, Table::WorkspaceLog), [log], "level {level}");
        for id in [200_001, 65_536, 300_000] {
            assert_eq!(mode(&effects, id), record, "level {level}");
        }
    }
}

#[test]
fn every_event_of_a_command_is_checked() {
    let mut shop = shop(TrustLevel::Zero);
    let events = ["{'name': 'A'}"; 3].join(", ");
    let command = shop.command("1", seriatim_testkit::core::events(&events));
    let effects = shop.send(command);
    assert_eq!(modes(&effects, Table::Log), ["insert"; 3]);
    assert_eq!(modes(&effects, Table::WorkspaceLog), ["insert"; 3]);
}

#[test]
fn what_may_be_there_is_written_plainly_at_any_level() {
    for level in LEVELS {
        let mut shop = shop(level);
        let effects = send(
            &mut shop,
            "{'create': {'id': 1, 'kind': 'line'}}, {'create': {'id': 2, 'kind': 'line'}},
             {'set': {'key': 'k', 'value': 1}}",
        );
        assert_eq!(modes(&effects, Table::Entities), ["put"]);
        assert_eq!(modes(&effects, Table::Keys), ["put"]);
        assert_eq!(modes(&effects, Table::Partition), ["put"], "the workspace");
        let effects = send(
            &mut shop,
            "{'update': {'id': 200001, 'fields': {'a': 1}}}, {'delete': {'id': 200002}},
             {'set': {'key': 'k', 'value': 1, 'expires_at': '2027-01-01T00:00:00Z'}}",
        );
        assert_eq!([200_001, 200_002].map(|id| mode(&effects, id)), ["put", "delete"]);
        assert_eq!(modes(&effects, Table::Entities), ["put", "put"], "with its expiry");
        let effects = send(&mut shop, "{'unset': {'key': 'k'}}");
        assert_eq!(modes(&effects, Table::Entities), ["delete", "delete"]);
        assert_eq!(modes(&effects, Table::Partition), [""; 0], "a workspace is born once");
    }
}

#[test]
fn a_record_that_its_own_command_updates_is_one_new_row_with_the_last_value() {
    let mut shop = shop(TrustLevel::Zero);
    let json = "{'create': {'id': 1, 'kind': 'line', 'fields': {'a': 1}}},
                {'update': {'id': 1, 'fields': {'a': 2}}}, {'update': {'id': 1, 'fields': {'b': 3}}}";
    let effects = send(&mut shop, json);
    assert_eq!(mode(&effects, 200_001), "insert");
    let row = record(&shop, 200_001).unwrap();
    assert_eq!((shown(&row.fields).as_str(), row.version), ("a=2 b=3", 3));
}

#[test]
fn a_record_that_its_own_command_removes_is_not_there_to_be_checked() {
    let mut shop = shop(TrustLevel::Zero);
    let effects = send(&mut shop, "{'create': {'id': 1, 'kind': 'line'}}, {'delete': {'id': 1}}");
    assert_eq!(mode(&effects, 200_001), "delete");
}

#[test]
fn a_record_that_one_command_removes_and_imports_again_is_there_and_overwritten() {
    let mut shop = shop(TrustLevel::Zero);
    done(
        &mut shop,
        "{'create': {'id': 1, 'kind': 'order'}}, {'create': {'id': 2, 'kind': 'settings'}}",
    );
    let effects = send(
        &mut shop,
        "{'delete': {'id': 200001}}, {'create': {'id': 200001, 'kind': 'order'}},
         {'delete': {'id': 65536}}, {'create': {'id': 1, 'kind': 'settings'}}",
    );
    assert_eq!([200_001, 65_536].map(|id| mode(&effects, id)), ["put", "put"]);
    done(&mut shop, "{'delete': {'id': 200001}}");
    let effects = send(&mut shop, "{'create': {'id': 200001, 'kind': 'order'}}");
    assert_eq!(mode(&effects, 200_001), "insert", "a command later it is new again");
}
