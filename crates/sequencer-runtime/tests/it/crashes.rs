//! A crash at every storage call of long random histories, enumerated: after recovery no number
//! is given twice and no offset is skipped.
//!
//! The driver below does by hand, on one thread, what the runtime does on two, so that the same
//! history makes the same calls and each of them can be the last.

use std::ops::ControlFlow;
use std::sync::Arc;

use seriatim_codec::PartitionPrefix;
use seriatim_sequencer::{
    Begin, LogEvent, ObserveError, RowKey, RowsRead, Sequencer, Settings, Ticket, built_in,
};
use seriatim_sequencer_runtime::{
    EventLog, NumberStorage, StoreLog, StoreNumbers, WriteError, tables,
};
use seriatim_storage::faulty::{self, Dice, Fault, FaultyStore};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Batch, Cancel, Outcome, Schema, Store};
use seriatim_testkit::full_scan;
use seriatim_types::{AppId, Epoch, Incarnation, PartitionId, PartitionOffset, WorkspaceId};

use crate::mock::{begin, check_log, sequences, series};

/// The storage failed: this process is over.
#[derive(Debug)]
struct Dead;

struct Driver {
    store: FaultyStore,
    numbers: StoreNumbers,
    log: StoreLog,
    epoch: Epoch,
    sequencer: Sequencer,
}

const SETTINGS: Settings = Settings { unflushed_rows_max: 3, cached_rows_max: 2, hash_seed: 0 };

fn prefix() -> PartitionPrefix {
    PartitionPrefix { app: AppId(1), partition: PartitionId(0), incarnation: Incarnation(1) }
}

fn new_store(schedule: faulty::Schedule) -> FaultyStore {
    let schema = Schema::new([tables::NUMBERS, tables::NUMBER_LOG]).unwrap();
    FaultyStore::new(Arc::new(MemoryStore::new(&schema)), schedule)
}

impl Driver {
    fn open(store: FaultyStore) -> Result<Self, Dead> {
        let numbers = StoreNumbers::new(Arc::new(store.clone()), prefix()).unwrap();
        let log = StoreLog::new(Arc::new(store.clone()), prefix()).unwrap();
        let epoch = numbers.claim().map_err(|_| Dead)?;
        let sequencer = Sequencer::new(sequences(), SETTINGS).unwrap();
        let mut driver = Self { store, numbers, log, epoch, sequencer };
        driver.read_log()?;
        Ok(driver)
    }

    fn read_log(&mut self) -> Result<(), Dead> {
        self.sequencer.actualize().unwrap();
        let through = self.numbers.checkpointed_through().map_err(|_| Dead)?;
        self.sequencer.resume(through, 0).unwrap();
        let mut events = Vec::new();
        let read = self.log.read(through, &Cancel::default(), &mut |event| {
            events.push(event);
            ControlFlow::Continue(())
        });
        read.map_err(|_| Dead)?;
        for event in events {
            let rows = self.read(event.row_keys().collect())?;
            match self.sequencer.observe(&event, &rows) {
                Ok(()) => {}
                Err(error @ ObserveError::NotRead { .. }) => panic!("just read: {error}"),
                Err(error) => panic!("the log is broken: {error}"),
            }
            if self.sequencer.is_full() {
                self.checkpoint()?;
            }
        }
        self.sequencer.serve().unwrap();
        Ok(())
    }

    fn read(&self, keys: Vec<RowKey>) -> Result<RowsRead, Dead> {
        let stamp = self.sequencer.stamp();
        let missing: Vec<RowKey> =
            keys.into_iter().filter(|key| !self.sequencer.holds(key)).collect();
        let rows = self.numbers.read_rows(&missing).map_err(|_| Dead)?;
        Ok(RowsRead::new(stamp, missing.into_iter().zip(rows)))
    }

    fn checkpoint(&mut self) -> Result<(), Dead> {
        let Some(checkpoint) = self.sequencer.take_checkpoint() else { return Ok(()) };
        match self.numbers.write(self.epoch, &checkpoint) {
            Ok(()) => self.sequencer.written(checkpoint),
            Err(WriteError::Failed(_)) => self.sequencer.not_written(checkpoint),
            Err(WriteError::Fenced { owner }) => panic!("{owner:?} has come from nowhere"),
        }
        self.store.health().map_err(|_| Dead)
    }

