//! The partitions that run in this process, with their threads.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use seriatim_codec::PartitionPrefix;
use seriatim_core::{Refusal, SYSTEM_APP, system_settings};
use seriatim_storage::Store;
use seriatim_types::{
    AppId, AppSettings, Body, Definitions, Incarnation, Name, PartitionId, PartitionRef,
};

use crate::answer::{Answer, Unanswered};
use crate::chain::Link;
use crate::clock::Clock;
use crate::damage::Damage;
use crate::delivery::Carrier;
use crate::direct::{Landing, Message, Owner};
use crate::node::AskError;
use crate::partition::{Partition, State, is_told};
use crate::promised::{Promise, Promised};
use crate::reads::{ReadFailed, Reader};
use crate::reply::{Reason, Reply};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::sync_watch::SyncWatch;

/// The partition that holds the apps and their definitions.
pub const SYSTEM: PartitionRef = PartitionRef { app: SYSTEM_APP, partition: PartitionId(0) };

/// The one life of a partition's data that there is without snapshots.
const INCARNATION: Incarnation = Incarnation(1);

/// All partitions that run.
pub(crate) struct Hosted {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    partitions: RwLock<BTreeMap<PartitionRef, Arc<Running>>>,
    /// The apps that were looked up, and the system's own.
    known_apps: RwLock<BTreeMap<Name, AppHome>>,
    promised: Promised,
    landings: Mutex<Option<Sender<Landing>>>,
    pub(crate) syncs: Arc<SyncWatch>,
    /// Reads that found a stored row damaged or missing, of all partitions.
    damaged_reads: Arc<AtomicU64>,
    /// Whether the partitions of all apps were started.
    is_resumed: AtomicBool,
    is_ending: AtomicBool,
    is_clock_started: AtomicBool,
}

/// Where an app's workspaces are. It never changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppHome {
    pub(crate) app: AppId,
    pub(crate) partitions: u16,
}

/// A partition that runs.
pub(crate) struct Running {
    pub(crate) owner: Sender<Message>,
    pub(crate) shared: Arc<Shared>,
    unanswered: Arc<Unanswered>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Hosted {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        settings: Settings,
        landings: Sender<Landing>,
        syncs: Arc<SyncWatch>,
    ) -> Arc<Self> {
        Arc::new(Self {
            store,
            settings: settings.with_least(),
            clock,
            partitions: RwLock::default(),
            known_apps: RwLock::new(BTreeMap::from([home_of(&system_settings())])),
            landings: Mutex::new(Some(landings)),
            syncs,
            promised: Promised::default(),
            damaged_reads: Arc::default(),
            is_resumed: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            is_clock_started: AtomicBool::new(false),
        })
    }

    pub(crate) fn running(&self, partition: PartitionRef) -> Option<Arc<Running>> {
        let partitions = self.partitions.read().unwrap_or_else(PoisonError::into_inner);
        partitions.get(&partition).cloned()
    }

    pub(crate) fn all(&self) -> Vec<(PartitionRef, Arc<Running>)> {
        let partitions = self.partitions.read().unwrap_or_else(PoisonError::into_inner);
        partitions.iter().map(|(name, running)| (*name, running.clone())).collect()
    }

    /// Sends a request to a partition, unless too many wait for it already.
    pub(crate) fn send(
        &self,
        partition: PartitionRef,
        body: Body,
        link: Option<Link>,
        answer: impl FnOnce(Reply) + Send + 'static,
    ) {
        let Some(running) = self.running(partition) else {
            let what = "there is no such partition".to_owned();
            return answer(Reply::Stopped(Reason::Unreadable { what }));
        };
        if self.is_ending.load(Ordering::Relaxed) {
            return answer(Reply::NotWritten { why: "the node is shutting down".to_owned() });
        }
        match running.unanswered.check_room(&self.settings) {
            Ok(()) => running.request_in(link, body, answer),
            Err(busy) => answer(Reply::Busy(busy)),
        }
    }

