//! The server: the real partitions, driven by the agenda instead of by threads.
//!
//! ```text
//!  message ─► take ─► run, when its turn comes ─► flight ─► sync, when the disk is free
//!                                                              └► landed: published, answered,
//!                                                                 messages to other partitions
//! ```
//!
//! Between any two of these, anything else can happen: a message, a turn of another partition, the
//! end of the process.
//!
//! **Invariant:** what a flight says is given away after its sync has returned, in the order in which
//! the flights of a partition took off.

mod clock;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use seriatim_core::Outgoing;
use seriatim_node::parts::{
    Held, Link, Next, Observer, SYSTEM, Shared, after, causes, outbox_of, partitions_of, prefix_of,
};
use seriatim_node::{
    Busy, Chain, ClockAhead, Flight, Partition, Reader, Reason, Reply, Settings, State, Step,
};
use seriatim_storage::Store;
use seriatim_storage::faulty::FaultyStore;
use seriatim_testkit::core::Applied;
use seriatim_types::{AppSettings, Body, Entry, PartitionRef, Time};

pub(crate) use self::clock::{Clock, JUMPS, LONG_JUMP, world_time};

/// Who is answered.
#[derive(Debug, Clone)]
pub(crate) enum Handle {
    /// A client's command: over which connection, by which number, and its place in a chain.
    Client {
        connection: u64,
        id: u64,
        asked: usize,
        link: Option<Link>,
        /// The generation of a command of a stream, and where it comes among all that have arrived.
        place: Option<(u64, u64)>,
    },
    /// Whoever defines things.
    Definer {
        number: u64,
    },
    /// The outbox of the system partition.
    Outbox {
        target: PartitionRef,
        number: u64,
    },
    Nobody,
}

/// What the world has to do for the server.
#[derive(Debug)]
pub(crate) enum Wish {
    /// A partition wants a turn: soon, or when it may have something to do by itself.
    Run { partition: PartitionRef, is_soon: bool },
    /// The disk is free, and a sync begins.
    Sync,
    /// An answer on its way to somebody.
    Answer { partition: PartitionRef, handle: Handle, reply: Reply },
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
    /// A commit did not happen, or may not have.
    Dropped { partition: PartitionRef, batch: Batch, is_maybe: bool },
    /// The oldest flight of a partition is durable.
    Landed { partition: PartitionRef },
    /// A partition reads again what is stored.
    Restarted { partition: PartitionRef },
}

/// A process.
pub(crate) struct Server {
    store: FaultyStore,
    settings: Settings,
    seats: BTreeMap<PartitionRef, Seat>,
    lanes: BTreeMap<(u64, PartitionRef), Lane>,
    /// Up to which generation nothing of a connection is written, because it was not known where to.
    behind: BTreeMap<u64, u64>,
    /// Commits that wait for the disk, and those that the sync under way covers.
    waiting: Vec<(PartitionRef, Flight<Handle>)>,
    syncing: Vec<(PartitionRef, Flight<Handle>)>,
    /// Counts the commands that have arrived.
    arrived: u64,
    /// How many messages between partitions are not answered.
    deliveries: usize,
    observed: Arc<Mutex<Batch>>,
    pub(crate) wishes: Vec<Wish>,
    pub(crate) seen: Vec<Seen>,
}

/// A partition that runs.
struct Seat {
    partition: Partition<Handle>,
    shared: Arc<Shared>,
    /// Whether it was promised a turn, soon or in a while.
    is_awaited: bool,
    has_timer: bool,
    /// Requests that are not answered.
    unanswered: usize,
    /// Rows that waited for a checkpoint when it began to serve.
    unflushed_at_first: usize,
}

/// What a partition takes up.
#[derive(Debug)]
pub(crate) struct Usage {
    pub(crate) held: Held,
    pub(crate) unanswered: usize,
    pub(crate) unflushed_at_first: usize,
}

/// The commands of one connection for one partition.
#[derive(Debug, Default)]
struct Lane {
    generation: u64,
    chain: Chain,
}

impl Server {
    /// A process begins.
    pub(crate) fn begin(store: FaultyStore, settings: Settings) -> Self {
        let mut server = Self {
            store,
            settings,
            seats: BTreeMap::new(),
            lanes: BTreeMap::new(),
            behind: BTreeMap::new(),
            waiting: Vec::new(),
            syncing: Vec::new(),
            arrived: 0,
            deliveries: 0,
            observed: Arc::default(),
            wishes: Vec::new(),
            seen: Vec::new(),
        };
        server.start(SYSTEM);
        server
    }

