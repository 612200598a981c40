//! The runtime's own sources under a scheduler that tries out interleavings of its two sides.
//!
//! `crate::sync` is a module of this file here, so the same lines run on shuttle's mutex,
//! condition variable and threads. A schedule that fails is printed and can be replayed.

#![expect(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "the runtime's sources are compiled here for a few scenarios only"
)]

#[path = "../../src/runtime.rs"]
mod runtime;
#[path = "../../src/settings.rs"]
mod settings;
#[path = "../../src/started.rs"]
mod started;
#[path = "../../src/traits.rs"]
mod traits;
#[path = "../../src/worker.rs"]
mod worker;

mod sync {
    use std::time::Duration;

    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use shuttle::thread::{Builder, JoinHandle};

    /// A wait that may end at any time: the scheduler decides who runs meanwhile.
    pub(crate) fn wait_at_most<'a, T>(
        mutex: &'a Mutex<T>,
        _: &Condvar,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> MutexGuard<'a, T> {
        drop(guard);
        shuttle::thread::yield_now();
        mutex.lock().unwrap()
    }
}

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use seriatim_sequencer::{
    Begin, Busy, Checkpoint, LogEvent, RecordIds, Row, RowKey, Sequences, Series, Settings,
    built_in,
};
use seriatim_storage::Cancel;
use seriatim_types::{Epoch, PartitionOffset, Time, WorkspaceId};
use shuttle::sync::Mutex;
use shuttle::thread;

use crate::runtime::{Runtime, StartError};
use crate::settings::RuntimeSettings;
use crate::traits::{EventLog, LogError, NumberStorage, StorageError, WriteError};

const SCHEDULES: usize = 10_000;

/// Storage behind one lock, whose every third write fails.
#[derive(Default)]
struct Stored {
    rows: BTreeMap<RowKey, Row>,
    through: Option<PartitionOffset>,
    log: Vec<LogEvent>,
    writes: u64,
}

#[derive(Default)]
struct Mock(Mutex<Stored>);

impl NumberStorage for Mock {
    fn claim(&self) -> Result<Epoch, StorageError> {
        Ok(Epoch(1))
    }

    fn read_rows(&self, keys: &[RowKey]) -> Result<Vec<Option<Row>>, StorageError> {
        let stored = self.0.lock().unwrap();
        Ok(keys.iter().map(|key| stored.rows.get(key).cloned()).collect())
    }

    fn checkpointed_through(&self) -> Result<Option<PartitionOffset>, StorageError> {
        Ok(self.0.lock().unwrap().through)
    }

    fn write(&self, _: Epoch, checkpoint: &Checkpoint) -> Result<(), WriteError> {
        let mut stored = self.0.lock().unwrap();
        stored.writes = stored.writes.wrapping_add(1);
        if stored.writes.is_multiple_of(3) {
            return Err(StorageError { cause: "by plan".to_owned() }.into());
        }
        stored.rows.extend(checkpoint.rows.iter().cloned());
        stored.through = checkpoint.through;
        Ok(())
    }
}

impl EventLog for Mock {
    fn last_offset(&self) -> Result<Option<PartitionOffset>, StorageError> {
        Ok(self.0.lock().unwrap().log.last().map(|event| event.offset))
    }

