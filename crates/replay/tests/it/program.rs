//! Random workflows over all commands.
//!
//! Everything that the code sees goes into a digest, and the digest goes into every input and
//! value. So code that sees something else, or in another order, creates other commands.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use seriatim_replay::{ChildOptions, Context, End, Payload, Settlement, TaskOptions};

use crate::combinators::{All, Branch, Race};
use crate::support::{json, name};

/// One thing that a workflow does.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Task(&'static str),
    Timer(u64),
    Child,
    Step(&'static str),
    Record,
    /// Creates a promise and awaits it.
    Promise,
    /// Creates a promise, resolves it and awaits it.
    OwnPromise,
    SetState,
    ClearState,
    SendSignal,
    Signal(&'static str),
    TrySignal(&'static str),
    Version(&'static str),
    CancelTimer,
    CancelTask,
    CancelChild,
    /// A task that nobody awaits.
    Dropped,
    /// A change of the code, for runs that have not come past it.
    Patched(&'static str, Vec<Op>),
    All(Vec<Vec<Op>>),
    Race(Vec<Vec<Op>>),
    Unordered(Vec<Vec<Op>>),
}

/// What code has seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen(Rc<RefCell<State>>);

#[derive(Debug, Default)]
struct State {
    digest: u64,
    promises: u32,
    sets: u32,
}

pub(crate) async fn run(ctx: Context, ops: Vec<Op>) -> End {
    let seen = Seen::default();
    perform(ctx.clone(), ops, seen.clone()).await;
    End::Completed(seen.payload(&ctx))
}

fn perform(ctx: Context, ops: Vec<Op>, seen: Seen) -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async move {
        for op in ops {
            one(&ctx, op, &seen).await;
        }
    })
}

async fn one(ctx: &Context, op: Op, seen: &Seen) {
    match op {
        Op::Task(task) => {
            let task = ctx.task(name(task), seen.payload(ctx), TaskOptions::default());
            seen.note(ctx, &task.await);
        }
        Op::Timer(ms) => seen.note(ctx, &ctx.timer(None, ms + seen.digest() % 7).await),
        Op::Child => {
            let options = ChildOptions::default();
            let child = ctx.child(None, name("child"), seen.payload(ctx), options);
            seen.note(ctx, &child.await);
        }
        Op::Step(step) => seen.note(ctx, &ctx.run(name(step)).await),
        Op::Record => {
            let value = seen.payload(ctx);
            let recorded = ctx.record(name("fee"), || value);
            seen.note(ctx, &Settlement::Value(recorded));
        }
        Op::Promise => {
            let promise = ctx.promise(seen.promise(), Some(5_000));
            seen.note(ctx, &promise.await);
        }
        Op::OwnPromise => {
            let called = seen.promise();
            let promise = ctx.promise(called.clone(), None);
            ctx.resolve(called, seen.payload(ctx));
            seen.note(ctx, &promise.await);
        }
        Op::Signal(signal) => seen.note(ctx, &ctx.signal(name(signal)).await),
        Op::Version(change) => seen.mix(u64::from(ctx.version(name(change), 3))),
        Op::Patched(change, ops) => {
            if ctx.patched(name(change)) {
                perform(ctx.clone(), ops, seen.clone()).await;
            }
        }
        op @ (Op::All(_) | Op::Race(_) | Op::Unordered(_)) => several(ctx, op, seen).await,
        op => at_once(ctx, &op, seen),
    }
}

fn at_once(ctx: &Context, op: &Op, seen: &Seen) {
    match op {
        Op::SetState => {
            let key = seen.key();
            ctx.set_state(key.clone(), seen.payload(ctx));
            seen.mix(ctx.state(&key).map_or(0, |it| it.0.len() as u64));
        }
        Op::ClearState => ctx.clear_state(seen.key()),
        Op::SendSignal => ctx.send_signal(name("other"), name("hello"), seen.payload(ctx)),
        Op::TrySignal(signal) => {
            let taken = ctx.try_signal(&name(signal));
            seen.note(ctx, &taken.map_or(Settlement::TimedOut, Settlement::Value));
        }
        Op::CancelTimer => ctx.timer(None, 9_000).cancel(),
        Op::CancelTask => {
            ctx.task(name("cancelled"), seen.payload(ctx), TaskOptions::default()).cancel();
        }
        Op::CancelChild => {
            let options = ChildOptions::default();
            ctx.child(None, name("cancelled"), seen.payload(ctx), options).cancel();
        }
        Op::Dropped => {
            drop(ctx.task(name("dropped"), seen.payload(ctx), TaskOptions::default()));
        }
        other => panic!("{other:?} is awaited"),
    }
}

async fn several(ctx: &Context, op: Op, seen: &Seen) {
    let branch = |(index, ops): (usize, Vec<Op>)| -> Branch<usize> {
        let (ctx, seen) = (ctx.clone(), seen.clone());
        Box::pin(async move {
            perform(ctx, ops, seen).await;
            index
        })
    };
    match op {
        Op::All(branches) => {
            let done = All::of(branches.into_iter().enumerate().map(branch).collect()).await;
            seen.mix(done.len() as u64);
        }
        Op::Race(branches) => {
            let race = Race(branches.into_iter().enumerate().map(branch).collect());
            seen.mix(race.await.0 as u64);
        }
        Op::Unordered(branches) => {
            let mut rest: FuturesUnordered<_> =
                branches.into_iter().enumerate().map(branch).collect();
            while let Some(index) = rest.next().await {
                seen.mix(index as u64);
            }
        }
        other => panic!("{other:?} is one"),
    }
}

impl Seen {
    fn note(&self, ctx: &Context, settlement: &Settlement) {
        for byte in format!("{settlement:?}").bytes() {
            self.mix(u64::from(byte));
        }
        self.mix(ctx.now().0);
        self.mix(u64::from(ctx.is_cancelled()));
    }

    fn mix(&self, value: u64) {
        let mut state = self.0.borrow_mut();
        state.digest = (state.digest ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    }

    fn digest(&self) -> u64 {
        self.0.borrow().digest
    }

    /// Everything seen so far, and what comes of asking now.
    fn payload(&self, ctx: &Context) -> Payload {
        self.mix(ctx.random());
        self.mix(ctx.uuid().iter().map(|it| u64::from(*it)).sum());
        json(format!("\"{:016x} at {}\"", self.digest(), ctx.now().0))
    }

    fn promise(&self) -> seriatim_types::Name {
        let mut state = self.0.borrow_mut();
        state.promises += 1;
        name(&format!("promise-{}", state.promises))
    }

    fn key(&self) -> seriatim_types::Name {
        let mut state = self.0.borrow_mut();
        state.sets += 1;
        name(if state.sets.is_multiple_of(2) { "even" } else { "odd" })
    }
}
