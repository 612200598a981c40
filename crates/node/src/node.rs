//! All partitions of all apps in one process, on one store.
//!
//! ```text
//!  define ─► system partition ─► outbox ─► every partition of the app ─► "delivered" ─► system
//!                                             └ answered once all of them have applied it
//!  submit ─► the workspace's partition
//! ```
//!
//! **Invariant:** a definition is acknowledged once it holds in all partitions, also across a crash
//! in the middle: what is in the outbox is delivered again at the start.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use seriatim_codec::PartitionPrefix;
use seriatim_core::{Outcome, partition_of_id, partition_of_name};
use seriatim_storage::{CommitError, Schema, Store};
use seriatim_types::limits::PARTITIONS_MAX;
use seriatim_types::{
    AppId, Body, Command, Declare, Define, DefineRequest, Definitions, Name, PartitionRef, Time,
    WorkspaceRef,
};

use crate::chain::Chain;
use crate::clock::{Clock, ClockAhead};
use crate::hosted::{Hosted, SYSTEM, partitions_of, prefix_of};
use crate::partition::{State, View};
use crate::reads::{ReadFailed, Reader};
use crate::reply::Reply;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::subscription::{Log, Subscription};
use crate::sync_watch::{SyncStalled, SyncWatch};
use crate::watch::{Changed, Interest};

/// How long the last sync may take, however little time was allowed.
const LAST_SYNC: Duration = Duration::from_millis(100);

/// How long the threads of a node that is dropped are waited for.
const DROP_WITHIN: Duration = Duration::from_secs(30);

/// All partitions of all apps, each on a thread of its own.
pub struct Node {
    hosted: Arc<Hosted>,
    /// The syncer's thread, and the other end of what it holds until it ends.
    syncer: Mutex<Option<(JoinHandle<()>, Receiver<()>)>>,
    has_given_up: AtomicBool,
}

/// Why something could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// There is no such app.
    #[error("there is no such app")]
    AppNotFound,
    /// The partition that holds the apps has not served yet, so none is known and none is missing.
    #[error("the apps are not known yet")]
    AppsUnknown,
    /// The app has fewer partitions.
    #[error("the app has partitions 0 to {last}, and no other")]
    PartitionNotFound {
        /// The last one that it has.
        last: u16,
    },
    /// What there is of apps could not be read. Nothing was asked.
    #[error("the apps cannot be read")]
    Unreadable(#[from] ReadFailed),
    /// It was not answered in time. It may have happened.
    #[error("no answer within {} ms: ask again", waited.as_millis())]
    TimedOut {
        /// How long was waited.
        waited: Duration,
    },
}

/// The node did not end in time. What was acknowledged is durable; the next start reads a part of
/// the logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the disk does not answer: {} partitions did not end in time", partitions.len())]
pub struct NotEnded {
    /// Partitions that wait for it themselves. There may be none: the disk is waited for elsewhere
    /// too.
    pub partitions: Vec<PartitionRef>,
}