    /// Some commands, committed and synced together, as a node does. Returns their events
    /// once they are acknowledged.
    fn batch(&mut self, dice: &mut Dice) -> Result<Vec<LogEvent>, Dead> {
        let mut tickets: Vec<Ticket> = Vec::new();
        let mut events = Vec::new();
        for _ in 0..=dice.below(2) {
            let workspace = dice.below(4);
            let asked = Begin { ..begin(workspace) };
            let rows = self.read(vec![RowKey::Workspace(asked.workspace)])?;
            let mut tx = self.sequencer.begin(asked, &rows).unwrap();
            let mut values = Vec::new();
            for _ in 0..dice.below(3) {
                let drawn = tx.next(built_in::RECORD_IDS).unwrap();
                values.push((drawn.series, drawn.number));
            }
            if dice.below(4) == 0 {
                continue; // Refused: dropped with all its draws.
            }
            let offsets = tx.event();
            values.push((series(built_in::WORKSPACE_OFFSETS), offsets.workspace));
            let kind = asked.kind;
            let workspace = WorkspaceId(workspace);
            let offset = offsets.partition;
            events.push(LogEvent { offset, workspace, kind, values, client: None, frontier: None });
            tickets.push(tx.stage());
        }
        let mut batch = Batch::new();
        self.log.append(&mut batch, &events);
        if let Err(error) = self.store.commit(batch) {
            self.store.health().map_err(|_| Dead)?;
            // The store goes on: forget everything that built on this, and read the log again.
            assert_eq!(error.outcome(), Outcome::NotWritten);
            self.read_log()?;
            return Ok(Vec::new());
        }
        for ticket in tickets {
            self.sequencer.flush(ticket).unwrap();
        }
        self.store.sync().map_err(|_| Dead)?;
        Ok(events)
    }

    fn stored_log(&self) -> Vec<LogEvent> {
        let mut events = Vec::new();
        let read = self.log.read(None, &Cancel::default(), &mut |event| {
            events.push(event);
            ControlFlow::Continue(())
        });
        read.unwrap();
        events
    }
}

/// Runs a history until it ends or the storage fails. Returns what was acknowledged.
fn history(store: &FaultyStore, seed: u64) -> Vec<LogEvent> {
    let mut acked = Vec::new();
    let mut run = || -> Result<(), Dead> {
        let mut dice = Dice::new(seed);
        let mut driver = Driver::open(store.clone())?;
        for _ in 0..25 {
            if driver.sequencer.admit().is_ok() {
                acked.extend(driver.batch(&mut dice)?);
            }
            if dice.below(2) == 0 {
                driver.checkpoint()?;
            }
            if dice.below(12) == 0 {
                driver = Driver::open(store.clone())?;
            }
        }
        Ok(())
    };
    let _: Result<(), Dead> = run();
    acked
}

/// What the next process finds, and that it goes on well.
fn check(store: FaultyStore, acked: &[LogEvent], seed: u64) {
    let mut driver = Driver::open(store).expect("the storage is sound again");
    let log = driver.stored_log();
    check_log(&log);
    assert!(log.starts_with(acked), "something acknowledged is lost or changed");
    let last = log.last().map_or(0, |event| event.offset.get());
    let through = driver.sequencer.committed_through();
    assert_eq!(through.map_or(0, PartitionOffset::get), last);
    for (key, expected) in full_scan(&sequences(), &log) {
        let rows = driver.numbers.read_rows(std::slice::from_ref(&key)).unwrap();
        let row = driver.sequencer.row(&key).cloned().or_else(|| rows[0].clone());
        assert_eq!(row, Some(expected), "{key:?}");
    }
    let mut dice = Dice::new(seed).fork(99);
    for _ in 0..5 {
        driver.batch(&mut dice).unwrap();
        driver.checkpoint().unwrap();
    }
    check_log(&driver.stored_log());
}

#[test]
fn a_crash_at_every_storage_call_repeats_no_number_and_skips_no_offset() {
    let mut runs = 0;
    for seed in 0..6 {
        let whole = new_store(faulty::never());
        let acked = history(&whole, seed);
        assert!(acked.len() > 15, "{} events: long enough to mean something", acked.len());
        let calls = whole.calls();
        for fault in [Fault::LosePower, Fault::Fail, Fault::FailAfter, Fault::Refuse] {
            for index in 0..calls {
                let store = new_store(faulty::at(index, fault));
                let acked = history(&store, seed);
                let (after, _) = store.reopen(index, faulty::never()).unwrap();
                check(after, &acked, seed);
                runs += 1;
            }
        }
    }
    assert!(runs > 3_000, "{runs} runs");
}
