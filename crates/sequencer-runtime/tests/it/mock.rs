//! A storage of numbers and a log in memory, with hooks that block and fail.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use seriatim_sequencer::{
    Begin, Checkpoint, LogEvent, RecordIds, Row, RowKey, Sequences, Series, Settings, built_in,
};
use seriatim_sequencer_runtime::{
    EventLog, LogError, NumberStorage, Runtime, RuntimeSettings, StorageError, WriteError,
};
use seriatim_storage::Cancel;
use seriatim_storage::faulty::Dice;
use seriatim_types::{Epoch, Number, PartitionOffset, SequenceId, Time, WorkspaceId};

#[derive(Default)]
pub(crate) struct Mock {
    rows: Mutex<BTreeMap<RowKey, Row>>,
    through: Mutex<Option<PartitionOffset>>,
    epoch: AtomicU64,
    pub(crate) log: Mutex<Vec<LogEvent>>,
    pub(crate) gate: Gate,
    pub(crate) writes_fail: AtomicBool,
    /// Of so many calls of `write` one succeeds; 0 is all.
    pub(crate) flaky: AtomicU64,
    /// So many reads fail, of rows, offsets and the log.
    pub(crate) reads_to_fail: AtomicU64,
    pub(crate) panics: AtomicBool,
    pub(crate) too_few_rows: AtomicBool,
    pub(crate) writes: AtomicU64,
}

/// Holds up the reading of the log.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<(bool, u64)>,
    changed: Condvar,
}

impl Gate {
    pub(crate) fn close(&self) {
        self.state.lock().unwrap().0 = true;
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().0 = false;
        self.changed.notify_all();
    }

    /// Returns once somebody waits at the closed gate.
    pub(crate) fn wait_for_somebody(&self) {
        let mut state = self.state.lock().unwrap();
        while state.1 == 0 {
            state = self.changed.wait(state).unwrap();
        }
    }

    fn pass(&self, cancel: &Cancel) {
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        self.changed.notify_all();
        while state.0 && !cancel.is_cancelled() {
            state = self.changed.wait_timeout(state, Duration::from_millis(1)).unwrap().0;
        }
        state.1 -= 1;
    }
}

impl Mock {
    fn maybe_fail(&self, what: &str) -> Result<(), StorageError> {
        let every = self.flaky.load(Ordering::Relaxed);
        let call = self.writes.fetch_add(1, Ordering::Relaxed);
        let fails = every > 0 && !call.is_multiple_of(every);
        if fails { Err(StorageError { cause: format!("{what} fails by plan") }) } else { Ok(()) }
    }

    fn maybe_fail_read(&self) -> Result<(), StorageError> {
        let left = self
            .reads_to_fail
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match left {
            Ok(_) => Err(StorageError { cause: "read fails by plan".to_owned() }),
            Err(_) => Ok(()),
        }
    }

    pub(crate) fn append(&self, events: &[LogEvent]) {
        self.log.lock().unwrap().extend(events.iter().cloned());
    }

    pub(crate) fn checkpointed(&self) -> u64 {
        self.through.lock().unwrap().map_or(0, PartitionOffset::get)
    }
}

impl NumberStorage for Mock {
    fn claim(&self) -> Result<Epoch, StorageError> {
        Ok(Epoch(self.epoch.fetch_add(1, Ordering::Relaxed) + 1))
    }

    fn read_rows(&self, keys: &[RowKey]) -> Result<Vec<Option<Row>>, StorageError> {
        self.maybe_fail_read()?;
        if self.too_few_rows.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let rows = self.rows.lock().unwrap();
        Ok(keys.iter().map(|key| rows.get(key).cloned()).collect())
    }

    fn checkpointed_through(&self) -> Result<Option<PartitionOffset>, StorageError> {
        self.maybe_fail_read()?;
        assert!(!self.panics.load(Ordering::Relaxed), "the storage panics by plan");
        Ok(*self.through.lock().unwrap())
    }

    fn write(&self, epoch: Epoch, checkpoint: &Checkpoint) -> Result<(), WriteError> {
        if self.writes_fail.load(Ordering::Relaxed) {
            return Err(StorageError { cause: "writes fail by plan".to_owned() }.into());
        }
        self.maybe_fail("write")?;
        let owner = Epoch(self.epoch.load(Ordering::Relaxed));
        if owner != epoch {
            return Err(WriteError::Fenced { owner });
        }
        // Rows first, the offset last.
        self.rows.lock().unwrap().extend(checkpoint.rows.iter().cloned());
        *self.through.lock().unwrap() = checkpoint.through;
        Ok(())
    }
}

impl EventLog for Mock {
    fn last_offset(&self) -> Result<Option<PartitionOffset>, StorageError> {
        self.maybe_fail_read()?;
        Ok(self.log.lock().unwrap().last().map(|event| event.offset))
    }

