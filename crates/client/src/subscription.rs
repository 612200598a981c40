//! Following a log across lost connections.
//!
//! ```text
//!  connecting ─► open ─► events, one by one, each checked against the one before
//!      ▲           │ lost, or too far behind
//!      └─ resting ◄┘
//! ```
//!
//! **Invariant:** the offsets of the events that are given are consecutive, from the first on.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use seriatim_api::grpc as api;
use seriatim_api::grpc::read_service_client::ReadServiceClient;
use seriatim_api::message::Event;
use tokio::time::{Instant, Sleep, sleep};
use tonic::{Response, Status, Streaming};

use crate::client::{ANSWER_BYTES_MAX, Client};
use crate::error::Error;
use crate::retry::Dice;
use crate::submitter::Target;

/// A place in a log, from which events are given as they become durable: first what is stored, then
/// what is added, without a hole and without a repetition.
///
/// It outlives its connection: when that is lost, or the server says `LAGGED` because the caller was
/// too slow to keep up, it begins anew at the right offset, where nothing is missed. An error means
/// that it could not go on by itself, also not by trying again until the client's deadline. Even then
/// it keeps its place: [`next`](Self::next) tries again from there.
pub struct Subscription {
    client: Client,
    log: Log,
    /// The offset of the next event to be given.
    next: u64,
    /// Events that have come, as they are written.
    page: std::vec::IntoIter<Bytes>,
    state: State,
    failures: u32,
    /// Since when it has been trying without success.
    failing_since: Option<Instant>,
    interruptions: u64,
}

/// A log that can be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Log {
    Workspace(Target),
    /// Of an app.
    Partition(String, u16),
}

enum State {
    Connecting(Pin<Box<dyn Future<Output = Opened> + Send>>),
    Open(Box<Streaming<api::SubscribeResponse>>),
    Resting(Pin<Box<Sleep>>),
}

type Opened = Result<Response<Streaming<api::SubscribeResponse>>, Status>;

impl Subscription {
    pub(crate) fn new(client: Client, log: Log, from: u64) -> Self {
        let next = from.max(1);
        let state = connect(&client, &log, next);
        Self {
            client,
            log,
            next,
            page: Vec::new().into_iter(),
            state,
            failures: 0,
            failing_since: None,
            interruptions: 0,
        }
    }

    /// The next event, once there is one. It can be given up at any time without losing one.
    ///
    /// # Errors
    ///
    /// When it cannot go on by itself.
    pub async fn next(&mut self) -> Result<Event, Error> {
        poll_fn(|context| self.poll(context)).await
    }

    /// The offset of the next event that is given: in the partition's log for that of a partition,
    /// and in the workspace's otherwise.
    #[must_use]
    pub fn next_offset(&self) -> u64 {
        self.next
    }

