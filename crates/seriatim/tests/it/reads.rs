//! Reads, and that they see what was acknowledged.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use seriatim::{Number, ReadError, RecordClass, Time};
use seriatim_merkle::{verify_consistency, verify_inclusion};

use crate::world::{ORDER, in_memory, key, orders};

#[test]
fn everything_that_was_written_can_be_read() {
    let (_seriatim, store) = in_memory();
    let command = r#"{"events": [{"name": "A", "args": {"b": 1, "a": 2}, "changes": [
        {"create": {"id": 1, "kind": "order", "fields": {"z": [1.0], "no": {"$next": "ticket"}, "\"": null}}},
        {"create": {"id": 2, "kind": "line", "parent": 1}},
        {"set": {"key": "stock/7", "value": {"left": 4}, "expires_at": "2999-01-01T00:00:00Z"}}]}]}"#;
    let submitted = store.submit("till-4", key(1), command).unwrap();
    let (order, line) = (submitted.id(1).unwrap(), submitted.id(2).unwrap());

    let record = store.record(order).unwrap().unwrap();
    assert_eq!(&*record.fields, br#"{"\"":null,"no":1,"z":[1]}"#);
    assert_eq!((record.id, record.kind.as_str(), record.class), (order, "order", RecordClass::C));
    assert_eq!((record.parent, record.version, record.offset.get()), (None, 1, 1));
    assert_eq!(store.record(line).unwrap().unwrap().parent, Some(order));
    assert_eq!(store.records("order", 0, 10).unwrap(), [record]);

    let entity = store.entity("stock/7").unwrap().unwrap();
    assert_eq!((&*entity.value, entity.version), (br#"{"left":4}"#.as_slice(), 1));
    assert_eq!(entity.key.as_str(), "stock/7");
    assert_eq!(entity.expires_at, Some(Time(32_472_144_000_000)));
    assert_eq!(entity.offset.get(), 1);

    let ticket = store.sequence("ticket", None).unwrap().unwrap();
    assert_eq!((ticket.period, ticket.last), (None, Number::new(1)));
    assert_eq!(ticket.next.unwrap().1, "2");
    let invoice = store.sequence("invoice", Some(2031)).unwrap().unwrap();
    assert_eq!(invoice.next.unwrap().1, "INV-2031-000001");

    assert_eq!(store.receipt("till-4", key(1)).unwrap().unwrap(), submitted.receipt);
    let client = store.client("till-4").unwrap().unwrap();
    assert_eq!((client.last_client_sequence.get(), client.last_offset.get()), (1, 1));

    let events = store.events(0, 10).unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(&*events[0].event.args, br#"{"a":2,"b":1}"#);
    assert_eq!(events[0].event.origin.as_ref().unwrap().key, key(1));
}

#[test]
fn what_is_not_there_is_none() {
    let (_seriatim, store) = in_memory();
    let id = Number::new(200_001).unwrap();
    for _ in 0..2 {
        assert_eq!(store.record(id).unwrap(), None);
        assert_eq!(store.records("order", 0, 10).unwrap(), []);
        assert_eq!(store.entity("a").unwrap(), None);
        assert_eq!(store.receipt("till-4", key(1)).unwrap(), None);
        assert_eq!(store.client("till-4").unwrap(), None);
        assert_eq!(store.sequence("magic", None).unwrap(), None);
        assert_eq!(store.sequence("ticket", Some(2026)).unwrap(), None, "it has no years");
        assert_eq!(store.sequence("ticket", None).unwrap().unwrap().last, None);
        // The same holds before the workspace was used and after.
        store.submit("till-5", key(2), r#"{"events": [{"name": "A"}]}"#).unwrap();
    }
    assert_eq!(store.events(2, 10).unwrap(), []);
}

#[test]
fn a_read_that_cannot_be_meant_is_refused() {
    let (_seriatim, store) = in_memory();
    let code = |error: ReadError| error.code().as_str();
    assert_eq!(store.records("", 0, 1).map_err(code), Err("INVALID_ARGUMENT"));
    assert_eq!(store.entity("a\n").map_err(code), Err("INVALID_ARGUMENT"));
    assert_eq!(store.sequence("", None).map_err(code), Err("INVALID_ARGUMENT"));
    assert_eq!(store.sequence("invoice", Some(0)).map_err(code), Err("INVALID_ARGUMENT"));
    assert_eq!(store.client("").map_err(code), Err("INVALID_ARGUMENT"));
    assert_eq!(store.receipt("till-4", key(0)).map_err(code), Err("INVALID_ARGUMENT"));
    let one = Number::new(1).unwrap();
    assert_eq!(store.proof(one, 1).map_err(code), Err("NOT_FOUND"), "there is no such event");
    assert_eq!(store.consistency(0, 1).map_err(code), Err("INVALID_ARGUMENT"));
}

#[test]
fn heads_and_proofs_fit_together() {
    let (_seriatim, store) = in_memory();
    assert_eq!(store.head().unwrap().size, 0);
    orders(&store, 1..=5);
    let early = store.head().unwrap();
    orders(&store, 6..=11);
    let late = store.head().unwrap();
    assert_eq!((early.size, late.size), (5, 11));
    let event = &store.events(3, 1).unwrap()[0];
    let proof = store.proof(event.event.offset, late.size).unwrap();
    assert_eq!((proof.leaf, proof.root), (event.leaf, late.root));
    verify_inclusion(&proof.leaf, 2, late.size, &proof.path, &late.root).unwrap();
    let grown = store.consistency(early.size, late.size).unwrap();
    verify_consistency(5, 11, &early.root, &late.root, &grown.path).unwrap();
}

#[test]
fn what_was_acknowledged_is_seen_by_every_later_read() {
    let (_seriatim, store) = in_memory();
    let acknowledged = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=200 {
                let submitted = store.submit("till-4", key(number), ORDER).unwrap();
                let id = submitted.id(1).unwrap();
                assert!(store.record(id).unwrap().is_some(), "its own write");
                acknowledged.store(submitted.receipt.last_offset.get(), Ordering::SeqCst);
            }
        });
        let mut seen = 0;
        while seen < 200 {
            let before = acknowledged.load(Ordering::SeqCst);
            seen = store.head().unwrap().size;
            assert!(seen >= before, "{seen} of {before}");
        }
    });
}