    /// Starts a partition, unless it runs.
    pub(crate) fn start(self: &Arc<Self>, name: PartitionRef) -> Arc<Running> {
        let mut partitions = self.partitions.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = partitions.get(&name) {
            return running.clone();
        }
        let (owner, messages) = mpsc::channel();
        // The standard library's hashers begin with random bytes of the system.
        let hash_seed = RandomState::new().hash_one(0);
        let partition = Partition::new(self.store.clone(), prefix_of(name), self.settings);
        let partition = partition.seeded(hash_seed);
        let damage = Damage::new(owner.clone(), self.damaged_reads.clone());
        let shared = Arc::new(Shared::reporting_to(partition.state(), damage));
        let running = |thread| {
            let (owner, shared, unanswered) = (owner.clone(), shared.clone(), Arc::default());
            Arc::new(Running { owner, shared, unanswered, thread: Mutex::new(thread) })
        };
        let Some(syncer) = lock(&self.landings).clone() else {
            // The node ends. What is sent to this partition is not taken.
            shared.end();
            return running(None);
        };
        let owned = Owner {
            name,
            partition,
            store: self.store.clone(),
            clock: self.clock.clone(),
            messages,
            own: owner.clone(),
            syncer,
            shared: shared.clone(),
            post: Arc::new(Carrier::new(self)),
            settings: self.settings,
            syncs: self.syncs.clone(),
            is_crowded: false,
            viewed_at: Instant::now(),
            ends_at: None,
            starts_clock: name == SYSTEM && !self.is_clock_started.swap(true, Ordering::Relaxed),
        };
        let thread = std::thread::Builder::new()
            .name(format!("{}.{}", name.app.0, name.partition.0))
            .spawn(move || owned.run());
        let running = match thread {
            Ok(thread) => running(Some(thread)),
            Err(error) => {
                let what = format!("the machine gives it no thread: {error}");
                shared.set_state(State::Stopped(Reason::Unready { what }));
                shared.end();
                running(None)
            }
        };
        partitions.insert(name, running.clone());
        running
    }

    /// Lets a partition forget everything and read its log again. Returns whether there is such a
    /// partition.
    pub(crate) fn restart(self: &Arc<Self>, name: PartitionRef) -> bool {
        if !self.is_ending.load(Ordering::Relaxed) {
            // One that has no thread is started anew. Looked at under the lock: of two who ask at
            // the same time, the second must not put the first one's thread aside.
            let mut partitions = self.partitions.write().unwrap_or_else(PoisonError::into_inner);
            if partitions.get(&name).is_some_and(|running| running.shared.is_over()) {
                partitions.remove(&name);
                drop(partitions);
                self.start(name);
                return true;
            }
        }
        let running = self.running(name);
        running.is_some_and(|running| running.owner.send(Message::Restart).is_ok())
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.is_resumed.load(Ordering::Acquire)
    }

    /// The partitions of all apps were started.
    pub(crate) fn resumed(&self) {
        self.is_resumed.store(true, Ordering::Release);
        if let Some(system) = self.running(SYSTEM) {
            system.shared.nudge();
        }
    }

    /// Ends all partitions. Returns those that did not end in time.
    pub(crate) fn end(&self, deadline: Instant) -> Vec<PartitionRef> {
        self.is_ending.store(true, Ordering::Relaxed);
        drop(lock(&self.landings).take());
        let all = self.all();
        for (_, running) in &all {
            drop(running.owner.send(Message::Shutdown(deadline)));
        }
        // One that is past its deadline ends with the step it is in: a step that does not end is
        // not waited for.
        let latest = deadline.checked_add(LAST_STEP).unwrap_or(deadline);
        let has_ended = |running: &Running| running.shared.wait(latest, Shared::is_over);
        let mut left = Vec::new();
        for (name, running) in all {
            if has_ended(&running) {
                let thread = lock(&running.thread).take();
                thread.into_iter().for_each(|thread| drop(thread.join()));
            } else {
                left.push(name);
            }
        }
        left
    }

