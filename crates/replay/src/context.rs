//! What workflow code calls: plain functions, of which some return futures.
//!
//! **Invariants**
//! - A command takes its position when the function is called, awaited or not.
//! - Everything that code reads here is as of the position that it was shown.
//! - No function fails because history differs: that ends the activation outside of code's reach.
//!
//! A context cannot leave its thread, so it cannot be given to a runtime:
//!
//! ```compile_fail,E0277
//! fn leave(ctx: seriatim_replay::Context) {
//!     std::thread::spawn(move || ctx.now());
//! }
//! ```

use std::rc::Rc;

use seriatim_types::limits::UNRECORDED_COMMANDS_MAX;
use seriatim_types::{Name, Time};

use crate::scope::{Inner, Scope};
use crate::{
    Book, ChildOptions, Command, CommandId, Handle, Payload, RecordedValue, RunNumber,
    SignalHandle, Source, TaskOptions,
};

/// The context of a run. Copies share it.
#[derive(Debug, Clone)]
pub struct Context(Rc<Scope>);

impl Context {
    pub(crate) const fn of(scope: Rc<Scope>) -> Self {
        Self(scope)
    }

    /// The workflow id.
    #[must_use]
    pub fn id(&self) -> Name {
        self.0.with(|inner| inner.book.id.clone())
    }

    /// Which execution under that id this is.
    #[must_use]
    pub fn run_number(&self) -> RunNumber {
        self.0.with(|inner| inner.book.run)
    }

    /// Schedules a task.
    #[track_caller]
    pub fn task(&self, task: Name, input: Payload, options: TaskOptions) -> Handle {
        self.awaitable(Command::ScheduleTask { task, input, options }, Source::here())
    }

    /// Starts a timer.
    #[track_caller]
    pub fn timer(&self, name: Option<Name>, duration_ms: u64) -> Handle {
        self.awaitable(Command::StartTimer { name, duration_ms }, Source::here())
    }

    /// Starts a child. Without an id it is called `{parent}/{run}.{index}`.
    #[track_caller]
    pub fn child(
        &self,
        id: Option<Name>,
        workflow: Name,
        input: Payload,
        options: ChildOptions,
    ) -> Handle {
        self.awaitable(Command::StartChild { id, workflow, input, options }, Source::here())
    }

    /// Creates a promise, to be settled from outside or by [`resolve`](Self::resolve).
    ///
    /// # Panics
    ///
    /// If this run has created a promise of that name before.
    #[track_caller]
    pub fn promise(&self, name: Name, timeout_ms: Option<u64>) -> Handle {
        let is_taken = self.0.with(|inner| inner.book.promises.contains_key(&name));
        assert!(!is_taken, "promise {name:?} exists: give each promise of a run its own name");
        self.awaitable(Command::CreatePromise { name, timeout_ms }, Source::here())
    }

    /// Resolves a promise of this run. Code sees that once it is recorded, unless a client was
    /// first.
    ///
    /// # Panics
    ///
    /// If this run has created no promise of that name.
    #[track_caller]
    pub fn resolve(&self, name: Name, value: Payload) {
        let is_known = self.0.with(|inner| inner.book.promises.contains_key(&name));
        assert!(is_known, "promise {name:?} does not exist: create it before it is resolved");
        self.create(Command::ResolvePromise { name, value }, Source::here());
    }

    /// Creates a step: a closure that the worker calls and whose result is recorded once. The
    /// worker finds the closure by the position of the handle.
    #[track_caller]
    pub fn run(&self, name: Name) -> Handle {
        let source = Source::here();
        let id = self.0.with_code(&source, |inner| {
            check_room(inner);
            let id = inner.book.create_step(name, source.clone());
            inner.create_leaf(id, source.clone());
            id
        });
        Handle::new(Rc::clone(&self.0), id)
    }

    /// Records a value that has no effect outside. It costs no round trip; `compute` may be called
    /// again if the worker dies before the value is recorded, and must not use this context.
    #[track_caller]
    pub fn record(&self, name: Name, compute: impl FnOnce() -> Payload) -> Payload {
        let source = Source::here();
        let recorded = self.0.with_code(&source, |inner| {
            check_room(inner);
            inner.book.record(name, source.clone())
        });
        match recorded {
            RecordedValue::Known(value) => value,
            RecordedValue::Unknown(id) => {
                let value = compute();
                self.0.with(|inner| inner.book.value_recorded(id, value.clone()));
                value
            }
        }
    }

