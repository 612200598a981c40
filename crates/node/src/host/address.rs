//! How a partition is reached: its mailbox, what is seen of it, and how much waits for it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use seriatim_planted::{self as planted, Bug};
use seriatim_types::{Body, Name, PartitionRef};

use super::{ReplyTo, ToPartition, shutting_down};
use crate::chain::Link;
use crate::damage::Damage;
use crate::partition::State;
use crate::reply::{Busy, Reply, RequestError};
use crate::settings::Settings;
use crate::shared::Shared;

/// How a partition is told something. It gives back what nobody takes any more.
pub type Mailbox<C> = Arc<dyn Fn(ToPartition<C>) -> Result<(), Box<ToPartition<C>>> + Send + Sync>;

/// How a partition is reached.
pub struct Address<C> {
    name: PartitionRef,
    /// What its app is called, for the log.
    app_name: OnceLock<Name>,
    shared: Arc<Shared>,
    mailbox: Mailbox<C>,
    unanswered: Arc<Unanswered>,
}

impl<C: 'static> Address<C> {
    /// A partition that reads its log from now on. `damaged_reads` counts for the whole node.
    pub fn new(
        name: PartitionRef,
        state: State,
        mailbox: Mailbox<C>,
        damaged_reads: &Arc<AtomicU64>,
    ) -> Arc<Self> {
        let told = mailbox.clone();
        let owner = Box::new(move |reason| told(ToPartition::Damaged(reason)).is_ok());
        let damage = Damage::new(owner, damaged_reads.clone());
        let shared = Arc::new(Shared::reporting_to(state, damage));
        let (app_name, unanswered) = (OnceLock::new(), Arc::default());
        Arc::new(Self { name, app_name, shared, mailbox, unanswered })
    }
}

impl<C> Address<C> {
    /// Which partition it is.
    #[must_use]
    pub fn name(&self) -> PartitionRef {
        self.name
    }

    /// What its app is called, once the directory has found out.
    pub(crate) fn app_name(&self) -> Option<&str> {
        self.app_name.get().map(Name::as_str)
    }

    pub(super) fn set_app_name(&self, name: &Name) {
        // It never changes.
        self.app_name.get_or_init(|| name.clone());
    }

    /// What others see of it.
    #[must_use]
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// How many requests wait for its answer.
    #[must_use]
    pub fn unanswered(&self) -> usize {
        self.unanswered.requests.load(Ordering::Relaxed)
    }

    /// How many bytes of commands wait for its answer.
    #[must_use]
    pub fn unanswered_bytes(&self) -> usize {
        self.unanswered.bytes.load(Ordering::Relaxed)
    }

    /// Sends a caller's request, unless too many wait already.
    ///
    /// # Errors
    ///
    /// Who is to be answered at once, and what.
    pub fn request(
        &self,
        body: Body,
        link: Option<Link>,
        caller: C,
        settings: &Settings,
    ) -> Result<(), (C, Reply)> {
        let ticket = match self.admit(&body, link, settings) {
            Ok(ticket) => ticket,
            Err(error) => return Err((caller, Err(error))),
        };
        let request = ToPartition::Request(body, ReplyTo::Caller(ticket, caller));
        let Err(unsent) = self.send(request) else { return Ok(()) };
        let ToPartition::Request(_, ReplyTo::Caller(ticket, caller)) = *unsent else {
            unreachable!("the mailbox gives back what it was given")
        };
        let reply = Err(self.refusal());
        ticket.settle(&reply);
        Err((caller, reply))
    }

    /// Sends the directory's request for a definition, likewise.
    pub(super) fn define(
        &self,
        body: Body,
        number: u64,
        settings: &Settings,
    ) -> Result<(), RequestError> {
        let ticket = self.admit(&body, None, settings)?;
        let request = ToPartition::Request(body, ReplyTo::Definition(ticket, number));
        self.send(request).map_err(|_| self.refusal())
    }

    /// Tells it something, and gives it back if nobody takes it any more.
    pub fn send(&self, message: ToPartition<C>) -> Result<(), Box<ToPartition<C>>> {
        (self.mailbox)(message)
    }

    fn admit(
        &self,
        body: &Body,
        link: Option<Link>,
        settings: &Settings,
    ) -> Result<Ticket, RequestError> {
        if let Err(busy) = self.unanswered.check_room(settings) {
            let error = RequestError::Busy(busy);
            link.iter().for_each(|link| link.answered(&Err(error.clone())));
            return Err(error);
        }
        let bytes = if let Body::Command(command) = body { command.held_bytes() } else { 0 };
        Ok(Ticket::new(&self.unanswered, bytes, link))
    }

