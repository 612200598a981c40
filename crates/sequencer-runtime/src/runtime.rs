//! The handle that embedders hold, and the state that it shares with its worker.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use seriatim_sequencer::{
    Begin, BeginError, Busy, Counters, Progress, Row, RowKey, RowsRead, Sequencer, Sequences,
    SettingsError,
};
use seriatim_storage::Cancel;
use seriatim_types::Epoch;

use crate::settings::RuntimeSettings;
use crate::started::Started;
use crate::sync::{Builder, Condvar, JoinHandle, Mutex, MutexGuard, wait_at_most};
use crate::traits::{EventLog, NumberStorage, StorageError};
use crate::worker;

/// A sequencer that reads its log and writes its checkpoints by itself.
pub struct Runtime {
    shared: Arc<Shared>,
    worker: Option<JoinHandle<()>>,
}

pub(crate) struct Shared {
    pub(crate) numbers: Arc<dyn NumberStorage>,
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) settings: RuntimeSettings,
    /// Ends a reading of the log when the runtime is shut down.
    pub(crate) cancel: Cancel,
    state: Mutex<State>,
    changed: Condvar,
}

pub(crate) struct State {
    pub(crate) sequencer: Sequencer,
    /// The log is to be read again, as soon as no checkpoint is being written.
    pub(crate) wants_reading: bool,
    /// A transaction is open.
    pub(crate) is_open: bool,
    pub(crate) is_stopping: bool,
    /// When to give up the last checkpoint; `None` is never.
    pub(crate) stop_by: Option<Instant>,
    pub(crate) stopped: Option<String>,
    pub(crate) fenced_by: Option<Epoch>,
    pub(crate) retries: u64,
    pub(crate) last_failure: Option<String>,
}

/// Why a transaction could not be started. Nothing was drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Not now.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// Another transaction is open. Numbers are given to one at a time.
    #[error("another transaction is open")]
    InProgress,
    /// The request cannot be served as it is.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The rows of the workspace could not be read.
    #[error("the numbers of the workspace could not be read")]
    Read(#[source] StorageError),
    /// Another owner has come since. This runtime gives no more numbers.
    #[error("epoch {} owns the numbers now", owner.0)]
    Fenced {
        /// The newer owner.
        owner: Epoch,
    },
    /// The log cannot be read. This runtime gives no numbers until it is started anew.
    #[error("the log cannot be read: {reason}")]
    Stopped {
        /// What is wrong with it.
        reason: String,
    },
}

/// How a runtime is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// How far the reading of the log is; `None` when it is done.
    pub reading: Option<Progress>,
    /// How often something was tried again.
    pub retries: u64,
    /// What failed last.
    pub last_failure: Option<String>,
    /// The sequencer's counters.
    pub counters: Counters,
}

/// How a runtime ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// Events that no checkpoint covers. The next start reads them.
    pub checkpoint_lag: u64,
}

