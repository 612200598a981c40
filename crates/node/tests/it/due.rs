//! What is due goes away, in bounded steps, without a trace in the log.

use std::ops::ControlFlow;

use seriatim_codec::{PartitionPrefix, Stored, partition_key};
use seriatim_core::{CommandOutcome, Outcome};
use seriatim_node::{Reply, Settings, schema};
use seriatim_storage::{KeyRange, Read, Scan, faulty};
use seriatim_testkit::core::{ShopSettings, changes, command, events};
use seriatim_types::{Key, PartitionOffset, PartitionRow, Retention, Time};

use crate::driver::{APP, Driver};

const RETENTION: u64 = 60_000;

fn driver() -> Driver {
    let mut driver = Driver::new(Settings::default(), faulty::never());
    let retention = Retention::Milliseconds(RETENTION);
    driver.define(ShopSettings { retention, ..ShopSettings::default() });
    driver
}

fn count(driver: &Driver, table: &str, prefix: PartitionPrefix) -> usize {
    let range = KeyRange::prefix(&prefix.encode());
    let scan = Scan::new(schema().table(table).unwrap(), range);
    let mut count = 0;
    let scanned = driver.store.scan(&scan, &mut |_| {
        count += 1;
        ControlFlow::Continue(())
    });
    assert!(scanned.is_ok());
    count
}

fn partition_row(driver: &Driver) -> PartitionRow {
    let row = driver.store.get(schema().table("partition").unwrap(), &partition_key(APP));
    PartitionRow::from_bytes(&row.unwrap().unwrap()).unwrap()
}

#[test]
fn entities_and_keys_are_swept_when_their_time_has_come_and_not_before() {
    let mut driver = driver();
    let began = driver.now.0;
    for handle in 0..1500_usize {
        let key = Key(u128::try_from(handle + 1).unwrap().to_be_bytes());
        let json = format!(
            "{{'set': {{'key': 'k{handle}', 'value': 1, 'expires_at': '2026-06-21T00:00:20Z'}}}}"
        );
        driver.submit(handle, &command("pos-4", key, "1", changes(&json)));
    }
    driver.settle();
    let is_done =
        |reply: &Reply| matches!(reply, Ok(Outcome::Command(CommandOutcome::Committed(_))));
    assert!((0..1500).all(|handle| is_done(&driver.answers[&handle])));
    let events = driver.events().len();
    let all = (count(&driver, "entities", APP), count(&driver, "keys", APP));
    assert_eq!(all, (3000, 1500), "an entity and its expiry; a key");
    // Entities expire first, keys a minute after they were written.
    let expiry = driver.expiry_of_first_entity();
    driver.now = Time(expiry.0.max(began) + 5);
    driver.settle();
    assert_eq!(count(&driver, "entities", APP), 0);
    driver.now = Time(driver.now.0.max(began + RETENTION) + 10_000);
    driver.settle();
    assert_eq!((count(&driver, "keys", APP), partition_row(&driver).keys), (0, 0));
    assert_eq!(driver.events().len(), events, "sweeping makes no event");
}

/// A step looks at so many events, and only the first one of a command has a key. It was taken for
/// the last step unless it had found as many keys, so the next one came a second later.
#[test]
fn keys_of_commands_with_many_events_are_swept_as_fast() {
    let mut driver = driver();
    let many = vec!["{'name': 'A'}"; 200].join(", ");
    for handle in 0..20_usize {
        let key = Key(u128::try_from(handle + 1).unwrap().to_be_bytes());
        driver.submit(handle, &command("pos-4", key, "1", events(&many)));
    }
    driver.settle();
    assert_eq!(count(&driver, "keys", APP), 20);
    driver.now = Time(driver.now.0 + RETENTION + 10_000);
    let late = driver.now;
    driver.settle();
    assert_eq!(count(&driver, "keys", APP), 0);
    assert!(driver.now.0 < late.0 + 1_000, "all steps within one interval");
}

/// The tick stood behind the command that was refused because there was no room.
#[test]
fn a_window_whose_keys_are_over_is_not_full() {
    let mut driver = Driver::new(Settings::default(), faulty::never());
    let retention = Retention::Milliseconds(RETENTION);
    driver.define(ShopSettings { retention, keys_max: Some(1), ..ShopSettings::default() });
    let ask = |driver: &mut Driver, handle: usize| {
        let key = Key(u128::try_from(handle + 1).unwrap().to_be_bytes());
        driver.submit(handle, &command("pos-4", key, "1", events("{'name': 'A'}")));
        driver.settle();
        driver.answers[&handle].clone()
    };
    let is_done =
        |reply: &Reply| matches!(reply, Ok(Outcome::Command(CommandOutcome::Committed(_))));
    assert!(is_done(&ask(&mut driver, 0)));
    driver.now = Time(driver.now.0 + RETENTION + 10_000);
    let second = ask(&mut driver, 1);
    assert!(is_done(&second), "{second:?}");
}

/// A key was used anew between the end of its retention and the tick, so the tick found nothing to
/// remove, and how far it had looked was not written: a start looked at the same events once more.
#[test]
fn how_far_was_looked_is_written_also_when_nothing_is_removed() {
    let mut driver = driver();
    let began = driver.now.0;
    let ask = |driver: &mut Driver, handle: usize, json: &str| {
        driver.submit(handle, &command("pos-4", Key([1; 16]), "1", events(json)));
        driver.settle();
        assert!(driver.receipt(handle).is_some(), "{:?}", driver.answers);
    };
    ask(&mut driver, 0, "{'name': 'A'}");
    // A tick looks, and the next one is a second away.
    driver.now = Time(began + RETENTION - 500);
    driver.settle();
    driver.now = Time(began + RETENTION + 100);
    ask(&mut driver, 1, "{'name': 'B'}");
    assert_eq!(partition_row(&driver).keys_through, None);
    driver.now = Time(began + RETENTION + 2_000);
    driver.settle();
    assert_eq!(partition_row(&driver).keys_through, PartitionOffset::new(1));
    assert_eq!((count(&driver, "keys", APP), partition_row(&driver).keys), (1, 1));
}

impl Driver {
    fn expiry_of_first_entity(&self) -> Time {
        let range = KeyRange::prefix(&seriatim_codec::expiries_prefix(APP));
        let first = self.store.first_key(schema().table("entities").unwrap(), &range);
        let key = first.unwrap().expect("there is one");
        seriatim_codec::decode_expiry_key(&key).unwrap().0
    }
}
