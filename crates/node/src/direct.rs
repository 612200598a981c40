//! The direct driver: a thread for each partition, and one that syncs.
//!
//! ```text
//!  request ──► owner of the partition: take, run ──► flight ──► idle? sync here, then answer
//!                     ▲        │ more is waiting                │
//!                     │        └──────────────────────────────► syncer: one sync for all flights
//!                     └──────────────── landed ◄────────────────┘  that wait, then answers
//! ```
//!
//! A lone request is synced by the thread that committed it: every hop between threads costs more
//! than the commit. Under load the next commit is prepared while the last one is on its way to the
//! disk, and requests that arrive meanwhile form the next batch. There is no timer.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use seriatim_core::Outgoing;
use seriatim_storage::Store;
use seriatim_types::Body;

use crate::clock::Clock;
use crate::partition::{Flight, Partition, State, View};
use crate::reply::{Reason, Reply};

/// How long an owner sleeps that has nothing to do. It is woken by requests.
const IDLE: Duration = Duration::from_secs(1);

/// How a request is answered.
pub(crate) type Answer = Box<dyn FnOnce(Reply) + Send>;

/// What the owner of a partition is told.
pub(crate) enum Message {
    Request(Body, Answer),
    Landed,
    /// The store has stopped.
    Stop(Reason),
    Restart,
    /// Carry out what is queued, write a checkpoint, then end.
    Shutdown,
}

/// Somebody who wants to know of messages for other partitions, once they are durable.
pub(crate) type Outbox = Arc<dyn Fn(Vec<Outgoing>) + Send + Sync>;

/// What others see of a partition.
pub(crate) struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
}

struct Seen {
    view: Option<View>,
    state: State,
    is_over: bool,
}

impl Shared {
    pub(crate) fn new(state: State) -> Self {
        let seen = Seen { view: None, state, is_over: false };
        Self { seen: Mutex::new(seen), changed: Condvar::new() }
    }

    /// What readers may see; `None` before the partition has served for the first time.
    pub(crate) fn view(&self) -> Option<View> {
        self.seen().view.clone()
    }

    pub(crate) fn state(&self) -> State {
        self.seen().state.clone()
    }

