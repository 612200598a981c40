//! Definitions.

use seriatim::{AppOptions, Numbering, Options, RecordClass, Refusal, Seriatim, WriteError};

use crate::world::{HandClock, ORDER, key, shop};

fn code<T>(result: Result<T, WriteError>) -> &'static str {
    result.err().expect("it is refused").code().as_str()
}

#[test]
fn defining_the_same_again_changes_nothing_and_something_else_is_refused() {
    let seriatim = Seriatim::in_memory().unwrap();
    shop(&seriatim);
    let shop = shop(&seriatim);
    let other = AppOptions { partitions: 5, ..AppOptions::default() };
    assert_eq!(code(seriatim.app("shop", other)), "APP_EXISTS");
    assert_eq!(code(shop.define_record("order", RecordClass::W)), "DEFINITION_CONFLICT");
    assert_eq!(code(shop.define_singleton("order", RecordClass::C)), "DEFINITION_CONFLICT");
    let yearly = Numbering::yearly("{n}");
    assert_eq!(code(shop.define_sequence("ticket", yearly)), "DEFINITION_CONFLICT");
    let store = shop.workspace("store-1").unwrap();
    store.submit("till-4", key(1), ORDER).unwrap();
    shop.define_sequence("ticket", Numbering::continuous("T{n:03}")).unwrap();
    let next = store.submit("till-4", key(2), ORDER).unwrap();
    assert_eq!(next.number("ticket").unwrap().text, "T002", "the format may change");
}

#[test]
fn what_cannot_be_defined_is_refused() {
    let seriatim = Seriatim::in_memory().unwrap();
    let shop = shop(&seriatim);
    let none = AppOptions { partitions: 0, ..AppOptions::default() };
    let zone = Numbering { utc_offset_minutes: 900, ..Numbering::yearly("{n}") };
    let kind = Numbering { kind: "magic".to_owned(), ..Numbering::yearly("{n}") };
    let ranges = Numbering { ranges: vec![(1, 9), (5, 12)], ..Numbering::continuous("{n}") };
    assert_eq!(code(seriatim.app("", AppOptions::default())), "INVALID_ARGUMENT");
    assert_eq!(code(seriatim.app("none", none)), "INVALID_ARGUMENT");
    assert_eq!(code(shop.define_sequence("x", zone)), "INVALID_ARGUMENT");
    assert_eq!(code(shop.define_sequence("x", ranges)), "INVALID_ARGUMENT");
    assert_eq!(code(shop.define_sequence("x", Numbering::continuous("{"))), "INVALID_ARGUMENT");
    assert_eq!(code(shop.define_sequence("x", kind)), "UNKNOWN_KIND");
    assert_eq!(code(shop.define_record("a\n", RecordClass::C)), "INVALID_ARGUMENT");
    assert_eq!(shop.name().as_str(), "shop");
}

#[test]
fn a_workspace_keeps_its_kind_and_has_the_sequences_of_it() {
    let seriatim = Seriatim::in_memory().unwrap();
    let shop = shop(&seriatim);
    shop.define_kind("depot").unwrap();
    let pallet = Numbering { kind: "depot".to_owned(), ..Numbering::continuous("P{n}") };
    let scarce = Numbering { ranges: vec![(7, 8)], ..pallet.clone() };
    shop.define_sequence("pallet", pallet).unwrap();
    shop.define_sequence("scarce", scarce).unwrap();
    assert_eq!(code(shop.workspace_of_kind("depot-1", "magic")), "UNKNOWN_KIND");
    let depot = shop.workspace_of_kind("depot-1", "depot").unwrap();
    shop.workspace_of_kind("depot-1", "depot").unwrap();
    assert_eq!(code(shop.workspace_of_kind("depot-1", "default")), "KIND_CONFLICT");

    let draw = |sequence: &str| {
        format!(
            r#"{{"events": [{{"name": "A", "changes": [{{"draw": {{"sequence": "{sequence}"}}}}]}}]}}"#
        )
    };
    let submitted = depot.submit("gate", key(1), draw("pallet")).unwrap();
    assert_eq!(submitted.number("pallet").unwrap().text, "P1");
    assert_eq!(code(depot.submit("gate", key(2), draw("ticket"))), "UNKNOWN_SEQUENCE");
    let store = shop.workspace("store-1").unwrap();
    assert_eq!(code(store.submit("gate", key(3), draw("pallet"))), "UNKNOWN_SEQUENCE");
    depot.submit("gate", key(4), draw("scarce")).unwrap();
    depot.submit("gate", key(5), draw("scarce")).unwrap();
    assert_eq!(code(depot.submit("gate", key(6), draw("scarce"))), "SEQUENCE_EXHAUSTED");
}

