//! A violation cannot be swallowed, and what no replay can repeat is refused.

#![expect(
    clippy::let_underscore_future,
    clippy::disallowed_methods,
    reason = "the code under test does what it should not"
)]

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use futures_util::future::{Either, select};
use seriatim_replay::{
    Class, Command, CommandId, Context, End, Machine, Rest, Settlement, Stopped, TaskOptions,
};

use crate::combinators::{Branch, Race};
use crate::support::{
    History, json, name, new_commands, replay, schedule, started, task_done, violation,
};

fn other_task() -> History {
    History::new().asked(schedule("recorded", "1"))
}

/// The violation of code on a history that has another task, and that it ends the activation.
#[track_caller]
fn is_caught<F>(code: impl FnOnce(Context) -> F + 'static)
where
    F: Future<Output = End> + 'static,
{
    let mut machine = replay(&other_task(), code);
    assert_eq!(machine.advance(), Rest::Stopped);
    let found = violation(&mut machine);
    assert_eq!((found.class, found.command), (Class::Field, CommandId::Task(0)));
    assert_eq!(violation(&mut machine), found, "it stays");
}

fn mismatch(ctx: &Context) -> seriatim_replay::Handle {
    ctx.task(name("code"), json("1"), TaskOptions::default())
}

#[test]
fn a_violation_of_a_task_that_nobody_awaits_is_caught() {
    is_caught(|ctx| async move {
        let _ = mismatch(&ctx);
        End::Completed(json("1"))
    });
    is_caught(|ctx| async move {
        drop(mismatch(&ctx));
        ctx.timer(None, 1).await;
        End::Completed(json("1"))
    });
}

#[test]
fn a_violation_does_not_reach_a_catch_all() {
    is_caught(|ctx| async move {
        let is_known = match mismatch(&ctx).await {
            Settlement::Value(_) => true,
            _ => panic!("a violation reached the code"),
        };
        End::Completed(json(format!("{is_known}")))
    });
}

#[test]
fn a_violation_in_the_branch_of_a_race_that_is_dropped_is_caught() {
    is_caught(|ctx| async move {
        let loser: Branch<Settlement> = Box::pin(mismatch(&ctx));
        let winner: Branch<Settlement> = Box::pin(async { Settlement::Fired });
        Race(vec![loser, winner]).await;
        End::Completed(json("1"))
    });
    is_caught(|ctx| async move {
        let winner = select(mismatch(&ctx), std::future::ready(1)).await;
        assert!(matches!(winner, Either::Right(_)));
        ctx.timer(None, 1).await;
        End::Completed(json("1"))
    });
}

#[test]
fn after_a_violation_nothing_resolves_and_nothing_is_created() {
    let went_on = Rc::new(Cell::new(false));
    let flag = Rc::clone(&went_on);
    let history = History::new()
        .asked(schedule("a", "1"))
        .asked(schedule("b", "1"))
        .came(task_done(0, "1"))
        .came(task_done(1, "1"))
        .asked(schedule("recorded", "1"));
    let mut machine = replay(&history, move |ctx: Context| async move {
        let a = ctx.task(name("a"), json("1"), TaskOptions::default());
        let b = ctx.task(name("b"), json("1"), TaskOptions::default());
        b.await;
        let _ = ctx.task(name("code"), json("1"), TaskOptions::default());
        // It is settled, and does not resolve any more.
        a.await;
        flag.set(true);
        End::Completed(json("1"))
    });
    let found = violation(&mut machine);
    assert_eq!((found.class, found.command), (Class::Field, CommandId::Task(2)));
    assert!(!went_on.get());
}

struct CreatesWhenDropped(Context);

impl Drop for CreatesWhenDropped {
    fn drop(&mut self) {
        drop(self.0.task(name("dropped"), json("1"), TaskOptions::default()));
        self.0.set_state(name("k"), json("1"));
    }
}

#[test]
fn code_that_runs_when_the_root_is_dropped_creates_nothing() {
    is_caught(|ctx| async move {
        let _guard = CreatesWhenDropped(ctx.clone());
        mismatch(&ctx).await;
        End::Completed(json("1"))
    });
}

#[test]
fn a_violation_is_reported_and_not_the_panic_that_follows_it() {
    is_caught(|ctx| async move {
        let _ = mismatch(&ctx);
        panic!("the code does not like that");
    });
    struct PanicsWhenDropped;
    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("the code does not like to be dropped");
        }
    }
    is_caught(|ctx| async move {
        let _guard = PanicsWhenDropped;
        mismatch(&ctx).await;
        End::Completed(json("1"))
    });
}