impl Node {
    /// Opens a store that has a node's [tables](crate::schema), and begins to serve its
    /// partitions in the background.
    #[must_use]
    pub fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        let (landings, waiting) = mpsc::channel();
        let syncs = Arc::new(SyncWatch::default());
        let for_syncer = (store.clone(), syncs.clone());
        let syncer = std::thread::Builder::new().name("syncer".to_owned());
        let (held, ended) = mpsc::channel();
        let syncer = syncer.spawn(move || {
            crate::direct::syncer(&for_syncer.0, &for_syncer.1, &waiting);
            drop(held);
        });
        let hosted = Hosted::new(store, clock, settings, landings, syncs);
        hosted.start(SYSTEM);
        let syncer = syncer.expect("a thread can be started");
        let syncer = Mutex::new(Some((syncer, ended)));
        Self { hosted, syncer, has_given_up: AtomicBool::new(false) }
    }

    /// Asks for a definition, and waits until all partitions of the app have it. Where one has
    /// stopped that does not have it, the outcome is unknown: the definition is decided, reaches that
    /// partition when it serves again, and asking again then tells.
    ///
    /// # Errors
    ///
    /// When not all of them had it in time.
    pub fn define(
        &self,
        app: &Name,
        request: DefineRequest,
        timeout: Duration,
    ) -> Result<Reply, AskError> {
        let deadline = after(timeout);
        let _promise = match &request {
            // More than an app may have is refused for that.
            DefineRequest::App { partitions, .. } if *partitions <= PARTITIONS_MAX => {
                match self.hosted.promise(app, *partitions)? {
                    Ok(promise) => Some(promise),
                    Err(refusal) => return Ok(Reply::Applied(Outcome::Refused(refusal))),
                }
            }
            DefineRequest::App { .. }
            | DefineRequest::Kind { .. }
            | DefineRequest::Sequence { .. }
            | DefineRequest::Record { .. } => None,
        };
        let body = Body::Define(Define { app: app.clone(), request });
        let reply = self.ask(SYSTEM, body, deadline, timeout)?;
        let Reply::Applied(Outcome::Defined { app: id, version, is_new }) = &reply else {
            return Ok(reply);
        };
        let timed_out = AskError::TimedOut { waited: timeout };
        // It was decided, so nothing but all partitions having it is the answer.
        let home = self.hosted.app(app).map_err(|_| timed_out.clone())?;
        for partition in partitions_of(*id, home.partitions) {
            let running = self.hosted.start(partition);
            let has_it = |shared: &Shared| {
                let definitions = shared.view().and_then(|view| {
                    let reader = Reader::new(&view, prefix_of(partition), self.schema());
                    reader.definitions().ok().flatten()
                });
                definitions.is_some_and(|definitions| definitions.version >= *version)
            };
            let is_decided = |shared: &Shared| has_it(shared) || has_stopped(shared);
            if !running.shared.wait(deadline, is_decided) {
                return Err(timed_out);
            }
            let state = running.shared.state();
            // One that is known already keeps nobody from going on without that partition.
            if let State::Stopped(reason) = state
                && *is_new
                && !has_it(&running.shared)
            {
                return Ok(Reply::Unknown { why: reason.to_string() });
            }
        }
        Ok(reply)
    }

    /// Settles the kind of a workspace.
    ///
    /// # Errors
    ///
    /// When there is no such app, or no answer in time.
    pub fn declare(
        &self,
        app: &Name,
        declare: Declare,
        timeout: Duration,
    ) -> Result<Reply, AskError> {
        let partition = self.partition_to_write(app, &declare.workspace)?;
        let deadline = after(timeout);
        self.ask(partition, Body::Declare(declare), deadline, timeout)
    }

    /// Sends a command, and calls back with its answer, once, from one of the node's threads: the
    /// callback must not wait. It may be called before this returns.
    ///
    /// # Errors
    ///
    /// When there is no such app. The callback is then never called.
    pub fn submit(
        &self,
        app: &Name,
        command: Command,
        answer: impl FnOnce(Reply) + Send + 'static,
    ) -> Result<(), AskError> {
        let partition = self.partition_to_write(app, &command.workspace)?;
        self.hosted.send(partition, Body::Command(command), None, answer);
        Ok(())
    }

    /// The same for a command of a chain, all of whose commands go to one partition: that which
    /// [`partition_of`](Self::partition_of) has found for its workspace.
    ///
    /// # Errors
    ///
    /// When it is a partition of the system's app. The callback is then never called.
    pub fn submit_in(
        &self,
        chain: &Chain,
        partition: PartitionRef,
        command: Command,
        answer: impl FnOnce(Reply) + Send + 'static,
    ) -> Result<(), AskError> {
        let partition = writable(partition)?;
        let link = chain.link();
        let answer = link.watch(answer);
        self.hosted.send(partition, Body::Command(command), Some(link), answer);
        Ok(())
    }

    /// Sends a command, and waits for its answer.
    ///
    /// # Errors
    ///
    /// When there is no such app, or no answer in time.
    pub fn submit_and_wait(
        &self,
        app: &Name,
        command: Command,
        timeout: Duration,
    ) -> Result<Reply, AskError> {
        let partition = self.partition_to_write(app, &command.workspace)?;
        let deadline = after(timeout);
        self.ask(partition, Body::Command(command), deadline, timeout)
    }

    /// Follows a log from an offset on; 0 and 1 are its beginning.
    ///
    /// # Errors
    ///
    /// When there is no such app or partition.
    pub fn subscribe(&self, app: &Name, log: Log, from: u64) -> Result<Subscription, AskError> {
        let partition = match &log {
            Log::Workspace(workspace) => self.partition_of(app, workspace)?,
            Log::Partition(partition) => {
                let home = self.hosted.app(app)?;
                let last = home.partitions.saturating_sub(1);
                if partition.0 > last {
                    return Err(AskError::PartitionNotFound { last });
                }
                PartitionRef { app: home.app, partition: *partition }
            }
        };
        let shared = self.hosted.start(partition).shared.clone();
        let settings = &self.hosted.settings;
        let schema = self.schema().clone();
        Ok(Subscription::new(shared, schema, prefix_of(partition), log, from, settings))
    }

    /// Told once readers of a partition may see more of what is of interest, or its state has
    /// changed. Ask for it before looking, so that nothing comes in between.
    #[must_use]
    pub fn changed(&self, partition: PartitionRef, interest: Interest) -> Option<Changed> {
        let running = self.hosted.running(partition)?;
        Some(Changed::new(running.shared.clone(), interest))
    }

    /// The time that entries are given.
    ///
    /// # Errors
    ///
    /// While the clock cannot be believed. Nothing is proposed then, and reads go on.
    pub fn time(&self) -> Result<Time, ClockAhead> {
        self.hosted.clock.now()
    }

    /// Somebody vouches for the clock as it is now. Returns the time that is believed from now on.
    ///
    /// # Errors
    ///
    /// When the clock takes nobody's word.
    pub fn accept_clock(&self) -> Result<Time, ClockAhead> {
        self.hosted.clock.accept()
    }

    /// Whether the disk has room for more.
    ///
    /// # Errors
    ///
    /// How much there is.
    pub fn room(&self) -> Result<(), CommitError> {
        self.hosted.store.room()
    }

    /// Whether every partition of every app serves, to readers at least.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.hosted.is_resumed() && self.hosted.all().iter().all(|(_, it)| it.shared.serves())
    }

    /// How long the oldest sync of the store that has not returned has been pending.
    #[must_use]
    pub fn sync_pending(&self) -> Option<Duration> {
        self.hosted.syncs.oldest()
    }

    /// Whether syncs of the store return in time: see [`Settings::sync_stalled_after`]. This does not
    /// wait for one that does not.
    ///
    /// # Errors
    ///
    /// How long one has been pending.
    pub fn check_sync(&self) -> Result<(), SyncStalled> {
        let limit = self.hosted.settings.sync_stalled_after;
        match self.sync_pending().filter(|pending| *pending >= limit) {
            Some(pending) => Err(SyncStalled { pending }),
            None => Ok(()),
        }
    }

    /// Whether every partition of every app serves, there is a time that can be believed, room for
    /// what is sent, and a disk that answers.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.time().is_ok() && self.room().is_ok() && self.check_sync().is_ok() && self.is_serving()
    }

    /// Waits until every partition serves, one of them has stopped, or the time is over. Returns
    /// whether they do.
    #[must_use]
    pub fn wait_until_ready(&self, timeout: Duration) -> bool {
        let deadline = after(timeout);
        let system = self.hosted.start(SYSTEM);
        system.shared.wait(deadline, |shared| self.hosted.is_resumed() || has_stopped(shared));
        for (_, running) in self.hosted.all() {
            running.shared.wait(deadline, |shared| shared.serves() || has_stopped(shared));
        }
        self.is_ready()
    }

    /// The apps, by name.
    ///
    /// # Errors
    ///
    /// When they could not be read.
    pub fn apps(&self) -> Result<Vec<Definitions>, ReadFailed> {
        self.hosted.apps()
    }

    /// What an app is called. One that was looked up before, as for every partition that was
    /// started, is known also when nothing can be read any more.
    #[must_use]
    pub fn app_name(&self, app: AppId) -> Option<Name> {
        self.hosted.app_name(app)
    }

    /// What every partition is doing.
    #[must_use]
    pub fn partitions(&self) -> Vec<(PartitionRef, State)> {
        self.hosted.all().iter().map(|(name, it)| (*name, it.shared.state())).collect()
    }

    /// Reads since the start that found a stored row damaged or missing: of readers, and of partitions
    /// themselves.
    #[must_use]
    pub fn damaged_reads(&self) -> u64 {
        self.hosted.damaged_reads()
    }

    /// What readers may see of a partition, with the prefix of its keys; `None` before it has
    /// served for the first time.
    #[must_use]
    pub fn view(&self, partition: PartitionRef) -> Option<(View, PartitionPrefix)> {
        let view = self.hosted.running(partition)?.shared.view()?;
        Some((view, prefix_of(partition)))
    }

    /// The tables of the store, for a [`Reader`].
    #[must_use]
    pub fn schema(&self) -> &Schema {
        self.hosted.store.schema()
    }

    /// Waits until a partition's view is enough, or until the deadline. Returns whether it was.
    pub fn wait(
        &self,
        partition: PartitionRef,
        deadline: Instant,
        mut is_enough: impl FnMut(&View) -> bool,
    ) -> bool {
        let Some(running) = self.hosted.running(partition) else { return false };
        running.shared.wait(deadline, |shared| shared.view().is_some_and(|it| is_enough(&it)))
    }

    /// Lets a partition forget everything and read its log again. Returns whether there is such a
    /// partition.
    pub fn restart(&self, partition: PartitionRef) -> bool {
        self.hosted.restart(partition)
    }

    /// The partition of a workspace.
    ///
    /// # Errors
    ///
    /// When there is no such app.
    pub fn partition_of(
        &self,
        app: &Name,
        workspace: &WorkspaceRef,
    ) -> Result<PartitionRef, AskError> {
        let home = self.hosted.app(app)?;
        let partition = match workspace {
            WorkspaceRef::Id(id) => partition_of_id(*id, home.partitions),
            WorkspaceRef::Name(name) => partition_of_name(name, home.partitions),
        };
        Ok(PartitionRef { app: home.app, partition })
    }

    /// The same of a workspace that is to be written.
    fn partition_to_write(
        &self,
        app: &Name,
        workspace: &WorkspaceRef,
    ) -> Result<PartitionRef, AskError> {
        writable(self.partition_of(app, workspace)?)
    }

    /// Ends: takes nothing new, carries out what is queued, writes checkpoints, ends all threads.
    /// The next start then reads no event.
    ///
    /// # Errors
    ///
    /// When a partition's storage did not answer in time. Its thread is left behind, or can be
    /// waited for by calling this again.
    pub fn shutdown(&self, within: Duration) -> Result<(), NotEnded> {
        let deadline = after(within);
        let partitions = self.hosted.end(deadline);
        let mut syncer = self.syncer.lock().unwrap_or_else(PoisonError::into_inner);
        let has_ended = syncer.as_ref().is_none_or(|(_, ended)| {
            let left = deadline.saturating_duration_since(Instant::now()).max(LAST_SYNC);
            partitions.is_empty() && ended.recv_timeout(left) == Err(RecvTimeoutError::Disconnected)
        });
        self.has_given_up.store(!has_ended, Ordering::Relaxed);
        if !has_ended {
            return Err(NotEnded { partitions });
        }
        syncer.take().into_iter().for_each(|(thread, _)| drop(thread.join()));
        Ok(())
    }

    fn ask(
        &self,
        partition: PartitionRef,
        body: Body,
        deadline: Instant,
        waited: Duration,
    ) -> Result<Reply, AskError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.hosted.send(partition, body, None, move |reply| drop(sender.try_send(reply)));
        let left = deadline.saturating_duration_since(Instant::now());
        receiver.recv_timeout(left).map_err(|_| AskError::TimedOut { waited })
    }
}

impl Drop for Node {
    /// As [`shutdown`](Self::shutdown), with nobody to hear how it went.
    fn drop(&mut self) {
        // Whoever was told that the disk does not answer does not wait for it again.
        if !self.has_given_up.load(Ordering::Relaxed) {
            drop(self.shutdown(DROP_WITHIN));
        }
    }
}

fn has_stopped(shared: &Shared) -> bool {
    matches!(shared.state(), State::Stopped(_))
}

pub(crate) fn after(duration: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(duration).unwrap_or(now)
}

/// Only the node itself writes into the system's app, so for others it is not there.
fn writable(partition: PartitionRef) -> Result<PartitionRef, AskError> {
    if partition.app == SYSTEM.app { Err(AskError::AppNotFound) } else { Ok(partition) }
}
