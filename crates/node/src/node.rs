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

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use seriatim_codec::PartitionPrefix;
use seriatim_core::{
    CommandOutcome, DeclareOutcome, DefineOutcome, NoApp, Outcome, SYSTEM_NAME, partition_of_id,
    partition_of_name,
};
use seriatim_storage::{CommitError, Schema, Store};
use seriatim_types::{
    AppId, AppSettings, Body, Command, Declare, Define, DefineRequest, Definitions, Name,
    PartitionRef, Time, WorkspaceRef,
};

use crate::answer::Answer;
use crate::chain::Chain;
use crate::clock::{Clock, ClockAhead};
use crate::host::{AppHome, Routes, SYSTEM, ToDirectory, prefix_of};
use crate::metrics::NodeCounters;
use crate::partition::{State, View};
use crate::reads::{ReadFailed, Reader};
use crate::reply::Reply;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::similar_names;
use crate::subscription::{Log, Subscription};
use crate::sync_watch::SyncStalled;
use crate::threads::Threads;
use crate::watch::{Changed, Interest};

/// How long the threads of a node that is dropped are waited for.
const DROP_WITHIN: Duration = Duration::from_secs(30);

/// All partitions of all apps, each on a thread of its own.
pub struct Node {
    threads: Threads,
    has_given_up: AtomicBool,
}

/// Why something could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// There is no such app.
    #[error("{0}")]
    AppNotFound(NoApp),
    /// The partition that holds the apps has not served yet, so none is known and none is missing.
    #[error("the apps are not known yet")]
    AppsUnknown,
    /// The app has fewer partitions.
    #[error("the app has {} partitions, from 0 on", u32::from(*last).saturating_add(1))]
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

