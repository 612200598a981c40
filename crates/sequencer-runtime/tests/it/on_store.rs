//! The runtime on our own storage, on disk.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seriatim_codec::PartitionPrefix;
use seriatim_sequencer_runtime::{
    EventLog, LogError, NumberStorage, Runtime, StartError, StoreLog, StoreNumbers, WriteError,
    tables,
};
use seriatim_storage::faulty::{Call, CallKind, FaultyStore};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Batch, Cancel, Schema, Store};
use seriatim_storage_fjall::{FjallStore, Settings};
use seriatim_types::{AppId, Incarnation, PartitionId, PartitionOffset};

use crate::mock::{command, sequences, settings};

fn open(folder: &std::path::Path) -> Arc<dyn Store> {
    let schema = Schema::new([tables::NUMBERS, tables::NUMBER_LOG]).unwrap();
    Arc::new(FjallStore::open(folder, &schema, Settings::default()).unwrap())
}

fn prefix(app: u32, partition: u16) -> PartitionPrefix {
    PartitionPrefix {
        app: AppId(app),
        partition: PartitionId(partition),
        incarnation: Incarnation(1),
    }
}

fn runtime(store: &Arc<dyn Store>, prefix: PartitionPrefix) -> Runtime {
    let numbers = StoreNumbers::new(Arc::clone(store), prefix).unwrap();
    let log = StoreLog::new(Arc::clone(store), prefix).unwrap();
    Runtime::new(Arc::new(numbers), Arc::new(log), sequences(), settings(500)).unwrap()
}

/// A command whose event is durable before its numbers are flushed.
fn write(
    store: &Arc<dyn Store>,
    prefix: PartitionPrefix,
    runtime: &Runtime,
    workspace: u64,
) -> Result<u64, StartError> {
    let log = StoreLog::new(Arc::clone(store), prefix).unwrap();
    let event = command(runtime, workspace, 1, |event| {
        let mut batch = Batch::new();
        log.append(&mut batch, std::slice::from_ref(event));
        store.commit(batch).unwrap();
        store.sync().unwrap();
        true
    })?;
    Ok(event.offset.get())
}

#[test]
fn numbers_go_on_after_closing_and_after_a_crash_without_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let of = prefix(1, 0);
    for round in 0..4 {
        let store = open(folder.path());
        let runtime = runtime(&store, of);
        runtime.wait_until_serving().unwrap();
        for n in 1..=50 {
            assert_eq!(write(&store, of, &runtime, n % 7).unwrap(), round * 50 + n);
        }
        if round % 2 == 0 {
            assert_eq!(runtime.shutdown(Duration::from_secs(60)).checkpoint_lag, 0);
        } else {
            // Not asked: whatever the background has written, and one last attempt.
            drop(runtime);
        }
    }
    let store = open(folder.path());
    let log = StoreLog::new(Arc::clone(&store), of).unwrap();
    assert_eq!(log.last_offset().unwrap().map(|offset| offset.get()), Some(200));
}

#[test]
fn a_cancelled_reading_of_the_log_is_never_taken_for_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let runtime = runtime(&store, prefix(1, 0));
    runtime.wait_until_serving().unwrap();
    for _ in 0..3 {
        write(&store, prefix(1, 0), &runtime, 1).unwrap();
    }
    let log = StoreLog::new(Arc::clone(&store), prefix(1, 0)).unwrap();
    for cancel_after in 1..=3 {
        let cancel = Cancel::default();
        let mut seen = 0;
        let read = log.read(None, &cancel, &mut |_| {
            seen += 1;
            if seen == cancel_after {
                cancel.cancel();
            }
            ControlFlow::Continue(())
        });
        assert_eq!(read, Err(LogError::Cancelled), "after {cancel_after} of 3 events");
        assert_eq!(seen, cancel_after);
    }
}

