//! The server: the node's own state machines, driven by the agenda instead of by threads.
//!
//! ```text
//!  message ─► inbox of a partition ─► woken: take all, work once ─► a commit to sync
//!               ▲                                                        │ alone, or by the syncer
//!               └─────── landed ◄── sync ends ◄── sync begins ◄──────────┘
//!  message ─► inbox of the directory ─► woken: take all
//! ```
//!
//! Between any two of these, anything else can happen: a message, another partition that is woken, the
//! end of the process. Nothing is decided here: whatever a thread of the node would do is a call of the
//! same function.

mod clock;
mod mail;
mod seat;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use seriatim_node::parts::{
    Caller as _, Directory, Link, Next, Observer, PartitionHost, ReplyTo, Routes, Shared, Start,
    SyncBy, Syncer, ToDirectory, ToPartition, causes, prefix_of, shutting_down,
};
use seriatim_node::{
    ClockAhead, Partition, PartitionOrder, Reason, Reply, RequestError, Settings, State,
    StreamOrder,
};
use seriatim_storage::Store;
use seriatim_storage::faulty::FaultyStore;
use seriatim_testkit::core::Applied;
use seriatim_types::{Body, Define, Entry, PartitionRef, Time};

use self::mail::{Handle, Post};
use self::seat::Seat;
use crate::agenda::Moment;

pub(crate) use self::clock::{Clock, JUMPS, LONG_JUMP, world_time};
pub(crate) use self::mail::Asker;
pub(crate) use self::seat::Usage;

/// How long whoever defines something waits for it.
const DEFINE_WITHIN: Duration = Duration::from_secs(2);

/// How a partition is reached.
type Address = Arc<seriatim_node::parts::Address<Handle>>;

/// What the world has to do for the server.
#[derive(Debug)]
pub(crate) enum Wish {
    /// A partition is to be woken soon.
    Wake { partition: PartitionRef },
    /// A partition is to be woken at a moment, whatever happens until then.
    Timer { partition: PartitionRef, at: Moment },
    /// The directory is to be woken soon.
    Directory,
    /// The syncer begins a sync.
    Sync,
    /// A partition begins a sync of its own.
    OwnSync { partition: PartitionRef },
    /// An answer on its way to somebody.
    Answer { asker: Asker, reply: Reply },
}

/// Entries that were applied together, as they came and with what came of them.
pub(crate) type Batch = Vec<(Entry, Applied)>;

/// What somebody who sees everything has seen.
#[derive(Debug)]
pub(crate) enum Seen {
    /// A commit is on its way to the disk.
    Flew { partition: PartitionRef, batch: Batch },
    /// Entries were answered at once, and nothing of them is written.
    Decided { partition: PartitionRef, batch: Batch },
    /// A commit did not happen, or may not have, when so many commands had arrived.
    Dropped { partition: PartitionRef, batch: Batch, is_maybe: bool, arrived: u64 },
    /// The oldest flight of a partition is durable.
    Landed { partition: PartitionRef },
    /// A partition reads again what is stored.
    Restarted { partition: PartitionRef },
    /// Whoever waits for an answer will not get one.
    Unanswered { asker: Asker },
}

/// A process.
pub(crate) struct Server {
    store: FaultyStore,
    settings: Settings,
    post: Post,
    directory: Directory<Handle>,
    /// What callers find partitions by.
    routes: Routes<Handle>,
    is_directory_awaited: bool,
    syncer: Syncer<Handle>,
    seats: BTreeMap<PartitionRef, Seat>,
    /// The order of the commands of each stream, by its connection.
    streams: BTreeMap<u64, StreamOrder>,
    orders: BTreeMap<(u64, PartitionRef), PartitionOrder>,
    /// Counts the commands that have arrived.
    arrived: u64,
    is_ending: bool,
    observed: Arc<Mutex<Batch>>,
    pub(crate) wishes: Vec<Wish>,
    pub(crate) seen: Vec<Seen>,
}

impl Server {
    /// A process begins.
    pub(crate) fn begin(store: FaultyStore, settings: Settings, now: Moment) -> Self {
        let (post, observed) = (Post::new(), Arc::default());
        let start = start(&store, settings, &post, &observed);
        let mut directory = Directory::new(store.schema().clone(), settings, start);
        let routes = directory.changed_routes().expect("the system partition is new");
        let mut server = Self {
            store,
            settings,
            post,
            directory,
            routes,
            is_directory_awaited: false,
            syncer: Syncer::new(),
            seats: BTreeMap::new(),
            streams: BTreeMap::new(),
            orders: BTreeMap::new(),
            arrived: 0,
            is_ending: false,
            observed,
            wishes: Vec::new(),
            seen: Vec::new(),
        };
        server.deliver(now);
        server
    }

