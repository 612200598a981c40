//! Feeding a machine: what is skipped, what is damage, and what has gone another way.

use seriatim_replay::{
    Closing, Command, CommandId, Context, End, Event, Fault, FeedError, Input, Machine, NotRunning,
    Offset, Output, Recorded, Rest, Settlement, TaskOptions, Then,
};
use seriatim_types::Time;

use crate::support::{
    History, json, name, new_commands, replay, schedule, start_timer, started, step, task_done,
};

async fn two_tasks(ctx: Context) -> End {
    for task in ["a", "b"] {
        ctx.task(name(task), json("1"), TaskOptions::default()).await;
    }
    End::Completed(json("1"))
}

fn complete(result: &str) -> Command {
    Command::Close(Closing::Complete { result: json(result), orphaned: Vec::new() })
}

fn whole() -> History {
    History::new()
        .asked(schedule("a", "1"))
        .came(task_done(0, "1"))
        .asked(schedule("b", "1"))
        .came(task_done(1, "1"))
        .asked(complete("1"))
}

#[test]
fn a_machine_that_was_kept_skips_what_it_knows() {
    let history = whole();
    let mut machine = replay(&History::new(), two_tasks);
    for (cut, first, count) in [(0, 2, 1), (2, 4, 1), (4, 6, 1)] {
        machine.feed(history.0[..cut].to_vec()).expect("it is sound");
        machine.advance();
        assert_eq!(new_commands(&mut machine).len(), count);
        assert_eq!(new_commands(&mut machine), [], "one turn is in flight at a time");
        machine.accepted(Offset(first), []).expect("it was handed out");
    }
    assert_eq!(machine.feed(history.0), Ok(()));
    assert_eq!(machine.advance(), Rest::Ended);
}

#[test]
fn an_answer_that_was_lost_is_made_up_by_the_history() {
    let mut machine = replay(&History::new(), two_tasks);
    assert_eq!(new_commands(&mut machine), [schedule("a", "1")]);
    machine.feed(whole().0[..2].to_vec()).expect("its own submit is what it made");
    machine.advance();
    assert_eq!(new_commands(&mut machine), [schedule("b", "1")]);
}

#[test]
fn a_turn_is_accepted_once() {
    let mut machine = replay(&History::new(), two_tasks);
    assert_eq!(machine.accepted(Offset(2), []), Err(FeedError::NoTurn));
    new_commands(&mut machine);
    assert_eq!(machine.accepted(Offset(2), []), Ok(()));
    assert_eq!(machine.accepted(Offset(2), []), Err(FeedError::NoTurn));
}

#[test]
fn another_workers_history_is_not_taken_for_a_violation() {
    // This machine has created a task, and history has what another build made.
    let mut machine = replay(&History::new(), two_tasks);
    let other = History::new().asked(schedule("other", "1"));
    let (offset, history) = (Offset(2), CommandId::Task(0));
    assert_eq!(machine.feed(other.0), Err(FeedError::Diverged { offset, history }));

    // A step ended twice, with two results.
    async fn steps(ctx: Context) -> End {
        ctx.run(name("s")).await;
        End::Completed(json("1"))
    }
    let mut machine = replay(&History::new(), steps);
    let turn = machine.take_turn().expect("nothing is recorded");
    let done = machine.step_done(turn.steps[0].id, Ok(json("mine")), Time(5));
    assert_eq!(done, Ok(Rest::Ended));
    let fed = machine.feed(History::new().asked(step(0, "s", "theirs")).0);
    assert!(matches!(fed, Err(FeedError::Diverged { .. })), "{fed:?}");

    // It made the same with other knowledge.
    let mut machine = replay(&History::new(), two_tasks);
    let signal = Input::SignalReceived { name: name("x"), input: json("1") };
    let fed = machine.feed(History::new().came(signal).asked(schedule("a", "1")).0);
    assert!(matches!(fed, Err(FeedError::Diverged { .. })), "{fed:?}");

    // It was shown an input that the code which made the next event had not seen.
    let mut machine = replay(&History::new(), |ctx: Context| async move {
        ctx.run(name("s")).await;
        End::Completed(json("1"))
    });
    let signal = Input::SignalReceived { name: name("x"), input: json("1") };
    let history = History::new().came(signal).asked_at(Offset(1), step(0, "s", "1"));
    machine.feed(history.0[..1].to_vec()).expect("it is sound");
    machine.advance();
    let fed = machine.feed(history.0[1..].to_vec());
    assert!(matches!(fed, Err(FeedError::Diverged { .. })), "{fed:?}");
}

