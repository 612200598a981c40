//! How a request is answered: exactly once, whatever happens to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::chain::Link;
use crate::reply::{Busy, Reply};
use crate::settings::Settings;

/// Requests that were sent to a partition and are not answered.
#[derive(Debug, Default)]
pub(crate) struct Unanswered {
    requests: AtomicUsize,
    bytes: AtomicUsize,
}

impl Unanswered {
    /// Why there is no room for one more, if so. It is a little behind when many send at once: it is
    /// there to bound memory.
    pub(crate) fn check_room(&self, settings: &Settings) -> Result<(), Busy> {
        let queued = self.requests.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        if queued >= settings.queue_max {
            return Err(Busy::QueueFull { queued });
        }
        if bytes >= settings.queue_bytes_max {
            return Err(Busy::QueueLarge { bytes });
        }
        Ok(())
    }
}

/// The way back to whoever sent a request. One that is dropped without an answer says that the
/// outcome is unknown.
pub(crate) struct Answer {
    to: Option<Box<dyn FnOnce(Reply) + Send>>,
    unanswered: Arc<Unanswered>,
    /// What the request counts for.
    bytes: usize,
    link: Option<Link>,
}

impl Answer {
    /// The way back for a request of so many bytes, which counts until it is answered.
    pub(crate) fn new(
        to: impl FnOnce(Reply) + Send + 'static,
        unanswered: &Arc<Unanswered>,
        bytes: usize,
    ) -> Self {
        unanswered.requests.fetch_add(1, Ordering::Relaxed);
        unanswered.bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { to: Some(Box::new(to)), unanswered: unanswered.clone(), bytes, link: None }
    }

    /// The same for a command of a chain, if it is of one.
    pub(crate) fn of_chain(mut self, link: Option<Link>) -> Self {
        self.link = link;
        self
    }

    /// Whether an earlier command of its chain was not written.
    pub(crate) fn is_behind(&self) -> bool {
        self.link.as_ref().is_some_and(Link::is_behind)
    }

    pub(crate) fn give(mut self, reply: Reply) {
        self.reply(reply);
    }

    fn reply(&mut self, reply: Reply) {
        if let Some(to) = self.to.take() {
            self.unanswered.requests.fetch_sub(1, Ordering::Relaxed);
            self.unanswered.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
            to(reply);
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.reply(Reply::Unknown { why: "the partition ended before it had answered".to_owned() });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_request_that_is_dropped_is_answered_with_unknown() {
        let (sender, receiver) = mpsc::channel();
        let unanswered = Arc::default();
        let send = sender.clone();
        Answer::new(move |reply| send.send(reply).unwrap(), &unanswered, 7)
            .give(Reply::NotWritten { why: "x".to_owned() });
        drop(Answer::new(move |reply| sender.send(reply).unwrap(), &unanswered, 9));
        let replies: Vec<Reply> = receiver.iter().collect();
        assert!(
            matches!(replies.as_slice(), [Reply::NotWritten { .. }, Reply::Unknown { .. }]),
            "{replies:?}"
        );
        let Unanswered { requests, bytes } = &*unanswered;
        assert_eq!((requests.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed)), (0, 0));
    }
}