    /// A client's command arrives.
    pub(crate) fn command(
        &mut self,
        partition: PartitionRef,
        body: Body,
        generation: Option<u64>,
        (connection, id, asked): (u64, u64, usize),
        now: Moment,
    ) {
        self.arrived = self.arrived.saturating_add(1);
        let arrived = self.arrived;
        let asker = Asker::Client { connection, id, asked, partition, arrived, generation };
        let link = match generation {
            Some(generation) => self.link(connection, partition, generation).map(Some),
            None => self.check_readable(partition).map(|()| None),
        };
        match link {
            Ok(link) => self.send(partition, body, link, asker),
            Err(error) => self.wishes.push(Wish::Answer { asker, reply: Err(error) }),
        }
        self.deliver(now);
    }

    /// The position of a stream's command in its order.
    fn link(
        &mut self,
        connection: u64,
        partition: PartitionRef,
        generation: u64,
    ) -> Result<Link, RequestError> {
        let stream = self.streams.entry(connection).or_default();
        stream.check(generation)?;
        let Some(address) = self.routes.partitions.get(&partition) else {
            stream.not_sent(generation);
            return Err(not_known());
        };
        let order = self.orders.entry((connection, partition)).or_default();
        order.begin(generation, || address.shared().check_readable())?;
        Ok(order.chain().link())
    }

    fn check_readable(&self, partition: PartitionRef) -> Result<(), RequestError> {
        let address = self.routes.partitions.get(&partition).ok_or_else(not_known)?;
        address.shared().check_readable()
    }

    fn send(&mut self, partition: PartitionRef, body: Body, link: Option<Link>, asker: Asker) {
        if self.is_ending {
            let reply = Err(shutting_down());
            link.iter().for_each(|link| link.answered(&reply));
            return self.wishes.push(Wish::Answer { asker, reply });
        }
        let handle = self.post.handle(asker);
        if let Err((handle, reply)) =
            self.routes.send(partition, body, link, handle, &self.settings)
        {
            handle.answer(reply);
        }
    }

    /// A request for a definition arrives.
    pub(crate) fn define(&mut self, define: Define, number: u64, now: Moment) {
        let caller = self.post.handle(Asker::Definer { number });
        let by = now.saturating_add(DEFINE_WITHIN);
        let message = ToDirectory::Define { define, by, caller };
        self.post.mail().to_directory.push_back(message);
        self.deliver(now);
    }

    /// A wish for the kind of a workspace arrives. Whoever has it does not wait for an answer.
    pub(crate) fn declare(&mut self, partition: PartitionRef, body: Body, now: Moment) {
        self.send(partition, body, None, Asker::Nobody);
        self.deliver(now);
    }

    /// Somebody restarts a partition, and nothing else.
    pub(crate) fn restart(&mut self, name: PartitionRef, now: Moment) {
        if let Some(address) = self.routes.partitions.get(&name) {
            drop(address.send(ToPartition::Restart));
        }
        self.deliver(now);
    }

    /// Somebody ends the process in good order: by that moment, or in any state.
    pub(crate) fn shut_down(&mut self, by: Moment, now: Moment) {
        self.is_ending = true;
        self.post.mail().to_directory.push_back(ToDirectory::Shutdown);
        self.post.mail().is_ending = true;
        for seat in self.seats.values() {
            drop(seat.address.send(ToPartition::Shutdown { by }));
        }
        self.deliver(now);
    }

