//! `SubmitStream`: many commands on their way at once, over one stream.
//!
//! ```text
//!  requests ─► target, command ─► node           handed over as they are read, without waiting
//!                 │                 │
//!                 ▼ queue            ▼ inbox: replies, from the node's threads
//!        [ waiting, waiting, … ] ◄──┘
//!                 └► answered from the front ─► ready ─► the client
//! ```
//!
//! A queue is a partition: its commands are a chain, and its answers leave in the order in which its
//! commands came. Nothing is spawned and nothing is awaited for a command: the task that writes the
//! answers to the connection also reads the requests, many of both each time it is woken.
//!
//! **Invariant:** what is in flight is bounded. Beyond the bound no request is read, and the client
//! is held back by the flow control of its connection.
//!
//! **Invariant:** behind a command that could not be written, no later one of its generation is.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Instant;

use seriatim::service::{Look, Settled, command, settle};
use seriatim_api::grpc as proto;
use seriatim_core::CommandOutcome;
use seriatim_node::{Reply, StreamOrder, Written};
use seriatim_types::ClientId;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Status, Streaming};

use super::commands::submitted;
use super::partition_queue::{PartitionQueue, Waiting};
use super::{error, read};
use crate::asked::{name, workspace};
use crate::commands::{Carried, Target, counted, looked, reserve_look, unanswered};
use crate::context::Context;
use crate::error::ApiError;
use crate::settings::Settings;

/// Places that a stream remembers.
const TARGETS_MAX: usize = 1024;

/// Requests that are read before answers are looked for again.
const READ_AT_ONCE: usize = 256;

/// The answers of a stream.
pub(super) struct SubmitStream {
    context: Arc<Context>,
    requests: Streaming<proto::StreamRequest>,
    /// Whether more requests may come.
    is_open: bool,
    /// With what the stream ends, if not well.
    failed: Option<Status>,
    last: Last,
    queues: Vec<PartitionQueue>,
    order: StreamOrder,
    inbox: Arc<Inbox>,
    /// Emptied and used again.
    replies: Vec<Answered>,
    ready: VecDeque<proto::StreamResponse>,
    in_flight: usize,
    /// What the commands take that wait.
    in_flight_bytes: usize,
    /// Fires when the oldest command may have waited too long.
    overdue: Option<Pin<Box<Sleep>>>,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    _permit: OwnedSemaphorePermit,
}

/// What the last request has said, for those that leave it out.
#[derive(Default)]
struct Last {
    app: String,
    workspace: String,
    client: String,
    /// The same client, once it was read.
    client_id: Option<ClientId>,
    /// The target of that app and workspace, with its queue; `None` if there is none.
    target: Option<Found>,
    /// Places of that app by their workspaces, as they were found.
    targets: HashMap<String, Found>,
}

/// A target and its queue. It is found for good: the partitions of an app are never more or fewer.
type Found = (Arc<Target>, usize);

/// Where the node's threads leave what they have to say.
#[derive(Default)]
struct Inbox(Mutex<(Vec<Answered>, Option<Waker>)>);

/// What is said of a command.
struct Answered {
    queue: usize,
    number: u64,
    what: What,
}

enum What {
    Reply(Reply<CommandOutcome>),
    Looked(Result<Carried, ApiError>),
}

/// A command that was handed over.
struct Sent {
    target: Arc<Target>,
    include_proof: bool,
    bytes: usize,
}

/// A command whose answer takes the store.
struct Asked {
    queue: usize,
    number: u64,
    target: Arc<Target>,
    look: Look,
}

impl Stream for SubmitStream {
    type Item = Result<proto::StreamResponse, Status>;

    fn poll_next(self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.ready.is_empty() {
            this.read(task);
            this.collect(task);
            this.give_up(task);
        }
        match this.ready.pop_front() {
            Some(answer) => Poll::Ready(Some(Ok(answer))),
            None if this.is_open || this.in_flight > 0 => Poll::Pending,
            None => Poll::Ready(this.failed.take().map(Err)),
        }
    }
}

impl SubmitStream {
    pub(super) fn new(
        context: Arc<Context>,
        requests: Streaming<proto::StreamRequest>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        let to_end = context.clone();
        Self {
            context,
            requests,
            is_open: true,
            failed: None,
            last: Last::default(),
            queues: Vec::new(),
            order: StreamOrder::default(),
            inbox: Arc::default(),
            replies: Vec::new(),
            ready: VecDeque::new(),
            in_flight: 0,
            in_flight_bytes: 0,
            overdue: None,
            ended: Box::pin(async move { to_end.ended().await }),
            _permit: permit,
        }
    }

