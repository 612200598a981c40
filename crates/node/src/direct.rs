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
//! than the commit. As soon as two wait, the next commit is prepared while the last one is on its
//! way to the disk, and requests that arrive meanwhile form the next batch. There is no timer. Where
//! several shared the last commit, whoever was woken gives way once before it looks at all that waits:
//! those that were about to bring more come first and the batch grows. A lone request gives way to
//! nobody, or a flood in another partition would hold it up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Instant;

use seriatim_core::Outgoing;
use seriatim_storage::Store;
use seriatim_types::{Body, PartitionRef, Time};

use crate::answer::Answer;
use crate::clock::Clock;
use crate::newest_time::newest_time;
use crate::partition::{Flight, Partition, State, causes};
use crate::reply::{Busy, Reason, Reply};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::sync_watch::SyncWatch;

/// What the owner of a partition is told.
pub(crate) enum Message {
    Request(Body, Answer),
    Landed,
    /// The store has stopped.
    Stop(Reason),
    /// A reader could not read a row of the partition.
    Damaged(Reason),
    Restart,
    /// Carry out what is queued, write a checkpoint, then end; at that time in any case.
    Shutdown(Instant),
}

/// Who carries messages between partitions.
pub(crate) trait Post: Send + Sync {
    /// Messages for other partitions, which are durable where they come from.
    fn carry(&self, messages: Vec<Outgoing>);

    /// The partition serves, for the first time or again.
    fn serves(&self, partition: PartitionRef);
}

/// A flight that is handed to the syncer.
pub(crate) struct Landing {
    name: PartitionRef,
    flight: Flight<Answer>,
    shared: Arc<Shared>,
    post: Arc<dyn Post>,
    owner: Sender<Message>,
}

/// Syncs for all partitions: whoever waits while the disk is busy shares the next sync.
pub(crate) fn syncer(store: &Arc<dyn Store>, syncs: &SyncWatch, landings: &Receiver<Landing>) {
    while let Ok(first) = landings.recv() {
        std::thread::yield_now();
        let mut waiting = vec![first];
        waiting.extend(landings.try_iter());
        let synced = syncs.run(|| store.sync());
        for landing in waiting {
            let Landing { name, flight, shared, post, owner } = landing;
            let message = match &synced {
                Ok(()) => {
                    land(name, flight, &shared, &*post);
                    Message::Landed
                }
                Err(error) => {
                    let what = causes(error);
                    crash(flight, &what);
                    Message::Stop(Reason::Store { what })
                }
            };
            // An owner that is gone needs not be told.
            drop(owner.send(message));
        }
    }
}

/// What a durable commit sets free. Whoever is told that the partition serves sees all that is
/// durable in it: told before, the system partition would have missed messages that it had found in
/// its log.
fn land(name: PartitionRef, flight: Flight<Answer>, shared: &Shared, post: &dyn Post) {
    let Flight { replies, touched, messages, view, begins } = flight;
    shared.publish(view, &touched);
    give(replies);
    if !messages.is_empty() {
        post.carry(messages);
    }
    if begins {
        post.serves(name);
    }
}

fn crash(flight: Flight<Answer>, why: &str) {
    for (answer, _) in flight.replies {
        answer.give(Reply::Unknown { why: why.to_owned() });
    }
}

fn give(replies: Vec<(Answer, Reply)>) {
    replies.into_iter().for_each(|(answer, reply)| answer.give(reply));
}

/// Says that the thread of a partition has ended, also when that was by a fault.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let what = "a fault of Seriatim's own ended its thread".to_owned();
            self.0.set_state(State::Stopped(Reason::Unready { what }));
        }
        self.0.end();
    }
}

/// The thread that owns a partition.
pub(crate) struct Owner {
    pub(crate) name: PartitionRef,
    pub(crate) partition: Partition<Answer>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) messages: Receiver<Message>,
    pub(crate) own: Sender<Message>,
    pub(crate) syncer: Sender<Landing>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) post: Arc<dyn Post>,
    pub(crate) settings: Settings,
    pub(crate) syncs: Arc<SyncWatch>,
    /// Whether several requests shared the last commit.
    pub(crate) is_crowded: bool,
    /// When readers were last given a view.
    pub(crate) viewed_at: Instant,
    /// When it ends in any case, once it was told to end.
    pub(crate) ends_at: Option<Instant>,
    /// Whether it tells the clock what the newest time in the store is. The system partition does when a
    /// node begins: the others are started by it, so nothing is proposed before.
    pub(crate) starts_clock: bool,
}

impl Owner {
    /// Runs until it is told to end, or nobody is left to tell it.
    pub(crate) fn run(mut self) {
        let _ending = Ending(self.shared.clone());
        if self.starts_clock {
            self.clock.start(newest_time(&self.store));
        }
        let mut has_more = true;
        loop {
            let Some(waiting) = self.receive(has_more) else { break };
            for message in waiting {
                self.take(message);
            }
            let was_settled = self.is_settled();
            has_more = self.step();
            self.shared.set_state(self.partition.state());
            self.renew_view();
            let is_done = !has_more && self.is_done(was_settled);
            if self.ends_at.is_some_and(|at| is_done || Instant::now() >= at) {
                break;
            }
        }
        // What is queued was not carried out, and what came after the end was not taken.
        let late = Reply::NotWritten { why: "the node is shutting down".to_owned() };
        give(self.partition.turn_away(&late));
        while let Ok(message) = self.messages.try_recv() {
            if let Message::Request(_, answer) = message {
                answer.give(late.clone());
            }
        }
    }

