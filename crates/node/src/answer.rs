//! How a request is answered: exactly once, whatever happens to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::chain::Link;
use crate::reply::Reply;

/// The way back to whoever sent a request. One that is dropped without an answer says that the
/// outcome is unknown.
pub(crate) struct Answer {
    to: Option<Box<dyn FnOnce(Reply) + Send>>,
    waiting: Arc<AtomicUsize>,
    link: Option<Link>,
}

impl Answer {
    /// `waiting` counts the requests that are not answered.
    pub(crate) fn new(to: impl FnOnce(Reply) + Send + 'static, waiting: &Arc<AtomicUsize>) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self { to: Some(Box::new(to)), waiting: waiting.clone(), link: None }
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
            self.waiting.fetch_sub(1, Ordering::Relaxed);
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
        let waiting = Arc::default();
        let send = sender.clone();
        Answer::new(move |reply| send.send(reply).unwrap(), &waiting)
            .give(Reply::NotWritten { why: "x".to_owned() });
        drop(Answer::new(move |reply| sender.send(reply).unwrap(), &waiting));
        let replies: Vec<Reply> = receiver.iter().collect();
        assert!(
            matches!(replies.as_slice(), [Reply::NotWritten { .. }, Reply::Unknown { .. }]),
            "{replies:?}"
        );
        assert_eq!(waiting.load(Ordering::Relaxed), 0);
    }
}