#[test]
fn damage_is_named() {
    let fault = |history: History| {
        let mut machine = Machine::new(started(), two_tasks).expect("the version is known");
        match machine.feed(history.0) {
            Err(FeedError::Damaged { offset, fault }) => (offset.0, fault),
            other => panic!("it is damaged: {other:?}"),
        }
    };
    let task = || History::new().asked(schedule("a", "1"));
    let seen = Offset(3);
    assert_eq!(fault(task().asked_at(seen, start_timer(1))), (3, Fault::SeenAhead { seen }));
    let earlier = Offset(3);
    let back = task().came(task_done(0, "1")).asked(start_timer(1));
    assert_eq!(
        fault(back.asked_at(Offset(1), start_timer(1))),
        (5, Fault::SeenBack { seen: Offset(1), earlier })
    );
    let twice = task()
        .came(task_done(0, "1"))
        .came(Input::TaskFailed { index: 0, failure: crate::support::failure("lost") });
    assert_eq!(fault(twice), (4, Fault::Twice(CommandId::Task(0))));
    let never = task().came(task_done(1, "1"));
    assert_eq!(fault(never), (3, Fault::NeverAsked(CommandId::Task(1))));
    let step_twice = History::new().asked(step(0, "s", "1")).asked(step(0, "s", "1"));
    assert_eq!(fault(step_twice), (3, Fault::Twice(CommandId::Operation(0))));
    let after = History::new().asked(complete("1")).asked(start_timer(1));
    assert_eq!(fault(after), (3, Fault::AfterEnd));
    let after = History::new().came(Input::RunClosed).asked(start_timer(1));
    assert_eq!(fault(after), (3, Fault::AfterEnd));
    let mut hole = task();
    let output = Output { seen: Offset(1), index: Some(1), command: schedule("b", "1") };
    hole.0[0] = Recorded { offset: Offset(2), at: Time(1), event: Event::Output(output) };
    assert_eq!(fault(hole), (2, Fault::Index { index: 1, expected: 0 }));
}

#[test]
fn a_run_that_was_closed_from_outside_shows_nothing_more() {
    let history = History::new().asked(schedule("a", "1")).came(Input::RunClosed);
    let mut machine = replay(&history, two_tasks);
    assert_eq!(machine.advance(), Rest::Ended);
    assert_eq!(new_commands(&mut machine), []);
}

/// A step starts only when everything before it is durable.
#[test]
fn no_closure_starts_before_what_it_may_depend_on_is_durable() {
    async fn code(ctx: Context) -> End {
        for called in ["a", "b"] {
            ctx.record(name("fee"), || json("1"));
            ctx.run(name(called)).await;
        }
        End::Completed(json("1"))
    }
    let mut machine = replay(&History::new(), code);
    let turn = machine.take_turn().expect("nothing is recorded");
    assert_eq!((turn.commands.len(), turn.steps.len(), turn.then), (1, 0, Then::Continue));
    assert_eq!(machine.take_turn().expect("it follows").steps, [], "it is in flight");
    machine.accepted(Offset(2), []).expect("it was handed out");
    let turn = machine.take_turn().expect("it follows");
    assert_eq!((turn.commands.len(), turn.steps.len(), turn.then), (0, 1, Then::Continue));
    let first = turn.steps[0].clone();
    assert_eq!(machine.take_turn().expect("it follows").steps, [], "a step starts once");

    assert_eq!(machine.step_done(first.id, Ok(json("1")), Time(1)), Ok(Rest::Waiting));
    assert_eq!(
        machine.step_done(first.id, Ok(json("1")), Time(1)),
        Err(NotRunning { id: first.id })
    );
    let turn = machine.take_turn().expect("it follows");
    assert_eq!((turn.commands.len(), turn.steps.len()), (2, 0), "its result, and the next value");
    machine.accepted(Offset(3), []).expect("it was handed out");
    let turn = machine.take_turn().expect("it follows");
    assert_eq!(turn.steps.len(), 1);
    assert_ne!(turn.steps[0].key, first.key);

    // A worker that died before the result was recorded starts it again, under the same key.
    let recorded = History::new().asked(Command::RecordOperation {
        index: 0,
        name: name("fee"),
        result: Ok(json("1")),
        worker_at: Time(1_000),
    });
    let again = replay(&recorded, code).take_turn().expect("it follows");
    assert_eq!(again.steps, [first]);
}

