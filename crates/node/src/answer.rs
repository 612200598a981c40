//! How a request is answered: exactly once, whatever happens to it.

use seriatim_core::{CommandOutcome, Outcome};

use crate::host::Caller;
use crate::reply::{Reply, RequestError};

/// The way back to whoever sent a request. One that is dropped without an answer says that the
/// outcome is unknown.
pub(crate) struct Answer(Option<Box<dyn FnOnce(Reply) + Send>>);

impl Answer {
    pub(crate) fn new(to: impl FnOnce(Reply) + Send + 'static) -> Self {
        Self(Some(Box::new(to)))
    }

    /// The way back to whoever sent a command.
    pub(crate) fn to_command(to: impl FnOnce(Reply<CommandOutcome>) + Send + 'static) -> Self {
        Self::new(move |reply| to(reply.map(Outcome::of_command)))
    }

    fn give(&mut self, reply: Reply) {
        if let Some(to) = self.0.take() {
            to(reply);
        }
    }
}

impl Caller for Answer {
    fn answer(mut self, reply: Reply) {
        self.give(reply);
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let why = "the partition ended before it had answered".to_owned();
        self.give(Err(RequestError::Unknown { why }));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_request_that_is_dropped_is_answered_with_unknown() {
        let (sender, receiver) = mpsc::channel();
        let send = sender.clone();
        Answer::new(move |reply| send.send(reply).unwrap())
            .answer(Err(RequestError::NotWritten { why: "x".to_owned() }));
        drop(Answer::new(move |reply| sender.send(reply).unwrap()));
        let replies: Vec<Reply> = receiver.iter().collect();
        assert!(
            matches!(
                replies.as_slice(),
                [Err(RequestError::NotWritten { .. }), Err(RequestError::Unknown { .. })]
            ),
            "{replies:?}"
        );
    }
}
