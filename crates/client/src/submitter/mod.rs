//! The submitter: all commands of a client over one stream, in their order.
//!
//! ```text
//!  submit ─► pipeline ◄─ pulled by the connection as it has room ─ outgoing ─► server
//!               │  ▲                                                              │
//!  answers ◄────┘  └──────────── task: answers, time, connecting again ◄──────────┘
//! ```
//!
//! Everything that is decided is decided in the [`Pipeline`], behind one lock that is held for a few
//! instructions. There is one task per client and one channel per command, for its answer; requests
//! are taken by the connection itself, as many at a time as fit into a frame.

mod outgoing;
mod pipeline;
#[cfg(test)]
mod pipeline_tests;
mod verdict;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use seriatim_api::grpc as api;
use seriatim_api::grpc::command_service_client::CommandServiceClient;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until};
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use self::outgoing::Outgoing;
use crate::error::{Error, Outcome};
use crate::failure::Failure;
use crate::key::Key;
use crate::retry::{Dice, RetryPolicy};

pub use self::pipeline::{GivenUp, Pipeline, Sending, Target};
pub use self::verdict::BEHIND_THE_KEY;

/// How many commands may wait for their answers. Whoever sends more does not look at answers.
const PENDING_MAX: usize = 65_536;

/// Answers that are taken before those who wait for them are told.
const TAKEN_AT_ONCE: usize = 256;

/// Sends commands and brings their answers. Ends with the last of its handles.
#[derive(Debug)]
pub(crate) struct Submitter {
    shared: Arc<Shared>,
    task: AbortHandle,
}

/// One command, and where its answer goes.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) key: Key,
    /// When it is too late for the server to carry it out.
    pub(crate) deadline_ms: Option<u64>,
    /// JSON.
    pub(crate) command: Bytes,
}

/// A command that was taken. It is forgotten when this is dropped before its answer has come.
#[derive(Debug)]
pub(crate) struct Taken {
    id: u64,
    answer: oneshot::Receiver<Answer>,
    shared: Arc<Shared>,
}

/// Boxed, because it passes through many hands.
pub(crate) type Answer = Result<Box<api::SubmitResponse>, Failure>;

#[derive(Debug)]
struct Shared {
    client: String,
    state: Mutex<State>,
    /// There is something to send, and nobody who would take it.
    has_work: Notify,
}

#[derive(Debug)]
struct State {
    pipeline: Pipeline<(Job, oneshot::Sender<Answer>)>,
    /// Counts streams. Only the newest one may take commands.
    stream: u64,
    /// The stream that waits for something to send.
    sender: Option<Waker>,
    has_ended: bool,
}

impl Submitter {
    pub(crate) fn new(
        client: String,
        channel: Channel,
        patience: Duration,
        policy: RetryPolicy,
    ) -> Self {
        let pipeline = Pipeline::new(patience, policy, Dice::random());
        let state = State { pipeline, stream: 0, sender: None, has_ended: false };
        let has_work = Notify::new();
        let shared = Arc::new(Shared { client, state: Mutex::new(state), has_work });
        let task = tokio::spawn(run(Ending(shared.clone()), channel, policy));
        Self { shared, task: task.abort_handle() }
    }

    /// Takes a command, behind all that were taken before it.
    pub(crate) fn submit(&self, target: Arc<Target>, job: Job) -> Taken {
        let (sender, answer) = oneshot::channel();
        let mut state = self.shared.lock();
        let id = match state.refusal() {
            None => state.pipeline.submit(target, (job, sender), Instant::now().into_std()),
            Some(error) => {
                // The receiver is right here.
                sender.send(Err(Failure { error, outcome: Outcome::NotWritten })).ok();
                0
            }
        };
        self.shared.wake(state);
        Taken { id, answer, shared: self.shared.clone() }
    }

    /// How often a command was sent that had been sent before.
    pub(crate) fn sent_again(&self) -> u64 {
        self.shared.lock().pipeline.sent_again()
    }
}

impl Drop for Submitter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Future for Taken {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let answer = std::task::ready!(Pin::new(&mut self.answer).poll(context));
        Poll::Ready(answer.expect("every command is settled, and this one is not forgotten"))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Whoever has got the answer is not in the pipeline any more.
        if !self.answer.is_terminated() {
            self.shared.lock().pipeline.forget(self.id);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets go of the lock, and tells whoever sends that there is something to send.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        if !state.pipeline.has_ready() {
            return;
        }
        let sender = state.sender.take();
        drop(state);
        match sender {
            Some(sender) => sender.wake(),
            None => self.has_work.notify_one(),
        }
    }

