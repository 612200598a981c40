//! The machine: workflow code as a future, fed with its history event by event.
//!
//! ```text
//!  feed ─► Book ─ next ─► deliver one ─► poll the root until it rests ─┐
//!           ▲                  ▲────────────────────────────────────────┘
//!           └ create ◄─ Context ◄─ code            take_turn ─► submit ─► accepted
//! ```
//!
//! **Invariants**
//! - Between two deliveries the root is polled until it rests, so at most one thing becomes ready
//!   at a time: the winner of a race is a function of the delivery order. A cancellation is the
//!   exception: it settles all that is awaited, in the order of creation.
//! - After a violation the root is dropped. What code does with its handles until then is ignored.
//! - The same machine serves a replay, an execution kept in memory, and any mixture of both.
//!
//! **Deliberately absent:** threads, a clock, and the calling of closures. A worker does that.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use seriatim_types::Time;
use seriatim_types::limits::POLLS_PER_DELIVERY_MAX;

use crate::book::Status;
use crate::scope::Scope;
use crate::waker::RootWaker;
use crate::{
    Awaited, Book, CommandId, Context, Delivery, End, Failure, FeedError, Next, NotRunning, Offset,
    Payload, Recorded, Started, Turn, UnknownMatching, Violation, Work,
};

/// Runs the code of one run.
pub struct Machine {
    scope: Rc<Scope>,
    root: Option<Pin<Box<dyn Future<Output = End>>>>,
    flag: Arc<RootWaker>,
    waker: Waker,
    panic: Option<String>,
    polls: u64,
}

/// Where code has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// It waits for something from outside.
    Waiting,
    /// It has ended, or the run was closed.
    Ended,
    /// It stopped: [`Machine::take_turn`] says why.
    Stopped,
}

/// Why an activation has no turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// The code does not follow its history. Never tried again with the same build.
    #[error("the code does not follow its history")]
    Violation(#[source] Box<Violation>),
    /// The code panicked.
    #[error("the code panicked: {message}")]
    Panicked {
        /// With this message.
        message: String,
    },
}

impl Machine {
    /// A machine that has been fed nothing. Code runs with the first [`advance`](Self::advance).
    #[track_caller]
    pub fn new<F>(
        started: Started,
        code: impl FnOnce(Context) -> F + 'static,
    ) -> Result<Self, UnknownMatching>
    where
        F: Future<Output = End> + 'static,
    {
        let scope = Rc::new(Scope::of(Book::open(started)?));
        let context = Context::of(Rc::clone(&scope));
        let flag = RootWaker::new();
        let waker = Waker::from(Arc::clone(&flag));
        let root = Some(crate::root::root(context, code));
        Ok(Self { scope, root, flag, waker, panic: None, polls: 0 })
    }

    /// Takes events, by offset, without running code: see [`Book::feed`].
    pub fn feed(&mut self, events: impl IntoIterator<Item = Recorded>) -> Result<(), FeedError> {
        self.scope.with(|inner| inner.book.feed(events))
    }

    /// Shows code everything that was fed, one thing at a time.
    pub fn advance(&mut self) -> Rest {
        self.poll_until_it_rests();
        while self.root.is_some() {
            match self.scope.with(|inner| inner.book.next()) {
                Next::Deliver(delivery) => self.deliver(delivery),
                Next::Rest => break,
                Next::Closed | Next::Violated => self.drop_root(),
            }
        }
        self.rest()
    }

    /// A step that a turn started is done, at a time of the worker's clock.
    pub fn step_done(
        &mut self,
        id: CommandId,
        result: Result<Payload, Failure>,
        at: Time,
    ) -> Result<Rest, NotRunning> {
        self.advance();
        let delivery = self.scope.with(|inner| inner.book.step_done(id, result, at))?;
        self.deliver(delivery);
        Ok(self.advance())
    }

    /// What to submit or to start now: see [`Book::turn`].
    pub fn take_turn(&mut self) -> Result<Turn, Stopped> {
        self.check_wakes();
        let turn = self.scope.with(|inner| inner.book.turn()).map_err(Stopped::Violation)?;
        match &self.panic {
            Some(message) => Err(Stopped::Panicked { message: message.clone() }),
            None => Ok(turn),
        }
    }

