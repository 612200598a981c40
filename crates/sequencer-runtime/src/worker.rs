//! The thread behind a runtime: reads the log, writes checkpoints, tries again what fails.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use seriatim_sequencer::{LogEvent, ObserveError, RowKey, RowsRead};
use seriatim_types::{Epoch, PartitionOffset};

use crate::runtime::{Shared, read_rows};
use crate::traits::{LogError, StorageError, WriteError};

/// Events whose rows are read in one call.
const CHUNK_EVENTS_MAX: usize = 256;

/// Why the work ends.
enum End {
    /// The runtime is being shut down.
    Stopping,
    /// It was fenced, or cannot read its log. The state says which.
    Over,
}

/// Whatever ends the thread, a panic of the storage included, is told to whoever waits.
struct Farewell<'a>(&'a Shared);

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        if state.fenced_by.is_none() {
            state.stopped.get_or_insert_with(|| "the background thread has ended".to_owned());
        }
        drop(state);
        self.0.notify();
    }
}

pub(crate) fn run(shared: &Shared) {
    let _farewell = Farewell(shared);
    match patiently(shared, || shared.numbers.claim()) {
        Ok(epoch) => {
            if let Err(End::Stopping) = work(shared, epoch) {
                last_checkpoint(shared, epoch);
            }
        }
        Err(End::Stopping | End::Over) => {}
    }
}

fn work(shared: &Shared, epoch: Epoch) -> Result<(), End> {
    let mut delay = shared.settings.retry_delay_min;
    loop {
        let state = shared.lock();
        if state.is_stopping {
            return Err(End::Stopping);
        }
        if state.wants_reading {
            drop(state);
            read_log(shared, epoch)?;
            continue;
        }
        if state.sequencer.counters().checkpoint_lag == 0 {
            drop(shared.wait(state));
            continue;
        }
        drop(state);
        gather(shared);
        delay = match try_checkpoint(shared, epoch)? {
            Ok(()) => shared.settings.retry_delay_min,
            Err(error) => pause(shared, &error.cause, delay)?,
        };
    }
}

/// Lets numbers gather before they are written, unless somebody cannot wait.
fn gather(shared: &Shared) {
    let until = Instant::now().checked_add(shared.settings.checkpoint_delay);
    let mut state = shared.lock();
    loop {
        let left = until.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        let is_urgent = state.is_stopping || state.wants_reading || state.sequencer.is_full();
        if left.is_zero() || is_urgent {
            return;
        }
        state = shared.wait_at_most(state, left);
    }
}

/// Reads the log behind the checkpoint, from the beginning of a reading to serving.
fn read_log(shared: &Shared, epoch: Epoch) -> Result<(), End> {
    {
        let mut state = shared.lock();
        state.wants_reading = false;
        state.sequencer.actualize().expect("this thread writes checkpoints, and none is out");
    }
    let through = patiently(shared, || shared.numbers.checkpointed_through())?;
    let last = patiently(shared, || shared.log.last_offset())?;
    if through > last {
        // The next number would leave a hole that nobody can fill.
        return stop(shared, format!("the log ends at {last:?}, the checkpoint at {through:?}"));
    }
    let count = |offset: Option<PartitionOffset>| offset.map_or(0, PartitionOffset::get);
    let total = count(last).saturating_sub(count(through));
    shared.lock().sequencer.resume(through, total).expect("the numbers were just forgotten");
    let mut delay = shared.settings.retry_delay_min;
    loop {
        let after = shared.lock().sequencer.committed_through();
        let mut reader = Reader { shared, epoch, chunk: Vec::new(), end: None };
        let read = shared.log.read(after, &shared.cancel, &mut |event| reader.visit(event));
        // What was shown before a failure is as good as the rest.
        reader.take_in_chunk();
        if let Some(end) = reader.end {
            return Err(end);
        }
        let failure = match read {
            Ok(()) if shared.lock().sequencer.committed_through() >= last => break,
            Ok(()) => "the log ended before its last event".to_owned(),
            Err(LogError::Failed(error)) => error.cause,
            Err(cancelled @ LogError::Cancelled) => cancelled.to_string(),
            Err(damaged @ LogError::Damaged { .. }) => return stop(shared, damaged.to_string()),
        };
        delay = pause(shared, &failure, delay)?;
    }
    shared.lock().sequencer.serve().expect("the log was being read");
    shared.notify();
    Ok(())
}

fn stop(shared: &Shared, reason: String) -> Result<(), End> {
    shared.lock().stopped = Some(reason);
    Err(End::Over)
}

/// Takes events in, a chunk at a time.
struct Reader<'a> {
    shared: &'a Shared,
    epoch: Epoch,
    chunk: Vec<LogEvent>,
    end: Option<End>,
}