    /// Reads requests and hands their commands over, as far as there are some and there is room.
    fn read(&mut self, task: &mut TaskContext<'_>) {
        if self.is_open && self.ended.as_mut().poll(task).is_ready() {
            self.is_open = false;
        }
        for _ in 0..READ_AT_ONCE {
            if !self.is_open || !self.has_room() {
                return;
            }
            match Pin::new(&mut self.requests).poll_next(task) {
                Poll::Ready(Some(Ok(request))) => self.take(request),
                Poll::Ready(Some(Err(status))) => {
                    self.is_open = false;
                    // What cannot be read has no id, so the stream ends with it.
                    self.failed = Some(error::status(error::unreadable(&status).of_write()));
                }
                Poll::Ready(None) => self.is_open = false,
                Poll::Pending => return,
            }
        }
        // There may be more, and nobody else would say so.
        task.waker().wake_by_ref();
    }

    fn has_room(&self) -> bool {
        let Settings { stream_in_flight_max, stream_bytes_max, .. } = self.context.settings;
        self.in_flight < stream_in_flight_max && self.in_flight_bytes < stream_bytes_max
    }

    fn take(&mut self, request: proto::StreamRequest) {
        let proto::StreamRequest { id, generation, request } = request;
        let request = request.unwrap_or_default();
        let since = Instant::now();
        let index = match self.queue(generation, &request) {
            Ok(index) => index,
            Err(error) => {
                let answer = answer(&self.context, id, since, Err(error));
                return self.ready.push_back(answer);
            }
        };
        let sent = self.send(index, generation, &request);
        let queue = self.queues.get_mut(index).expect("queues are never removed");
        match sent {
            Ok(Sent { target, include_proof, bytes }) => {
                self.in_flight_bytes = self.in_flight_bytes.saturating_add(bytes);
                queue.wait(Waiting { id, since, target, include_proof, bytes });
            }
            Err(error) => queue.answer_next(answer(&self.context, id, since, Err(error))),
        }
        self.in_flight = self.in_flight.saturating_add(1);
    }

    /// The queue of a request's workspace.
    fn queue(
        &mut self,
        generation: u64,
        request: &proto::SubmitRequest,
    ) -> Result<usize, ApiError> {
        let is_same = self.last.keep(request);
        if !is_same {
            self.last.target = None;
        }
        self.order.check(generation)?;
        self.last.look_up();
        if let Some((_, queue)) = &self.last.target {
            return Ok(*queue);
        }
        let target = self.last.find(&self.context).inspect_err(|error| {
            if error.outcome_of_write() != Written::Refused {
                self.order.not_sent(generation);
            }
        })?;
        let known = self.queues.iter().position(|queue| queue.partition == target.partition);
        let queue = known.unwrap_or_else(|| {
            self.queues.push(PartitionQueue::new(target.partition));
            self.queues.len().saturating_sub(1)
        });
        self.last.remember((Arc::new(target), queue));
        Ok(queue)
    }

    /// Hands a command over.
    fn send(
        &mut self,
        index: usize,
        generation: u64,
        request: &proto::SubmitRequest,
    ) -> Result<Sent, ApiError> {
        let (target, _) = self.last.target.as_ref().expect("the queue is that of a target");
        let queue = self.queues.get_mut(index).expect("queues are never removed");
        let partition = queue.partition;
        queue.order.begin(generation, || self.context.check_serves(partition))?;
        let deadline = read::deadline(request.deadline_ms)?;
        let key = read::key(&request.key)?;
        let client = match &self.last.client_id {
            Some(client) => client.clone(),
            None => self.last.client_id.insert(read::client(&self.last.client)?).clone(),
        };
        let body = read::command(&request.command_json)?;
        let include_proof = body.include_proof;
        let command = command(target.workspace.clone(), client, key, deadline, body);
        let bytes = command.held_bytes();
        let (inbox, number) = (self.inbox.clone(), queue.next());
        let answer = move |reply| {
            inbox.put(Answered { queue: index, number, what: What::Reply(reply) });
        };
        let sent =
            self.context.node.submit_in(queue.order.chain(), target.partition, command, answer);
        sent.map_err(|error| self.context.not_asked(error)).inspect_err(|error| {
            if error.outcome_of_write() != Written::Refused {
                queue.order.not_sent();
            }
        })?;
        Ok(Sent { target: target.clone(), include_proof, bytes })
    }

    /// Takes what the node has said, and lets go what can be answered in its order.
    fn collect(&mut self, task: &mut TaskContext<'_>) {
        loop {
            let mut replies = mem::take(&mut self.replies);
            self.inbox.take(&mut replies, task.waker());
            let is_last = replies.is_empty();
            let mut asked = Vec::new();
            for answered in replies.drain(..) {
                asked.extend(self.settle(answered));
            }
            self.replies = replies;
            self.look(asked);
            if is_last {
                return self.release();
            }
        }
    }