    fn read(
        &self,
        after: Option<PartitionOffset>,
        cancel: &Cancel,
        visit: &mut dyn FnMut(LogEvent) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        self.gate.pass(cancel);
        let log = self.log.lock().unwrap().clone();
        let from = usize::try_from(after.map_or(0, PartitionOffset::get)).unwrap();
        for event in log.into_iter().skip(from) {
            if cancel.is_cancelled() {
                return Err(LogError::Cancelled);
            }
            if visit(event).is_break() {
                return Ok(());
            }
            // In the middle, so that what was shown before must not be shown again.
            self.maybe_fail_read()?;
        }
        if cancel.is_cancelled() { Err(LogError::Cancelled) } else { Ok(()) }
    }
}

/// Short waits: what is tested is what happens, not how long it takes.
pub(crate) fn settings(unflushed_rows_max: usize) -> RuntimeSettings {
    RuntimeSettings {
        sequencer: Settings { unflushed_rows_max, ..Settings::default() },
        checkpoint_delay: Duration::from_micros(50),
        retry_delay_min: Duration::from_micros(50),
        retry_delay_max: Duration::from_millis(1),
    }
}

pub(crate) fn sequences() -> Sequences {
    Sequences::new(RecordIds::single())
}

pub(crate) fn runtime(mock: &Arc<Mock>, unflushed_rows_max: usize) -> Runtime {
    let (numbers, log) = (Arc::clone(mock), Arc::clone(mock));
    Runtime::new(numbers, log, sequences(), settings(unflushed_rows_max)).unwrap()
}

pub(crate) fn begin(workspace: u64) -> Begin<'static> {
    let kind = Sequences::DEFAULT_KIND;
    Begin { workspace: WorkspaceId(workspace), kind, client: None, time: Time(0) }
}

pub(crate) fn series(sequence: SequenceId) -> Series {
    Series { sequence, year: None }
}

/// One command with one event and some record ids. Returns the event, flushed or not.
pub(crate) fn command(
    runtime: &Runtime,
    workspace: u64,
    ids: u64,
    mut commit: impl FnMut(&LogEvent) -> bool,
) -> Result<LogEvent, seriatim_sequencer_runtime::StartError> {
    let mut started = runtime.start(begin(workspace))?;
    let offsets = started.event();
    let mut values = vec![(series(built_in::WORKSPACE_OFFSETS), offsets.workspace)];
    for _ in 0..ids {
        let drawn = started.next(built_in::RECORD_IDS).unwrap();
        values.push((drawn.series, drawn.number));
    }
    let event = LogEvent {
        offset: offsets.partition,
        workspace: WorkspaceId(workspace),
        kind: Sequences::DEFAULT_KIND,
        values,
        client: None,
        frontier: None,
    };
    if commit(&event) {
        started.flush();
    } else {
        started.actualize();
    }
    Ok(event)
}

/// A log in which every workspace's offsets and ids are what they must be.
pub(crate) fn good_log(events: u64, workspaces: u64, seed: u64) -> Vec<LogEvent> {
    let mut dice = Dice::new(seed);
    let mut lasts: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let number = |n| Number::new(n).unwrap();
    (1..=events)
        .map(|offset| {
            let workspace = dice.below(workspaces);
            let (last, id) = lasts.entry(workspace).or_insert((0, 200_000));
            *last += 1;
            *id += 2;
            LogEvent {
                offset: PartitionOffset::new(offset).unwrap(),
                workspace: WorkspaceId(workspace),
                kind: Sequences::DEFAULT_KIND,
                // Unordered, with a key repeated.
                values: vec![
                    (series(built_in::RECORD_IDS), number(*id)),
                    (series(built_in::WORKSPACE_OFFSETS), number(*last)),
                    (series(built_in::RECORD_IDS), number(*id - 1)),
                ],
                client: None,
                frontier: None,
            }
        })
        .collect()
}

/// Offsets and ids of a log follow each other without a hole or a repeat.
pub(crate) fn check_log(log: &[LogEvent]) {
    let mut lasts: BTreeMap<(WorkspaceId, SequenceId), u64> = BTreeMap::new();
    for (event, offset) in log.iter().zip(1..) {
        assert_eq!(event.offset.get(), offset, "the log has a hole or a repeat");
        let mut values: Vec<_> = event.values.clone();
        values.sort();
        for (series, number) in values {
            let first = if series.sequence == built_in::RECORD_IDS { 200_001 } else { 1 };
            let last = lasts.entry((event.workspace, series.sequence)).or_insert(first - 1);
            assert_eq!(number.get(), *last + 1, "{series:?} at offset {offset}");
            *last += 1;
        }
    }
}
