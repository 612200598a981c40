//! The answers that are neither success nor refusal, each from a storage that makes it happen.

use std::sync::Arc;
use std::time::Duration;

use seriatim::{
    AppOptions, Busy, NodeSettings, NotWritten, Options, ReadError, Reason, State, Unknown,
    WriteError, schema,
};
use seriatim_codec::{PartitionPrefix, Table, partition_key};
use seriatim_storage::faulty::{CallKind, Fault};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Batch, Store};
use seriatim_types::{Incarnation, PartitionId};

use crate::world::{ORDER, Storage, key, orders, persist, shop};

#[test]
fn a_full_queue_is_busy_with_a_delay_and_writes_nothing() {
    let storage = Storage::new();
    let seriatim = storage.open(Options::default());
    shop(&seriatim);
    seriatim.close().unwrap();
    let node = NodeSettings { queue_max: 2, ..NodeSettings::default() };
    let seriatim = storage.open(Options { node, ..Options::default() });
    let app = seriatim.app("shop", AppOptions::default()).unwrap();
    let store = app.workspace("store-1").unwrap();
    storage.hold(true);
    let waiting = [1, 2].map(|number| store.send("till-4", key(number), ORDER));
    let error = store.submit("till-4", key(3), ORDER).unwrap_err();
    let WriteError::NotWritten(NotWritten::Busy { busy, retry_after }) = &error else {
        panic!("it is busy: {error:?}");
    };
    assert_eq!(*busy, Busy::QueueFull { queued: 2 });
    assert_eq!((error.code().as_str(), error.retry_after()), ("BUSY", Some(*retry_after)));
    storage.hold(false);
    for sent in waiting {
        sent.wait().unwrap();
    }
    assert_eq!(store.receipt("till-4", key(3)).unwrap(), None);
    assert!(!store.submit("till-4", key(3), ORDER).unwrap().is_replayed);
}

#[test]
fn a_late_answer_is_unknown_and_the_same_key_resolves_it() {
    let storage = Storage::new();
    let seriatim =
        storage.open(Options { answer_within: Duration::from_secs(1), ..Options::default() });
    let store = shop(&seriatim).workspace("store-1").unwrap();
    storage.hold(true);
    let error = store.submit("till-4", key(1), ORDER).unwrap_err();
    assert!(matches!(error, WriteError::Unknown(Unknown::TimedOut { .. })), "{error:?}");
    assert_eq!(error.code().as_str(), "DEADLINE_EXCEEDED");
    assert!(error.retry_after().is_some());
    storage.hold(false);
    assert!(persist(&store, 1).is_replayed);
    assert_eq!(store.head().unwrap().size, 1);
}

#[test]
fn a_commit_for_which_there_is_no_room_is_not_written_and_can_be_sent_again() {
    let storage = Storage::new();
    let seriatim = storage.open(Options::default());
    let store = shop(&seriatim).workspace("store-1").unwrap();
    orders(&store, [1]);
    storage.fail_all(CallKind::Commit, Fault::Refuse);
    let error = store.submit("till-4", key(2), ORDER).unwrap_err();
    let WriteError::NotWritten(NotWritten::Busy { busy, .. }) = &error else { panic!("{error:?}") };
    assert!(matches!(busy, Busy::DiskFull { .. }), "{busy:?}");
    assert_eq!(error.code().as_str(), "BUSY");
    storage.recover();
    let resolved = persist(&store, 2);
    assert!(!resolved.is_replayed);
    assert_eq!(resolved.number("ticket").unwrap().number.get(), 2, "no number was lost");
}

#[test]
fn a_failed_sync_is_unknown_then_all_is_stopped_and_the_reopened_folder_resolves_it() {
    let storage = Storage::new();
    let seriatim = storage.open(Options::default());
    let store = shop(&seriatim).workspace("store-1").unwrap();
    orders(&store, [1]);
    storage.fail_next(CallKind::Sync, Fault::FailAfter);
    let error = std::iter::repeat_with(|| store.submit("till-4", key(2), ORDER));
    // A checkpoint may have met the fault first.
    let error = error.take(1_000).find_map(Result::err).unwrap();
    let code = match &error {
        WriteError::Unknown(Unknown::Interrupted { .. }) => "OUTCOME_UNKNOWN",
        WriteError::NotWritten(NotWritten::Stopped(_)) => "PARTITION_STOPPED",
        other @ (WriteError::Refused(_) | WriteError::NotWritten(_) | WriteError::Unknown(_)) => {
            panic!("{other:?}")
        }
    };
    assert_eq!((error.code().as_str(), error.retry_after()), (code, None));
    let error = store.submit("till-4", key(3), ORDER).unwrap_err();
    let WriteError::NotWritten(NotWritten::Stopped(Reason::Store { .. })) = error else {
        panic!("the store has stopped: {error:?}");
    };
    let error = store.head().unwrap_err();
    assert!(matches!(error, ReadError::Failed(_)), "{error:?}");
    assert_eq!(error.code().as_str(), "PARTITION_STOPPED");
    drop(store);
    seriatim.close().unwrap();
    drop(seriatim);

    let seriatim = storage.open(Options::default());
    let store = shop(&seriatim).workspace("store-1").unwrap();
    let resolved = store.submit("till-4", key(2), ORDER).unwrap();
    assert_eq!(resolved.number("ticket").unwrap().number.get(), 2);
    assert_eq!(store.head().unwrap().size, 2);
}