impl Runtime {
    /// Starts to read the log. Numbers are refused until that is done.
    ///
    /// # Errors
    ///
    /// When a setting is out of its range.
    pub fn new(
        numbers: Arc<dyn NumberStorage>,
        log: Arc<dyn EventLog>,
        sequences: Sequences,
        settings: RuntimeSettings,
    ) -> Result<Self, SettingsError> {
        let state = State {
            sequencer: Sequencer::new(sequences, settings.sequencer)?,
            wants_reading: true,
            is_open: false,
            is_stopping: false,
            stop_by: None,
            stopped: None,
            fenced_by: None,
            retries: 0,
            last_failure: None,
        };
        let shared = Arc::new(Shared {
            numbers,
            log,
            settings,
            cancel: Cancel::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        let worker = Builder::new().name("sequencer".to_owned());
        let worker = worker.spawn(move || worker::run(&theirs)).expect("a thread is to be had");
        Ok(Self { shared, worker: Some(worker) })
    }

    /// Opens a transaction: admits, reads what is not in memory, begins. Nobody else gets
    /// numbers until it is flushed or dropped; they are told so, and do not wait.
    ///
    /// # Errors
    ///
    /// When numbers cannot be given now, or not at all.
    pub fn start(&self, begin: Begin<'_>) -> Result<Started<'_>, StartError> {
        let mut state = self.shared.lock();
        if let Some(owner) = state.fenced_by {
            return Err(StartError::Fenced { owner });
        }
        if let Some(reason) = state.stopped.clone() {
            return Err(StartError::Stopped { reason });
        }
        if state.is_open {
            return Err(StartError::InProgress);
        }
        if state.wants_reading {
            let progress = state.sequencer.progress().unwrap_or_default();
            return Err(Busy::Actualizing(progress).into());
        }
        state.sequencer.admit()?;
        let missing: Vec<RowKey> =
            begin.row_keys().filter(|key| !state.sequencer.holds(key)).collect();
        let stamp = state.sequencer.stamp();
        let rows = if missing.is_empty() {
            Vec::new()
        } else {
            read_rows(self.shared.numbers.as_ref(), &missing).map_err(StartError::Read)?
        };
        let read = RowsRead::new(stamp, missing.into_iter().zip(rows));
        let draws = state.sequencer.draw(begin, &read)?;
        state.is_open = true;
        Ok(Started::new(&self.shared, draws))
    }

    /// Returns once numbers are given, or can no longer be.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn wait_until_serving(&self) -> Result<(), StartError> {
        let mut state = self.shared.lock();
        loop {
            if let Some(owner) = state.fenced_by {
                return Err(StartError::Fenced { owner });
            }
            if let Some(reason) = state.stopped.clone() {
                return Err(StartError::Stopped { reason });
            }
            if !state.wants_reading && state.sequencer.progress().is_none() {
                return Ok(());
            }
            state = self.shared.wait(state);
        }
    }

    /// Returns once every committed number is in a checkpoint, or numbers can no longer be
    /// given.
    pub fn wait_until_checkpointed(&self) {
        let mut state = self.shared.lock();
        let is_over = |state: &State| state.fenced_by.is_some() || state.stopped.is_some();
        let is_behind = |state: &State| {
            let sequencer = &state.sequencer;
            let is_reading = state.wants_reading || sequencer.progress().is_some();
            is_reading || sequencer.counters().checkpoint_lag > 0
        };
        while !is_over(&state) && is_behind(&state) {
            state = self.shared.wait(state);
        }
    }

    /// How the runtime is.
    #[must_use]
    pub fn health(&self) -> Health {
        let state = self.shared.lock();
        Health {
            reading: state.sequencer.progress(),
            retries: state.retries,
            last_failure: state.last_failure.clone(),
            counters: state.sequencer.counters(),
        }
    }

    /// Ends the runtime: tries to write a last checkpoint, for at most so long. A call of the
    /// storage that does not return is waited for all the same.
    #[must_use]
    pub fn shutdown(mut self, at_most: Duration) -> Shutdown {
        self.stop(at_most);
        Shutdown { checkpoint_lag: self.shared.lock().sequencer.counters().checkpoint_lag }
    }

    fn stop(&mut self, at_most: Duration) {
        let Some(worker) = self.worker.take() else { return };
        {
            let mut state = self.shared.lock();
            state.is_stopping = true;
            state.stop_by = Instant::now().checked_add(at_most);
        }
        self.shared.cancel.cancel();
        self.shared.changed.notify_all();
        // A worker that panicked has told the panic hook; there is nothing left to wait for.
        let _ = worker.join();
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

/// Reads rows, and checks that there is one answer for each.
pub(crate) fn read_rows(
    numbers: &dyn NumberStorage,
    keys: &[RowKey],
) -> Result<Vec<Option<Row>>, StorageError> {
    let rows = numbers.read_rows(keys)?;
    if rows.len() != keys.len() {
        let cause = format!("{} rows were asked for, {} came", keys.len(), rows.len());
        return Err(StorageError { cause });
    }
    Ok(rows)
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait_at_most<'a>(
        &'a self,
        state: MutexGuard<'a, State>,
        delay: Duration,
    ) -> MutexGuard<'a, State> {
        wait_at_most(&self.state, &self.changed, state, delay)
    }

    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }
}