    /// Everything that waits; without work of its own it waits for the first. `None` when nobody
    /// is left who could send.
    fn receive(&self, has_more: bool) -> Option<VecDeque<Message>> {
        let mut waiting = VecDeque::new();
        if !has_more {
            let is_idle = self.partition.is_idle();
            let sleep =
                if is_idle { self.settings.view_renewal } else { self.settings.checkpoint_delay };
            match self.messages.recv_timeout(sleep) {
                Ok(message) => {
                    if self.is_crowded {
                        std::thread::yield_now();
                    }
                    waiting.push_back(message);
                }
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

    fn take(&mut self, message: Message) {
        let replies = match message {
            Message::Request(_, answer) if answer.is_behind() => {
                vec![(answer, Reply::Busy(Busy::Behind))]
            }
            Message::Request(body, answer) => match self.partition.take(body, answer) {
                Ok(()) => Vec::new(),
                Err(refused) => vec![refused],
            },
            Message::Landed => {
                self.partition.landed();
                Vec::new()
            }
            Message::Stop(reason) => self.partition.stop(reason),
            Message::Damaged(reason) => self.stop_damaged(reason),
            Message::Restart => self.partition.restart(),
            Message::Shutdown(at) => {
                self.ends_at = Some(at);
                Vec::new()
            }
        };
        give(replies);
    }

    /// Stops the partition, unless it has stopped: the first reason is kept.
    fn stop_damaged(&mut self, reason: Reason) -> Vec<(Answer, Reply)> {
        let has_stopped = matches!(self.partition.state(), State::Stopped(_));
        let replies = if has_stopped { Vec::new() } else { self.partition.stop(reason) };
        // In this order: nobody sees it serve in between.
        self.shared.set_state(self.partition.state());
        self.shared.damage().handled();
        replies
    }

    /// Returns whether there is more to do at once.
    fn step(&mut self) -> bool {
        // Nothing is proposed by a clock that cannot be believed. What needs no time goes on.
        let now = self.clock.now().unwrap_or_else(|ahead| {
            give(self.partition.turn_away(&Reply::Busy(Busy::Clock(ahead))));
            Time(0)
        });
        if self.ends_at.is_some() {
            self.partition.want_checkpoint();
        }
        let had_stopped = matches!(self.partition.state(), State::Stopped(_));
        let step = self.partition.run(now);
        let state = self.partition.state();
        if !had_stopped && matches!(state, State::Stopped(Reason::Unreadable { .. })) {
            self.shared.damage().count();
        }
        // Whoever is told that it has stopped sees it.
        self.shared.set_state(state);
        give(step.replies);
        let Some(flight) = step.flight else { return step.has_more };
        // Flights land in their order: this one lands here only if it is alone. Where several
        // requests wait for it, more will come, and this thread should be free for them.
        self.is_crowded = flight.replies.len() > 1;
        let is_lone = !self.is_crowded && self.partition.in_flight() == 1;
        if step.has_more || !is_lone {
            let (shared, post) = (self.shared.clone(), self.post.clone());
            let (name, owner) = (self.name, self.own.clone());
            let landing = Landing { name, flight, shared, post, owner };
            self.syncer.send(landing).expect("the syncer outlives the owners");
            return step.has_more;
        }
        // Nothing else waits: the shortest way to the disk is from here.
        match self.syncs.run(|| self.store.sync()) {
            Ok(()) => {
                land(self.name, flight, &self.shared, &*self.post);
                self.partition.landed();
            }
            Err(error) => {
                let what = causes(&error);
                crash(flight, &what);
                give(self.partition.stop(Reason::Store { what }));
            }
        }
        // Requests may have come in while the disk was busy.
        false
    }

    /// A partition in which nothing happens shows what it did, by a younger snapshot: the store keeps
    /// everything that was written over since the oldest one, and this partition's may be it.
    fn renew_view(&mut self) {
        if self.partition.in_flight() > 0 {
            self.viewed_at = Instant::now();
            return;
        }
        if self.viewed_at.elapsed() < self.settings.view_renewal {
            return;
        }
        self.viewed_at = Instant::now();
        // Where the store has failed, something may be committed that no sync has covered.
        if matches!(self.partition.state(), State::Stopped(Reason::Store { .. })) {
            return;
        }
        if let Ok(snapshot) = self.store.snapshot() {
            self.shared.renew(Arc::from(snapshot));
        }
    }

    /// Whether it is to end, and nothing waits but a checkpoint.
    fn is_settled(&self) -> bool {
        self.ends_at.is_some()
            && self.partition.held().queued == 0
            && self.partition.in_flight() == 0
    }

    /// Whether nothing is left to be done. A checkpoint that could not be written, as on a disk that
    /// is almost full, is not tried again: the next start reads the log instead.
    fn is_done(&self, was_settled: bool) -> bool {
        match self.partition.state() {
            State::Serving if was_settled && self.is_settled() => true,
            State::Serving => self.partition.is_idle() && self.partition.in_flight() == 0,
            State::Actualizing(_) | State::Stopped(_) => true,
        }
    }
}