    /// The next signal of a name.
    #[track_caller]
    pub fn signal(&self, name: Name) -> SignalHandle {
        let serial = self.0.with_code(&Source::here(), Inner::next_serial);
        SignalHandle::new(Rc::clone(&self.0), name, serial)
    }

    /// A signal that has arrived, if there is one.
    #[track_caller]
    pub fn try_signal(&self, name: &Name) -> Option<Payload> {
        self.asked(|book, source| book.take_signal(name, source))
    }

    /// Sends a signal to another workflow.
    #[track_caller]
    pub fn send_signal(&self, id: Name, name: Name, input: Payload) {
        self.create(Command::SendSignal { id, name, input }, Source::here());
    }

    /// Sets a value of the run's state.
    #[track_caller]
    pub fn set_state(&self, key: Name, value: Payload) {
        self.create(Command::SetState { key, value }, Source::here());
    }

    /// Clears a value of the run's state.
    #[track_caller]
    pub fn clear_state(&self, key: Name) {
        self.create(Command::ClearState { key }, Source::here());
    }

    /// A value of the run's state.
    #[must_use]
    pub fn state(&self, key: &Name) -> Option<Payload> {
        self.0.with(|inner| inner.book.state(key))
    }

    /// The time of the last thing that code was shown.
    #[must_use]
    pub fn now(&self) -> Time {
        self.0.with(|inner| inner.book.now())
    }

    /// A random number, the same on every replay.
    #[must_use]
    #[track_caller]
    pub fn random(&self) -> u64 {
        self.asked(Book::random)
    }

    /// A UUID of version 4, the same on every replay.
    #[must_use]
    #[track_caller]
    pub fn uuid(&self) -> [u8; 16] {
        self.asked(Book::uuid)
    }

    /// A key for an idempotent request, the same on every replay.
    #[must_use]
    #[track_caller]
    pub fn key(&self) -> [u8; 16] {
        self.asked(Book::key)
    }

    /// Which version of a change this run follows: `newest` for new runs, 0 for one that was past
    /// this line before the change.
    #[must_use]
    #[track_caller]
    pub fn version(&self, name: Name, newest: u32) -> u32 {
        let source = Source::here();
        self.0.with_code(&source, |inner| inner.book.version(name, newest, source.clone()))
    }

    /// Whether this run follows a change that has one version.
    #[must_use]
    #[track_caller]
    pub fn patched(&self, name: Name) -> bool {
        self.version(name, 1) > 0
    }

    /// Says that a change is no longer asked for, although runs have its marker.
    #[track_caller]
    pub fn retired(&self, name: Name) {
        self.asked(|book, _| book.retire(name));
    }

    /// Whether somebody wants this run to end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.with(|inner| inner.book.is_cancel_requested())
    }

    /// Creates a command that settles later.
    fn awaitable(&self, command: Command, source: Source) -> Handle {
        let id = self.0.with_code(&source, |inner| {
            check_room(inner);
            let id = inner.book.create(command, source.clone());
            inner.create_leaf(id, source.clone());
            id
        });
        Handle::new(Rc::clone(&self.0), id)
    }

    fn create(&self, command: Command, source: Source) -> CommandId {
        self.0.with_code(&source, |inner| {
            check_room(inner);
            inner.book.create(command, source.clone())
        })
    }

    #[track_caller]
    fn asked<T>(&self, ask: impl FnOnce(&mut Book, &Source) -> T) -> T {
        let source = Source::here();
        self.0.with_code(&source, |inner| ask(&mut inner.book, &source))
    }
}

/// A loop that awaits nothing cannot be interrupted otherwise.
fn check_room(inner: &Inner) {
    assert!(
        inner.book.unrecorded.len() < UNRECORDED_COMMANDS_MAX,
        "the code has created {UNRECORDED_COMMANDS_MAX} commands that are not recorded: await some \
         of them before it creates more"
    );
}