impl Reader<'_> {
    fn visit(&mut self, event: LogEvent) -> ControlFlow<()> {
        self.chunk.push(event);
        let rows_max = self.shared.settings.sequencer.unflushed_rows_max;
        if self.chunk.len() >= CHUNK_EVENTS_MAX.min(rows_max) {
            self.take_in_chunk();
        }
        if self.end.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn take_in_chunk(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        if self.end.is_none() {
            self.end = take_in(self.shared, self.epoch, &chunk).err();
        }
    }
}

fn take_in(shared: &Shared, epoch: Epoch, mut events: &[LogEvent]) -> Result<(), End> {
    while !events.is_empty() {
        let read = read_rows_of(shared, events)?;
        while let Some((event, rest)) = events.split_first() {
            let mut state = shared.lock();
            match state.sequencer.observe(event, &read) {
                Ok(()) => events = rest,
                // A checkpoint was written since: read the rest again.
                Err(ObserveError::NotRead { .. }) => break,
                Err(error) => {
                    drop(state);
                    return stop(shared, error.to_string());
                }
            }
            let is_full = state.sequencer.is_full();
            drop(state);
            if is_full {
                make_room(shared, epoch)?;
            }
        }
    }
    Ok(())
}

fn read_rows_of(shared: &Shared, events: &[LogEvent]) -> Result<RowsRead, End> {
    let (missing, stamp) = {
        let state = shared.lock();
        let keys = events.iter().flat_map(LogEvent::row_keys);
        let mut missing: Vec<RowKey> = keys.filter(|key| !state.sequencer.holds(key)).collect();
        missing.sort();
        missing.dedup();
        (missing, state.sequencer.stamp())
    };
    let rows = patiently(shared, || read_rows(shared.numbers.as_ref(), &missing))?;
    Ok(RowsRead::new(stamp, missing.into_iter().zip(rows)))
}

/// Rows that one transaction more than admitted can leave behind: reading them again must not
/// need a checkpoint, or it would never end while none can be written.
const ROWS_PER_TRANSACTION: usize = 2;

/// Writes checkpoints until there is room for more rows.
fn make_room(shared: &Shared, epoch: Epoch) -> Result<(), End> {
    let mut delay = shared.settings.retry_delay_min;
    while let Err(error) = try_checkpoint(shared, epoch)? {
        let rows = shared.lock().sequencer.counters().unflushed_rows;
        let rows_max = shared.settings.sequencer.unflushed_rows_max;
        if rows <= rows_max.saturating_add(ROWS_PER_TRANSACTION) {
            note(shared, &error.cause);
            return Ok(());
        }
        delay = pause(shared, &error.cause, delay)?;
    }
    Ok(())
}

fn last_checkpoint(shared: &Shared, epoch: Epoch) {
    let mut delay = shared.settings.retry_delay_min;
    while let Ok(Err(error)) = try_checkpoint(shared, epoch) {
        let stop_by = shared.lock().stop_by;
        let left = stop_by.map_or(delay, |at| at.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return;
        }
        note(shared, &error.cause);
        drop(shared.wait_at_most(shared.lock(), delay.min(left)));
        delay = longer(shared, delay);
    }
}

fn try_checkpoint(shared: &Shared, epoch: Epoch) -> Result<Result<(), StorageError>, End> {
    let Some(checkpoint) = shared.lock().sequencer.take_checkpoint() else { return Ok(Ok(())) };
    let written = shared.numbers.write(epoch, &checkpoint);
    let mut state = shared.lock();
    let outcome = match written {
        Ok(()) => {
            state.sequencer.written(checkpoint);
            Ok(Ok(()))
        }
        Err(WriteError::Failed(error)) => {
            state.sequencer.not_written(checkpoint);
            Ok(Err(error))
        }
        Err(WriteError::Fenced { owner }) => {
            state.sequencer.not_written(checkpoint);
            state.fenced_by = Some(owner);
            Err(End::Over)
        }
    };
    drop(state);
    shared.notify();
    outcome
}

/// Does something that may fail until it does not.
fn patiently<T>(shared: &Shared, attempt: impl Fn() -> Result<T, StorageError>) -> Result<T, End> {
    let mut delay = shared.settings.retry_delay_min;
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(error) => delay = pause(shared, &error.cause, delay)?,
        }
    }
}

/// Notes a failure and waits before the next attempt. Returns the delay after that.
fn pause(shared: &Shared, cause: &str, delay: Duration) -> Result<Duration, End> {
    note(shared, cause);
    let until = Instant::now().checked_add(delay);
    let mut state = shared.lock();
    loop {
        if state.is_stopping {
            return Err(End::Stopping);
        }
        let left = until.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(longer(shared, delay));
        }
        state = shared.wait_at_most(state, left);
    }
}

fn note(shared: &Shared, cause: &str) {
    let mut state = shared.lock();
    state.retries = state.retries.saturating_add(1);
    state.last_failure = Some(cause.to_owned());
    drop(state);
    shared.notify();
}

fn longer(shared: &Shared, delay: Duration) -> Duration {
    delay.saturating_mul(2).min(shared.settings.retry_delay_max)
}