    /// Takes answers as they have come, and passes on those that settle a command.
    fn answered(&self, responses: &mut Vec<api::StreamResponse>) {
        let now = Instant::now().into_std();
        let mut settled = Vec::with_capacity(responses.len());
        let mut state = self.lock();
        for response in responses.drain(..) {
            let id = response.id;
            settled.extend(state.pipeline.answered(id, answer(response), now));
        }
        self.wake(state);
        for ((_, sender), answer) in settled {
            // Nobody may be waiting any more.
            sender.send(answer).ok();
        }
    }

    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.lock();
        let result = change(&mut state);
        self.wake(state);
        result
    }

    /// Waits for something, and meanwhile gives up what is too late.
    async fn keep_time<R>(&self, wait: impl Future<Output = R>) -> R {
        let mut wait = pin!(wait);
        loop {
            let next = self.lock().pipeline.next_tick(Instant::now().into_std());
            tokio::select! {
                biased;
                result = &mut wait => return result,
                () = sleep_until(next.into()) => {
                    give(self.change(|state| state.pipeline.tick(Instant::now().into_std())));
                }
            }
        }
    }

    /// Waits until there is a command.
    async fn work(&self) {
        while self.lock().pipeline.unsettled() == 0 {
            self.has_work.notified().await;
        }
    }
}

impl State {
    /// Why no command can be taken.
    fn refusal(&self) -> Option<Error> {
        if self.has_ended {
            return Some(ended());
        }
        (self.pipeline.unsettled() >= PENDING_MAX).then(|| {
            let message = format!("{PENDING_MAX} commands of this client wait for their answers");
            Error::new("BUSY", message).retryable(None).with("reason", "client_queue_full")
        })
    }
}

/// Ends what waits for answers when nobody will bring them any more.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        give(self.0.change(|state| {
            state.has_ended = true;
            state.pipeline.give_up_all(&ended())
        }));
    }
}

/// Opens a stream when there is something to send, and again when it breaks.
async fn run(shared: Ending, channel: Channel, policy: RetryPolicy) {
    let shared = &shared.0;
    let (mut dice, mut failures) = (Dice::random(), 0_u32);
    loop {
        shared.work().await;
        let Talk { has_answers, ended } = talk(shared, channel.clone()).await;
        let error = match ended {
            Err(status) => Error::from(status),
            Ok(()) => {
                Error::new(Error::UNAVAILABLE, "the server has ended the stream").retryable(None)
            }
        };
        let now = Instant::now().into_std();
        give(shared.change(|state| {
            // What still polls the old stream must not take anything.
            state.stream = state.stream.wrapping_add(1);
            state.sender = None;
            state.pipeline.broken(&error, now);
            if error.is_retryable() { Vec::new() } else { state.pipeline.give_up_all(&error) }
        }));
        failures = if has_answers { 1 } else { failures.saturating_add(1) };
        let delay = policy.delay(failures, error.retry_after(), &mut dice);
        shared.keep_time(sleep(delay)).await;
    }
}

/// How a stream went.
struct Talk {
    has_answers: bool,
    ended: Result<(), Status>,
}

async fn talk(shared: &Arc<Shared>, channel: Channel) -> Talk {
    let mut commands = CommandServiceClient::new(channel);
    let call = commands.submit_stream(Outgoing::new(shared.clone()));
    let mut answers = match shared.keep_time(call).await {
        Ok(answers) => answers.into_inner(),
        Err(status) => return Talk { has_answers: false, ended: Err(status) },
    };
    let (mut has_answers, mut come) = (false, Vec::new());
    loop {
        let ended = shared.keep_time(next(&mut answers, &mut come)).await;
        has_answers |= !come.is_empty();
        shared.answered(&mut come);
        if let Some(ended) = ended {
            return Talk { has_answers, ended };
        }
    }
}

/// Waits for answers and takes all that have come, up to a number. Returns how the stream has ended,
/// if it has.
async fn next(
    answers: &mut Streaming<api::StreamResponse>,
    come: &mut Vec<api::StreamResponse>,
) -> Option<Result<(), Status>> {
    poll_fn(|context| {
        while come.len() < TAKEN_AT_ONCE {
            match Pin::new(&mut *answers).poll_next(context) {
                Poll::Ready(Some(Ok(answer))) => come.push(answer),
                Poll::Ready(Some(Err(status))) => return Poll::Ready(Some(Err(status))),
                Poll::Ready(None) => return Poll::Ready(Some(Ok(()))),
                Poll::Pending if come.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        Poll::Ready(None)
    })
    .await
}

fn answer(response: api::StreamResponse) -> Answer {
    use api::stream_response::Outcome as Wire;
    match response.outcome {
        Some(Wire::Done(done)) => Ok(Box::new(done)),
        Some(Wire::Error(error)) => Err(error.into()),
        None => Err(Failure {
            error: Error::bad_answer("the answer to a command is neither receipt nor error"),
            outcome: Outcome::Unknown,
        }),
    }
}

/// Tells those who wait for commands that were given up.
fn give(given_up: Vec<GivenUp<(Job, oneshot::Sender<Answer>)>>) {
    for ((_, sender), failure) in given_up {
        // Nobody may be waiting any more.
        sender.send(Err(failure)).ok();
    }
}

fn ended() -> Error {
    Error::new(Error::UNAVAILABLE, "the runtime of the client has ended")
}
