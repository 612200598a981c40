//! Commands and their receipts.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, SystemTime};

use seriatim::{Command, Number, Refusal, WriteError, next, parse_key, random_key};
use seriatim_merkle::verify_inclusion;

use crate::world::{ORDER, block_on, in_memory, key, orders};

#[test]
fn a_command_is_answered_with_all_its_numbers() {
    let (_seriatim, store) = in_memory();
    let command = r#"{"events": [
        {"name": "A", "changes": [
            {"create": {"id": 1, "kind": "order", "fields": {"no": {"$next": "ticket"}}}},
            {"create": {"id": 2, "kind": "line", "parent": 1}}]},
        {"name": "B", "args": {"no": {"$next": "invoice", "as": "text"}}}]}"#;
    let submitted = store.submit("till-4", key(1), command).unwrap();
    assert!(!submitted.is_replayed);
    assert_eq!(submitted.receipt.proof, None);
    assert_eq!((submitted.id(1), submitted.id(2)), (Number::new(200_001), Number::new(200_002)));
    assert_eq!(submitted.id(3), None);
    let invoice = submitted.number("invoice").unwrap();
    let year = invoice.year.unwrap().get();
    assert_eq!(invoice.text, format!("INV-{year}-000001"));
    assert_eq!(submitted.number("ticket").unwrap().number.get(), 1);
    assert_eq!(submitted.number("other"), None);
    let receipt = submitted.receipt;
    assert_eq!((receipt.first_offset.get(), receipt.last_offset.get()), (1, 2));
    assert_eq!(receipt.client_sequence.get(), 1);
}

#[test]
fn a_repeated_command_is_answered_with_an_equal_receipt_and_says_so() {
    let (_seriatim, store) = in_memory();
    let first = store.submit("till-4", key(1), ORDER).unwrap();
    let again = store.submit("till-4", key(1), ORDER.as_bytes()).unwrap();
    assert!(again.is_replayed && !first.is_replayed);
    assert_eq!(again.receipt, first.receipt);
    assert_eq!(store.head().unwrap().size, 1);
    let other = store.submit("till-5", key(1), ORDER).unwrap();
    assert!(!other.is_replayed, "a key is its client's own");
}

#[test]
fn a_command_that_was_put_together_is_the_one_that_its_json_says() {
    let (_seriatim, store) = in_memory();
    let fields = || serde_json::json!({"no": next("ticket")});
    let built = || Command::new("A").create(1, "order", fields()).then("B").draw("ticket");
    let json = r#"{"events":[{"name":"A","changes":[{"create":{"id":1,"kind":"order",
        "fields":{"no":{"$next":"ticket"}}}}]},
        {"name":"B","changes":[{"draw":{"sequence":"ticket"}}]}]}"#;
    let first = store.submit("till-4", key(1), built()).unwrap();
    let again = store.submit("till-4", key(1), json).unwrap();
    assert_eq!((again.is_replayed, &again.receipt), (true, &first.receipt));
    let document = Command::from_json(json).unwrap().if_offset(2);
    let third = store.submit("till-4", key(2), document).unwrap();
    assert_eq!(third.receipt.first_offset.get(), 3);
    let odd = Command::new("A").args(BTreeMap::from([(vec![1], 2)]));
    let refused = store.submit("till-4", key(3), odd).unwrap_err();
    assert!(
        matches!(refused, WriteError::Refused(Refusal::InvalidArgument { ref field, .. }) if field == "args")
    );
}

#[test]
fn a_command_is_not_carried_out_after_its_deadline() {
    let (_seriatim, store) = in_memory();
    let late = Command::new("A").deadline(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    let error = store.submit("till-4", key(1), late).unwrap_err();
    assert!(matches!(error, WriteError::NotWritten(_)), "{error:?}");
    assert_eq!(error.code().as_str(), "DEADLINE_EXCEEDED");
    assert_eq!(store.head().unwrap().size, 0);
    let soon = Command::new("A").deadline(SystemTime::now() + Duration::from_secs(3600));
    assert!(!store.submit("till-4", key(1), soon).unwrap().is_replayed);
}

#[test]
fn a_client_is_counted_in_characters() {
    let (_seriatim, store) = in_memory();
    let till = "é".repeat(255);
    let first = store.submit(&till, key(1), ORDER).unwrap();
    assert_eq!(store.submit(&till, key(1), ORDER).unwrap().receipt, first.receipt);
    assert_eq!(store.receipt(&till, key(1)).unwrap(), Some(first.receipt));
    assert_eq!(store.client(&till).unwrap().unwrap().last_client_sequence.get(), 1);
    assert!(store.submit(&"é".repeat(256), key(2), ORDER).is_err());
}

#[test]
fn twenty_threads_that_send_one_key_make_one_event() {
    let (_seriatim, store) = in_memory();
    let submit = || store.submit("till-4", key(7), ORDER).unwrap();
    let answers: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(submit)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| answer.receipt == answers[0].receipt));
    assert_eq!(answers.iter().filter(|answer| !answer.is_replayed).count(), 1);
    assert_eq!(store.events(1, 10).unwrap().len(), 1);
}

