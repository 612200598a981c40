//! What the machine and the code of a run share: the book, and what code awaits.
//!
//! ```text
//!  Context ─┐                    ┌─ Book       matching, order, time, state
//!  Handle ──┼─► Rc<Scope> ─ RefCell ─ Leaves     one per command that settles: pending, settled
//!  Machine ─┘                    └─ awaited    what code rests on, in the order of creation
//! ```
//!
//! **Invariant:** no borrow is held while code of the user runs, which includes wakers.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::task::{Context as TaskContext, Poll, Waker};

use seriatim_types::Name;

use crate::leaves::{Leaf, Leaves};
use crate::{Book, Command, CommandId, Settlement, Source};

#[derive(Debug)]
pub(crate) struct Scope {
    inner: RefCell<Inner>,
    /// Whether the root future is being polled. Outside of that code may create nothing.
    is_polling: Cell<bool>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) book: Book,
    pub(crate) leaves: Leaves,
    pub(crate) awaited: BTreeMap<Serial, Awaited>,
    /// Those who await a signal, by its name.
    waiters: BTreeMap<(Name, Serial), Waiter>,
    serial: Serial,
    deliveries: u64,
}

/// Counts what code has created, of all types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Serial(u64);

/// What code rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// A command that settles.
    Command(CommandId),
    /// A signal of this name.
    Signal(Name),
}

#[derive(Debug)]
struct Waiter {
    waker: Waker,
    is_cancelled: bool,
}

impl Scope {
    pub(crate) fn of(book: Book) -> Self {
        let inner = Inner {
            book,
            leaves: Leaves::default(),
            awaited: BTreeMap::new(),
            waiters: BTreeMap::new(),
            serial: Serial(0),
            deliveries: 0,
        };
        Self { inner: RefCell::new(inner), is_polling: Cell::new(false) }
    }

    /// Looks at what is shared. Nothing of the user's may be called inside.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        look(&mut self.inner.borrow_mut())
    }

    pub(crate) fn set_polling(&self, is_polling: bool) {
        self.is_polling.set(is_polling);
    }

    /// As [`with`](Self::with), for code: it may only ask while it is polled.
    pub(crate) fn with_code<T>(&self, source: &Source, ask: impl FnOnce(&mut Inner) -> T) -> T {
        let is_polling = self.is_polling.get();
        self.with(|inner| {
            if !is_polling {
                let rule = "its context was used outside of the workflow's own future";
                inner.book.violate_unreplayable(rule, source.clone());
            }
            ask(inner)
        })
    }

    /// Takes what a handle awaits, or leaves a waker.
    pub(crate) fn poll_leaf(&self, id: CommandId, cx: &TaskContext<'_>) -> Poll<Settlement> {
        let waker = cx.waker().clone();
        let (poll, _old) = self.with(|inner| inner.poll_leaf(id, waker));
        poll
    }

    /// Forgets a handle that was dropped.
    pub(crate) fn drop_leaf(&self, id: CommandId) {
        let _leaf = self.with(|inner| {
            let leaf = inner.leaves.remove(id)?;
            inner.awaited.remove(&leaf.serial);
            Some(leaf)
        });
    }

    /// Takes a signal, or leaves a waker.
    pub(crate) fn poll_signal(
        &self,
        name: &Name,
        serial: Serial,
        cx: &TaskContext<'_>,
    ) -> Poll<Settlement> {
        let waker = cx.waker().clone();
        let (poll, _old, _unused) = self.with(|inner| inner.poll_signal(name, serial, waker));
        poll
    }

    pub(crate) fn drop_signal(&self, name: &Name, serial: Serial) {
        let _waiter = self.with(|inner| {
            inner.awaited.remove(&serial);
            inner.waiters.remove(&(name.clone(), serial))
        });
    }

    /// What code awaits under an id is settled.
    pub(crate) fn settle(&self, id: CommandId, settlement: Settlement) {
        wake(self.with(|inner| inner.settle(id, settlement)));
    }

    /// A signal can be taken.
    pub(crate) fn signal_arrived(&self, name: &Name) {
        wake(self.with(|inner| {
            inner.deliveries = inner.deliveries.saturating_add(1);
            let of_name = (name.clone(), Serial(0))..=(name.clone(), Serial(u64::MAX));
            inner.waiters.range(of_name).map(|(_, it)| it.waker.clone()).collect::<Vec<_>>()
        }));
    }

    /// Everything that code awaits is cancelled, in the order of creation.
    pub(crate) fn cancel_awaited(&self) {
        wake(self.with(Inner::cancel_awaited));
    }

    pub(crate) fn awaited(&self) -> Vec<Awaited> {
        self.with(|inner| inner.awaited.values().cloned().collect())
    }
}

fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

impl Inner {
    /// A command that settles later has a leaf from its creation on.
    pub(crate) fn create_leaf(&mut self, id: CommandId, source: Source) {
        let serial = self.next_serial();
        if self.book.is_open() {
            self.leaves.insert(id, Leaf::new(serial, source));
        }
    }

    pub(crate) fn next_serial(&mut self) -> Serial {
        self.serial = Serial(self.serial.0.saturating_add(1));
        self.serial
    }

    /// Cancels a task or a timer, which settles it for code at once, or asks a child to cancel.
    pub(crate) fn cancel(&mut self, id: CommandId, source: Source) -> Option<Waker> {
        if !self.book.is_open() || self.leaves.pending(id).is_none() {
            return None;
        }
        self.create_cancel(id, source);
        let is_over = matches!(id, CommandId::Task(_) | CommandId::Timer(_));
        if is_over { self.settle(id, Settlement::Cancelled) } else { None }
    }

    fn create_cancel(&mut self, target: CommandId, source: Source) {
        if self.book.cancelled.contains(&target) {
            return;
        }
        if matches!(target, CommandId::Task(_)) {
            self.book.create(Command::CancelTask { target }, source);
        } else if matches!(target, CommandId::Timer(_)) {
            self.book.create(Command::CancelTimer { target }, source);
        } else if matches!(target, CommandId::ChildWorkflow(_)) {
            self.book.create(Command::CancelChild { target }, source);
        }
    }

    fn settle(&mut self, id: CommandId, settlement: Settlement) -> Option<Waker> {
        self.deliveries = self.deliveries.saturating_add(1);
        let delivery = self.deliveries;
        let leaf = self.leaves.pending(id)?;
        leaf.settle(settlement, delivery);
        self.awaited.remove(&leaf.serial);
        leaf.waker.take()
    }

    fn cancel_awaited(&mut self) -> Vec<Waker> {
        let mut wakers = Vec::new();
        for (serial, awaited) in std::mem::take(&mut self.awaited) {
            match awaited {
                Awaited::Command(id) => {
                    self.book.withdraw_step(id);
                    let source = self.leaves.pending(id).map(|leaf| leaf.source.clone());
                    if let Some(source) = source {
                        self.create_cancel(id, source);
                    }
                    wakers.extend(self.settle(id, Settlement::Cancelled));
                }
                Awaited::Signal(name) => {
                    if let Some(waiter) = self.waiters.get_mut(&(name, serial)) {
                        waiter.is_cancelled = true;
                        wakers.push(waiter.waker.clone());
                    }
                }
            }
        }
        wakers
    }

    /// What is beside the poll is for the caller to drop once nothing is borrowed.
    fn poll_leaf(&mut self, id: CommandId, waker: Waker) -> (Poll<Settlement>, Option<Waker>) {
        // After a violation nothing resolves, so that code can make nothing of it.
        if !self.book.is_open() {
            return (Poll::Pending, Some(waker));
        }
        if let Some(settlement) = self.leaves.take_settled(id) {
            return (Poll::Ready(settlement), Some(waker));
        }
        let Some(leaf) = self.leaves.pending(id) else { return (Poll::Pending, Some(waker)) };
        let old = leaf.waker.replace(waker);
        self.awaited.insert(leaf.serial, Awaited::Command(id));
        (Poll::Pending, old)
    }

    fn poll_signal(
        &mut self,
        name: &Name,
        serial: Serial,
        waker: Waker,
    ) -> (Poll<Settlement>, Option<Waiter>, Option<Waker>) {
        if !self.book.is_open() {
            return (Poll::Pending, None, Some(waker));
        }
        let key = (name.clone(), serial);
        let is_cancelled = self.waiters.get(&key).is_some_and(|it| it.is_cancelled);
        let settlement = if is_cancelled {
            Some(Settlement::Cancelled)
        } else {
            self.book.take_signal(name, &Source::here()).map(Settlement::Value)
        };
        if let Some(settlement) = settlement {
            self.awaited.remove(&serial);
            return (Poll::Ready(settlement), self.waiters.remove(&key), Some(waker));
        }
        self.awaited.insert(serial, Awaited::Signal(name.clone()));
        let waiter = Waiter { waker, is_cancelled: false };
        (Poll::Pending, self.waiters.insert(key, waiter), None)
    }
}