    /// Waits until `is_enough` of what readers may see, or until the deadline.
    pub(crate) fn wait(
        &self,
        deadline: Instant,
        mut is_enough: impl FnMut(Option<&View>, &State) -> bool,
    ) -> bool {
        let mut seen = self.seen();
        loop {
            if is_enough(seen.view.as_ref(), &seen.state) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || seen.is_over {
                return false;
            }
            let waited = self.changed.wait_timeout(seen, left);
            seen = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn publish(&self, view: View) {
        self.seen().view = Some(view);
        self.changed.notify_all();
    }

    fn set_state(&self, state: State) {
        let mut seen = self.seen();
        if seen.state != state {
            seen.state = state;
            self.changed.notify_all();
        }
    }

    fn end(&self) {
        self.seen().is_over = true;
        self.changed.notify_all();
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A flight that is handed to the syncer.
pub(crate) struct Landing {
    flight: Flight<Answer>,
    shared: Arc<Shared>,
    outbox: Outbox,
    owner: Sender<Message>,
}

/// Syncs for all partitions: whoever waits while the disk is busy shares the next sync.
pub(crate) fn syncer(store: &Arc<dyn Store>, landings: &Receiver<Landing>) {
    while let Ok(first) = landings.recv() {
        let mut waiting = vec![first];
        waiting.extend(landings.try_iter());
        let synced = store.sync();
        for landing in waiting {
            let Landing { flight, shared, outbox, owner } = landing;
            let message = match &synced {
                Ok(()) => {
                    land(flight, &shared, &outbox);
                    Message::Landed
                }
                Err(error) => {
                    crash(flight, &error.to_string());
                    Message::Stop(Reason::Store { what: error.to_string() })
                }
            };
            // An owner that is gone needs not be told.
            drop(owner.send(message));
        }
    }
}

/// What a durable commit sets free.
fn land(flight: Flight<Answer>, shared: &Shared, outbox: &Outbox) {
    shared.publish(flight.view);
    for (answer, reply) in flight.replies {
        answer(reply);
    }
    if !flight.messages.is_empty() {
        outbox(flight.messages);
    }
}

fn crash(flight: Flight<Answer>, why: &str) {
    for (answer, _) in flight.replies {
        answer(Reply::Unknown { why: why.to_owned() });
    }
}

/// The thread that owns a partition.
pub(crate) struct Owner {
    pub(crate) partition: Partition<Answer>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) messages: Receiver<Message>,
    pub(crate) own: Sender<Message>,
    pub(crate) syncer: Sender<Landing>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) outbox: Outbox,
    /// How long numbers wait for a checkpoint.
    pub(crate) checkpoint_delay: Duration,
}

impl Owner {
    /// Runs until it is told to end, or nobody is left to tell it.
    pub(crate) fn run(mut self) {
        let mut has_more = true;
        let mut is_ending = false;
        loop {
            let Some(waiting) = self.receive(has_more) else { break };
            for message in waiting {
                is_ending |= self.take(message);
            }
            has_more = self.step();
            self.shared.set_state(self.partition.state());
            if is_ending && !has_more && self.is_done() {
                break;
            }
        }
        self.shared.end();
    }

    /// Everything that waits; without work of its own it waits for the first. `None` when nobody
    /// is left who could send.
    fn receive(&self, has_more: bool) -> Option<VecDeque<Message>> {
        let mut waiting = VecDeque::new();
        if !has_more {
            let is_idle = self.partition.is_idle();
            let sleep = if is_idle { IDLE } else { self.checkpoint_delay };
            match self.messages.recv_timeout(sleep) {
                Ok(message) => waiting.push_back(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        loop {
            match self.messages.try_recv() {
                Ok(message) => waiting.push_back(message),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return Some(waiting),
            }
        }
    }

    /// Returns whether this is the end.
    fn take(&mut self, message: Message) -> bool {
        let replies = match message {
            Message::Request(body, answer) => match self.partition.take(body, answer) {
                Ok(()) => Vec::new(),
                Err(refused) => vec![refused],
            },
            Message::Landed => {
                self.partition.landed();
                Vec::new()
            }
            Message::Stop(reason) => self.partition.stop(reason),
            Message::Restart => self.partition.restart(),
            Message::Shutdown => return true,
        };
        replies.into_iter().for_each(|(answer, reply)| answer(reply));
        false
    }

    /// Returns whether there is more to do at once.
    fn step(&mut self) -> bool {
        let Some(now) = self.clock.now() else {
            // Nothing is proposed by a clock that cannot be believed. Requests wait.
            return false;
        };
        let step = self.partition.run(now);
        step.replies.into_iter().for_each(|(answer, reply)| answer(reply));
        let Some(flight) = step.flight else { return step.has_more };
        // Flights land in their order: this one lands here only if it is alone.
        if step.has_more || self.partition.in_flight() > 1 {
            let (shared, outbox) = (self.shared.clone(), self.outbox.clone());
            let landing = Landing { flight, shared, outbox, owner: self.own.clone() };
            self.syncer.send(landing).expect("the syncer outlives the owners");
            return step.has_more;
        }
        // Nothing else waits: the shortest way to the disk is from here.
        match self.store.sync() {
            Ok(()) => {
                land(flight, &self.shared, &self.outbox);
                self.partition.landed();
            }
            Err(error) => {
                crash(flight, &error.to_string());
                let reason = Reason::Store { what: error.to_string() };
                let replies = self.partition.stop(reason);
                replies.into_iter().for_each(|(answer, reply)| answer(reply));
            }
        }
        // Requests may have come in while the disk was busy.
        false
    }

    fn is_done(&self) -> bool {
        match self.partition.state() {
            State::Serving => self.partition.is_idle(),
            State::Actualizing(_) | State::Stopped(_) => true,
        }
    }
}