    /// A client's command arrives.
    pub(crate) fn command(
        &mut self,
        partition: PartitionRef,
        body: Body,
        generation: Option<u64>,
        (connection, id, asked): (u64, u64, usize),
    ) {
        self.arrived = self.arrived.saturating_add(1);
        let place = generation.map(|generation| (generation, self.arrived));
        let handle = |link| Handle::Client { connection, id, asked, link, place };
        let answer = |reply| Wish::Answer { partition, handle: handle(None), reply };
        let is_known = self.seats.contains_key(&partition);
        // As the server does before it knows the apps.
        let unknown = || Reply::NotWritten { why: "the apps are not known yet".to_owned() };
        let Some(generation) = generation else {
            return match is_known {
                true => self.take(partition, body, handle(None)),
                false => self.wishes.push(answer(unknown())),
            };
        };
        let behind = self.behind.get(&connection).copied().unwrap_or(0);
        let lane = self.lanes.entry((connection, partition)).or_default();
        if generation <= behind || generation < lane.generation {
            return self.wishes.push(answer(Reply::Busy(Busy::Behind)));
        }
        if !is_known {
            self.behind.insert(connection, generation);
            return self.wishes.push(answer(unknown()));
        }
        if generation > lane.generation {
            *lane = Lane { generation, chain: Chain::new() };
        }
        let link = lane.chain.link();
        self.take(partition, body, handle(Some(link)));
    }

    /// A request for the system partition arrives.
    pub(crate) fn define(&mut self, body: Body, number: u64) {
        self.take(SYSTEM, body, Handle::Definer { number });
    }

    /// A wish for the kind of a workspace arrives. Whoever has it does not wait for an answer.
    pub(crate) fn declare(&mut self, partition: PartitionRef, body: Body) {
        if self.seats.contains_key(&partition) {
            self.take(partition, body, Handle::Nobody);
        }
    }

    /// Somebody restarts a partition, and nothing else.
    pub(crate) fn restart(&mut self, name: PartitionRef) {
        let Some(seat) = self.seats.get_mut(&name) else { return };
        let replies = seat.partition.restart();
        seat.shared.set_state(seat.partition.state());
        self.seen.push(Seen::Restarted { partition: name });
        self.give(name, replies);
        self.wish_run(name, true);
    }

    /// A connection has ended.
    pub(crate) fn hang_up(&mut self, connection: u64) {
        self.lanes.retain(|(of, _), _| *of != connection);
        self.behind.remove(&connection);
    }

    /// A partition has the turn that was wished for.
    pub(crate) fn run(&mut self, name: PartitionRef, is_soon: bool, now: Result<Time, ClockAhead>) {
        let Some(seat) = self.seats.get_mut(&name) else { return };
        match is_soon {
            true => seat.is_awaited = false,
            false => seat.has_timer = false,
        }
        let mut replies = Vec::new();
        // Nothing is proposed by a clock that cannot be believed. What needs no time goes on.
        let now = now.unwrap_or_else(|ahead| {
            replies = seat.partition.turn_away(&Reply::Busy(Busy::Clock(ahead)));
            Time(0)
        });
        let was_serving = seat.partition.state() == State::Serving;
        let step = seat.partition.run(now);
        seat.shared.set_state(seat.partition.state());
        if !was_serving {
            seat.unflushed_at_first = seat.partition.held().unflushed_rows;
        }
        let Step { replies: decided, flight, has_more } = step;
        replies.extend(decided);
        let batch =
            std::mem::take(&mut *self.observed.lock().unwrap_or_else(PoisonError::into_inner));
        let state = seat.partition.state();
        let is_maybe = matches!(state, State::Stopped(Reason::Store { .. }));
        match flight {
            Some(flight) => {
                self.seen.push(Seen::Flew { partition: name, batch });
                self.waiting.push((name, flight));
            }
            None if batch.is_empty() => {}
            None if state == State::Serving => {
                self.seen.push(Seen::Decided { partition: name, batch });
            }
            None => self.seen.push(Seen::Dropped { partition: name, batch, is_maybe }),
        }
        self.give(name, replies);
        self.wish_sync();
        self.wish_run(name, has_more);
    }

