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

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use seriatim_codec::{
    OutboxPointer, PartitionPrefix, Stored, Table as RowTable, decode_outbox_key, event_key,
    outbox_prefix,
};
use seriatim_core::{Outcome, Outgoing, SYSTEM_APP, partition_of_id, partition_of_name};
use seriatim_storage::{KeyRange, Scan, Store};
use seriatim_types::{
    AppId, AppSettings, Body, Change, Command, Declare, Define, DefineRequest, Definitions,
    Delivered, Delivery, Event, Incarnation, Message as Told, Name, PartitionId, PartitionRef,
    WorkspaceId, WorkspaceRef,
};

use crate::clock::Clock;
use crate::direct::{Answer, Landing, Message, Outbox, Owner, Shared};
use crate::partition::{Partition, State, View};
use crate::reply::{Reason, Reply};
use crate::settings::Settings;
use crate::tables::Tables;

/// The one life of a partition's data that there is without snapshots.
const INCARNATION: Incarnation = Incarnation(1);

/// All partitions of all apps, each on a thread of its own.
pub struct Node {
    inner: Arc<Inner>,
    syncer: Option<JoinHandle<()>>,
}

struct Inner {
    store: Arc<dyn Store>,
    tables: Tables,
    clock: Arc<dyn Clock>,
    settings: Settings,
    partitions: RwLock<BTreeMap<PartitionRef, Arc<Running>>>,
    /// The apps that were looked up. Their settings never change.
    known_apps: RwLock<BTreeMap<Name, AppSettings>>,
    landings: Mutex<Option<Sender<Landing>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whether the partitions of all apps were started.
    is_resumed: Mutex<bool>,
    resumed: Condvar,
}

/// A partition that runs.
struct Running {
    owner: Sender<Message>,
    shared: Arc<Shared>,
}

/// Why something could not be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// There is no such app.
    #[error("there is no such app")]
    AppNotFound,
    /// It was not answered in time. It may have happened.
    #[error("no answer within {} ms: ask again", waited.as_millis())]
    TimedOut {
        /// How long was waited.
        waited: Duration,
    },
}

impl Node {
    /// Opens a store that has a node's [tables](crate::schema), and begins to serve its
    /// partitions in the background.
    #[must_use]
    pub fn open(store: Arc<dyn Store>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        let (landings, waiting) = mpsc::channel();
        let for_syncer = store.clone();
        let syncer = std::thread::Builder::new().name("syncer".to_owned());
        let syncer = syncer.spawn(move || crate::direct::syncer(&for_syncer, &waiting));
        let inner = Arc::new(Inner {
            tables: Tables::new(store.clone()),
            store,
            clock,
            settings,
            partitions: RwLock::default(),
            known_apps: RwLock::default(),
            landings: Mutex::new(Some(landings)),
            threads: Mutex::default(),
            is_resumed: Mutex::default(),
            resumed: Condvar::new(),
        });
        inner.start(SYSTEM);
        let node = Self { inner, syncer: Some(syncer.expect("a thread can be started")) };
        node.inner.clone().resume_apps();
        node
    }

