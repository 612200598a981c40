//! What is refused leaves no trace, and says what is wrong.

use seriatim::{Current, CurrentValue, Key, Refusal, Subject, Workspace, WriteError};

use crate::world::{ORDER, in_memory, key, orders};

fn changes(changes: &str) -> String {
    format!(r#"{{"events": [{{"name": "A", "changes": [{changes}]}}]}}"#)
}

fn refused(store: &Workspace, command: &str) -> Refusal {
    let WriteError::Refused(refusal) = store.submit("till-4", key(99), command).unwrap_err() else {
        panic!("it is refused");
    };
    refusal
}

#[test]
fn each_refusal_has_its_code_and_none_takes_a_number() {
    let (_seriatim, store) = in_memory();
    orders(&store, [1]);
    store.submit("till-4", key(2), changes(r#"{"set": {"key": "a", "value": 1}}"#)).unwrap();
    let settings = r#"{"create": {"id": 1, "kind": "settings"}}"#;
    store.submit("till-4", key(3), changes(settings)).unwrap();
    let before = store.head().unwrap();
    let draw = r#"{"draw": {"sequence": "ticket"}}"#;
    for (code, change) in [
        ("UNKNOWN_KIND", r#"{"create": {"id": 1, "kind": "magic"}}"#),
        ("UNKNOWN_SEQUENCE", r#"{"draw": {"sequence": "magic"}}"#),
        ("RECORD_NOT_FOUND", r#"{"delete": {"id": 300000}}"#),
        ("RECORD_EXISTS", r#"{"create": {"id": 200001, "kind": "order"}}"#),
        ("SINGLETON_EXISTS", settings),
        ("VERSION_MISMATCH", r#"{"update": {"id": 200001, "fields": {}, "if_version": 2}}"#),
        ("VERSION_MISMATCH", r#"{"set": {"key": "a", "value": 2, "if": {"version": 9}}}"#),
        ("VALUE_MISMATCH", r#"{"set": {"key": "a", "value": 2, "if": {"value": 2}}}"#),
        ("KEY_EXISTS", r#"{"set": {"key": "a", "value": 2, "if": "absent"}}"#),
        ("KEY_NOT_FOUND", r#"{"unset": {"key": "b", "if": "exists"}}"#),
        ("KEY_NOT_FOUND", r#"{"set": {"key": "b", "value": 2, "if": {"version": 1}}}"#),
        ("KEY_NOT_FOUND", r#"{"unset": {"key": "b", "if": {"value": 2}}}"#),
        ("INVALID_ARGUMENT", r#"{"create": {"id": 70000, "kind": "order"}}"#),
    ] {
        let refusal = refused(&store, &changes(&format!("{draw}, {change}")));
        assert_eq!(refusal.code(), code, "{refusal}");
    }
    let offset = r#"{"events": [{"name": "A"}], "if_offset": 2}"#;
    assert_eq!(refused(&store, offset), Refusal::OffsetMismatch { current: 3 });
    assert_eq!(refused(&store, &" ".repeat(2 << 20)).code(), "TOO_LARGE");
    let many = vec![r#"{"name": "A"}"#; 257].join(",");
    assert_eq!(refused(&store, &format!(r#"{{"events": [{many}]}}"#)).code(), "TOO_LARGE");
    assert_eq!(store.head().unwrap(), before);
    let ticket = store.sequence("ticket", None).unwrap().unwrap();
    assert_eq!(ticket.last.unwrap().get(), 1);
    let reused = store.submit("till-4", key(1), r#"{"events": [{"name": "A"}]}"#).unwrap_err();
    assert_eq!(reused.code().as_str(), "IDEMPOTENCY_KEY_REUSED");
    assert!(!store.submit("till-4", key(99), ORDER).unwrap().is_replayed, "the key is still free");
}

#[test]
fn a_refusal_carries_what_is_there_now() {
    let (_seriatim, store) = in_memory();
    let id = orders(&store, [1])[0].id(1).unwrap();
    let update = r#"{"update": {"id": 200001, "fields": {}, "if_version": 2}}"#;
    let Refusal::VersionMismatch { subject, current } = refused(&store, &changes(update)) else {
        panic!("it is about the version");
    };
    assert_eq!(subject, Subject::Record(id));
    let Current { version: 1, value: CurrentValue::Record(fields) } = current else {
        panic!("there is a first version: {current:?}");
    };
    assert_eq!((fields[0].0.as_str(), &*fields[0].1), ("no", b"1".as_slice()));
}

#[test]
fn what_cannot_be_meant_is_refused_with_the_place_where_it_stands() {
    let (_seriatim, store) = in_memory();
    let field = |refusal: &Refusal| {
        let Refusal::InvalidArgument { field, .. } = refusal else { panic!("{refusal:?}") };
        field.clone()
    };
    assert_eq!(field(&refused(&store, "{")), "the document");
    assert_eq!(field(&refused(&store, r#"{"events": [{"name": ""}]}"#)), "events[0].name");
    for (client, key, at) in [("", key(1), "Client-Id"), ("till", Key([0; 16]), "key")] {
        let error = store.submit(client, key, ORDER).unwrap_err();
        let WriteError::Refused(refusal) = &error else { panic!("{error:?}") };
        assert_eq!(field(refusal), at);
        assert_eq!(error.retry_after(), None);
    }
}