    /// The sync that was wished for begins. It may do its work at once, or when it ends.
    pub(crate) fn begin_sync(&mut self, is_early: bool) -> Result<(), String> {
        self.syncing = std::mem::take(&mut self.waiting);
        if is_early { self.store.sync().map_err(|error| causes(&error)) } else { Ok(()) }
    }

    /// It ends.
    pub(crate) fn end_sync(&mut self, begun: Result<(), String>, is_early: bool) {
        let synced = match begun {
            Ok(()) if !is_early => self.store.sync().map_err(|error| causes(&error)),
            begun => begun,
        };
        for (name, flight) in std::mem::take(&mut self.syncing) {
            match &synced {
                Ok(()) => self.land(name, flight),
                Err(what) => self.crash(name, flight, what),
            }
        }
        self.wish_sync();
    }

    pub(crate) fn is_syncing(&self) -> bool {
        !self.syncing.is_empty()
    }

    /// How many commits are on their way to the disk.
    pub(crate) fn flights(&self) -> usize {
        self.waiting.len().saturating_add(self.syncing.len())
    }

    /// Whether messages between partitions are under way.
    pub(crate) fn has_deliveries(&self) -> bool {
        self.deliveries > 0
    }

    /// What others see of a partition.
    pub(crate) fn shared(&self, name: PartitionRef) -> Option<&Arc<Shared>> {
        self.seats.get(&name).map(|seat| &seat.shared)
    }

    pub(crate) fn states(&self) -> impl Iterator<Item = (PartitionRef, State)> {
        self.seats.iter().map(|(name, seat)| (*name, seat.partition.state()))
    }

    /// How many requests wait in each partition.
    pub(crate) fn unanswered(&self) -> impl Iterator<Item = (PartitionRef, usize)> {
        self.seats.iter().map(|(name, seat)| (*name, seat.unanswered))
    }

    pub(crate) fn usage(&self) -> impl Iterator<Item = (PartitionRef, Usage)> {
        self.seats.iter().map(|(name, seat)| {
            let Seat { partition, unanswered, unflushed_at_first, .. } = seat;
            let (unanswered, unflushed_at_first) = (*unanswered, *unflushed_at_first);
            (*name, Usage { held: partition.held(), unanswered, unflushed_at_first })
        })
    }

    /// How many nodes of trees wait for a checkpoint in a partition.
    pub(crate) fn waiting_nodes(&self, name: PartitionRef) -> usize {
        self.seats.get(&name).map_or(0, |seat| seat.partition.held().waiting_nodes)
    }