    /// The apps, by name, with their definitions.
    pub(crate) fn apps(&self) -> Result<Vec<Definitions>, ReadFailed> {
        let view = self.running(SYSTEM).and_then(|system| system.shared.view());
        let Some(view) = view else { return Ok(Vec::new()) };
        let apps = Reader::new(&view, prefix_of(SYSTEM), self.store.schema()).apps()?;
        let homes = apps.iter().map(|definitions| home_of(&definitions.app));
        self.known_apps.write().unwrap_or_else(PoisonError::into_inner).extend(homes);
        Ok(apps)
    }

    /// Room for the partitions of an app that is to be made, or why there is none.
    pub(crate) fn promise(
        &self,
        app: &Name,
        partitions: u16,
    ) -> Result<Result<Promise<'_>, Refusal>, ReadFailed> {
        let apps = || Ok(self.apps()?.into_iter().map(|it| it.app).collect());
        self.promised.promise((app, partitions), self.settings.partitions_max, apps)
    }

    /// What an app is called. One that was looked up before is known also when nothing can be
    /// read any more.
    pub(crate) fn app_name(&self, app: AppId) -> Option<Name> {
        let known = || {
            let known = self.known_apps.read().unwrap_or_else(PoisonError::into_inner);
            known.iter().find(|(_, home)| home.app == app).map(|(name, _)| name.clone())
        };
        known().or_else(|| {
            self.apps().ok()?;
            known()
        })
    }

    /// An app, by its name. Whether the apps are known is told by the same look that misses one:
    /// asked afterwards, it may have changed.
    pub(crate) fn app(&self, name: &Name) -> Result<AppHome, AskError> {
        let known = self.known_apps.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(home) = known.get(name) {
            return Ok(*home);
        }
        drop(known);
        let view = self.running(SYSTEM).and_then(|system| system.shared.view());
        let view = view.ok_or(AskError::AppsUnknown)?;
        let apps = Reader::new(&view, prefix_of(SYSTEM), self.store.schema()).apps()?;
        let mut apps = apps.into_iter().map(|definitions| definitions.app);
        let app = apps.find(|app| app.name == *name).ok_or(AskError::AppNotFound)?;
        let (name, home) = home_of(&app);
        let mut known = self.known_apps.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(name, home);
        Ok(home)
    }

    /// Reads that found a stored row damaged or missing, of all partitions since the start.
    pub(crate) fn damaged_reads(&self) -> u64 {
        self.damaged_reads.load(Ordering::Relaxed)
    }
}

/// How long a partition that must end may take for the step that it is in.
const LAST_STEP: Duration = Duration::from_secs(1);

impl Running {
    /// Sends a request, whatever waits already.
    pub(crate) fn request(&self, body: Body, answer: impl FnOnce(Reply) + Send + 'static) {
        self.request_in(None, body, answer);
    }

    fn request_in(
        &self,
        link: Option<Link>,
        body: Body,
        answer: impl FnOnce(Reply) + Send + 'static,
    ) {
        let bytes = if let Body::Command(command) = &body { command.held_bytes() } else { 0 };
        // Messages of other partitions take no client's place. One may be applied, and seen to be, a
        // moment before it is answered.
        let counted = if is_told(&body) { Arc::default() } else { self.unanswered.clone() };
        let answer = Answer::new(answer, &counted, bytes).of_chain(link);
        if let Err(mpsc::SendError(Message::Request(_, answer))) =
            self.owner.send(Message::Request(body, answer))
        {
            answer.give(match self.shared.state() {
                State::Stopped(reason) => Reply::Stopped(reason),
                State::Actualizing(_) | State::Serving => {
                    Reply::NotWritten { why: "the node is shutting down".to_owned() }
                }
            });
        }
    }
}

/// Where the keys of a partition begin.
#[must_use]
pub fn prefix_of(partition: PartitionRef) -> PartitionPrefix {
    let PartitionRef { app, partition } = partition;
    PartitionPrefix { app, partition, incarnation: INCARNATION }
}

fn home_of(app: &AppSettings) -> (Name, AppHome) {
    (app.name.clone(), AppHome { app: app.app, partitions: app.partitions })
}

/// All partitions of an app.
pub fn partitions_of(app: AppId, count: u16) -> impl Iterator<Item = PartitionRef> {
    (0..count).map(move |index| PartitionRef { app, partition: PartitionId(index) })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