#[test]
fn code_that_catches_panics_catches_no_violation() {
    is_caught(|ctx| async move {
        let caught = catch_unwind(AssertUnwindSafe(|| drop(mismatch(&ctx))));
        assert!(caught.is_ok(), "a violation is no panic");
        End::Completed(json("1"))
    });
}

#[test]
fn a_violation_before_the_last_delivery_stops_all_that_follow() {
    let polls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&polls);
    let history = other_task().came(task_done(0, "1")).asked(schedule("next", "1"));
    let mut machine = replay(&history, move |ctx: Context| async move {
        let mut task = mismatch(&ctx);
        poll_fn(move |cx| {
            counted.set(counted.get() + 1);
            Pin::new(&mut task).poll(cx)
        })
        .await;
        End::Completed(json("1"))
    });
    assert_eq!(violation(&mut machine).class, Class::Field);
    assert_eq!(polls.get(), 1);
}

#[track_caller]
fn is_unreplayable(machine: &mut Machine, says: &str) {
    let found = violation(machine);
    assert_eq!(found.class, Class::Unreplayable, "{found}");
    assert!(found.code.contains(says), "{found}");
    assert!(found.to_string().contains("await only what the workflow's context gives"), "{found}");
}

#[test]
fn awaiting_something_foreign_is_refused_at_the_first_rest() {
    let mut machine = replay(&History::new(), |_| async {
        pending::<()>().await;
        End::Cancelled
    });
    is_unreplayable(&mut machine, "awaits something that its context did not give");
    let history = other_task().came(task_done(0, "1"));
    let mut machine = replay(&history, |ctx: Context| async move {
        ctx.task(name("recorded"), json("1"), TaskOptions::default()).await;
        pending::<()>().await;
        End::Cancelled
    });
    is_unreplayable(&mut machine, "awaits something that its context did not give");
    let found = violation(&mut machine);
    assert!(found.source_location.file.ends_with("violations.rs"), "{found}");
}

type Wakers = Rc<RefCell<Vec<Waker>>>;

/// Awaits a timer and something that keeps its waker outside.
async fn leaks(ctx: Context, wakers: Wakers) -> End {
    let foreign: Branch<Settlement> = Box::pin(poll_fn(move |cx| {
        wakers.borrow_mut().push(cx.waker().clone());
        Poll::Pending
    }));
    Race(vec![Box::pin(ctx.timer(None, 1)), foreign]).await;
    End::Cancelled
}

#[test]
fn a_wake_from_outside_is_refused() {
    let wakers = Wakers::default();
    let kept = Rc::clone(&wakers);
    let mut machine = replay(&History::new(), move |ctx| leaks(ctx, kept));
    assert_eq!(machine.advance(), Rest::Waiting, "a timer is awaited too");
    wakers.borrow()[0].wake_by_ref();
    is_unreplayable(&mut machine, "something outside of the machine woke it");
}

#[test]
fn a_wake_from_the_code_of_another_run_is_refused() {
    let wakers = Wakers::default();
    let kept = Rc::clone(&wakers);
    let mut machine = replay(&History::new(), move |ctx| leaks(ctx, kept));
    let mut other = replay(&History::new(), move |_| async move {
        wakers.borrow()[0].wake_by_ref();
        End::Cancelled
    });
    assert_eq!(new_commands(&mut other).len(), 1);
    is_unreplayable(&mut machine, "something outside of the machine woke it");
}

