//! One stream of requests, from which the connection takes as many as it can send.
//!
//! App, workspace and client are left out where they are those of the request before.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use seriatim_api::grpc as api;
use tokio::sync::oneshot;

use super::pipeline::Sending;
use super::{Answer, Job, Shared};

pub(super) struct Outgoing {
    shared: Arc<Shared>,
    /// Which of the streams this is.
    number: u64,
    said: Said,
}

/// What the stream's last request was for.
#[derive(Default)]
struct Said {
    app: String,
    workspace: String,
    client: String,
}

impl Outgoing {
    /// The stream from now on: none before it takes commands any more.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let mut state = shared.lock();
        state.stream = state.stream.wrapping_add(1);
        let number = state.stream;
        drop(state);
        Self { shared, number, said: Said::default() }
    }
}

impl Stream for Outgoing {
    type Item = api::StreamRequest;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<api::StreamRequest>> {
        let Self { shared, number, said } = self.get_mut();
        let mut state = shared.lock();
        if state.stream != *number {
            return Poll::Ready(None);
        }
        if let Some(sending) = state.pipeline.send_next() {
            return Poll::Ready(Some(said.request(&shared.client, &sending)));
        }
        state.sender = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Said {
    fn request(
        &mut self,
        client: &str,
        sending: &Sending<'_, (Job, oneshot::Sender<Answer>)>,
    ) -> api::StreamRequest {
        let Sending { id, generation, target, job: (job, _) } = *sending;
        let request = api::SubmitRequest {
            app: changed(&mut self.app, &target.app),
            workspace: changed(&mut self.workspace, &target.workspace),
            client: changed(&mut self.client, client),
            key: Bytes::copy_from_slice(job.key.as_bytes()),
            deadline_ms: job.deadline_ms,
            command_json: job.command.clone(),
        };
        api::StreamRequest { id, generation, request: Some(request) }
    }
}

/// What to say: nothing, if it was said before.
fn changed(said: &mut String, now: &str) -> String {
    if said == now {
        return String::new();
    }
    now.clone_into(said);
    said.clone()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::task::Waker;
    use std::time::{Duration, Instant};

    use tokio::sync::Notify;

    use super::super::pipeline::{Pipeline, Target};
    use super::super::{Job, State};
    use super::*;
    use crate::key::Key;
    use crate::retry::Dice;

    fn submit(shared: &Shared, workspace: &str) -> Key {
        let (app, workspace) = ("shop".to_owned(), workspace.to_owned());
        let key = Key::random();
        let job = Job { key, deadline_ms: None, command: Bytes::new() };
        let target = Arc::new(Target { app, workspace });
        let job = (job, oneshot::channel().0);
        shared.lock().pipeline.submit(target, job, Instant::now());
        key
    }

    fn poll(stream: &mut Outgoing) -> Poll<Option<api::SubmitRequest>> {
        let next = Pin::new(stream).poll_next(&mut Context::from_waker(Waker::noop()));
        next.map(|next| next.map(|next| next.request.expect("it has one")))
    }

    #[test]
    fn only_the_newest_stream_takes_commands_and_says_all_there_is_to_say() {
        let pipeline = Pipeline::new(Duration::from_secs(30), Default::default(), Dice(1));
        let state = State { pipeline, stream: 0, sender: None, has_ended: false };
        let (client, state) = ("till-4".to_owned(), Mutex::new(state));
        let shared = Arc::new(Shared { client, state, has_work: Notify::new() });
        let mut old = Outgoing::new(shared.clone());
        assert_eq!(poll(&mut old), Poll::Pending);
        let mut new = Outgoing::new(shared.clone());
        let said = [("a", ("shop", "a", "till-4")), ("a", ("", "", "")), ("b", ("", "b", ""))];
        for (workspace, said) in said {
            let key = submit(&shared, workspace);
            assert_eq!(poll(&mut old), Poll::Ready(None));
            let Poll::Ready(Some(request)) = poll(&mut new) else { panic!("there is one") };
            let (app, workspace, client) = (request.app, request.workspace, request.client);
            assert_eq!((app.as_str(), workspace.as_str(), client.as_str()), said);
            assert_eq!(request.key, key.as_bytes().as_slice());
        }
        assert_eq!(poll(&mut new), Poll::Pending);
    }
}