/// N steps in a row cost N submits, and the last one carries the end.
#[test]
fn steps_in_a_row_cost_one_submit_each() {
    async fn code(ctx: Context) -> End {
        for _ in 0..10 {
            ctx.run(name("s")).await;
        }
        End::Completed(json("1"))
    }
    let mut machine = replay(&History::new(), code);
    let (mut submits, mut next) = (0, 2);
    loop {
        let turn = machine.take_turn().expect("it follows");
        if let Some(step) = turn.steps.first() {
            machine.step_done(step.id, Ok(json("1")), Time(1)).expect("it runs");
            continue;
        }
        if turn.commands.is_empty() {
            break;
        }
        submits += 1;
        machine.accepted(Offset(next), []).expect("it was handed out");
        next += turn.commands.len() as u64;
    }
    assert_eq!((submits, next), (10, 13));
}

#[test]
fn a_turn_holds_no_more_than_a_submit() {
    async fn code(ctx: Context, bytes: usize) -> End {
        for _ in 0..600 {
            ctx.set_state(name("k"), json(format!("\"{}\"", "x".repeat(bytes))));
        }
        ctx.timer(None, 1).await;
        End::Cancelled
    }
    for (bytes, most) in [(1, 256), (500_000, 3)] {
        let mut machine = replay(&History::new(), move |ctx| code(ctx, bytes));
        let (mut next, mut total) = (2, 0);
        loop {
            let turn = machine.take_turn().expect("it follows");
            assert!(turn.commands.len() <= most, "{}", turn.commands.len());
            total += turn.commands.len();
            let is_last = total == 601;
            assert_eq!(turn.then, if is_last { Then::Wait } else { Then::Continue });
            machine.accepted(Offset(next), []).expect("it was handed out");
            next += turn.commands.len() as u64;
            if is_last {
                break;
            }
        }
    }
}

#[test]
fn a_turn_says_what_code_was_shown_also_without_commands() {
    async fn code(ctx: Context) -> End {
        for _ in 0..300 {
            ctx.set_state(name("k"), json("1"));
        }
        ctx.timer(None, 1).await;
        End::Cancelled
    }
    let signal = || Input::SignalReceived { name: name("x"), input: json("1") };
    let history = History::new().came(signal()).came(signal());
    let mut machine = replay(&history, code);
    let turn = machine.take_turn().expect("it follows");
    assert_eq!((turn.commands.len(), turn.seen), (256, Offset(1)), "more was created at 1");
    machine.accepted(Offset(4), []).expect("it was handed out");
    let turn = machine.take_turn().expect("it follows");
    assert_eq!((turn.commands.len(), turn.seen), (45, Offset(3)));
    machine.accepted(Offset(260), []).expect("it was handed out");
    let turn = machine.take_turn().expect("it follows");
    assert_eq!((turn.commands.len(), turn.seen, turn.then), (0, Offset(3), Then::Wait));
}

#[test]
fn what_was_settled_is_not_cancelled_any_more() {
    let history = History::new()
        .asked(schedule("a", "1"))
        .asked(start_timer(1))
        .came(task_done(0, "1"))
        .came(Input::TimerFired { index: 0 });
    let mut machine = replay(&history, |ctx: Context| async move {
        let task = ctx.task(name("a"), json("1"), TaskOptions::default());
        ctx.timer(None, 1).await;
        task.cancel();
        task.cancel();
        assert_eq!(task.await, Settlement::Value(json("1")));
        let second = ctx.task(name("b"), json("1"), TaskOptions::default());
        second.cancel();
        second.cancel();
        assert_eq!(second.await, Settlement::Cancelled);
        End::Cancelled
    });
    let cancel = Command::CancelTask { target: CommandId::Task(1) };
    let end = Command::Close(Closing::Cancel);
    assert_eq!(new_commands(&mut machine), [schedule("b", "1"), cancel, end]);
}

#[test]
fn a_child_that_was_asked_to_cancel_settles_when_it_has() {
    let start = Command::StartChild {
        id: Some(name("order-17/1.0")),
        workflow: name("C"),
        input: json("1"),
        options: Default::default(),
    };
    let cancel = Command::CancelChild { target: CommandId::ChildWorkflow(0) };
    let asked = History::new().asked(start).asked(cancel);
    let code = |ctx: Context| async move {
        let child = ctx.child(None, name("C"), json("1"), Default::default());
        child.cancel();
        child.cancel();
        assert_eq!(child.await, Settlement::Cancelled);
        End::Cancelled
    };
    assert_eq!(new_commands(&mut replay(&asked, code)), []);
    let ended = asked.came(Input::ChildCancelled { index: 0 });
    assert_eq!(new_commands(&mut replay(&ended, code)), [Command::Close(Closing::Cancel)]);
}