/// Requests that wait for the answer of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queued {
    /// Those of all partitions.
    pub requests: usize,
    /// Those of the partition that has most.
    pub requests_max: usize,
    /// What commands among them hold in memory, of all partitions.
    pub bytes: usize,
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
        let threads = Threads::begin(store, clock, settings);
        Self { threads, has_given_up: AtomicBool::new(false) }
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
    ) -> Result<Reply<DefineOutcome>, AskError> {
        self.check_app(app, &request)?;
        let deadline = after(timeout);
        let (answer, receiver) = waiting();
        self.threads.tell_directory(ToDirectory::Define {
            define: Define { app: app.clone(), request },
            by: self.threads.time_at(deadline),
            caller: answer,
        });
        Ok(wait(&receiver, deadline, timeout)?.map(Outcome::of_define))
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
    ) -> Result<Reply<DeclareOutcome>, AskError> {
        let routes = self.threads.routes();
        let partition = self.partition_to_write(&routes, app, &declare.workspace)?;
        let reply = self.ask(&routes, partition, Body::Declare(declare), timeout)?;
        Ok(reply.map(Outcome::of_declare))
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
        answer: impl FnOnce(Reply<CommandOutcome>) + Send + 'static,
    ) -> Result<(), AskError> {
        let routes = self.threads.routes();
        let partition = self.partition_to_write(&routes, app, &command.workspace)?;
        let answer = Answer::to_command(answer);
        self.threads.send(&routes, partition, Body::Command(command), None, answer);
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
        answer: impl FnOnce(Reply<CommandOutcome>) + Send + 'static,
    ) -> Result<(), AskError> {
        let partition = writable(partition)?;
        let (link, answer) = (Some(chain.link()), Answer::to_command(answer));
        self.threads.send(&self.threads.routes(), partition, Body::Command(command), link, answer);
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
    ) -> Result<Reply<CommandOutcome>, AskError> {
        let routes = self.threads.routes();
        let partition = self.partition_to_write(&routes, app, &command.workspace)?;
        let reply = self.ask(&routes, partition, Body::Command(command), timeout)?;
        Ok(reply.map(Outcome::of_command))
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
                let home = self.app(&self.threads.routes(), app)?;
                let last = home.partitions.saturating_sub(1);
                if partition.0 > last {
                    return Err(AskError::PartitionNotFound { last });
                }
                PartitionRef { app: home.app, partition: *partition }
            }
        };
        let address = self.threads.address(partition).ok_or(AskError::AppsUnknown)?;
        let shared = address.shared().clone();
        let settings = &self.threads.settings;
        let schema = self.schema().clone();
        Ok(Subscription::new(shared, schema, prefix_of(partition), log, from, settings))
    }

    /// Told once readers of a partition may see more of what is of interest, or its state has
    /// changed. Ask for it before looking, so that nothing comes in between.
    #[must_use]
    pub fn changed(&self, partition: PartitionRef, interest: Interest) -> Option<Changed> {
        let address = self.threads.address(partition)?;
        Some(Changed::new(address.shared().clone(), interest))
    }

    /// The time that entries are given.
    ///
    /// # Errors
    ///
    /// While the clock cannot be believed. Nothing is proposed then, and reads go on.
    pub fn time(&self) -> Result<Time, ClockAhead> {
        self.threads.clock.now()
    }

    /// Somebody vouches for the clock as it is now. Returns the time that is believed from now on.
    ///
    /// # Errors
    ///
    /// When the clock takes nobody's word.
    pub fn accept_clock(&self) -> Result<Time, ClockAhead> {
        let accepted = self.threads.clock.accept();
        if let Ok(time) = accepted {
            tracing::info!(time_ms = time.0, "clock accepted by an operator");
        }
        accepted
    }

    /// Whether the disk has room for more.
    ///
    /// # Errors
    ///
    /// How much there is.
    pub fn room(&self) -> Result<(), CommitError> {
        self.threads.store.room()
    }

    /// Whether every partition of every app serves, to readers at least.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        let routes = self.threads.routes();
        routes.is_resumed && routes.partitions.values().all(|it| it.shared().serves())
    }

    /// How long the oldest sync of the store that has not returned has been pending.
    #[must_use]
    pub fn sync_pending(&self) -> Option<Duration> {
        self.threads.syncs.oldest()
    }

    /// Whether syncs of the store return in time: see [`Settings::sync_stalled_after`]. This does not
    /// wait for one that does not.
    ///
    /// # Errors
    ///
    /// How long one has been pending.
    pub fn check_sync(&self) -> Result<(), SyncStalled> {
        let limit = self.threads.settings.sync_stalled_after;
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
        let has_system_stopped = |routes: &Routes<Answer>| {
            routes.partitions.get(&SYSTEM).is_some_and(|system| has_stopped(system.shared()))
        };
        self.threads
            .wait_for_routes(deadline, |routes| routes.is_resumed || has_system_stopped(routes));
        for address in self.threads.routes().partitions.values() {
            address.shared().wait(deadline, |shared| shared.serves() || has_stopped(shared));
        }
        self.is_ready()
    }

    /// The apps, by name.
    ///
    /// # Errors
    ///
    /// When they could not be read.
    pub fn apps(&self) -> Result<Vec<Definitions>, ReadFailed> {
        let view = self.threads.address(SYSTEM).and_then(|system| system.shared().view());
        let Some(view) = view else { return Ok(Vec::new()) };
        Reader::new(&view, prefix_of(SYSTEM), self.schema()).apps()
    }

    /// What an app is called. One whose partitions were started is known also when nothing can be
    /// read any more.
    #[must_use]
    pub fn app_name(&self, app: AppId) -> Option<Name> {
        let routes = self.threads.routes();
        routes.apps.iter().find(|(_, home)| home.app == app).map(|(name, _)| name.clone())
    }

    /// What every partition is doing.
    #[must_use]
    pub fn partitions(&self) -> Vec<(PartitionRef, State)> {
        let routes = self.threads.routes();
        routes.partitions.iter().map(|(name, it)| (*name, it.shared().state())).collect()
    }

    /// Reads since the start that found a stored row damaged or missing: of readers, and of partitions
    /// themselves.
    #[must_use]
    pub fn damaged_reads(&self) -> u64 {
        self.threads.damaged_reads()
    }

    /// What the node has counted since it was opened.
    #[must_use]
    pub fn counters(&self) -> &Arc<NodeCounters> {
        &self.threads.counters
    }

    /// How many requests wait.
    #[must_use]
    pub fn queued(&self) -> Queued {
        let routes = self.threads.routes();
        routes.partitions.values().fold(Queued::default(), |sum, it| {
            let requests = it.unanswered();
            Queued {
                requests: sum.requests.saturating_add(requests),
                requests_max: sum.requests_max.max(requests),
                bytes: sum.bytes.saturating_add(it.unanswered_bytes()),
            }
        })
    }

    /// The store, for its sizes and what it says of itself. It is not to be written to.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.threads.store
    }

    /// What readers may see of a partition, with the prefix of its keys; `None` before it has
    /// served for the first time.
    #[must_use]
    pub fn view(&self, partition: PartitionRef) -> Option<(View, PartitionPrefix)> {
        let view = self.threads.address(partition)?.shared().view()?;
        Some((view, prefix_of(partition)))
    }

    /// The tables of the store, for a [`Reader`].
    #[must_use]
    pub fn schema(&self) -> &Schema {
        self.threads.store.schema()
    }

    /// Waits until a partition's view is enough, or until the deadline. Returns whether it was.
    pub fn wait(
        &self,
        partition: PartitionRef,
        deadline: Instant,
        mut is_enough: impl FnMut(&View) -> bool,
    ) -> bool {
        let Some(address) = self.threads.address(partition) else { return false };
        address.shared().wait(deadline, |shared| shared.view().is_some_and(|it| is_enough(&it)))
    }

    /// Lets a partition forget everything and read its log again. Returns whether there is such a
    /// partition.
    pub fn restart(&self, partition: PartitionRef) -> bool {
        self.threads.restart(partition)
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
        self.partition_by(&self.threads.routes(), app, workspace)
    }

    fn partition_by(
        &self,
        routes: &Routes<Answer>,
        app: &Name,
        workspace: &WorkspaceRef,
    ) -> Result<PartitionRef, AskError> {
        let home = self.app(routes, app)?;
        let partition = match workspace {
            WorkspaceRef::Id(id) => partition_of_id(*id, home.partitions),
            WorkspaceRef::Name(name) => partition_of_name(name, home.partitions),
        };
        Ok(PartitionRef { app: home.app, partition })
    }

    /// An app, by its name. One that is stored may not have reached the callers' copy of the directory
    /// yet.
    fn app(&self, routes: &Routes<Answer>, name: &Name) -> Result<AppHome, AskError> {
        if let Some(home) = routes.apps.get(name) {
            return Ok(*home);
        }
        let system = routes.partitions.get(&SYSTEM);
        let view = system.and_then(|it| it.shared().view()).ok_or(AskError::AppsUnknown)?;
        let apps = Reader::new(&view, prefix_of(SYSTEM), self.schema()).apps()?;
        match apps.iter().find(|it| it.app.name == *name) {
            Some(Definitions { app: AppSettings { app, partitions, .. }, .. }) => {
                Ok(AppHome { app: *app, partitions: *partitions })
            }
            None => {
                let known = apps.iter().map(|it| &it.app.name);
                Err(AskError::AppNotFound(similar_names::no_app(name, known)))
            }
        }
    }

    /// Whoever defines something of an app that is not there is told which app may be meant: the system
    /// partition, which decides, looks at no other. Where the apps cannot be read, it is left to that.
    fn check_app(&self, app: &Name, request: &DefineRequest) -> Result<(), AskError> {
        let is_there_before = !matches!(request, DefineRequest::App { .. });
        if !is_there_before || app.as_str() == SYSTEM_NAME {
            return Ok(());
        }
        match self.app(&self.threads.routes(), app) {
            Err(error @ AskError::AppNotFound(_)) => Err(error),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// The same of a workspace that is to be written.
    fn partition_to_write(
        &self,
        routes: &Routes<Answer>,
        app: &Name,
        workspace: &WorkspaceRef,
    ) -> Result<PartitionRef, AskError> {
        writable(self.partition_by(routes, app, workspace)?)
    }

    /// Ends: takes nothing new, carries out what is queued, writes checkpoints, ends all threads.
    /// The next start then reads no event.
    ///
    /// # Errors
    ///
    /// When a partition's storage did not answer in time. Its thread is left behind, or can be
    /// waited for by calling this again.
    pub fn shutdown(&self, within: Duration) -> Result<(), NotEnded> {
        let ended = self.threads.end(after(within));
        self.has_given_up.store(ended.is_err(), Ordering::Relaxed);
        ended.map_err(|partitions| NotEnded { partitions })
    }

    fn ask(
        &self,
        routes: &Routes<Answer>,
        partition: PartitionRef,
        body: Body,
        timeout: Duration,
    ) -> Result<Reply, AskError> {
        let deadline = after(timeout);
        let (answer, receiver) = waiting();
        self.threads.send(routes, partition, body, None, answer);
        wait(&receiver, deadline, timeout)
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

/// The way back to somebody who waits for an answer.
fn waiting() -> (Answer, Receiver<Reply>) {
    let (sender, receiver) = mpsc::sync_channel(1);
    (Answer::new(move |reply| drop(sender.try_send(reply))), receiver)
}

fn wait(
    receiver: &Receiver<Reply>,
    deadline: Instant,
    waited: Duration,
) -> Result<Reply, AskError> {
    let left = deadline.saturating_duration_since(Instant::now());
    receiver.recv_timeout(left).map_err(|_| AskError::TimedOut { waited })
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
    if partition.app != SYSTEM.app {
        return Ok(partition);
    }
    let name = Name::new(SYSTEM_NAME).expect("a plain word is a name");
    Err(AskError::AppNotFound(NoApp { name, similar: None }))
}