#[test]
fn a_wake_from_another_thread_is_refused_also_while_code_is_polled() {
    let mut machine = replay(&History::new(), |ctx: Context| async move {
        let foreign: Branch<Settlement> = Box::pin(poll_fn(|cx| {
            let waker = cx.waker().clone();
            std::thread::spawn(move || waker.wake()).join().expect("it only wakes");
            Poll::Pending
        }));
        Race(vec![Box::pin(ctx.timer(None, 1)), foreign]).await;
        End::Cancelled
    });
    is_unreplayable(&mut machine, "something outside of the machine woke it");
}

#[test]
fn what_wakes_within_the_code_is_not_foreign() {
    use futures_util::StreamExt as _;
    use futures_util::stream::FuturesUnordered;
    let history = History::new()
        .asked(schedule("a", "1"))
        .asked(schedule("b", "1"))
        .came(task_done(1, "1"))
        .came(task_done(0, "1"));
    let mut machine = replay(&history, |ctx: Context| async move {
        let gate: Rc<RefCell<(bool, Option<Waker>)>> = Rc::default();
        let opened = Rc::clone(&gate);
        let mut both = FuturesUnordered::new();
        let a = ctx.task(name("a"), json("1"), TaskOptions::default());
        let b = ctx.task(name("b"), json("1"), TaskOptions::default());
        both.push(Box::pin(async move {
            a.await;
            let waiting = {
                let mut gate = opened.borrow_mut();
                gate.0 = true;
                gate.1.take()
            };
            waiting.into_iter().for_each(Waker::wake);
        }) as Branch<()>);
        both.push(Box::pin(async move {
            b.await;
            poll_fn(move |cx| {
                let mut gate = gate.borrow_mut();
                gate.1 = Some(cx.waker().clone());
                if gate.0 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }));
        while both.next().await.is_some() {}
        End::Completed(json("1"))
    });
    assert_eq!(new_commands(&mut machine).len(), 1);
}

#[test]
fn a_context_that_left_its_future_is_refused() {
    let kept: Rc<RefCell<Option<Context>>> = Rc::default();
    let leak = Rc::clone(&kept);
    let mut machine = replay(&History::new(), move |ctx: Context| async move {
        *leak.borrow_mut() = Some(ctx.clone());
        ctx.timer(None, 1).await;
        End::Cancelled
    });
    let ctx = kept.borrow().clone().expect("it was kept");
    drop(ctx.task(name("from outside"), json("1"), TaskOptions::default()));
    is_unreplayable(&mut machine, "outside of the workflow's own future");
}

#[test]
fn a_recorded_value_is_not_made_of_what_counts() {
    type Use = fn(&Context) -> bool;
    let uses: [Use; 5] = [
        |ctx| ctx.state(&name("k")).is_some() | ctx.try_signal(&name("go")).is_some(),
        |ctx| ctx.task(name("a"), json("1"), TaskOptions::default()).delivery().is_some(),
        |ctx| ctx.random() == 0,
        |ctx| ctx.run(name("s")).delivery().is_some(),
        |ctx| ctx.patched(name("change")),
    ];
    for it in uses {
        let mut machine = replay(&History::new(), move |ctx: Context| async move {
            let inner = ctx.clone();
            ctx.record(name("fee"), move || json(format!("{}", it(&inner))));
            End::Cancelled
        });
        is_unreplayable(&mut machine, "the closure of `record` used the workflow's context");
    }
}

#[test]
fn a_panic_stops_the_activation_with_its_message() {
    for code in [|| panic!("of text"), || panic!("of {} text", 1)] {
        let mut machine = replay(&History::new(), move |ctx: Context| async move {
            ctx.set_state(name("k"), json("1"));
            code();
            End::Cancelled
        });
        assert_eq!(machine.advance(), Rest::Stopped);
        let Err(Stopped::Panicked { message }) = machine.take_turn() else { panic!("it ran on") };
        assert!(message.starts_with("of "), "{message}");
    }
    // The function that makes the future may panic as well.
    let mut machine = Machine::new(started(), |_| -> std::future::Ready<End> { panic!("early") })
        .expect("the version is known");
    assert_eq!(machine.advance(), Rest::Stopped);
    let message = "early".to_owned();
    assert_eq!(machine.take_turn(), Err(Stopped::Panicked { message }));
}

#[test]
fn what_is_dropped_after_a_panic_creates_nothing() {
    struct Panics {
        _guard: CreatesWhenDropped,
    }
    impl Future for Panics {
        type Output = End;

        fn poll(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> Poll<End> {
            panic!("early")
        }
    }
    let mut machine = replay(&other_task(), |ctx| Panics { _guard: CreatesWhenDropped(ctx) });
    let message = "early".to_owned();
    assert_eq!(machine.take_turn(), Err(Stopped::Panicked { message }));
}

#[test]
fn code_that_never_rests_is_stopped() {
    let mut machine = replay(&History::new(), |ctx: Context| async move {
        let _timer = ctx.timer(None, 1);
        poll_fn::<(), _>(|cx| {
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        End::Cancelled
    });
    let Err(Stopped::Panicked { message }) = machine.take_turn() else { panic!("it ran on") };
    assert!(message.contains("wakes itself for ever"), "{message}");

    let mut machine = replay(&History::new(), |ctx: Context| async move {
        loop {
            ctx.set_state(name("k"), json("1"));
        }
    });
    let Err(Stopped::Panicked { message }) = machine.take_turn() else { panic!("it ran on") };
    assert!(message.contains("await some of them"), "{message}");
}

#[test]
fn a_name_of_a_promise_is_used_once() {
    let mut machine = replay(&History::new(), |ctx: Context| async move {
        let _first = ctx.promise(name("p"), None);
        let _second = ctx.promise(name("p"), None);
        End::Cancelled
    });
    let Err(Stopped::Panicked { message }) = machine.take_turn() else { panic!("it ran on") };
    assert!(message.contains("give each promise of a run its own name"), "{message}");
    let mut machine = replay(&History::new(), |ctx: Context| async move {
        ctx.resolve(name("p"), json("1"));
        End::Cancelled
    });
    assert!(matches!(machine.take_turn(), Err(Stopped::Panicked { .. })));
}

#[test]
fn a_value_that_history_has_as_a_failure_is_of_class_type() {
    let recorded = Command::RecordOperation {
        index: 0,
        name: name("fee"),
        result: Err(crate::support::failure("lost")),
        worker_at: seriatim_types::Time(0),
    };
    let mut machine = replay(&History::new().asked(recorded), |ctx: Context| async move {
        let fee = ctx.record(name("fee"), || json("1"));
        End::Completed(fee)
    });
    let found = violation(&mut machine);
    assert_eq!((found.class, found.command), (Class::Type, CommandId::Operation(0)));
    assert_eq!(found.offset, Some(seriatim_replay::Offset(2)));
}

/// A step that lost a race and was never recorded leaves a hole in the positions. Code without it
/// has another position for what comes next, although the names are the same.
#[test]
fn a_recorded_value_at_another_position_is_refused() {
    async fn code(ctx: Context, has_step: bool) -> End {
        if has_step {
            drop(ctx.run(name("slow")));
        }
        let fee = ctx.record(name("fee"), || json("1"));
        ctx.timer(None, 1).await;
        End::Completed(fee)
    }
    let recorded = Command::RecordOperation {
        index: 1,
        name: name("fee"),
        result: Ok(json("1")),
        worker_at: seriatim_types::Time(1_000),
    };
    let history = History::new().asked(recorded);
    assert_eq!(new_commands(&mut replay(&history, |ctx| code(ctx, true))).len(), 1);
    let found = violation(&mut replay(&history, |ctx| code(ctx, false)));
    assert_eq!((found.class, found.command), (Class::Inserted, CommandId::Operation(0)));
    assert!(found.history.starts_with("Operation(1)"), "{found}");
    assert!(found.code.starts_with("Operation(0)"), "{found}");
}