    /// Asks for a definition, and waits until all partitions of the app have it.
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
        let body = Body::Define(Define { app: app.clone(), request });
        let reply = self.ask(SYSTEM, body, deadline, timeout)?;
        let Reply::Applied(Outcome::Defined { app: id, version, .. }) = &reply else {
            return Ok(reply);
        };
        let timed_out = AskError::TimedOut { waited: timeout };
        let settings = self.inner.app(app).ok_or(timed_out.clone())?;
        for partition in partitions_of(*id, settings.partitions) {
            let running = self.inner.start(partition);
            let prefix = prefix_of(partition);
            let has_it = |view: Option<&View>, _: &State| {
                let definitions = view.and_then(|view| self.inner.definitions(view, prefix));
                definitions.is_some_and(|definitions| definitions.version >= *version)
            };
            if !running.shared.wait(deadline, has_it) {
                return Err(timed_out);
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
        let partition = self.partition_of(app, &declare.workspace)?;
        let deadline = after(timeout);
        self.ask(partition, Body::Declare(declare), deadline, timeout)
    }

    /// Sends a command, and calls back with its answer.
    ///
    /// # Errors
    ///
    /// When there is no such app.
    pub fn submit(
        &self,
        app: &Name,
        command: Command,
        answer: impl FnOnce(Reply) + Send + 'static,
    ) -> Result<(), AskError> {
        let partition = self.partition_of(app, &command.workspace)?;
        self.inner.send(partition, Body::Command(command), Box::new(answer));
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
        let partition = self.partition_of(app, &command.workspace)?;
        let deadline = after(timeout);
        self.ask(partition, Body::Command(command), deadline, timeout)
    }

    /// Waits until every partition serves, or the time is over. Returns whether they do.
    #[must_use]
    pub fn wait_until_ready(&self, timeout: Duration) -> bool {
        let deadline = after(timeout);
        let mut is_resumed = lock(&self.inner.is_resumed);
        while !*is_resumed {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.inner.resumed.wait_timeout(is_resumed, left);
            is_resumed = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(is_resumed);
        let partitions = self.inner.partitions.read().unwrap_or_else(PoisonError::into_inner);
        let partitions: Vec<Arc<Running>> = partitions.values().cloned().collect();
        let serves =
            |view: Option<&View>, state: &State| view.is_some() && *state == State::Serving;
        partitions.iter().all(|running| running.shared.wait(deadline, serves))
    }

    /// The apps, by name.
    #[must_use]
    pub fn apps(&self) -> Vec<Definitions> {
        self.inner.apps()
    }

    /// What every partition is doing.
    #[must_use]
    pub fn partitions(&self) -> Vec<(PartitionRef, State)> {
        let partitions = self.inner.partitions.read().unwrap_or_else(PoisonError::into_inner);
        partitions.iter().map(|(partition, it)| (*partition, it.shared.state())).collect()
    }

    /// What readers may see of a partition, with the prefix of its keys; `None` before it has
    /// served for the first time.
    #[must_use]
    pub fn view(&self, partition: PartitionRef) -> Option<(View, PartitionPrefix)> {
        let view = self.inner.running(partition)?.shared.view()?;
        Some((view, prefix_of(partition)))
    }

    /// Waits until a partition's view is enough, or until the deadline. Returns whether it was.
    pub fn wait(
        &self,
        partition: PartitionRef,
        deadline: Instant,
        mut is_enough: impl FnMut(&View) -> bool,
    ) -> bool {
        let Some(running) = self.inner.running(partition) else { return false };
        running.shared.wait(deadline, |view, _| view.is_some_and(&mut is_enough))
    }

    /// Lets a partition forget everything and read its log again.
    pub fn restart(&self, partition: PartitionRef) {
        if let Some(running) = self.inner.running(partition) {
            drop(running.owner.send(Message::Restart));
        }
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
        let settings = self.inner.app(app).ok_or(AskError::AppNotFound)?;
        let partition = match workspace {
            WorkspaceRef::Id(WorkspaceId(id)) => {
                partition_of_id(WorkspaceId(*id), settings.partitions)
            }
            WorkspaceRef::Name(name) => partition_of_name(name, settings.partitions),
        };
        Ok(PartitionRef { app: settings.app, partition })
    }

    fn ask(
        &self,
        partition: PartitionRef,
        body: Body,
        deadline: Instant,
        waited: Duration,
    ) -> Result<Reply, AskError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let answer = move |reply| drop(sender.try_send(reply));
        self.inner.send(partition, body, Box::new(answer));
        let left = deadline.saturating_duration_since(Instant::now());
        receiver.recv_timeout(left).map_err(|_| AskError::TimedOut { waited })
    }
}

impl Drop for Node {
    /// Carries out what is queued, writes checkpoints, and ends all threads.
    fn drop(&mut self) {
        let partitions = self.inner.partitions.read().unwrap_or_else(PoisonError::into_inner);
        partitions.values().for_each(|it| drop(it.owner.send(Message::Shutdown)));
        drop(partitions);
        let threads = std::mem::take(&mut *lock(&self.inner.threads));
        threads.into_iter().for_each(|thread| drop(thread.join()));
        drop(lock(&self.inner.landings).take());
        if let Some(syncer) = self.syncer.take() {
            drop(syncer.join());
        }
    }
}

const SYSTEM: PartitionRef = PartitionRef { app: SYSTEM_APP, partition: PartitionId(0) };

fn prefix_of(partition: PartitionRef) -> PartitionPrefix {
    let PartitionRef { app, partition } = partition;
    PartitionPrefix { app, partition, incarnation: INCARNATION }
}

fn partitions_of(app: AppId, count: u16) -> impl Iterator<Item = PartitionRef> {
    (0..count).map(move |index| PartitionRef { app, partition: PartitionId(index) })
}

fn after(duration: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(duration).unwrap_or(now)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn running(&self, partition: PartitionRef) -> Option<Arc<Running>> {
        let partitions = self.partitions.read().unwrap_or_else(PoisonError::into_inner);
        partitions.get(&partition).cloned()
    }

    fn send(&self, partition: PartitionRef, body: Body, answer: Answer) {
        let Some(running) = self.running(partition) else {
            let reason = Reason::Unreadable { what: "there is no such partition".to_owned() };
            answer(Reply::Stopped(reason));
            return;
        };
        if let Err(mpsc::SendError(Message::Request(_, answer))) =
            running.owner.send(Message::Request(body, answer))
        {
            answer(Reply::NotWritten { why: "the node is shutting down".to_owned() });
        }
    }

    /// Starts a partition, unless it runs.
    fn start(self: &Arc<Self>, partition: PartitionRef) -> Arc<Running> {
        let mut partitions = self.partitions.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = partitions.get(&partition) {
            return running.clone();
        }
        let (owner, messages) = mpsc::channel();
        let looped = Partition::new(self.store.clone(), prefix_of(partition), self.settings);
        let shared = Arc::new(Shared::new(looped.state()));
        let landings = lock(&self.landings).clone().expect("a node that starts partitions is open");
        let owned = Owner {
            partition: looped,
            store: self.store.clone(),
            clock: self.clock.clone(),
            messages,
            own: owner.clone(),
            syncer: landings,
            shared: shared.clone(),
            outbox: outbox_of(Arc::downgrade(self)),
            checkpoint_delay: self.settings.checkpoint_delay,
        };
        let name = format!("{}.{}", partition.app.0, partition.partition.0);
        let thread = std::thread::Builder::new().name(name).spawn(move || owned.run());
        lock(&self.threads).push(thread.expect("a thread can be started"));
        let running = Arc::new(Running { owner, shared });
        partitions.insert(partition, running.clone());
        running
    }

    /// Once the system partition serves: starts the partitions of all apps, and delivers what is
    /// in the outbox.
    fn resume_apps(self: Arc<Self>) {
        let resume = move || {
            let Some(system) = self.running(SYSTEM) else { return };
            let forever = after(Duration::from_secs(u64::from(u32::MAX)));
            if !system.shared.wait(forever, |view, _| view.is_some()) {
                return;
            }
            for definitions in self.apps() {
                let AppSettings { app, partitions, .. } = definitions.app;
                for partition in partitions_of(app, partitions) {
                    self.start(partition);
                    self.deliver(self.undelivered(partition));
                }
            }
            *lock(&self.is_resumed) = true;
            self.resumed.notify_all();
        };
        let thread = std::thread::Builder::new().name("resume".to_owned()).spawn(resume);
        drop(thread.expect("a thread can be started"));
    }

    fn apps(&self) -> Vec<Definitions> {
        let view = self.running(SYSTEM).and_then(|system| system.shared.view());
        let Some(view) = view else { return Vec::new() };
        let range = KeyRange::prefix(&seriatim_codec::apps_prefix(prefix_of(SYSTEM)));
        let scan = Scan::new(self.tables.handle(RowTable::Partition), range);
        let mut apps = Vec::new();
        let scanned = view.snapshot.scan(&scan, &mut |row| {
            apps.extend(Definitions::from_bytes(&row.value).ok());
            ControlFlow::Continue(())
        });
        if scanned.is_ok() { apps } else { Vec::new() }
    }

    fn app(&self, name: &Name) -> Option<AppSettings> {
        let known = self.known_apps.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(app) = known.get(name) {
            return Some(app.clone());
        }
        drop(known);
        let app = self.apps().into_iter().map(|it| it.app).find(|app| app.name == *name)?;
        let mut known = self.known_apps.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(name.clone(), app.clone());
        Some(app)
    }

    fn definitions(&self, view: &View, prefix: PartitionPrefix) -> Option<Definitions> {
        let row = seriatim_core::Machine::definitions_row_id(prefix);
        let (table, key) = self.tables.place(&row);
        let bytes = view.snapshot.get(table, key).ok()??;
        Definitions::from_bytes(&bytes).ok()
    }

    /// Messages to a partition that are still in the outbox of the system partition.
    fn undelivered(&self, target: PartitionRef) -> Vec<Outgoing> {
        let view = self.running(SYSTEM).and_then(|system| system.shared.view());
        let Some(view) = view else { return Vec::new() };
        let system = prefix_of(SYSTEM);
        let range = KeyRange::prefix(&outbox_prefix(system, target));
        let scan = Scan::new(self.tables.handle(RowTable::Partition), range);
        let mut rows = Vec::new();
        let scanned = view.snapshot.scan(&scan, &mut |row| {
            rows.push(row);
            ControlFlow::Continue(())
        });
        if scanned.is_err() {
            return Vec::new();
        }
        let outgoing = |row: seriatim_storage::Row| {
            let (_, number) = decode_outbox_key(&row.key).ok()?;
            let pointer = OutboxPointer::decode(&row.value).ok()?;
            let key = event_key(system, pointer.event);
            let bytes = view.snapshot.get(self.tables.handle(RowTable::Log), &key).ok()??;
            let event = Event::from_bytes(&bytes).ok()?;
            let change = event.changes.get(usize::try_from(pointer.change).ok()?)?;
            let Change::Define(definition) = change else { return None };
            let version = event.offset.get();
            let message = Told::Definition { version, definition: definition.clone() };
            Some(Outgoing { target, delivery: Delivery { source: SYSTEM, number, message } })
        };
        rows.into_iter().filter_map(outgoing).collect()
    }

    /// Delivers messages, and tells their source when they are durable where they belong.
    fn deliver(self: &Arc<Self>, messages: Vec<Outgoing>) {
        for Outgoing { target, delivery } in messages {
            let running = self.start(target);
            let (node, number) = (Arc::downgrade(self), delivery.number);
            let answer = move |reply| {
                let Some(node) = Weak::upgrade(&node) else { return };
                match reply {
                    Reply::Applied(Outcome::Received { .. }) => {
                        let delivered = Delivered { target, first: number, through: number };
                        node.send(SYSTEM, Body::Delivered(delivered), Box::new(|_| ()));
                    }
                    // It was not taken: the partition reads its log, has a full queue, or an
                    // earlier message was not taken.
                    Reply::Busy(_) | Reply::NotWritten { .. } => node.deliver_again(target, number),
                    Reply::Applied(Outcome::OutOfOrder { expected }) => {
                        node.deliver_again(target, expected);
                    }
                    // What is in the outbox is delivered again at the next start.
                    Reply::Applied(_) | Reply::Unknown { .. } | Reply::Stopped(_) => {}
                }
            };
            let request = Message::Request(Body::Delivery(delivery), Box::new(answer));
            drop(running.owner.send(request));
        }
    }

    /// Delivers all that is in the outbox for a partition, in order, once it serves: a single
    /// message would come before or behind its neighbours. Nothing, if the one that it waits for
    /// is not there.
    fn deliver_again(self: &Arc<Self>, target: PartitionRef, expected: u64) {
        let node = self.clone();
        let deliver = move || {
            let running = node.start(target);
            let soon = after(Duration::from_secs(60));
            running.shared.wait(soon, |_, state| *state == State::Serving);
            let messages = node.undelivered(target);
            if messages.first().is_some_and(|first| first.delivery.number <= expected) {
                node.deliver(messages);
            }
        };
        drop(std::thread::Builder::new().name("deliver".to_owned()).spawn(deliver));
    }
}

fn outbox_of(node: Weak<Inner>) -> Outbox {
    Arc::new(move |messages| {
        if let Some(node) = node.upgrade() {
            node.deliver(messages);
        }
    })
}