    /// Whether nothing is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.seats.values().all(|seat| seat.unanswered == 0)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn store(&self) -> &FaultyStore {
        &self.store
    }

    fn start(&mut self, name: PartitionRef) {
        if self.seats.contains_key(&name) {
            return;
        }
        let observed = self.observed.clone();
        let observer: Observer = Box::new(move |entry, effects| {
            let mut observed = observed.lock().unwrap_or_else(PoisonError::into_inner);
            observed.push((entry.clone(), Applied::of(effects)));
        });
        let store: Arc<dyn Store> = Arc::new(self.store.clone());
        let partition = Partition::new(store, prefix_of(name), self.settings);
        let partition = partition.observed_by(observer);
        let shared = Arc::new(Shared::new(partition.state()));
        let seat = Seat {
            partition,
            shared,
            is_awaited: false,
            has_timer: false,
            unanswered: 0,
            unflushed_at_first: 0,
        };
        self.seats.insert(name, seat);
        self.wish_run(name, true);
    }

    fn take(&mut self, name: PartitionRef, body: Body, handle: Handle) {
        self.start(name);
        let seat = self.seats.get_mut(&name).expect("it was started");
        seat.unanswered = seat.unanswered.saturating_add(1);
        let is_behind = match &handle {
            Handle::Client { link: Some(link), .. } => link.is_behind(),
            Handle::Client { .. } | Handle::Definer { .. } => false,
            Handle::Outbox { .. } | Handle::Nobody => false,
        };
        if is_behind {
            return self.give(name, vec![(handle, Reply::Busy(Busy::Behind))]);
        }
        match seat.partition.take(body, handle) {
            Ok(()) => self.wish_run(name, true),
            Err(refused) => self.give(name, vec![refused]),
        }
    }

    fn give(&mut self, partition: PartitionRef, replies: Vec<(Handle, Reply)>) {
        let mut replies = VecDeque::from(replies);
        if let Some(seat) = self.seats.get_mut(&partition) {
            seat.unanswered = seat.unanswered.saturating_sub(replies.len());
        }
        while let Some((handle, reply)) = replies.pop_front() {
            match handle {
                Handle::Outbox { target, number } => {
                    self.deliveries = self.deliveries.saturating_sub(1);
                    match after(target, number, &reply) {
                        Next::Tell(delivered) => {
                            self.take(SYSTEM, Body::Delivered(delivered), Handle::Nobody);
                        }
                        Next::Again { expected } => self.deliver_outbox(target, Some(expected)),
                        Next::Wait => {}
                    }
                }
                Handle::Nobody => {}
                Handle::Client { ref link, .. } => {
                    if let Some(link) = link {
                        link.answered(&reply);
                    }
                    self.wishes.push(Wish::Answer { partition, handle, reply });
                }
                Handle::Definer { .. } => {
                    self.wishes.push(Wish::Answer { partition, handle, reply });
                }
            }
        }
    }

    fn land(&mut self, name: PartitionRef, flight: Flight<Handle>) {
        let Flight { replies, touched, messages, view, begins } = flight;
        let Some(seat) = self.seats.get_mut(&name) else { return };
        seat.shared.publish(view, &touched);
        seat.partition.landed();
        self.seen.push(Seen::Landed { partition: name });
        self.give(name, replies);
        for message in messages {
            self.deliver(message);
        }
        // A partition that begins to serve is sent what is there for it. The system partition begins
        // with starting all others.
        match begins {
            true if name == SYSTEM => self.resume_apps(),
            true => self.deliver_outbox(name, None),
            false => {}
        }
        self.wish_run(name, true);
    }

    fn crash(&mut self, name: PartitionRef, flight: Flight<Handle>, what: &str) {
        let unknown = Reply::Unknown { why: what.to_owned() };
        let replies = flight.replies.into_iter().map(|(handle, _)| (handle, unknown.clone()));
        let mut replies: Vec<_> = replies.collect();
        if let Some(seat) = self.seats.get_mut(&name) {
            replies.extend(seat.partition.stop(Reason::Store { what: what.to_owned() }));
            seat.shared.set_state(seat.partition.state());
        }
        self.give(name, replies);
    }

    fn resume_apps(&mut self) {
        let view = self.shared(SYSTEM).and_then(|shared| shared.view());
        let Some(view) = view else { return };
        let apps = Reader::new(&view, prefix_of(SYSTEM), self.store.schema()).apps();
        let apps = match apps {
            Ok(apps) => apps,
            Err(failed) => return self.stop_system(&failed),
        };
        for definitions in apps {
            let AppSettings { app, partitions, .. } = definitions.app;
            for partition in partitions_of(app, partitions) {
                self.start(partition);
                if self.shared(partition).is_some_and(|shared| shared.serves()) {
                    self.deliver_outbox(partition, None);
                }
            }
        }
    }

    fn deliver_outbox(&mut self, target: PartitionRef, expected: Option<u64>) {
        let view = self.shared(SYSTEM).and_then(|shared| shared.view());
        let Some(view) = view else { return };
        match outbox_of(&view, self.store.schema(), target, expected) {
            Ok(messages) => messages.into_iter().for_each(|message| self.deliver(message)),
            Err(failed) => self.stop_system(&failed),
        }
    }

    fn deliver(&mut self, message: Outgoing) {
        let Outgoing { target, delivery } = message;
        let number = delivery.number;
        self.deliveries = self.deliveries.saturating_add(1);
        self.take(target, Body::Delivery(delivery), Handle::Outbox { target, number });
    }

    fn stop_system(&mut self, failed: &dyn std::error::Error) {
        let Some(seat) = self.seats.get_mut(&SYSTEM) else { return };
        let replies = seat.partition.stop(Reason::Unreadable { what: causes(failed) });
        seat.shared.set_state(seat.partition.state());
        self.give(SYSTEM, replies);
    }

    fn wish_run(&mut self, name: PartitionRef, is_soon: bool) {
        let Some(seat) = self.seats.get_mut(&name) else { return };
        let is_promised = if is_soon { &mut seat.is_awaited } else { &mut seat.has_timer };
        if !std::mem::replace(is_promised, true) {
            self.wishes.push(Wish::Run { partition: name, is_soon });
        }
    }

    fn wish_sync(&mut self) {
        if self.syncing.is_empty() && !self.waiting.is_empty() {
            self.wishes.push(Wish::Sync);
        }
    }
}
