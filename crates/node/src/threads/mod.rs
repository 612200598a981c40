//! The direct driver: a thread for each partition, one that syncs, and one for the directory.
//!
//! A thread receives, calls its part of the [host](crate::host), sleeps and sends. It decides nothing.

mod ended;
mod partition;
mod published;
mod starter;
mod timed_store;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use seriatim_storage::Store;
use seriatim_types::{Body, PartitionRef};

use self::ended::Ended;
use self::published::Published;
use self::starter::{Started, Starter};
use self::timed_store::TimedStore;
use crate::answer::Answer;
use crate::chain::Link;
use crate::clock::Clock;
use crate::host::{
    Address, Caller, Directory, DirectoryMailbox, Landing, Routes, Syncer, ToDirectory,
    ToPartition, shutting_down,
};
use crate::metrics::NodeCounters;
use crate::partition::{State, causes};
use crate::reply::Reason;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::sync_watch::SyncWatch;

/// How long the last sync, and the directory, may take, however little time was allowed.
const LAST_SYNC: Duration = Duration::from_millis(100);

/// How long a partition is waited for that is started anew.
const REVIVAL: Duration = Duration::from_secs(1);

/// All threads of a node.
pub(crate) struct Threads {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) syncs: Arc<SyncWatch>,
    pub(crate) counters: Arc<NodeCounters>,
    routes: Arc<Published>,
    directory: Sender<ToDirectory<Answer>>,
    starter: Arc<Starter>,
    /// The syncer and the directory.
    others: Mutex<Vec<Other>>,
    is_ending: AtomicBool,
    origin: Instant,
}

/// A thread, and whether it has ended.
struct Other {
    thread: JoinHandle<()>,
    ended: Arc<Ended>,
}

impl Threads {
    /// Begins to serve the partitions of a store.
    pub(crate) fn begin(store: Arc<dyn Store>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        let settings = settings.with_least();
        let origin = Instant::now();
        let counters = Arc::<NodeCounters>::default();
        let timed = TimedStore::new(store, counters.clone(), &settings);
        let store: Arc<dyn Store> = Arc::new(timed);
        let syncs = Arc::new(SyncWatch::default());
        let (landings, waiting) = mpsc::channel();
        let (directory, messages) = mpsc::channel();
        let started =
            Started { syncer: Some(landings), threads: BTreeMap::new(), is_clock_started: false };
        let starter = Arc::new(Starter {
            store: store.clone(),
            settings,
            clock: clock.clone(),
            syncs: syncs.clone(),
            counters: counters.clone(),
            directory: mailbox(directory.clone()),
            damaged_reads: Arc::new(AtomicU64::new(0)),
            origin,
            started: Mutex::new(started),
        });
        let start = starter.clone();
        let start = Box::new(move |name| start.start(name));
        let mut host = Directory::new(store.schema().clone(), settings, start);
        let first = host.changed_routes().expect("the system partition is new");
        let routes = Arc::new(Published::new(first));
        let published = routes.clone();
        let for_syncer = (store.clone(), syncs.clone());
        let others = vec![
            spawn("syncer", move || sync_all(&for_syncer.0, &for_syncer.1, &waiting)),
            spawn("directory", move || direct(host, &messages, &published, origin)),
        ];
        let (others, is_ending) = (Mutex::new(others), AtomicBool::new(false));
        Self {
            store,
            settings,
            clock,
            syncs,
            counters,
            routes,
            directory,
            starter,
            others,
            is_ending,
            origin,
        }
    }

    /// What callers find their way by, as of now.
    pub(crate) fn routes(&self) -> Arc<Routes<Answer>> {
        self.routes.get()
    }

    pub(crate) fn address(&self, partition: PartitionRef) -> Option<Arc<Address<Answer>>> {
        self.routes().partitions.get(&partition).cloned()
    }

    /// Sends a request to a partition, unless too many wait for it already. The routes are those by
    /// which the partition was found.
    pub(crate) fn send(
        &self,
        routes: &Routes<Answer>,
        partition: PartitionRef,
        body: Body,
        link: Option<Link>,
        answer: Answer,
    ) {
        if self.is_ending() {
            let reply = Err(shutting_down());
            link.iter().for_each(|link| link.answered(&reply));
            return answer.answer(reply);
        }
        let sent = routes.send(partition, body, link, answer, &self.settings);
        if let Err((answer, reply)) = sent {
            answer.answer(reply);
        }
    }

    /// Tells the directory something. Whoever waits for an answer that cannot come is told so.
    pub(crate) fn tell_directory(&self, message: ToDirectory<Answer>) {
        if let Err(mpsc::SendError(ToDirectory::Define { caller, .. })) =
            self.directory.send(message)
        {
            caller.answer(Err(shutting_down()));
        }
    }