    /// How often it had to begin anew.
    #[must_use]
    pub fn interruptions(&self) -> u64 {
        self.interruptions
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Event, Error>> {
        loop {
            if let Some(event) = self.page.next() {
                return Poll::Ready(self.check(&event));
            }
            let error = match &mut self.state {
                State::Resting(sleep) => {
                    ready!(sleep.as_mut().poll(context));
                    self.state = connect(&self.client, &self.log, self.next);
                    continue;
                }
                State::Connecting(opened) => match ready!(opened.as_mut().poll(context)) {
                    Ok(stream) => {
                        self.state = State::Open(Box::new(stream.into_inner()));
                        continue;
                    }
                    Err(status) => status.into(),
                },
                State::Open(stream) => match ready!(Pin::new(stream).poll_next(context)) {
                    Some(Ok(response)) => {
                        (self.failures, self.failing_since) = (0, None);
                        self.page = response.events_json.into_iter();
                        continue;
                    }
                    Some(Err(status)) => status.into(),
                    None => Error::new(Error::UNAVAILABLE, "the server has ended the subscription")
                        .retryable(None),
                },
            };
            self.begin_anew(error.retry_after());
            let since = *self.failing_since.get_or_insert_with(Instant::now);
            if !error.is_retryable() || since.elapsed() >= self.client.inner.patience {
                self.failing_since = None;
                return Poll::Ready(Err(error));
            }
        }
    }

    /// The event, if it is the one whose turn it is.
    fn check(&mut self, event: &[u8]) -> Result<Event, Error> {
        let event: Event = match serde_json::from_slice(event) {
            Ok(event) => event,
            Err(error) => return Err(self.refuse(format!("an event that is none: {error}"))),
        };
        let found = match &self.log {
            Log::Partition(..) => event.partition_offset,
            Log::Workspace(_) => event.offset,
        };
        if found != self.next {
            let expected = self.next;
            let error =
                self.refuse(format!("event {expected} of the log is next, and {found} has come"));
            return Err(error.with("expected", expected).with("found", found));
        }
        self.next = self.next.saturating_add(1);
        Ok(event)
    }

    /// Drops what has come, because something in it cannot be.
    fn refuse(&mut self, why: String) -> Error {
        self.page = Vec::new().into_iter();
        self.begin_anew(None);
        Error::bad_answer(why)
    }

    /// Connects again at the right offset, once it has rested.
    fn begin_anew(&mut self, retry_after: Option<Duration>) {
        self.interruptions = self.interruptions.saturating_add(1);
        self.failures = self.failures.saturating_add(1);
        let delay = self.client.inner.retry.delay(self.failures, retry_after, &mut Dice::random());
        self.state = State::Resting(Box::pin(sleep(delay)));
    }
}

fn connect(client: &Client, log: &Log, from: u64) -> State {
    let request = api::SubscribeRequest { log: Some(log.message()), from };
    let service = ReadServiceClient::new(client.inner.channel.clone());
    let mut service = service.max_decoding_message_size(ANSWER_BYTES_MAX);
    State::Connecting(Box::pin(async move { service.subscribe(request).await }))
}

impl Log {
    fn message(&self) -> api::Log {
        match self.clone() {
            Self::Workspace(Target { app, workspace }) => {
                api::Log { app, log: Some(api::log::Log::Workspace(workspace)) }
            }
            Self::Partition(app, number) => {
                api::Log { app, log: Some(api::log::Log::Partition(number.into())) }
            }
        }
    }
}

impl Stream for Subscription {
    type Item = Result<Event, Error>;

    /// The next event. It never ends; see [`next`](Subscription::next).
    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context).map(Some)
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { log, next, interruptions, .. } = self;
        let mut debug = f.debug_struct("Subscription");
        debug.field("log", log).field("next", next).field("interruptions", interruptions);
        debug.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(offset: u64, partition_offset: u64) -> Bytes {
        let hash = "7".repeat(64);
        let event = format!(
            r#"{{"offset":{offset},"partition":0,"partition_offset":{partition_offset},"workspace":"w","workspace_id":7,"name":"A","args":{{}},"changes":[],"committed_at":"2026-11-15T12:00:00.000Z","hash":"{hash}"}}"#
        );
        event.into()
    }

    #[tokio::test]
    async fn an_event_out_of_its_turn_is_an_error_and_is_not_given() {
        let shop = Client::connect("http://127.0.0.1:9").unwrap().app("shop");
        for mut events in [shop.workspace("w").subscribe(5), shop.partition(0).subscribe(5)] {
            let is_partition = matches!(events.log, Log::Partition(..));
            let event = |offset| if is_partition { event(1, offset) } else { event(offset, 1) };
            for found in [7, 5, 4] {
                events.next = 5;
                events.page = vec![event(5), event(found), event(6)].into_iter();
                assert!(events.next().await.is_ok());
                let error = events.next().await.unwrap_err();
                assert_eq!((error.code(), error.is_retryable()), (Error::BAD_ANSWER, false));
                let facts = error.facts();
                assert_eq!((&facts["expected"], &facts["found"]), (&6.into(), &found.into()));
                assert_eq!((events.next_offset(), events.page.len()), (6, 0));
            }
            events.page = vec![Bytes::from_static(b"{}"), event(6)].into_iter();
            let error = events.next().await.unwrap_err();
            assert_eq!((error.code(), events.next_offset()), (Error::BAD_ANSWER, 6));
            assert_eq!((events.page.len(), events.interruptions()), (0, 4));
        }
    }
}