    /// The turn in flight is durable: see [`Book::accepted`].
    pub fn accepted(
        &mut self,
        first: Offset,
        events: impl IntoIterator<Item = Recorded>,
    ) -> Result<(), FeedError> {
        self.scope.with(|inner| inner.book.accepted(first, events))
    }

    /// What code rests on, in the order of creation.
    #[must_use]
    pub fn awaited(&self) -> Vec<Awaited> {
        self.scope.awaited()
    }

    /// The time that code sees.
    #[must_use]
    pub fn now(&self) -> Time {
        self.scope.with(|inner| inner.book.now())
    }

    /// How much has been done so far.
    #[must_use]
    pub fn work(&self) -> Work {
        Work { polls: self.polls, ..self.scope.with(|inner| inner.book.work()) }
    }

    fn deliver(&mut self, delivery: Delivery) {
        {
            let _inside = self.flag.enter();
            match delivery {
                Delivery::Settled { id, settlement } => self.scope.settle(id, settlement),
                Delivery::Signal { name } => self.scope.signal_arrived(&name),
                Delivery::CancellationRequested { .. } => self.scope.cancel_awaited(),
            }
        }
        self.poll_until_it_rests();
    }

    fn poll_until_it_rests(&mut self) {
        self.check_wakes();
        let mut polls = 0_u32;
        while self.root.is_some() && self.is_open() && self.flag.take_woken() {
            polls = polls.saturating_add(1);
            if polls > POLLS_PER_DELIVERY_MAX {
                let rule = "the code wakes itself for ever: await something of its context";
                self.panic = Some(rule.to_owned());
                self.scope.with(|inner| inner.book.abandon());
                break;
            }
            self.poll();
        }
        if self.panic.is_some() || !self.is_open() {
            self.drop_root();
        } else if self.root.is_some() && self.scope.with(|inner| inner.awaited.is_empty()) {
            self.refuse("it awaits something that its context did not give");
        }
    }

    fn poll(&mut self) {
        let Some(root) = &mut self.root else { return };
        self.polls = self.polls.saturating_add(1);
        let _inside = self.flag.enter();
        self.scope.set_polling(true);
        let mut context = TaskContext::from_waker(&self.waker);
        // A panic leaves the root in an unknown state: it is dropped and never polled again.
        let polled = catch_unwind(AssertUnwindSafe(|| root.as_mut().poll(&mut context)));
        self.scope.set_polling(false);
        match polled {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(end)) => self.scope.with(|inner| inner.book.ended(end)),
            Err(panic) => {
                self.panic = Some(message_of(panic.as_ref()));
                self.scope.with(|inner| inner.book.abandon());
            }
        }
    }

    /// A wake from elsewhere means that code awaits what no replay can repeat.
    fn check_wakes(&mut self) {
        if self.root.is_some() && self.flag.was_foreign() {
            self.refuse("something outside of the machine woke it, such as a timer of a runtime");
        }
    }

    fn refuse(&mut self, rule: &str) {
        self.scope.with(|inner| {
            let source = inner.book.last.1.clone();
            inner.book.violate_unreplayable(rule, source);
        });
        self.drop_root();
    }

    /// Values of the user are dropped here, and may panic.
    fn drop_root(&mut self) {
        let root = self.root.take();
        let _inside = self.flag.enter();
        self.scope.set_polling(true);
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(root)));
        self.scope.set_polling(false);
        if let Err(panic) = dropped {
            self.panic.get_or_insert_with(|| message_of(panic.as_ref()));
        }
    }

    fn is_open(&self) -> bool {
        self.scope.with(|inner| inner.book.is_open())
    }

    fn rest(&self) -> Rest {
        self.scope.with(|inner| match inner.book.status {
            Status::Violated { .. } => Rest::Stopped,
            _ if self.panic.is_some() => Rest::Stopped,
            Status::Open => Rest::Waiting,
            Status::Ended | Status::ClosedFromOutside => Rest::Ended,
        })
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("rest", &self.rest()).finish_non_exhaustive()
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|it| (*it).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "with something that is no text".to_owned())
}