    fn read(
        &self,
        after: Option<PartitionOffset>,
        cancel: &Cancel,
        visit: &mut dyn FnMut(LogEvent) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        let log = self.0.lock().unwrap().log.clone();
        let behind = log.into_iter().filter(|event| Some(event.offset) > after);
        for event in behind {
            if cancel.is_cancelled() {
                return Err(LogError::Cancelled);
            }
            if visit(event).is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn runtime(mock: &Arc<Mock>) -> Runtime {
    let settings = RuntimeSettings {
        sequencer: Settings { unflushed_rows_max: 1, cached_rows_max: 1, hash_seed: 0 },
        checkpoint_delay: Duration::ZERO,
        retry_delay_min: Duration::ZERO,
        retry_delay_max: Duration::ZERO,
    };
    let sequences = Sequences::new(RecordIds::single());
    Runtime::new(Arc::clone(mock) as _, Arc::clone(mock) as _, sequences, settings).unwrap()
}

/// One command, tried until it is taken; it ends in a flush or in a reading of the log.
fn command(runtime: &Runtime, mock: &Mock, workspace: u64, is_flushed: bool) {
    let kind = Sequences::DEFAULT_KIND;
    let workspace = WorkspaceId(workspace);
    loop {
        match runtime.start(Begin { workspace, kind, client: None, time: Time(0) }) {
            Ok(started) => {
                let offsets = started.event();
                let series = Series { sequence: built_in::WORKSPACE_OFFSETS, year: None };
                let values = vec![(series, offsets.workspace)];
                let offset = offsets.partition;
                let event =
                    LogEvent { offset, workspace, kind, values, client: None, frontier: None };
                mock.0.lock().unwrap().log.push(event);
                return if is_flushed { started.flush() } else { started.actualize() };
            }
            Err(
                StartError::Busy(Busy::Actualizing(_) | Busy::Unflushed { .. })
                | StartError::InProgress,
            ) => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The log is gap-free for the partition and for each workspace.
fn check_log(mock: &Mock, events: usize) {
    let log = mock.0.lock().unwrap().log.clone();
    assert_eq!(log.len(), events);
    let mut lasts: BTreeMap<WorkspaceId, u64> = BTreeMap::new();
    for (event, offset) in log.iter().zip(1..) {
        assert_eq!(event.offset.get(), offset);
        let last = lasts.entry(event.workspace).or_default();
        *last = last.wrapping_add(1);
        assert!(event.values.iter().all(|(_, number)| number.get() == *last));
    }
}

#[test]
fn writers_and_the_background_checkpoint_agree_in_every_interleaving_tried() {
    shuttle::check_random(
        || {
            let mock = Arc::new(Mock::default());
            let runtime = Arc::new(runtime(&mock));
            let writers: Vec<_> = (0..2)
                .map(|writer| {
                    let (mock, runtime) = (Arc::clone(&mock), Arc::clone(&runtime));
                    thread::spawn(move || {
                        command(&runtime, &mock, writer, true);
                        command(&runtime, &mock, 7, true);
                    })
                })
                .collect();
            for writer in writers {
                writer.join().unwrap();
            }
            // A lost wake-up would be a deadlock here, and shuttle says so.
            runtime.wait_until_checkpointed();
            check_log(&mock, 4);
            assert_eq!(mock.0.lock().unwrap().through.map(PartitionOffset::get), Some(4));
            drop(runtime);
        },
        SCHEDULES,
    );
}

#[test]
fn reading_the_log_again_and_writing_checkpoints_do_not_undo_each_other() {
    shuttle::check_random(
        || {
            let mock = Arc::new(Mock::default());
            let runtime = Arc::new(runtime(&mock));
            let other = {
                let (mock, runtime) = (Arc::clone(&mock), Arc::clone(&runtime));
                thread::spawn(move || {
                    command(&runtime, &mock, 1, true);
                    command(&runtime, &mock, 1, false);
                })
            };
            command(&runtime, &mock, 1, false);
            command(&runtime, &mock, 2, true);
            other.join().unwrap();
            runtime.wait_until_serving().unwrap();
            runtime.wait_until_checkpointed();
            check_log(&mock, 4);
        },
        SCHEDULES,
    );
}

#[test]
fn a_shutdown_at_any_moment_ends_and_loses_nothing_that_the_log_has() {
    shuttle::check_random(
        || {
            let mock = Arc::new(Mock::default());
            let first = runtime(&mock);
            command(&first, &mock, 1, true);
            command(&first, &mock, 1, true);
            let ended = first.shutdown(Duration::ZERO);
            let through = mock.0.lock().unwrap().through.map_or(0, PartitionOffset::get);
            assert_eq!(ended.checkpoint_lag, 2_u64.wrapping_sub(through));
            let second = runtime(&mock);
            command(&second, &mock, 1, true);
            check_log(&mock, 3);
        },
        SCHEDULES,
    );
}
