//! Opening a folder, and closing it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use seriatim_core::SYSTEM_APP;
use seriatim_node::{Busy, Clock, Node, NotEnded, Reason, Settings, State, SystemClock, schema};
use seriatim_storage::Store;
use seriatim_storage::memory::{MemoryDisk, MemoryStore};
use seriatim_storage_fjall::FjallStore;
use seriatim_types::{PartitionRef, Time};

use crate::app::{App, AppOptions, name_of};
use crate::error::{NotWritten, ReadError, WriteError};
use crate::opened::Opened;
use crate::service::{Readiness, readiness};

/// Seriatim in this process: the apps of one folder. Clones are handles to the same; when the last
/// of them and of what was made with them is dropped, it is closed.
#[derive(Clone)]
pub struct Seriatim {
    opened: Arc<Opened>,
}

/// How Seriatim is opened. The defaults suit a small machine.
#[derive(Clone)]
pub struct Options {
    /// Where commands get their time from, and with it years and expiries.
    pub clock: Arc<dyn Clock>,
    /// Queues, batches and caches of the partitions.
    pub node: Settings,
    /// Memory, files and threads of the store.
    pub storage: seriatim_storage_fjall::Settings,
    /// How long to wait at most until everything serves.
    pub ready_within: Duration,
    /// How long to wait at most for the answer to a command or a definition.
    pub answer_within: Duration,
    /// How long closing may take.
    pub close_within: Duration,
}

/// Why a folder was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store did not open. It may be in use by another process, or by a handle of this one.
    #[error(transparent)]
    Store(#[from] seriatim_storage::OpenError),
    /// What the store says of its apps cannot be used.
    #[error("the list of apps cannot be read, so nothing can be served")]
    Stopped(#[source] Reason),
    /// It took too long. Nothing is lost: opening again goes on from the last checkpoint.
    #[error("not everything serves after {} ms: allow more time and open it again", waited.as_millis())]
    NotReady {
        /// How long was waited.
        waited: Duration,
        /// What each partition was doing.
        partitions: Vec<(PartitionRef, State)>,
    },
}

impl Seriatim {
    /// Opens a folder, making it if there is none, and waits until it serves. A folder can be open
    /// once at a time, on this machine.
    ///
    /// A partition that has stopped does not keep the others from being served: see
    /// [`partitions`](Self::partitions).
    ///
    /// # Errors
    ///
    /// When it is in use, damaged, written by a newer release, or cannot be read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Options::default().open(path)
    }

    /// An empty one that lives in memory and is gone when it is closed: for tests.
    ///
    /// # Errors
    ///
    /// When it did not serve in time.
    pub fn in_memory() -> Result<Self, OpenError> {
        let store = MemoryStore::open(&MemoryDisk::new(), &schema())?;
        Options::default().open_on(Arc::new(store))
    }

    /// The app of a name, which is defined unless there is such an app. An app that is there with
    /// other options is an error: they cannot be changed.
    ///
    /// # Errors
    ///
    /// `APP_EXISTS` for other options, `INVALID_ARGUMENT` for a name or options that cannot be, or
    /// when it was not defined in time.
    pub fn app(&self, name: &str, options: AppOptions) -> Result<App, WriteError> {
        App::define(&self.opened, name, options)
    }

    /// The app of a name, if there is one.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` for what is no name, or when the apps could not be read.
    pub fn existing_app(&self, name: &str) -> Result<Option<App>, ReadError> {
        let name = name_of("app", name)?;
        Ok(self.apps()?.into_iter().find(|app| *app.name() == name))
    }

    /// All apps, by name.
    ///
    /// # Errors
    ///
    /// When they could not be read.
    pub fn apps(&self) -> Result<Vec<App>, ReadError> {
        let apps = self.opened.with(Node::apps)??.into_iter();
        Ok(apps.map(|it| App::named(&self.opened, it.app.name)).collect())
    }

    /// Whether every partition takes commands and the disk answers, and why not.
    ///
    /// # Errors
    ///
    /// When it was closed.
    pub fn readiness(&self) -> Result<Readiness, ReadError> {
        Ok(self.opened.with(readiness)?)
    }

    /// What every partition is doing. One that has stopped says why.
    ///
    /// # Errors
    ///
    /// When it was closed.
    pub fn partitions(&self) -> Result<Vec<(PartitionRef, State)>, ReadError> {
        Ok(self.opened.with(Node::partitions)?)
    }

    /// Vouches for the machine's clock, which is then believed although it is further ahead of the newest
    /// time in the store than [`ClockSettings`](crate::ClockSettings) allow. Returns the time that it
    /// shows.
    ///
    /// # Errors
    ///
    /// When it was closed, or [`Options::clock`] takes nobody's word.
    pub fn accept_clock(&self) -> Result<Time, WriteError> {
        let accepted = self.opened.with(Node::accept_clock)?;
        Ok(accepted.map_err(|ahead| NotWritten::from(Busy::Clock(ahead)))?)
    }

    /// Carries out what was sent, then ends, within [`Options::close_within`]: the next opening
    /// reads no event. Other handles are told that it is closed. The folder is free as soon as no
    /// [`Subscription`](crate::Subscription) is left that was not told so.
    ///
    /// # Errors
    ///
    /// When the disk did not answer in time. What was acknowledged is durable. It may be called
    /// again to wait on.
    pub fn close(&self) -> Result<(), NotEnded> {
        self.opened.close()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock::new()),
            node: Settings::default(),
            storage: seriatim_storage_fjall::Settings::default(),
            ready_within: Duration::from_secs(60),
            answer_within: Duration::from_secs(30),
            close_within: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// As [`Seriatim::open`], with these options.
    ///
    /// # Errors
    ///
    /// The same.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Seriatim, OpenError> {
        let store = FjallStore::open(path.as_ref(), &schema(), self.storage)?;
        self.open_on(Arc::new(store))
    }

    /// Opens a store of the caller's own that has the tables of [`schema`](crate::schema): for
    /// tests that make storage fail.
    ///
    /// # Errors
    ///
    /// When its list of apps cannot be read, or it did not serve in time.
    pub fn open_on(self, store: Arc<dyn Store>) -> Result<Seriatim, OpenError> {
        let node = Node::open(store, self.clock.clone(), self.node);
        // Without a time that can be believed there are reads, and commands are told why there is no more.
        let is_ready = node.wait_until_ready(self.ready_within);
        let is_readable = || node.time().is_err() && node.is_serving();
        if !is_ready && !is_readable() {
            check_stopped(node.partitions(), self.ready_within)?;
        }
        let opened = Opened::new(node, self.clock, self.answer_within, self.close_within);
        Ok(Seriatim { opened })
    }
}

/// Whether a stopped partition is why not everything serves. It leaves the others to be served.
fn check_stopped(
    partitions: Vec<(PartitionRef, State)>,
    waited: Duration,
) -> Result<(), OpenError> {
    let mut has_stopped = false;
    for (partition, state) in &partitions {
        let State::Stopped(reason) = state else { continue };
        if partition.app == SYSTEM_APP {
            return Err(OpenError::Stopped(reason.clone()));
        }
        has_stopped = true;
    }
    if has_stopped { Ok(()) } else { Err(OpenError::NotReady { waited, partitions }) }
}