    /// Puts what was said of a command into its target, unless the store has to be asked first. What
    /// nobody waits for any more is dropped.
    fn settle(&mut self, answered: Answered) -> Option<Asked> {
        let Answered { queue: index, number, what } = answered;
        let queue = self.queues.get_mut(index).expect("queues are never removed");
        let waiting = queue.waiting(number)?;
        let outcome = match what {
            What::Reply(reply) => match settle(&waiting.target.app, waiting.include_proof, reply) {
                Ok(Settled::Committed(receipt)) => Ok(waiting.target.carried(receipt, false)),
                Ok(Settled::Look(look)) => {
                    let target = waiting.target.clone();
                    return Some(Asked { queue: index, number, target, look });
                }
                Err(error) => Err(error.into()),
            },
            What::Looked(looked) => looked,
        };
        let answer = answer(&self.context, waiting.id, waiting.since, outcome);
        let left = queue.answer(number, answer);
        self.in_flight_bytes = self.in_flight_bytes.saturating_sub(left);
        None
    }

    /// Asks the store for the rest of some answers, off the async threads and all at once.
    fn look(&self, asked: Vec<Asked>) {
        if asked.is_empty() {
            return;
        }
        let (context, inbox) = (self.context.clone(), self.inbox.clone());
        tokio::spawn(async move {
            // One after the other, so that one reservation is enough for all.
            let reserved = reserve_look(&context).await;
            let readers = context.clone();
            readers.readers.spawn(move || {
                for Asked { queue, number, target, look } in asked {
                    let looked = match &reserved {
                        Err(error) => Err(error.clone().unread()),
                        Ok(_) => looked(&context, &target, look),
                    };
                    inbox.put(Answered { queue, number, what: What::Looked(looked) });
                }
                drop(reserved);
            });
        });
    }

    /// Gives up on commands that have waited as long as the server waits for anything.
    fn give_up(&mut self, task: &mut TaskContext<'_>) {
        let within = self.context.settings.answer_within;
        while self.in_flight > 0 && self.ready.is_empty() {
            let overdue = self.overdue.get_or_insert_with(|| Box::pin(tokio::time::sleep(within)));
            if overdue.as_mut().poll(task).is_pending() {
                return;
            }
            let context = &self.context;
            let late = |it: &Waiting| answer(context, it.id, it.since, Err(unanswered(within)));
            let mut oldest = None;
            for queue in &mut self.queues {
                let (left, waiting) = queue.give_up(within, late);
                self.in_flight_bytes = self.in_flight_bytes.saturating_sub(left);
                oldest = oldest.into_iter().chain(waiting).min();
            }
            let oldest = oldest.unwrap_or_else(Instant::now);
            overdue.as_mut().reset(oldest.checked_add(within).unwrap_or(oldest).into());
            self.release();
        }
    }

    fn release(&mut self) {
        for queue in &mut self.queues {
            self.in_flight = self.in_flight.saturating_sub(queue.release(&mut self.ready));
        }
    }
}

fn answer(
    context: &Context,
    id: u64,
    since: Instant,
    answered: Result<Carried, ApiError>,
) -> proto::StreamResponse {
    use proto::stream_response::Outcome as Told;
    let outcome = match counted(context, since, answered) {
        Ok(carried) => Told::Done(submitted(&carried)),
        Err(error) => Told::Error(error::message(error)),
    };
    proto::StreamResponse { id, outcome: Some(outcome) }
}

impl Last {
    /// Keeps what a request says. Returns whether its target is that of the last one.
    fn keep(&mut self, request: &proto::SubmitRequest) -> bool {
        let keep = |kept: &mut String, said: &String| {
            let is_same = said.is_empty() || kept == said;
            if !is_same {
                kept.clone_from(said);
            }
            is_same
        };
        if !keep(&mut self.client, &request.client) {
            self.client_id = None;
        }
        let is_same_app = keep(&mut self.app, &request.app);
        if !is_same_app {
            self.targets.clear();
        }
        keep(&mut self.workspace, &request.workspace) && is_same_app
    }

    /// Finds the target again, if it was found before.
    fn look_up(&mut self) {
        if self.target.is_none() {
            self.target = self.targets.get(&self.workspace).cloned();
        }
    }

    fn remember(&mut self, found: Found) {
        if self.targets.len() >= TARGETS_MAX {
            self.targets.clear();
        }
        self.targets.insert(self.workspace.clone(), found.clone());
        self.target = Some(found);
    }

    fn find(&self, context: &Context) -> Result<Target, ApiError> {
        Target::of(context, name("app", &self.app)?, workspace(&self.workspace)?)
    }
}

impl Inbox {
    fn put(&self, answered: Answered) {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inside.0.push(answered);
        let waker = inside.1.take();
        drop(inside);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes all there is. If there is nothing, whoever asks is woken once there is.
    fn take(&self, into: &mut Vec<Answered>, waker: &Waker) {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut inside.0, into);
        if into.is_empty() {
            inside.1 = Some(waker.clone());
        }
    }
}
