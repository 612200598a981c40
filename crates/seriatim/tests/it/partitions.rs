//! Apps and partitions: what there is, their logs, and waiting for an offset.

use std::thread;
use std::time::{Duration, Instant};

use seriatim::{
    AppOptions, Committed, ErrorCode, Partition, ReadError, Seriatim, State, SubscribeError,
};

use crate::world::{ORDER, PATIENCE, in_memory, key, orders, shop};

fn one_partition() -> (Seriatim, Partition) {
    let seriatim = Seriatim::in_memory().unwrap();
    let options = AppOptions { partitions: 1, ..AppOptions::default() };
    let app = seriatim.app("shop", options).unwrap();
    let partition = app.partition(0).unwrap();
    (seriatim, partition)
}

fn opened(seriatim: &Seriatim, workspace: &str, number: u128) {
    let app = seriatim.existing_app("shop").unwrap().unwrap();
    let workspace = app.workspace(workspace).unwrap();
    workspace.submit("till-4", key(number), r#"{"events": [{"name": "Opened"}]}"#).unwrap();
}

fn offsets(events: &[Committed]) -> Vec<u64> {
    events.iter().map(|committed| committed.event.partition_offset.get()).collect()
}

#[test]
fn apps_are_listed_with_what_is_defined_for_them() {
    let seriatim = Seriatim::in_memory().unwrap();
    assert_eq!(seriatim.apps().unwrap().len(), 0);
    assert!(seriatim.existing_app("shop").unwrap().is_none());
    assert_eq!(seriatim.existing_app("").err().unwrap().code(), ErrorCode::InvalidArgument);
    shop(&seriatim);
    let apps = seriatim.apps().unwrap();
    assert_eq!(apps.iter().map(|it| it.name().as_str()).collect::<Vec<_>>(), ["shop"]);
    let app = seriatim.existing_app("shop").unwrap().unwrap();
    assert_eq!(app.settings().unwrap().partitions, AppOptions::default().partitions);
    let definitions = app.definitions().unwrap();
    let names = definitions.sequences.iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["ticket", "invoice"]);
    assert_eq!(definitions.records.len(), 3);
}

#[test]
fn a_partition_has_the_events_of_all_its_workspaces_in_one_log() {
    let (seriatim, partition) = one_partition();
    let mut subscription = partition.subscribe(1).unwrap();
    for (number, workspace) in [(1, "store-1"), (2, "store-2"), (3, "store-1")] {
        opened(&seriatim, workspace, number);
    }
    let events = partition.events(0, 10).unwrap();
    assert_eq!(offsets(&events), [1, 2, 3]);
    assert_eq!(offsets(&partition.events(2, 1).unwrap()), [2]);
    let names: Vec<String> =
        events.iter().map(|it| partition.workspace_name(it.event.workspace).unwrap()).collect();
    assert_eq!(names, ["store-1", "store-2", "store-1"]);
    let followed: Vec<Committed> = subscription.by_ref().take(3).map(Result::unwrap).collect();
    assert_eq!(offsets(&followed), [1, 2, 3]);
    seriatim.close().unwrap();
    assert_eq!(subscription.next_before(Instant::now()), Err(SubscribeError::Closed));
}

#[test]
fn only_partitions_that_an_app_has_are_found() {
    let (seriatim, _store) = in_memory();
    let app = seriatim.existing_app("shop").unwrap().unwrap();
    let partitions = app.partitions().unwrap();
    assert_eq!(partitions.iter().map(|it| it.id().0).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(partitions.iter().all(|it| it.state() == Ok(State::Serving)));
    let error = app.partition(4).err().unwrap();
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert_eq!(error.to_string(), "the app has 4 partitions, from 0 on");
}

#[test]
fn a_partition_that_is_restarted_serves_again_with_what_it_had() {
    let (seriatim, partition) = one_partition();
    opened(&seriatim, "store-1", 1);
    partition.restart().unwrap();
    let deadline = Instant::now() + PATIENCE;
    // Until it has read its log, it is busy and can be asked again.
    let app = seriatim.existing_app("shop").unwrap().unwrap();
    let store = app.workspace("store-1").unwrap();
    while let Err(error) = store.submit("till-4", key(2), r#"{"events": [{"name": "Opened"}]}"#) {
        assert!(error.retry_after().is_some() && Instant::now() < deadline, "{error}");
        thread::yield_now();
    }
    assert_eq!(offsets(&partition.events(1, 10).unwrap()), [1, 2]);
}

#[test]
fn an_offset_is_waited_for_until_it_is_there_or_the_time_is_over() {
    let (seriatim, store) = in_memory();
    assert_eq!(store.wait_for(0, Duration::ZERO), Ok(0));
    let error = store.wait_for(1, Duration::from_millis(1)).unwrap_err();
    assert_eq!(error, ReadError::NotReached { offset: 1, last: 0 });
    assert_eq!(error.code(), ErrorCode::NotYet);
    // The workspace comes into being while it is waited for.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| store.wait_for(3, PATIENCE).unwrap());
        orders(&store, 1..=3);
        assert_eq!(waiting.join().unwrap(), 3);
    });
    let app = seriatim.existing_app("shop").unwrap().unwrap();
    let busiest = |it: &Partition| it.events(1, 10).unwrap().len() == 3;
    let partition = app.partitions().unwrap().into_iter().find(busiest).unwrap();
    assert_eq!(partition.wait_for(3, PATIENCE), Ok(3));
    let error = partition.wait_for(4, Duration::ZERO).unwrap_err();
    assert_eq!(error, ReadError::NotReached { offset: 4, last: 3 });
}

#[test]
fn closing_ends_a_wait_for_an_offset() {
    let (seriatim, store) = in_memory();
    let (sender, receiver) = std::sync::mpsc::channel();
    let waiting = thread::spawn(move || {
        sender.send(()).unwrap();
        store.wait_for(1, PATIENCE)
    });
    receiver.recv().unwrap();
    let began = Instant::now();
    seriatim.close().unwrap();
    assert_eq!(waiting.join().unwrap(), Err(ReadError::Closed));
    assert!(began.elapsed() < PATIENCE, "nobody waits until the time is over");
}

#[test]
fn only_records_of_class_c_are_listed() {
    let (_seriatim, store) = in_memory();
    store.submit("till-4", key(1), ORDER).unwrap();
    assert_eq!(store.records("order", 0, 10).unwrap().len(), 1);
    let code = |kind| store.records(kind, 0, 10).unwrap_err().code();
    assert_eq!((code("line"), code("lime")), (ErrorCode::InvalidArgument, ErrorCode::UnknownKind));
}

#[test]
fn readiness_says_whether_commands_are_taken() {
    let (seriatim, _store) = in_memory();
    let readiness = seriatim.readiness().unwrap();
    assert_eq!((readiness.is_ready, readiness.reason), (true, None));
    seriatim.close().unwrap();
    assert_eq!(seriatim.readiness().unwrap_err(), ReadError::Closed);
}
