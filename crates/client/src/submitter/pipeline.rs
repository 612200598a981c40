//! Commands on their way: which one to send next, and what an answer comes to.
//!
//! ```text
//!  submit ─► queue of its workspace ─► next ─► in flight ─► answered ─► settled
//!                 ▲                               │  turned away, or the connection broke
//!                 └───────────────────────────────┘
//! ```
//!
//! The server writes no command behind one of the same generation that it has turned away, as far as
//! they are for the same partition. So once one is turned away, nothing is sent until all that are in
//! flight are answered. Then the next generation begins: workspaces that were not turned away go on at
//! once, the others when they have rested.
//!
//! It is pure: what happens comes in with its time, and what is to be done comes out.
//!
//! **Invariants**
//! - Commands of a workspace are written in the order of `submit`.
//! - Each command is settled once, or forgotten.
//! - While something of a generation is in flight, nothing of another one is.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use seriatim_planted::{self as planted, Bug};

use super::verdict::{Verdict, given_up, judge};
use crate::error::{Error, Outcome};
use crate::failure::Failure;
use crate::retry::{Dice, RetryPolicy};

/// How many commands are sent before the first of them is answered. It is more than a connection
/// needs to be busy, and as many as a server takes from one.
pub(super) const IN_FLIGHT_MAX: usize = 2048;

/// How many it is on a new connection. Each command that is settled makes room for one more, and a
/// generation of which something was turned away halves it. So a connection that never lives long
/// brings some answers all the same, and a server is not sent more than it can hold for long.
pub(super) const IN_FLIGHT_FIRST: usize = 32;

/// The workspace that a command is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The app.
    pub app: String,
    /// The workspace.
    pub workspace: String,
}

/// All commands of a client that are not answered. `T` is what the caller keeps with each.
#[derive(Debug)]
pub struct Pipeline<T> {
    patience: Duration,
    policy: RetryPolicy,
    dice: Dice,
    last_id: u64,
    /// By id. All have the same patience, so the first one is also the first to give up.
    /// Boxed, because a map moves what it holds when others come and go.
    commands: BTreeMap<u64, Box<Pending<T>>>,
    /// The queue of each workspace that has one.
    by_target: BTreeMap<Arc<Target>, QueueId>,
    last_queue: QueueId,
    queues: BTreeMap<QueueId, Queue>,
    /// Queues that may have something to send, in turns.
    ready: VecDeque<QueueId>,
    /// Sent and not answered, also if nobody waits for the answer any more.
    in_flight: BTreeSet<u64>,
    in_flight_max: usize,
    generation: u64,
    /// Something of this generation was turned away.
    turned_away: Option<TurnedAway>,
    /// When the queues that were turned away go on.
    rest_until: Option<Instant>,
    sent_again: u64,
}

/// What to send.
#[derive(Debug)]
pub struct Sending<'a, T> {
    /// By which the answer names it.
    pub id: u64,
    /// Of which generation it is.
    pub generation: u64,
    /// Where to.
    pub target: &'a Target,
    /// What the caller keeps with it.
    pub job: &'a T,
}

/// A queue. Names of workspaces are compared once for each command, when it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueueId(u64);

/// A command that was given up, and why.
pub type GivenUp<T> = (T, Failure);

#[derive(Debug)]
struct Pending<T> {
    queue: QueueId,
    job: T,
    deadline: Instant,
    /// Whether an attempt that is over may have been written.
    may_be_written: bool,
    /// Why the last attempt has failed.
    last: Option<Error>,
}

#[derive(Debug)]
struct Queue {
    target: Arc<Target>,
    /// To be sent, in this order.
    waiting: BTreeSet<u64>,
    /// Waiting and in flight.
    count: usize,
    /// How often in a row it was turned away.
    failures: u32,
    is_resting: bool,
    is_listed: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct TurnedAway {
    failures: u32,
    retry_after: Option<Duration>,
}

impl<T> Pipeline<T> {
    /// A pipeline without commands, each of which is given up after so long.
    #[must_use]
    pub fn new(patience: Duration, policy: RetryPolicy, dice: Dice) -> Self {
        Self {
            patience,
            policy,
            dice,
            last_id: 0,
            commands: BTreeMap::new(),
            by_target: BTreeMap::new(),
            last_queue: QueueId(0),
            queues: BTreeMap::new(),
            ready: VecDeque::new(),
            in_flight: BTreeSet::new(),
            in_flight_max: IN_FLIGHT_FIRST,
            generation: 1,
            turned_away: None,
            rest_until: None,
            sent_again: 0,
        }
    }

    /// Takes a command, behind all that were taken before it. Returns its id.
    pub fn submit(&mut self, target: Arc<Target>, job: T, now: Instant) -> u64 {
        self.last_id = self.last_id.checked_add(1).expect("2^64 commands take longer than a life");
        let (id, deadline) = (self.last_id, now.checked_add(self.patience).unwrap_or(now));
        let own = self.queue_of(target);
        let queue = self.queues.get_mut(&own).expect("a target's queue is kept");
        queue.waiting.insert(id);
        queue.count = queue.count.saturating_add(1);
        queue.list(own, &mut self.ready);
        let pending = Pending { queue: own, job, deadline, may_be_written: false, last: None };
        self.commands.insert(id, Box::new(pending));
        id
    }

