//! The thread behind a runtime: reads the log, writes checkpoints, tries again what fails.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use seriatim_sequencer::{LogEvent, ObserveError, RowKey, RowsRead};
use seriatim_types::{Epoch, PartitionOffset};

use crate::runtime::Shared;
use crate::traits::{LogError, StorageError, WriteError};

/// Events whose rows are read in one call.
const CHUNK_EVENTS_MAX: usize = 256;

/// The runtime is over: it was shut down, fenced or cannot read its log.
struct Over;

pub(crate) fn run(shared: &Shared) {
    // Whatever ended it, the state says so to whoever asks.
    let _: Result<(), Over> = work(shared);
    shared.notify();
}

fn work(shared: &Shared) -> Result<(), Over> {
    let epoch = patiently(shared, || shared.numbers.claim())?;
    loop {
        let state = shared.lock();
        let (stop_by, wants_reading) = (state.stop_by, state.wants_reading);
        let lag = state.sequencer.counters().checkpoint_lag;
        if let Some(stop_by) = stop_by {
            drop(state);
            return last_checkpoint(shared, epoch, stop_by);
        }
        if wants_reading {
            drop(state);
            read_log(shared, epoch)?;
            continue;
        }
        if lag == 0 {
            drop(shared.wait(state));
            continue;
        }
        // Gather for a while; a flush in between does not make it longer.
        drop(shared.wait_at_most(state, shared.settings.checkpoint_delay));
        checkpoint(shared, epoch)?;
    }
}

/// Reads the log behind the checkpoint, from the beginning of a reading to serving.
fn read_log(shared: &Shared, epoch: Epoch) -> Result<(), Over> {
    {
        let mut state = shared.lock();
        state.wants_reading = false;
        state.sequencer.actualize();
    }
    let through = patiently(shared, || shared.numbers.checkpointed_through())?;
    let last = patiently(shared, || shared.log.last_offset())?;
    let count = |offset: Option<PartitionOffset>| offset.map_or(0, PartitionOffset::get);
    shared.lock().sequencer.resume(through, count(last).saturating_sub(count(through)));
    let mut delay = shared.settings.retry_delay_min;
    loop {
        let after = shared.lock().sequencer.committed_through();
        let mut reader = Reader { shared, epoch, chunk: Vec::new(), over: false };
        let read = shared.log.read(after, &shared.cancel, &mut |event| reader.visit(event));
        // What was shown before a failure is as good as the rest.
        reader.take_in_chunk();
        if reader.over {
            return Err(Over);
        }
        match read {
            Ok(()) => break,
            Err(LogError::Cancelled) => return Err(Over),
            Err(LogError::Failed(error)) => delay = pause(shared, &error.cause, delay)?,
            Err(damaged @ LogError::Damaged { .. }) => {
                shared.lock().stopped = Some(damaged.to_string());
                return Err(Over);
            }
        }
    }
    shared.lock().sequencer.serve();
    shared.notify();
    checkpoint(shared, epoch)
}

/// Takes events in, a chunk at a time.
struct Reader<'a> {
    shared: &'a Shared,
    epoch: Epoch,
    chunk: Vec<LogEvent>,
    over: bool,
}

impl Reader<'_> {
    fn visit(&mut self, event: LogEvent) -> ControlFlow<()> {
        self.chunk.push(event);
        let rows_max = self.shared.settings.sequencer.unflushed_rows_max;
        if self.chunk.len() >= CHUNK_EVENTS_MAX.min(rows_max) {
            self.take_in_chunk();
        }
        if self.over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn take_in_chunk(&mut self) {
        let chunk = std::mem::take(&mut self.chunk);
        if !self.over && take_in(self.shared, self.epoch, &chunk).is_err() {
            self.over = true;
        }
    }
}

fn take_in(shared: &Shared, epoch: Epoch, mut events: &[LogEvent]) -> Result<(), Over> {
    while !events.is_empty() {
        let read = read_rows_of(shared, events)?;
        while let Some((event, rest)) = events.split_first() {
            let mut state = shared.lock();
            match state.sequencer.observe(event, &read) {
                Ok(()) => events = rest,
                // A checkpoint was written since: read the rest again.
                Err(ObserveError::NotRead { .. }) => break,
                Err(error) => {
                    state.stopped = Some(error.to_string());
                    return Err(Over);
                }
            }
            let is_full = state.sequencer.is_full();
            drop(state);
            while is_full && shared.lock().sequencer.is_full() {
                write_checkpoint_or_pause(shared, epoch)?;
            }
        }
    }
    Ok(())
}

fn read_rows_of(shared: &Shared, events: &[LogEvent]) -> Result<RowsRead, Over> {
    let (missing, stamp) = {
        let state = shared.lock();
        let keys = events.iter().flat_map(LogEvent::row_keys);
        let mut missing: Vec<RowKey> = keys.filter(|key| !state.sequencer.holds(key)).collect();
        missing.sort();
        missing.dedup();
        (missing, state.sequencer.stamp())
    };
    let rows = patiently(shared, || shared.numbers.read_rows(&missing))?;
    Ok(RowsRead::new(stamp, missing.into_iter().zip(rows)))
}

/// Writes one checkpoint, if there is something new. A failure is noted and left to the next.
fn checkpoint(shared: &Shared, epoch: Epoch) -> Result<(), Over> {
    if let Err(error) = try_checkpoint(shared, epoch)? {
        pause(shared, &error.cause, shared.settings.retry_delay_min)?;
    }
    Ok(())
}

fn write_checkpoint_or_pause(shared: &Shared, epoch: Epoch) -> Result<(), Over> {
    let mut delay = shared.settings.retry_delay_min;
    while let Err(error) = try_checkpoint(shared, epoch)? {
        delay = pause(shared, &error.cause, delay)?;
    }
    Ok(())
}

fn last_checkpoint(shared: &Shared, epoch: Epoch, stop_by: Instant) -> Result<(), Over> {
    let mut delay = shared.settings.retry_delay_min;
    while try_checkpoint(shared, epoch)?.is_err() {
        let left = stop_by.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Over);
        }
        note(shared, "the last checkpoint failed");
        drop(shared.wait_at_most(shared.lock(), delay.min(left)));
        delay = longer(shared, delay);
    }
    Ok(())
}

fn try_checkpoint(shared: &Shared, epoch: Epoch) -> Result<Result<(), StorageError>, Over> {
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
            Err(Over)
        }
    };
    drop(state);
    shared.notify();
    outcome
}

/// Does something that may fail until it does not.
fn patiently<T>(shared: &Shared, attempt: impl Fn() -> Result<T, StorageError>) -> Result<T, Over> {
    let mut delay = shared.settings.retry_delay_min;
    loop {
        match attempt() {
            Ok(value) => return Ok(value),
            Err(error) => delay = pause(shared, &error.cause, delay)?,
        }
    }
}

/// Notes a failure and waits before the next attempt. Returns the delay after that.
fn pause(shared: &Shared, cause: &str, delay: Duration) -> Result<Duration, Over> {
    note(shared, cause);
    let until = Instant::now().checked_add(delay);
    let mut state = shared.lock();
    loop {
        if state.stop_by.is_some() {
            return Err(Over);
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