    /// Waits until the copy of the directory is enough, or until the deadline.
    pub(crate) fn wait_for_routes(
        &self,
        deadline: Instant,
        is_enough: impl FnMut(&Routes<Answer>) -> bool,
    ) {
        self.routes.wait(deadline, is_enough);
    }

    /// Lets a partition forget everything and read its log again. One that has no thread is started
    /// anew. Returns whether there is such a partition.
    pub(crate) fn restart(&self, partition: PartitionRef) -> bool {
        let Some(address) = self.address(partition) else { return false };
        let deadline = Instant::now().checked_add(REVIVAL).unwrap_or_else(Instant::now);
        // A thread that is about to end reads no message any more.
        if matches!(address.shared().state(), State::Stopped(Reason::Unready { .. })) {
            address.shared().wait(deadline, Shared::is_over);
        }
        if !address.shared().is_over() || self.is_ending() {
            return address.send(ToPartition::Restart).is_ok();
        }
        self.tell_directory(ToDirectory::Revive(partition));
        let is_another = |found: &Arc<Address<Answer>>| !Arc::ptr_eq(found, &address);
        self.routes
            .wait(deadline, |routes| routes.partitions.get(&partition).is_some_and(is_another));
        true
    }

    /// The node's time at a deadline.
    pub(crate) fn time_at(&self, deadline: Instant) -> Duration {
        deadline.saturating_duration_since(self.origin)
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Reads since the start that found a stored row damaged or missing, of all partitions.
    pub(crate) fn damaged_reads(&self) -> u64 {
        self.starter.damaged_reads.load(Ordering::Relaxed)
    }

    /// Ends all threads.
    ///
    /// # Errors
    ///
    /// The partitions that did not end in time. There may be none: the disk is waited for elsewhere
    /// too.
    pub(crate) fn end(&self, deadline: Instant) -> Result<(), Vec<PartitionRef>> {
        self.is_ending.store(true, Ordering::Relaxed);
        // What it would still carry from one partition to another stays in the outbox.
        drop(self.directory.send(ToDirectory::Shutdown));
        let left = self.starter.end(deadline);
        if !left.is_empty() {
            return Err(left);
        }
        // The lock is not held while they are waited for: whoever ends the node too has a time of its
        // own.
        let lock = || self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let others: Vec<_> = lock().iter().map(|other| other.ended.clone()).collect();
        let last = Instant::now().checked_add(LAST_SYNC).unwrap_or(deadline);
        if !others.iter().all(|ended| ended.wait(deadline.max(last))) {
            return Err(Vec::new());
        }
        lock().drain(..).for_each(|other| drop(other.thread.join()));
        Ok(())
    }
}

fn mailbox(directory: Sender<ToDirectory<Answer>>) -> DirectoryMailbox<Answer> {
    // Once the directory has ended, nobody needs to know.
    Arc::new(move |message| drop(directory.send(message)))
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Other {
    let (ended, running) = Ended::new();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let _running = running;
        run();
    });
    Other { thread: thread.expect("a thread can be started"), ended }
}

/// The thread of the syncer.
fn sync_all(store: &Arc<dyn Store>, syncs: &SyncWatch, landings: &Receiver<Landing<Answer>>) {
    let mut syncer = Syncer::new();
    while let Ok(first) = landings.recv() {
        std::thread::yield_now();
        syncer.take(first);
        landings.try_iter().for_each(|landing| syncer.take(landing));
        while syncer.begin() {
            syncer.end(&synced(store, syncs));
        }
    }
}

/// Syncs the store.
fn synced(store: &Arc<dyn Store>, syncs: &SyncWatch) -> Result<(), String> {
    syncs.run(|| store.sync()).map_err(|error| causes(&error))
}

/// The thread of the directory.
fn direct(
    mut directory: Directory<Answer>,
    messages: &Receiver<ToDirectory<Answer>>,
    published: &Published,
    origin: Instant,
) {
    while let Some(message) = next_message(&directory, messages) {
        let replies = directory.take(message, origin.elapsed());
        // First of all: whoever is told that an app is there finds it.
        if let Some(routes) = directory.changed_routes() {
            published.publish(routes);
        }
        replies.into_iter().for_each(|(answer, reply)| answer.answer(reply));
    }
}

/// The next message. Once the node ends, those that were sent are the last ones.
fn next_message(
    directory: &Directory<Answer>,
    messages: &Receiver<ToDirectory<Answer>>,
) -> Option<ToDirectory<Answer>> {
    if directory.has_ended() { messages.try_recv().ok() } else { messages.recv().ok() }
}