#[test]
fn numbers_drawn_by_threads_at_once_have_no_hole_and_no_repeat() {
    let (_seriatim, store) = in_memory();
    let drawn: BTreeSet<u64> = thread::scope(|scope| {
        let store = &store;
        let draw = |thread: u128| move || orders(store, thread * 100..thread * 100 + 25);
        let threads: Vec<_> = (1..=4).map(|thread| scope.spawn(draw(thread))).collect();
        let answers = threads.into_iter().flat_map(|thread| thread.join().unwrap());
        answers.map(|answer| answer.number("ticket").unwrap().number.get()).collect()
    });
    assert_eq!(drawn, (1..=100).collect());
}

#[test]
fn a_receipt_comes_with_a_proof_when_it_is_asked_for_also_when_it_is_repeated() {
    let (_seriatim, store) = in_memory();
    orders(&store, 1..=4);
    let command = r#"{"events": [{"name": "A"}], "include_proof": true}"#;
    let first = store.submit("till-4", key(5), command).unwrap();
    orders(&store, 6..=9);
    let again = store.submit("till-4", key(5), command).unwrap();
    assert!(again.is_replayed);
    assert_eq!(again.receipt.proof, first.receipt.proof);
    let proof = first.receipt.proof.unwrap();
    verify_inclusion(&proof.leaf, 4, 5, &proof.path, &proof.root).unwrap();
    assert_eq!(proof.root, store.proof(Number::new(5).unwrap(), 5).unwrap().root);
    let without = r#"{"events": [{"name": "A"}]}"#;
    let other = store.submit("till-4", key(5), without).unwrap();
    assert!(
        other.is_replayed && other.receipt.proof.is_none(),
        "a proof is no part of what is asked"
    );
}

#[test]
fn commands_can_be_awaited_without_a_runtime() {
    let (_seriatim, store) = in_memory();
    let answers = block_on(async {
        let sent: Vec<_> = (1..=8).map(|it| store.send("till-4", key(it), ORDER)).collect();
        let mut answers = Vec::new();
        for sent in sent {
            answers.push(sent.await.unwrap());
        }
        answers.push(store.send("till-4", key(1), ORDER).await.unwrap());
        answers
    });
    let numbers = answers.iter().map(|it| it.number("ticket").unwrap().number.get());
    assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8, 1], "in the order of sending");
    let refused = block_on(store.send("till-4", key(9), "{}")).unwrap_err();
    assert_eq!(refused.code().as_str(), "INVALID_ARGUMENT");
}

#[test]
fn a_command_that_nobody_waits_for_is_carried_out() {
    let (_seriatim, store) = in_memory();
    drop(store.send("till-4", key(1), ORDER));
    assert!(store.submit("till-4", key(1), ORDER).unwrap().is_replayed);
}

#[test]
fn new_keys_are_uuids_of_version_7_that_rise_and_read_as_they_are_shown() {
    let keys: Vec<_> = (0..100).map(|_| random_key()).collect();
    assert!(keys.is_sorted_by(|one, next| one < next), "{keys:?}");
    for key in keys {
        let text = key.to_string();
        assert_eq!(parse_key(&text), Ok(key));
        assert_eq!(text.as_bytes()[14], b'7', "{text}");
        assert!(b"89ab".contains(&text.as_bytes()[19]), "{text}");
    }
    let nil = parse_key("00000000-0000-0000-0000-000000000000").unwrap_err();
    assert_eq!(nil.code(), "INVALID_ARGUMENT");
}
