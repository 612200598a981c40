//! A receipt is made of the stored events alone, so that it can be given again.

use seriatim_core::{CommandOutcome, Outcome, RECEIPT_VERSION, receipt as receipt_of};
use seriatim_testkit::core::{Shop, changes, events};
use seriatim_types::{Event, Number, Receipt};

use crate::world::{done, drawn, ids, receipt};

/// Three events with records, a singleton, an import and numbers.
const EVENTS: &str = "
    {'name': 'A', 'args': {'n': {'$next': 'ticket'}},
     'changes': [{'create': {'id': 9, 'kind': 'line', 'parent': 2}},
                 {'create': {'id': 300000, 'kind': 'order'}},
                 {'draw': {'sequence': 'scarce'}}]},
    {'name': 'B'},
    {'name': 'C', 'changes': [{'create': {'id': 2, 'kind': 'order'}},
                              {'create': {'id': 5, 'kind': 'settings'}},
                              {'set': {'key': 'k', 'value': {'$next': 'invoice'}}}]}";

/// A shop in which other commands stand around that of [`EVENTS`], and the command's receipt.
fn shop() -> (Shop, Receipt) {
    let mut shop = Shop::default();
    done(&mut shop, "{'draw': {'sequence': 'ticket'}}");
    let elsewhere = shop.command("2", changes("{'draw': {'sequence': 'ticket'}}"));
    receipt(shop.outcome(elsewhere));
    let command = shop.command("1", events(EVENTS));
    let answered = receipt(shop.outcome(command));
    done(&mut shop, "{'draw': {'sequence': 'ticket'}}");
    (shop, answered)
}

/// The stored events of a receipt.
fn range(shop: &Shop, receipt: &Receipt) -> Vec<Event> {
    let (first, last) = (receipt.first_partition_offset, receipt.last_partition_offset);
    let events = shop.node.events().into_iter();
    events.filter(|event| (first..=last).contains(&event.partition_offset)).collect()
}

#[test]
fn a_receipt_tells_every_number_that_a_command_was_given() {
    let (shop, receipt) = shop();
    assert_eq!(receipt.version, RECEIPT_VERSION);
    assert_eq!((receipt.first_offset.get(), receipt.last_offset.get()), (2, 4));
    let partition = (receipt.first_partition_offset, receipt.last_partition_offset);
    assert_eq!((partition.0.get(), partition.1.get()), (3, 5));
    assert_eq!((receipt.workspace.0, receipt.client_sequence.get()), (1, 2));
    assert_eq!(receipt.committed_at, shop.now);
    let expected = ["ticket 2 2", "scarce 7 7", "invoice 1 INV-2026-000001"];
    assert_eq!(drawn(&receipt), expected);
}

#[test]
fn ids_ascend_by_their_raw_ids_with_singletons_and_without_imports() {
    let (_, receipt) = shop();
    assert_eq!(ids(&receipt), [(2, 300_001), (5, 65_536), (9, 200_001)]);
}

#[test]
fn the_receipt_of_the_stored_events_is_the_one_that_was_answered() {
    let (mut shop, answered) = shop();
    assert_eq!(receipt_of(&range(&shop, &answered)), Some(answered.clone()));
    shop.node.restart();
    assert_eq!(receipt_of(&range(&shop, &answered)), Some(answered));
}

#[test]
fn a_repetition_leads_to_the_events_of_the_receipt() {
    let mut shop = Shop::default();
    done(&mut shop, "{'draw': {'sequence': 'ticket'}}");
    let command = shop.command("1", events(EVENTS));
    let answered = receipt(shop.outcome(command.clone()));
    done(&mut shop, "{'update': {'id': 300001, 'fields': {'later': true}}}");
    let Ok(Outcome::Command(CommandOutcome::Duplicate { first, count })) = shop.outcome(command)
    else {
        panic!("it was carried out before")
    };
    let events = shop.node.events().into_iter().filter(|event| event.partition_offset >= first);
    let events: Vec<_> = events.take(count as usize).collect();
    assert_eq!(receipt_of(&events), Some(answered));
}

#[test]
fn events_say_their_place_in_their_command() {
    let (shop, answered) = shop();
    let events = range(&shop, &answered);
    let places = events.iter().map(|event| (event.index, event.count));
    assert!(places.eq([(0, 3), (1, 3), (2, 3)]));
}

#[test]
fn less_more_or_other_events_than_those_of_one_command_have_no_receipt() {
    let (shop, answered) = shop();
    let events = range(&shop, &answered);
    for part in [&events[..0], &events[..1], &events[..2], &events[1..], &events[1..2]] {
        assert_eq!(receipt_of(part), None);
    }
    let swapped = [events[1].clone(), events[0].clone(), events[2].clone()];
    assert_eq!(receipt_of(&swapped), None);
    let mixed = [events[0].clone(), events[1].clone(), shop.node.events().pop().unwrap()];
    assert_eq!(receipt_of(&mixed), None);
    let all = shop.node.events();
    assert_eq!(receipt_of(&all), None);
    assert_eq!(receipt_of(&all[2..6]), None);
    let mut foreign = events;
    foreign[2].origin.as_mut().unwrap().client_sequence = Number::new(9).unwrap();
    assert_eq!(receipt_of(&foreign), None, "of another command");
}

#[test]
fn events_that_no_client_sent_have_no_receipt() {
    let (shop, answered) = shop();
    let mut events = range(&shop, &answered);
    events.iter_mut().for_each(|event| event.origin = None);
    assert_eq!(receipt_of(&events), None);
}

#[test]
fn a_receipt_keeps_the_version_that_its_events_were_stored_with() {
    let (shop, answered) = shop();
    let mut events = range(&shop, &answered);
    events.iter_mut().for_each(|event| event.receipt_version = 7);
    assert_eq!(receipt_of(&events).unwrap().version, 7);
}