    /// Why it takes nothing any more.
    fn refusal(&self) -> RequestError {
        match self.shared.state() {
            State::Stopped(reason) => RequestError::Stopped(reason),
            State::Actualizing(_) | State::Serving => shutting_down(),
        }
    }
}

/// Requests that were sent to a partition and are not answered.
#[derive(Debug, Default)]
struct Unanswered {
    requests: AtomicUsize,
    bytes: AtomicUsize,
}

impl Unanswered {
    /// Why there is no room for one more, if so. It is a little behind when many send at once: it is
    /// there to bound memory.
    fn check_room(&self, settings: &Settings) -> Result<(), Busy> {
        let queued = self.requests.load(Ordering::Relaxed);
        let bytes = self.bytes.load(Ordering::Relaxed);
        if planted::is(Bug::QueueUnbounded) {
            return Ok(());
        }
        if queued >= settings.queue_max {
            return Err(Busy::QueueFull { queued });
        }
        if bytes >= settings.queue_bytes_max {
            return Err(Busy::QueueLarge { bytes });
        }
        Ok(())
    }
}

/// What a request holds until it is answered: room in its partition, and its position in a chain.
#[derive(Debug)]
pub struct Ticket {
    unanswered: Arc<Unanswered>,
    bytes: usize,
    link: Option<Link>,
}

impl Ticket {
    fn new(unanswered: &Arc<Unanswered>, bytes: usize, link: Option<Link>) -> Self {
        unanswered.requests.fetch_add(1, Ordering::Relaxed);
        unanswered.bytes.fetch_add(bytes, Ordering::Relaxed);
        Self { unanswered: unanswered.clone(), bytes, link }
    }

    /// Whether an earlier command of its chain was not written.
    pub(super) fn is_behind(&self) -> bool {
        self.link.as_ref().is_some_and(Link::is_behind)
    }

    /// The request is about to be answered. This breaks its chain if it was not written.
    pub(super) fn settle(mut self, reply: &Reply) {
        if let Some(link) = self.link.take() {
            link.answered(reply);
        }
    }
}

impl Drop for Ticket {
    /// One that was not answered may have been written, or not.
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            link.answered(&Err(RequestError::Unknown { why: String::new() }));
        }
        self.unanswered.requests.fetch_sub(1, Ordering::Relaxed);
        self.unanswered.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use seriatim_types::{AppId, PartitionId};

    use super::*;
    use crate::chain::Chain;

    fn address(is_open: bool) -> Arc<Address<()>> {
        let name = PartitionRef { app: AppId(7), partition: PartitionId(0) };
        let mailbox: Mailbox<()> =
            Arc::new(move |message| if is_open { Ok(()) } else { Err(Box::new(message)) });
        Address::new(name, State::Serving, mailbox, &Arc::default())
    }

    #[test]
    fn a_request_counts_until_it_is_answered_and_breaks_its_chain_unless_it_was_written() {
        let unanswered = Arc::default();
        let chain = Chain::new();
        let ticket = Ticket::new(&unanswered, 9, Some(chain.link()));
        let next = Ticket::new(&unanswered, 7, Some(chain.link()));
        assert_eq!(unanswered.requests.load(Ordering::Relaxed), 2);
        assert!(!next.is_behind());
        drop(ticket);
        assert!(next.is_behind(), "one that is dropped unanswered may not have been written");
        next.settle(&Err(RequestError::Busy(Busy::Behind)));
        let Unanswered { requests, bytes } = &*unanswered;
        assert_eq!((requests.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn request_that_nobody_takes_is_given_back_and_breaks_its_chain() {
        let closed = address(false);
        let chain = Chain::new();
        let tick = || Body::Tick(seriatim_types::Tick::default());
        let refused = closed.request(tick(), Some(chain.link()), (), &Settings::default());
        assert!(matches!(refused, Err(((), Err(RequestError::NotWritten { .. })))));
        assert!(chain.link().is_behind());
        assert_eq!(closed.unanswered(), 0);
        let full = Settings { queue_max: 0, ..Settings::default() };
        let refused = address(true).request(tick(), None, (), &full);
        assert!(matches!(
            refused,
            Err(((), Err(RequestError::Busy(Busy::QueueFull { queued: 0 }))))
        ));
    }
}