#[test]
fn a_partition_that_has_stopped_says_why_and_leaves_the_others_to_be_served() {
    let storage = Storage::new();
    let options = AppOptions { partitions: 2, ..AppOptions::default() };
    let seriatim = storage.open(Options::default());
    let app = seriatim.app("shop", options).unwrap();
    let event = r#"{"events": [{"name": "A"}]}"#;
    for workspace in ["10", "11"] {
        app.workspace(workspace).unwrap().submit("till-4", key(1), event).unwrap();
    }
    let partitions = seriatim.partitions().unwrap();
    assert!(partitions.iter().all(|(_, state)| *state == State::Serving));
    let odd = partitions.iter().map(|(name, _)| *name).find(|it| it.partition == PartitionId(1));
    let odd = odd.unwrap();
    seriatim.close().unwrap();

    let store = MemoryStore::open(storage.disk(), &schema()).unwrap();
    let prefix =
        PartitionPrefix { app: odd.app, partition: odd.partition, incarnation: Incarnation(1) };
    let mut batch = Batch::new();
    let table = store.schema().table(Table::Partition.name()).unwrap();
    batch.put(table, partition_key(prefix), b"nonsense".as_slice());
    store.commit(batch).unwrap();
    store.sync().unwrap();
    drop(store);

    let seriatim = Options::default().open_on(Arc::new(storage.store())).unwrap();
    let (_, state) = seriatim.partitions().unwrap().into_iter().find(|it| it.0 == odd).unwrap();
    let State::Stopped(reason) = state else { panic!("it has stopped: {state:?}") };
    let app = seriatim.app("shop", options).unwrap();
    let error = app.define_kind("depot").unwrap_err();
    let why = reason.to_string();
    assert_eq!(error, Unknown::Interrupted { why }.into(), "others have it, this one does not");
    assert_eq!(error.code().as_str(), "OUTCOME_UNKNOWN");
    app.define_kind("depot").expect("the same again needs no partition that has stopped");
    let stopped = app.workspace("11").unwrap();
    let error = stopped.submit("till-4", key(2), event).unwrap_err();
    assert_eq!(error, NotWritten::Stopped(reason.clone()).into());
    assert_eq!((error.code().as_str(), error.retry_after()), ("PARTITION_STOPPED", None));
    let error = stopped.head().unwrap_err();
    assert_eq!((&error, error.code().as_str()), (&ReadError::Stopped(reason), "PARTITION_STOPPED"));
    let serving = app.workspace("10").unwrap();
    assert_eq!(serving.submit("till-4", key(2), event).unwrap().receipt.last_offset.get(), 2);
}

/// The reader was told, and the partition went on as if nothing had been found.
#[test]
fn a_read_that_finds_damage_stops_the_partition_and_the_next_opening_serves_it() {
    let storage = Storage::new();
    let seriatim = storage.open(Options::default());
    let store = shop(&seriatim).workspace("store-1").unwrap();
    orders(&store, [1]);
    // Only readers ask for single rows.
    storage.fail_all(CallKind::Get, Fault::Fail);
    let error = store.head().unwrap_err();
    storage.recover();
    let ReadError::Failed(failed) = &error else { panic!("{error:?}") };
    let reason = failed.reason();
    let stopped = State::Stopped(reason.clone());
    let partitions = seriatim.partitions().unwrap();
    assert_eq!(partitions.iter().filter(|(_, state)| *state == stopped).count(), 1);
    let serving = partitions.iter().filter(|(_, state)| *state == State::Serving).count();
    assert_eq!(serving, partitions.len() - 1, "{partitions:?}");
    let error = store.submit("till-4", key(2), ORDER).unwrap_err();
    assert_eq!(error, NotWritten::Stopped(reason).into());
    drop(store);
    seriatim.close().unwrap();
    drop(seriatim);

    let seriatim = storage.open(Options::default());
    let store = shop(&seriatim).workspace("store-1").unwrap();
    assert_eq!(orders(&store, [2])[0].number("ticket").unwrap().number.get(), 2);
}