#[test]
fn a_workspace_of_digits_is_an_id() {
    let seriatim = Seriatim::in_memory().unwrap();
    let shop = shop(&seriatim);
    let store = shop.workspace("17").unwrap();
    let submitted = store.submit("till-4", key(1), ORDER).unwrap();
    assert_eq!(submitted.receipt.workspace.0, 17);
    for bad in ["", "a\tb", "017", "1099511627776", "9007199254740992", "99999999999999999999"] {
        let refusal = shop.workspace(bad).err().expect("it is no workspace");
        let is_workspace =
            matches!(&refusal, Refusal::InvalidArgument { field, .. } if field == "workspace");
        assert!(is_workspace, "{bad}: {refusal}");
    }
}

#[test]
fn limit_of_keys_is_none_by_default_and_changed_at_any_time() {
    let seriatim = Seriatim::in_memory().unwrap();
    let shop = shop(&seriatim);
    let store = shop.workspace("17").unwrap();
    (1..=3).for_each(|number| drop(store.submit("till-4", key(number), ORDER).unwrap()));
    shop.limit_keys(Some(2)).unwrap();
    shop.limit_keys(Some(2)).unwrap();
    let full = store.submit("till-4", key(4), ORDER).unwrap_err();
    assert_eq!((full.code().as_str(), full.retry_after().is_some()), ("KEY_WINDOW_FULL", true));
    assert!(store.submit("till-4", key(1), ORDER).unwrap().is_replayed, "none is forgotten");
    // Neither compared nor changed by making the app again.
    let options = AppOptions { keys_max: Some(9), ..AppOptions::default() };
    seriatim.app("shop", options).unwrap();
    assert_eq!(code(store.submit("till-4", key(4), ORDER)), "KEY_WINDOW_FULL");
    shop.limit_keys(None).unwrap();
    store.submit("till-4", key(4), ORDER).unwrap();
    assert_eq!(code(shop.limit_keys(Some(0))), "INVALID_ARGUMENT");
    assert_eq!(code(shop.limit_keys(Some(1_000_000_001))), "INVALID_ARGUMENT");
}

#[test]
fn a_year_turns_at_the_utc_offset_of_the_sequence() {
    // The last millisecond of 2026 at +01:00, written in UTC: 2026-12-31T22:59:59.999Z.
    let last_of_2026 = 1_798_757_999_999;
    let clock = HandClock::at(last_of_2026);
    let seriatim = Options { clock: clock.clone(), ..Options::default() };
    let folder = tempfile::tempdir().unwrap();
    let seriatim = seriatim.open(folder.path()).unwrap();
    let shop = seriatim.app("shop", AppOptions::default()).unwrap();
    let numbering = Numbering::yearly("INV-{yyyy}-{n:06}");
    let berlin = Numbering { utc_offset_minutes: 60, ..numbering.clone() };
    shop.define_sequence("berlin", berlin).unwrap();
    shop.define_sequence("utc", numbering).unwrap();
    let store = shop.workspace("store-1").unwrap();
    let draw = r#"{"events": [{"name": "A", "changes": [
        {"draw": {"sequence": "berlin"}}, {"draw": {"sequence": "utc"}}]}]}"#;
    let texts = |number| {
        let submitted = store.submit("till-4", key(number), draw).unwrap();
        let text = |sequence| submitted.number(sequence).unwrap().text.clone();
        (text("berlin"), text("utc"))
    };
    assert_eq!(texts(1), ("INV-2026-000001".to_owned(), "INV-2026-000001".to_owned()));
    clock.set(last_of_2026 + 1);
    assert_eq!(texts(2), ("INV-2027-000001".to_owned(), "INV-2026-000002".to_owned()));
    clock.set(last_of_2026 - 5_000);
    assert_eq!(texts(3).0, "INV-2027-000002", "time does not go back");
    clock.set(last_of_2026 + 86_400_000);
    seriatim.close().unwrap();
}