#[test]
fn a_claim_that_comes_between_reading_and_writing_the_head_fences_the_writer() {
    let schema = Schema::new([tables::NUMBERS, tables::NUMBER_LOG]).unwrap();
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema));
    let newcomer = StoreNumbers::new(Arc::clone(&memory), prefix(1, 0)).unwrap();
    let armed = Arc::new(AtomicBool::new(false));
    // The delay of a commit is where the other owner gets in.
    let interrupt = {
        let armed = Arc::clone(&armed);
        move |call: Call| {
            if call.kind == CallKind::Commit && armed.swap(false, Ordering::Relaxed) {
                newcomer.claim().unwrap();
            }
            None
        }
    };
    let store = FaultyStore::new(memory, Box::new(interrupt));
    let numbers = StoreNumbers::new(Arc::new(store), prefix(1, 0)).unwrap();
    let epoch = numbers.claim().unwrap();
    armed.store(true, Ordering::Relaxed);
    let through = PartitionOffset::new(7);
    let checkpoint = seriatim_sequencer::Checkpoint { through, rows: Vec::new() };
    let owner = seriatim_types::Epoch(epoch.0 + 1);
    assert_eq!(numbers.write(epoch, &checkpoint), Err(WriteError::Fenced { owner }));
    assert_eq!(numbers.checkpointed_through().unwrap(), None, "nothing was written");
}

#[test]
fn a_checkpoint_without_rows_still_moves_the_offset() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let numbers = StoreNumbers::new(Arc::clone(&store), prefix(1, 0)).unwrap();
    let epoch = numbers.claim().unwrap();
    let through = PartitionOffset::new(7);
    let checkpoint = seriatim_sequencer::Checkpoint { through, rows: Vec::new() };
    numbers.write(epoch, &checkpoint).unwrap();
    assert_eq!(numbers.checkpointed_through().unwrap(), through);
    assert!(numbers.claim().unwrap() > epoch);
    assert_eq!(numbers.checkpointed_through().unwrap(), through, "a claim keeps it");
}

#[test]
fn an_event_that_makes_no_sense_stops_the_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let table = store.schema().table(tables::NUMBER_LOG).unwrap();
    let mut batch = Batch::new();
    let key = seriatim_codec::event_numbers_key(prefix(1, 0), PartitionOffset::FIRST);
    batch.put(table, key, b"nonsense".as_slice());
    store.commit(batch).unwrap();
    let runtime = runtime(&store, prefix(1, 0));
    let stopped = runtime.wait_until_serving().unwrap_err();
    assert!(stopped.to_string().contains("makes no sense"), "{stopped}");
}

#[test]
fn two_apps_and_two_partitions_never_share_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let all = [prefix(1, 0), prefix(1, 1), prefix(2, 0), prefix(2, 1)];
    let runtimes: Vec<Runtime> = all.iter().map(|prefix| runtime(&store, *prefix)).collect();
    for runtime in &runtimes {
        runtime.wait_until_serving().unwrap();
    }
    for n in 1..=20 {
        for (runtime, prefix) in runtimes.iter().zip(all) {
            assert_eq!(write(&store, prefix, runtime, 5).unwrap(), n);
        }
    }
    for runtime in runtimes {
        assert_eq!(runtime.shutdown(Duration::from_secs(60)).checkpoint_lag, 0);
    }
    for prefix in all {
        let numbers = StoreNumbers::new(Arc::clone(&store), prefix).unwrap();
        assert_eq!(numbers.checkpointed_through().unwrap().map(|o| o.get()), Some(20));
    }
}

#[test]
fn a_checkpoint_of_a_former_owner_is_refused_by_the_store_itself() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let numbers = StoreNumbers::new(Arc::clone(&store), prefix(1, 0)).unwrap();
    let former = numbers.claim().unwrap();
    let owner = numbers.claim().unwrap();
    assert!(owner > former);
    let runtime = runtime(&store, prefix(1, 0));
    runtime.wait_until_serving().unwrap();
    write(&store, prefix(1, 0), &runtime, 1).unwrap();
    runtime.wait_until_checkpointed();
    let mut sequencer =
        seriatim_sequencer::Sequencer::new(sequences(), settings(5).sequencer).unwrap();
    sequencer.resume(None, 0).unwrap();
    let log = StoreLog::new(Arc::clone(&store), prefix(1, 0)).unwrap();
    let nothing = seriatim_storage::Cancel::default();
    let read = log.read(None, &nothing, &mut |event| {
        let keys: Vec<_> = event.row_keys().map(|key| (key, None)).collect();
        let rows = seriatim_sequencer::RowsRead::new(sequencer.stamp(), keys);
        sequencer.observe(&event, &rows).unwrap();
        std::ops::ControlFlow::Continue(())
    });
    assert_eq!(read, Ok(()));
    let checkpoint = sequencer.take_checkpoint().unwrap();
    for epoch in [former, owner] {
        let refused = numbers.write(epoch, &checkpoint);
        assert!(matches!(refused, Err(WriteError::Fenced { .. })), "{refused:?}");
    }
    sequencer.not_written(checkpoint);
}