    /// Whether it was told to end and has.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_ending
            && self.directory.has_ended()
            && self.flights() == 0
            && self.seats.values().all(|seat| seat.has_ended && seat.inbox.is_empty())
    }

    /// A connection has ended.
    pub(crate) fn hang_up(&mut self, connection: u64) {
        self.orders.retain(|(of, _), _| *of != connection);
        self.streams.remove(&connection);
    }

    /// A partition is woken: soon after something was sent to it, or by its timer.
    pub(crate) fn wake(
        &mut self,
        name: PartitionRef,
        timer: Option<Moment>,
        now: Moment,
        time: Result<Time, ClockAhead>,
    ) {
        let Some(seat) = self.seats.get_mut(&name) else { return };
        match timer {
            None => seat.is_awaited = false,
            Some(at) if seat.timer == Some(at) => seat.timer = None,
            Some(_) => return,
        }
        // Its thread waits for the disk.
        if seat.syncing.is_some() {
            return;
        }
        while let Some(message) = seat.inbox.pop_front() {
            let is_restart = matches!(message, ToPartition::Restart);
            seat.host.take(message);
            if is_restart {
                self.seen.push(Seen::Restarted { partition: name });
            }
        }
        if !seat.has_ended {
            self.work(name, now, time);
        }
        self.deliver(now);
    }

    fn work(&mut self, name: PartitionRef, now: Moment, time: Result<Time, ClockAhead>) {
        let Some(seat) = self.seats.get_mut(&name) else { return };
        let was_serving = seat.host.partition().state() == State::Serving;
        let sync = seat.host.work(time);
        let state = seat.host.partition().state();
        if !was_serving {
            seat.unflushed_at_first = seat.host.partition().held().unflushed_rows;
        }
        let batch =
            std::mem::take(&mut *self.observed.lock().unwrap_or_else(PoisonError::into_inner));
        let is_maybe = matches!(state, State::Stopped(Reason::Store { .. }));
        match &sync {
            Some(_) => self.seen.push(Seen::Flew { partition: name, batch }),
            None if batch.is_empty() => {}
            None if state == State::Serving => {
                self.seen.push(Seen::Decided { partition: name, batch });
            }
            None => {
                let arrived = self.arrived;
                self.seen.push(Seen::Dropped { partition: name, batch, is_maybe, arrived });
            }
        }
        match sync {
            Some(SyncBy::Owner(landing)) => {
                seat.syncing = Some(landing);
                return self.wishes.push(Wish::OwnSync { partition: name });
            }
            Some(SyncBy::Syncer(landing)) => {
                self.syncer.take(landing);
                if !self.is_syncing() && self.syncer.waiting() == 1 {
                    self.wishes.push(Wish::Sync);
                }
            }
            None => {}
        }
        self.rest(name, now);
    }

    fn rest(&mut self, name: PartitionRef, now: Moment) {
        let Some(seat) = self.seats.get_mut(&name) else { return };
        match seat.host.rest(now) {
            Next::Now => self.wish_wake(name),
            Next::Within(rest) => {
                let at = now.saturating_add(rest);
                if seat.timer.is_none_or(|timer| timer > at) {
                    seat.timer = Some(at);
                    self.wishes.push(Wish::Timer { partition: name, at });
                }
            }
            Next::End => seat.has_ended = true,
        }
        if self.seats.get(&name).is_some_and(|seat| !seat.inbox.is_empty()) {
            self.wish_wake(name);
        }
    }

    /// The directory is woken.
    pub(crate) fn direct(&mut self, now: Moment) {
        self.is_directory_awaited = false;
        loop {
            let message = self.post.mail().to_directory.pop_front();
            let Some(message) = message else { break };
            let replies = self.directory.take(message, now);
            if let Some(routes) = self.directory.changed_routes() {
                self.routes = routes;
            }
            for (handle, reply) in replies {
                handle.answer(reply);
            }
        }
        self.deliver(now);
    }

    /// A sync that was wished for begins: that of a partition, or the syncer's. It may do its work at
    /// once, or when it ends.
    pub(crate) fn begin_sync(
        &mut self,
        of: Option<PartitionRef>,
        is_early: bool,
        now: Moment,
    ) -> Result<(), String> {
        if of.is_none() {
            assert!(self.syncer.begin(), "somebody waits for the sync");
            self.deliver(now);
        }
        if is_early { self.sync() } else { Ok(()) }
    }

    /// It ends.
    pub(crate) fn end_sync(
        &mut self,
        of: Option<PartitionRef>,
        begun: Result<(), String>,
        is_early: bool,
        now: Moment,
    ) {
        let synced = if begun.is_ok() && !is_early { self.sync() } else { begun };
        match of {
            None => {
                if synced.is_ok() {
                    let landed = self.syncer.syncing();
                    self.seen.extend(landed.map(|partition| Seen::Landed { partition }));
                }
                self.syncer.end(&synced);
                if self.syncer.waiting() > 0 {
                    self.wishes.push(Wish::Sync);
                }
            }
            Some(name) => {
                let Some(seat) = self.seats.get_mut(&name) else { return };
                let landing = seat.syncing.take().expect("it waits for its sync");
                if synced.is_ok() {
                    self.seen.push(Seen::Landed { partition: name });
                }
                seat.host.take(landing.land(&synced));
                self.rest(name, now);
            }
        }
        self.deliver(now);
    }

    fn sync(&self) -> Result<(), String> {
        self.store.sync().map_err(|error| causes(&error))
    }

    pub(crate) fn is_syncing(&self) -> bool {
        self.syncer.syncing().next().is_some()
    }

    /// How many commits are on their way to the disk.
    pub(crate) fn flights(&self) -> usize {
        let own = self.seats.values().filter(|seat| seat.syncing.is_some()).count();
        self.syncer.waiting().saturating_add(self.syncer.syncing().count()).saturating_add(own)
    }

    /// Whether messages between partitions are under way.
    pub(crate) fn has_deliveries(&self) -> bool {
        let is_delivery = |message: &ToPartition<Handle>| {
            matches!(message, ToPartition::Request(_, ReplyTo::Outbox { .. }))
        };
        let is_carried = |message: &ToDirectory<Handle>| {
            matches!(message, ToDirectory::Carry(_) | ToDirectory::Answered { .. })
        };
        self.seats.values().any(|seat| seat.inbox.iter().any(is_delivery))
            || self.post.mail().to_directory.iter().any(is_carried)
    }

    /// What others see of a partition.
    pub(crate) fn shared(&self, name: PartitionRef) -> Option<&Arc<Shared>> {
        self.seats.get(&name).map(|seat| seat.address.shared())
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = (PartitionRef, State)> {
        self.seats.iter().map(|(name, seat)| (*name, seat.host.partition().state()))
    }

    /// Whether a partition is about to read again what is stored.
    pub(crate) fn is_restarting(&self, name: PartitionRef) -> bool {
        let is_restart = |message: &ToPartition<Handle>| matches!(message, ToPartition::Restart);
        self.seats.get(&name).is_some_and(|seat| seat.inbox.iter().any(is_restart))
    }

    /// Partitions in which no numbers wait for a checkpoint.
    pub(crate) fn idle(&self) -> impl Iterator<Item = PartitionRef> {
        let is_idle = |(_, seat): &(&PartitionRef, &Seat)| {
            let partition = seat.host.partition();
            partition.state() == State::Serving && partition.is_idle()
        };
        self.seats.iter().filter(is_idle).map(|(name, _)| *name)
    }

    /// How many requests wait in each partition.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = (PartitionRef, usize)> {
        self.seats.iter().map(|(name, seat)| (*name, seat.address.unanswered()))
    }

    pub(crate) fn usage(&self) -> impl Iterator<Item = (PartitionRef, Usage)> {
        self.seats.iter().map(|(name, seat)| (*name, seat.usage()))
    }

    /// How many nodes of trees wait for a checkpoint in a partition.
    pub(crate) fn waiting_nodes(&self, name: PartitionRef) -> usize {
        self.seats.get(&name).map_or(0, |seat| seat.host.partition().held().waiting_nodes)
    }

    /// Whether nothing is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.flights() == 0
            && self.post.mail().to_directory.is_empty()
            && self.seats.values().all(Seat::is_quiet)
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn store(&self) -> &FaultyStore {
        &self.store
    }

    /// Puts what was sent where it is received, and sees to it that it is.
    fn deliver(&mut self, now: Moment) {
        let mail = std::mem::take(&mut *self.post.mail());
        let mail::Mail { started, to_partitions, to_directory, answers, dropped, is_ending } = mail;
        for (name, partition, address) in started {
            let store: Arc<dyn Store> = Arc::new(self.store.clone());
            let directory = self.post.directory();
            let host = PartitionHost::new(
                partition,
                address.clone(),
                directory,
                store,
                self.settings,
                now,
            );
            self.seats.insert(name, Seat::new(host, address));
            self.wish_wake(name);
        }
        for (name, message) in to_partitions {
            if let Some(seat) = self.seats.get_mut(&name) {
                seat.inbox.push_back(message);
            }
            self.wish_wake(name);
        }
        if !to_directory.is_empty() && !std::mem::replace(&mut self.is_directory_awaited, true) {
            self.wishes.push(Wish::Directory);
        }
        self.wishes.extend(answers.into_iter().map(|(asker, reply)| Wish::Answer { asker, reply }));
        self.seen.extend(dropped.into_iter().map(|asker| Seen::Unanswered { asker }));
        let mut mail = self.post.mail();
        mail.is_ending = is_ending;
        mail.to_directory = to_directory;
    }

    fn wish_wake(&mut self, name: PartitionRef) {
        let Some(seat) = self.seats.get_mut(&name) else { return };
        // One that waits for the disk looks when that has answered.
        if seat.syncing.is_none() && !std::mem::replace(&mut seat.is_awaited, true) {
            self.wishes.push(Wish::Wake { partition: name });
        }
    }
}

/// How the directory starts partitions. Once the process ends, it starts none.
fn start(
    store: &FaultyStore,
    settings: Settings,
    post: &Post,
    observed: &Arc<Mutex<Batch>>,
) -> Start<Handle> {
    let (store, observed) = (store.clone(), observed.clone());
    let mail = post.downgrade();
    Box::new(move |name| {
        let observed = observed.clone();
        let observer: Observer = Box::new(move |entry, effects| {
            let mut observed = observed.lock().unwrap_or_else(PoisonError::into_inner);
            observed.push((entry.clone(), Applied::of(effects)));
        });
        let partition = Partition::new(Arc::new(store.clone()), prefix_of(name), settings);
        let partition = partition.observed_by(observer);
        mail.start(name, partition)
    })
}

fn not_known() -> RequestError {
    RequestError::NotWritten { why: "the apps are not known yet".to_owned() }
}