    fn queue_of(&mut self, target: Arc<Target>) -> QueueId {
        if let Some(queue) = self.by_target.get(&target) {
            return *queue;
        }
        self.last_queue = QueueId(self.last_queue.0.saturating_add(1));
        self.by_target.insert(target.clone(), self.last_queue);
        self.queues.insert(self.last_queue, Queue::new(target));
        self.last_queue
    }

    /// How many are not settled.
    pub fn unsettled(&self) -> usize {
        self.commands.len()
    }

    /// How often a command was sent that had been sent before.
    pub fn sent_again(&self) -> u64 {
        self.sent_again
    }

    /// Whether there is anything to send. It may be that [`send_next`](Self::send_next) finds nothing after
    /// all, but then this says so afterwards.
    pub fn has_ready(&self) -> bool {
        let has_room = self.in_flight.len() < self.in_flight_max;
        has_room && self.turned_away.is_none() && !self.ready.is_empty()
    }

    /// The next command to send. It is in flight from here on.
    pub fn send_next(&mut self) -> Option<Sending<'_, T>> {
        while self.has_ready() {
            let next = self.ready.pop_front()?;
            let queue = self.queues.get_mut(&next).expect("a listed queue is kept");
            queue.is_listed = false;
            let id = match queue.is_resting {
                true => None,
                false if planted::is(Bug::NewestFirst) => queue.waiting.pop_last(),
                false => queue.waiting.pop_first(),
            };
            let Some(id) = id else {
                self.drop_if_empty(next);
                continue;
            };
            queue.list(next, &mut self.ready);
            self.in_flight.insert(id);
            let pending = self.commands.get(&id).expect("waiting ones are kept");
            let Pending { job, last, .. } = pending.as_ref();
            self.sent_again = self.sent_again.saturating_add(u64::from(last.is_some()));
            let target = &self.queues.get(&next).expect("it was just looked at").target;
            return Some(Sending { id, generation: self.generation, target, job });
        }
        None
    }

    /// Takes the answer to a command that is in flight. Returns it, if the command is settled by it.
    pub fn answered<R>(
        &mut self,
        id: u64,
        answer: Result<R, Failure>,
        now: Instant,
    ) -> Option<(T, Result<R, Failure>)> {
        if !self.in_flight.remove(&id) {
            return None;
        }
        let settled = self.settle(id, answer);
        if let Some(pending) = self.commands.get_mut(&id)
            && planted::is(Bug::PatienceRenewed)
        {
            pending.deadline = now.checked_add(self.patience).unwrap_or(now);
        }
        let more = usize::from(settled.is_some());
        self.in_flight_max = self.in_flight_max.saturating_add(more).min(IN_FLIGHT_MAX);
        self.end_generation(now);
        settled
    }

    /// The connection has broken: what is in flight may have been written, and is sent again in its
    /// order over the next one.
    pub fn broken(&mut self, error: &Error, now: Instant) {
        self.in_flight_max = IN_FLIGHT_FIRST;
        for id in std::mem::take(&mut self.in_flight) {
            if let Some(pending) = self.commands.get_mut(&id) {
                pending.may_be_written |= !planted::is(Bug::UnknownIsNotWritten);
                self.send_again(id, error.clone());
            }
        }
        self.end_generation(now);
    }

    /// Nothing can be sent at all, and waiting does not help: gives up everything.
    pub fn give_up_all(&mut self, error: &Error) -> Vec<GivenUp<T>> {
        let mut all = Vec::new();
        while let Some((&id, pending)) = self.commands.first_key_value() {
            let may_be_written = pending.may_be_written || self.in_flight.contains(&id);
            let failure = Failure { error: error.clone(), outcome: given_up(may_be_written) };
            all.extend(self.remove(id).map(|pending| (pending.job, failure)));
        }
        all
    }

    /// Nobody waits for a command any more. It is not sent again; if it is in flight, it may be
    /// carried out.
    pub fn forget(&mut self, id: u64) {
        self.remove(id);
    }

    /// Lets time pass: gives up what is too late, and ends the rest.
    pub fn tick(&mut self, now: Instant) -> Vec<GivenUp<T>> {
        let mut late = Vec::new();
        while let Some((&id, pending)) = self.commands.first_key_value()
            && pending.deadline <= now
        {
            let may_be_written = pending.may_be_written || self.in_flight.contains(&id);
            let failure = Failure {
                error: self.too_late(pending.last.as_ref()),
                outcome: given_up(may_be_written),
            };
            late.extend(self.remove(id).map(|pending| (pending.job, failure)));
        }
        if self.rest_is_over(now) {
            self.rest_until = None;
            for id in self.by_target.values() {
                let queue = self.queues.get_mut(id).expect("a target's queue is kept");
                queue.is_resting = false;
                queue.list(*id, &mut self.ready);
            }
        }
        late
    }

