//! Storage that holds what it must not: a violation, or an overwrite, by the trust level.

use bytes::Bytes;
use seriatim_codec::{KeyBytes, event_key, record_key, workspace_log_key};
use seriatim_core::{CommandOutcome, Outcome};
use seriatim_node::{Reason, Reply, RequestError, Settings, State, schema};
use seriatim_storage::{Batch, Read, Store, faulty};
use seriatim_testkit::core::{ShopSettings, changes, command};
use seriatim_types::{Key, Number, PartitionOffset, TrustLevel, WorkspaceId};

use crate::driver::{APP, Driver};

#[derive(Debug, Clone, Copy)]
enum Sabotage {
    Record,
    Partition,
    Workspace,
}

const LEVELS: [TrustLevel; 3] = [TrustLevel::Zero, TrustLevel::One, TrustLevel::Two];

fn driver(trust_level: TrustLevel) -> Driver {
    let mut driver = Driver::new(Settings::default(), faulty::never());
    driver.define(ShopSettings { trust_level, ..ShopSettings::default() });
    driver
}

/// Sends changes to workspace 1.
fn send(driver: &mut Driver, handle: usize, json: &str) -> Reply {
    let key = Key(u128::try_from(handle + 1).unwrap().to_be_bytes());
    driver.submit(handle, &command("pos-4", key, "1", changes(json)));
    driver.settle();
    driver.answers[&handle].clone()
}

const CREATE: &str = "{'create': {'id': 1, 'kind': 'note'}}";
const PLANTED: &[u8] = b"planted";

/// The row that the second event, or its record, will be written to.
fn row(sabotage: Sabotage) -> (&'static str, KeyBytes) {
    let number = |number| Number::new(number).unwrap();
    match sabotage {
        Sabotage::Record => ("records", record_key(APP, WorkspaceId(1), number(200_002))),
        Sabotage::Partition => ("log", event_key(APP, PartitionOffset::new(2).unwrap())),
        Sabotage::Workspace => ("workspace_log", workspace_log_key(APP, WorkspaceId(1), number(2))),
    }
}

fn plant(driver: &Driver, sabotage: Sabotage) {
    let (table, key) = row(sabotage);
    let mut batch = Batch::new();
    batch.put(schema().table(table).unwrap(), key, Bytes::from_static(PLANTED));
    driver.store.commit(batch).unwrap();
}

fn is_planted(driver: &Driver, sabotage: Sabotage) -> bool {
    let (table, key) = row(sabotage);
    let found = driver.store.get(schema().table(table).unwrap(), &key).unwrap();
    found.as_deref() == Some(PLANTED)
}

fn is_applied(reply: &Reply) -> bool {
    matches!(reply, Ok(Outcome::Command(CommandOutcome::Committed(_))))
}

#[test]
fn a_planted_row_is_a_violation_or_is_overwritten_as_the_level_says() {
    for level in LEVELS {
        for sabotage in [Sabotage::Record, Sabotage::Partition, Sabotage::Workspace] {
            let mut driver = driver(level);
            assert!(is_applied(&send(&mut driver, 0, CREATE)));
            plant(&driver, sabotage);
            let reply = send(&mut driver, 1, CREATE);
            let is_violation = match (level, sabotage) {
                (TrustLevel::Zero, _) => true,
                (TrustLevel::One, Sabotage::Partition | Sabotage::Workspace) => true,
                (TrustLevel::One, Sabotage::Record) | (TrustLevel::Two, _) => false,
            };
            assert_eq!(is_planted(&driver, sabotage), is_violation, "{level:?} {sabotage:?}");
            assert_eq!(is_applied(&reply), !is_violation, "{level:?} {sabotage:?}: {reply:?}");
            let state = driver.partition.state();
            let is_stopped = matches!(state, State::Stopped(Reason::Violation { .. }));
            assert_eq!(is_stopped, is_violation, "{level:?} {sabotage:?}: {state:?}");
            if is_violation {
                assert!(
                    matches!(reply, Err(RequestError::Stopped(Reason::Violation { .. }))),
                    "{reply:?}"
                );
                let later = send(&mut driver, 2, "");
                assert!(
                    matches!(later, Err(RequestError::Stopped(_))),
                    "a stopped partition takes nothing"
                );
            }
        }
    }
}

#[test]
fn updates_and_deletes_never_violate() {
    for level in LEVELS {
        let mut driver = driver(level);
        drop(send(&mut driver, 0, CREATE));
        let update = "{'update': {'id': 200001, 'fields': {'a': 1}}}";
        assert!(is_applied(&send(&mut driver, 1, update)));
        assert!(is_applied(&send(&mut driver, 2, "{'delete': {'id': 200001}}")));
        let again = "{'create': {'id': 200001, 'kind': 'note'}}";
        assert!(is_applied(&send(&mut driver, 3, again)), "its id is free for an import");
    }
}

#[test]
fn a_record_can_be_removed_and_imported_again_in_one_commit() {
    let mut driver = driver(TrustLevel::Zero);
    drop(send(&mut driver, 0, CREATE));
    let all = ["{'delete': {'id': 200001}}", "{'create': {'id': 200001, 'kind': 'note'}}", CREATE];
    for (json, handle) in all.iter().zip(1..) {
        let key = Key(u128::try_from(handle + 1).unwrap().to_be_bytes());
        driver.submit(handle, &command("pos-4", key, "1", changes(json)));
    }
    driver.settle();
    assert!((1..4).all(|handle| is_applied(&driver.answers[&handle])), "{:?}", driver.answers);
}

#[test]
fn after_a_restart_ids_go_on_without_a_violation() {
    let mut driver = driver(TrustLevel::Zero);
    for handle in 0..5 {
        let Ok(Outcome::Command(CommandOutcome::Committed(receipt))) =
            send(&mut driver, handle, CREATE)
        else {
            panic!("carried out")
        };
        assert_eq!(receipt.ids[0].1.get(), 200_001 + u64::try_from(handle).unwrap());
        driver.partition.restart();
        driver.settle();
        assert_eq!(driver.partition.state(), State::Serving);
    }
}

#[test]
fn a_restart_serves_or_stops_again_with_the_same_reason() {
    let mut driver = driver(TrustLevel::Zero);
    drop(send(&mut driver, 0, CREATE));
    plant(&driver, Sabotage::Record);
    drop(send(&mut driver, 1, CREATE));
    let State::Stopped(reason) = driver.partition.state() else { panic!("stopped") };
    driver.partition.restart();
    driver.settle();
    assert_eq!(driver.partition.state(), State::Serving, "what is stored is sound");
    assert!(is_applied(&send(&mut driver, 2, "{'draw': {'sequence': 'ticket'}}")));
    assert_eq!(send(&mut driver, 3, CREATE), Err(RequestError::Stopped(reason)));
    // A log that cannot be read keeps it stopped.
    let mut driver = self::driver(TrustLevel::Zero);
    drop(send(&mut driver, 0, CREATE));
    plant(&driver, Sabotage::Partition);
    drop(send(&mut driver, 1, CREATE));
    driver.partition.restart();
    driver.settle();
    let state = driver.partition.state();
    assert!(matches!(state, State::Stopped(Reason::Unreadable { .. })), "{state:?}");
}