    /// When [`tick`](Self::tick) has something to do, at the latest after the patience for one
    /// command: what is submitted meanwhile has more time.
    pub fn next_tick(&self, now: Instant) -> Instant {
        let deadline = self.commands.first_key_value().map(|(_, pending)| pending.deadline);
        let deadline = deadline.or_else(|| now.checked_add(self.patience)).unwrap_or(now);
        let rest = self.rest_until.filter(|_| self.turned_away.is_none());
        rest.map_or(deadline, |rest| rest.min(deadline))
    }

    fn settle<R>(
        &mut self,
        id: u64,
        answer: Result<R, Failure>,
    ) -> Option<(T, Result<R, Failure>)> {
        let may_be_written = self.commands.get(&id)?.may_be_written;
        let may_be_written = may_be_written && !planted::is(Bug::EarlierAttemptForgotten);
        let answer = match answer.map_err(|failure| judge(may_be_written, failure)) {
            Ok(done) => Ok(done),
            Err(Verdict::Final(failure)) => Err(failure),
            Err(Verdict::Again(failure)) => {
                self.turn_away(id, failure);
                return None;
            }
        };
        let pending = self.remove(id)?;
        if let Some(queue) = self.queues.get_mut(&pending.queue) {
            queue.failures = 0;
        }
        Some((pending.job, answer))
    }

    fn turn_away(&mut self, id: u64, failure: Failure) {
        let pending = self.commands.get_mut(&id).expect("it is being judged");
        pending.may_be_written |= failure.outcome == Outcome::Unknown;
        let queue = self.queues.get_mut(&pending.queue).expect("it holds this command");
        if !queue.is_resting {
            queue.is_resting = true;
            queue.failures = queue.failures.saturating_add(1);
        }
        let turned_away = self.turned_away.get_or_insert_default();
        turned_away.failures = turned_away.failures.max(queue.failures);
        // One that was turned away only because it came behind another waits for that one.
        if failure.error.facts().get("reason").is_none_or(|reason| reason != "behind") {
            turned_away.retry_after = turned_away.retry_after.max(failure.error.retry_after());
        }
        self.send_again(id, failure.error);
    }

    fn send_again(&mut self, id: u64, error: Error) {
        let pending = self.commands.get_mut(&id).expect("the caller has just seen it");
        pending.last = Some(error);
        let queue = self.queues.get_mut(&pending.queue).expect("it holds this command");
        queue.waiting.insert(id);
        queue.list(pending.queue, &mut self.ready);
    }

    /// Begins the next generation, if something was turned away and nothing is in flight any more.
    fn end_generation(&mut self, now: Instant) {
        if !self.in_flight.is_empty() {
            return;
        }
        let Some(TurnedAway { failures, retry_after }) = self.turned_away.take() else { return };
        if !planted::is(Bug::GenerationNotRaised) {
            self.generation = self.generation.saturating_add(1);
        }
        self.in_flight_max = self.in_flight_max.div_ceil(2);
        let delay = self.policy.delay(failures, retry_after, &mut self.dice);
        // Whoever rests already goes on together with these: one failure at a time costs the others
        // less than many.
        self.rest_until = self.rest_until.max(now.checked_add(delay));
    }

    fn rest_is_over(&self, now: Instant) -> bool {
        self.turned_away.is_none() && self.rest_until.is_some_and(|until| until <= now)
    }

    fn remove(&mut self, id: u64) -> Option<Box<Pending<T>>> {
        let pending = self.commands.remove(&id)?;
        let queue = self.queues.get_mut(&pending.queue).expect("it holds this command");
        queue.waiting.remove(&id);
        queue.count = queue.count.saturating_sub(1);
        self.drop_if_empty(pending.queue);
        Some(pending)
    }

    fn drop_if_empty(&mut self, id: QueueId) {
        if let Some(queue) = self.queues.get(&id)
            && queue.count == 0
            && !queue.is_listed
        {
            self.by_target.remove(&queue.target);
            self.queues.remove(&id);
        }
    }

    fn too_late(&self, last: Option<&Error>) -> Error {
        let waited = format!("not carried out within {} ms", self.patience.as_millis());
        let late = |message| Error::new(Error::DEADLINE_EXCEEDED, message).retryable(None);
        let Some(last) = last else { return late(waited) };
        late(format!("{waited}; the last attempt: {last}")).with("last_code", last.code())
    }
}

impl Queue {
    fn new(target: Arc<Target>) -> Self {
        let waiting = BTreeSet::new();
        Self { target, waiting, count: 0, failures: 0, is_resting: false, is_listed: false }
    }

    /// Gives the queue its turn, if it has anything to send.
    fn list(&mut self, own: QueueId, ready: &mut VecDeque<QueueId>) {
        if !self.waiting.is_empty() && !self.is_resting && !self.is_listed {
            self.is_listed = true;
            ready.push_back(own);
        }
    }
}
