//! Completion order is data: what code saw first, it sees first on every replay.

use seriatim_replay::{
    Awaited, CarriedSignal, Class, Closing, Command, CommandId, Context, End, Input, Offset,
    Payload, Rest, Settlement, Started, TaskOptions, Then,
};
use seriatim_types::Time;

use crate::combinators::{Branch, Race};
use crate::support::{
    History, json, name, new_commands, replay, replay_as, schedule, start_timer, started, step,
    task_done, violation,
};

fn complete(result: &str) -> Command {
    Command::Close(Closing::Complete { result: json(result), orphaned: Vec::new() })
}

fn signal(called: &str, input: &str) -> Input {
    Input::SignalReceived { name: name(called), input: json(input) }
}

fn boxed(future: impl Future<Output = Settlement> + 'static) -> Branch<Settlement> {
    Box::pin(future)
}

/// A task against a timer; then a task named after the winner.
async fn task_or_timer(ctx: Context) -> End {
    let task = ctx.task(name("slow"), json("1"), TaskOptions::default());
    let timer = ctx.timer(None, 5_000);
    let (winner, _) = Race(vec![boxed(task), boxed(timer)]).await;
    let next = ["task won", "timer won"][winner];
    ctx.task(name(next), json("2"), TaskOptions::default()).await;
    End::Completed(json(format!("{winner}")))
}

fn raced() -> History {
    History::new().asked(schedule("slow", "1")).asked(start_timer(5_000))
}

#[test]
fn the_winner_stays_the_winner_when_the_loser_completes_later() {
    for (first, second, winner, result) in [
        (task_done(0, "1"), Input::TimerFired { index: 0 }, "task won", "0"),
        (Input::TimerFired { index: 0 }, task_done(0, "1"), "timer won", "1"),
    ] {
        let history = raced().came(first).asked(schedule(winner, "2")).came(second);
        let history = history.came(task_done(1, "3"));
        assert_eq!(new_commands(&mut replay(&history, task_or_timer)), [complete(result)]);
    }
}

#[test]
fn the_winner_stays_the_winner_when_the_loser_completed_during_the_activation() {
    // The timer fired at 5, after code had seen the task's end at 4 and before it said so at 6.
    let history = raced()
        .came(task_done(0, "1"))
        .came(Input::TimerFired { index: 0 })
        .asked_at(Offset(4), schedule("task won", "2"))
        .came(task_done(1, "3"));
    assert_eq!(new_commands(&mut replay(&history, task_or_timer)), [complete("0")]);
    // Log order alone would say the same here. Of a step it would not: see below.
}

/// A step against a signal. The step ends in the worker, and the code goes on to the next step;
/// meanwhile a signal is logged, before the submit that says all that.
#[test]
fn a_step_that_ended_before_a_signal_was_seen_wins_on_every_replay() {
    async fn code(ctx: Context) -> End {
        let first = ctx.run(name("first"));
        let (winner, _) = Race(vec![boxed(first), boxed(ctx.signal(name("go")))]).await;
        let next = ["step won", "signal won"][winner];
        ctx.set_state(name("winner"), json(format!("{winner}")));
        let second = ctx.run(name(next)).await;
        let Settlement::Value(value) = second else { panic!("{second:?}") };
        End::Completed(value)
    }
    let winner = |it: &str| Command::SetState { key: name("winner"), value: json(it) };
    let saw_step = History::new()
        .came(signal("go", "1"))
        .asked_at(Offset(1), step(0, "first", "7"))
        .asked_at(Offset(1), winner("0"));
    let turn = replay(&saw_step, code).take_turn().expect("it follows");
    assert_eq!(turn.steps[0].name, name("step won"));

    let saw_signal = History::new().came(signal("go", "1")).asked(winner("1"));
    let mut machine = replay(&saw_signal, code);
    let turn = machine.take_turn().expect("it follows");
    let steps: Vec<&str> = turn.steps.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(steps, ["first", "signal won"], "the loser still runs");

    // The same events with another `seen` are another history.
    let found = violation(&mut replay(
        &History::new().came(signal("go", "1")).asked(step(0, "first", "7")).asked(winner("0")),
        code,
    ));
    assert_eq!((found.class, found.command), (Class::Inserted, CommandId::State(0)));
}

/// Everything that code reads is as of the position that it was shown.
#[test]
fn code_never_sees_an_event_before_its_turn() {
    async fn code(ctx: Context) -> End {
        let mut seen = Vec::new();
        for index in 0..3 {
            let task = ctx.task(name("probe"), json(format!("{index}")), TaskOptions::default());
            task.await;
            let signal = ctx.try_signal(&name("go"));
            let signal = signal.map_or("none".to_owned(), |it| it.to_string());
            let state = ctx.state(&name("k")).map_or("none".to_owned(), |it| it.to_string());
            seen.push(format!("{} {signal} {state} {}", ctx.now().0, ctx.is_cancelled()));
            ctx.set_state(name("k"), json(format!("{index}")));
        }
        End::Completed(json(format!("{seen:?}")))
    }
    let set = |it: &str| Command::SetState { key: name("k"), value: json(it) };
    let history = History::new()
        .asked(schedule("probe", "0"))
        .came(task_done(0, "0"))
        .asked(set("0"))
        .asked(schedule("probe", "1"))
        // Logged while the code was awaiting nothing of them.
        .came(signal("go", "\"s\""))
        .came(task_done(1, "0"))
        .came(Input::CancellationRequested { reason: "no".to_owned() })
        .asked_at(Offset(7), set("1"))
        .asked_at(Offset(7), schedule("probe", "2"));
    let mut machine = replay(&history, code);
    // The cancellation ended the third await, and cancelled its task.
    let expected = r#"["3000 none none false", "7000 \"s\" 0 false", "8000 none 1 true"]"#;
    let cancel = Command::CancelTask { target: CommandId::Task(2) };
    assert_eq!(new_commands(&mut machine), [cancel, set("2"), complete(expected)]);
}

#[test]
fn state_is_what_code_has_set_and_cleared_so_far() {
    async fn code(ctx: Context) -> End {
        assert_eq!((ctx.id(), ctx.run_number().0), (name("order-17"), 1));
        let key = name("k");
        let mut seen = vec![ctx.state(&key).is_some()];
        ctx.set_state(key.clone(), json("1"));
        seen.push(ctx.state(&key) == Some(json("1")));
        ctx.clear_state(key.clone());
        seen.push(ctx.state(&key).is_some());
        End::Completed(json(format!("{seen:?}")))
    }
    let set = Command::SetState { key: name("k"), value: json("1") };
    let clear = Command::ClearState { key: name("k") };
    let history = History::new().asked(set).asked(clear);
    assert_eq!(new_commands(&mut replay(&history, code)), [complete("[false, true, false]")]);
}

#[test]
fn a_signal_moves_time_only_when_it_is_taken() {
    async fn code(ctx: Context) -> End {
        ctx.task(name("A"), json("1"), TaskOptions::default()).await;
        let before = ctx.now();
        ctx.try_signal(&name("go")).expect("it has arrived");
        End::Completed(json(format!("[{},{}]", before.0, ctx.now().0)))
    }
    let mut late =
        History::new().asked(schedule("A", "1")).came(signal("go", "1")).came(task_done(0, "1"));
    late.0[1].at = Time(9_000);
    assert_eq!(new_commands(&mut replay(&late, code)), [complete("[4000,9000]")]);
}

#[test]
fn a_step_moves_time_to_that_of_its_worker_and_never_back() {
    async fn code(ctx: Context) -> End {
        let mut times = vec![ctx.now().0];
        for called in ["a", "b"] {
            ctx.run(name(called)).await;
            times.push(ctx.now().0);
        }
        End::Completed(json(format!("{times:?}")))
    }
    let at = |index, called: &str, at| Command::RecordOperation {
        index,
        name: name(called),
        result: Ok(Payload::null()),
        worker_at: Time(at),
    };
    let history = History::new().asked(at(0, "a", 7_777)).asked(at(1, "b", 3));
    assert_eq!(new_commands(&mut replay(&history, code)), [complete("[1000, 7777, 7777]")]);
}

#[test]
fn a_client_that_was_first_settles_a_promise_that_code_resolves() {
    async fn code(ctx: Context) -> End {
        let promise = ctx.promise(name("p"), None);
        ctx.resolve(name("p"), json("\"code\""));
        let Settlement::Value(value) = promise.await else { panic!("it is resolved") };
        End::Completed(value)
    }
    let create = Command::CreatePromise { name: name("p"), timeout_ms: None };
    let resolve = Command::ResolvePromise { name: name("p"), value: json("\"code\"") };
    let client = Input::PromiseResolved { index: 0, value: json("\"client\"") };

    let alone = History::new().asked(create.clone()).asked(resolve.clone());
    assert_eq!(new_commands(&mut replay(&alone, code)), [complete("\"code\"")]);
    // Resolved, and not yet recorded: code does not see it.
    let mut live = replay(&History::new(), code);
    let turn = live.take_turn().expect("nothing is recorded");
    assert_eq!(turn.then, Then::Continue, "the answer settles the promise");
    let commands: Vec<Command> = turn.commands.into_iter().map(|it| it.command).collect();
    assert_eq!(commands, [create.clone(), resolve.clone()]);
    live.advance();
    assert_eq!(live.awaited().len(), 1);
    live.accepted(Offset(2), []).expect("it was handed out");
    live.advance();
    assert_eq!(new_commands(&mut live), [complete("\"code\"")]);
    // The client was first in the log, and the code had not seen it.
    let second = History::new().asked(create).came(client).asked_at(Offset(1), resolve);
    assert_eq!(new_commands(&mut replay(&second, code)), [complete("\"client\"")]);
}

#[test]
fn inputs_wait_for_the_offset_of_a_promise_that_code_resolves() {
    async fn code(ctx: Context) -> End {
        let promise = ctx.promise(name("p"), None);
        ctx.resolve(name("p"), json("1"));
        let (winner, _) = Race(vec![boxed(promise), boxed(ctx.signal(name("go")))]).await;
        End::Completed(json(format!("{winner}")))
    }
    let mut live = replay(&History::new(), code);
    assert_eq!(new_commands(&mut live).len(), 2, "in flight");
    // The submit has 2 and 3, and its answer is under way.
    let after = History::new().came(signal("go", "1")).0.into_iter().map(|mut it| {
        it.offset = Offset(4);
        it
    });
    live.feed(after).expect("it is sound");
    live.advance();
    assert_eq!(live.awaited().len(), 2, "nothing was shown to the code");
    live.accepted(Offset(2), []).expect("it was handed out");
    live.advance();
    assert_eq!(new_commands(&mut live), [complete("0")], "3 is before 4");
}

#[test]
fn signals_left_by_the_previous_run_are_seen_first_and_the_unread_are_left_to_the_next() {
    async fn code(ctx: Context) -> End {
        let first = ctx.signal(name("go")).await;
        let second = ctx.signal(name("go")).await;
        End::Continued(json(format!("\"{first:?} {second:?}\"")))
    }
    let carried = |offset, input: &str| CarriedSignal {
        offset: Offset(offset),
        at: Time(1),
        name: name("go"),
        input: json(input),
    };
    let started = Started {
        offset: Offset(10),
        carried: vec![carried(4, "4"), carried(7, "7")],
        ..started()
    };
    let mut history = History::new().came(signal("go", "11")).came(signal("stop", "12"));
    for (event, offset) in history.0.iter_mut().zip(11..) {
        event.offset = Offset(offset);
    }
    let mut machine = replay_as(started, &history, code);
    let commands = new_commands(&mut machine);
    let [Command::Close(Closing::ContinueAsNew { input: Some(input), unread })] = &commands[..]
    else {
        panic!("{commands:?}")
    };
    assert!(input.to_string().contains("b\"4\"") && input.to_string().contains("b\"7\""));
    assert_eq!(unread, &[], "code ended before it was shown what came later");
}

#[test]
fn unread_signals_are_those_that_code_was_shown_and_did_not_take() {
    async fn code(ctx: Context) -> End {
        ctx.task(name("A"), json("1"), TaskOptions::default()).await;
        ctx.try_signal(&name("go")).expect("it has arrived");
        End::Continued(json("1"))
    }
    let history = History::new()
        .asked(schedule("A", "1"))
        .came(signal("go", "1"))
        .came(signal("go", "2"))
        .came(signal("stop", "3"))
        .came(task_done(0, "1"))
        .came(signal("go", "4"));
    let unread = vec![Offset(4), Offset(5)];
    let end = Command::Close(Closing::ContinueAsNew { input: Some(json("1")), unread });
    assert_eq!(new_commands(&mut replay(&history, code)), [end]);
}

#[test]
fn a_cancellation_settles_what_is_awaited_in_the_order_of_creation_and_code_can_go_on() {
    async fn code(ctx: Context) -> End {
        let timer = ctx.timer(None, 1);
        let task = ctx.task(name("A"), json("1"), TaskOptions::default());
        let unawaited = ctx.task(name("B"), json("1"), TaskOptions::default());
        let child = ctx.child(None, name("C"), json("1"), Default::default());
        let signal = ctx.signal(name("go"));
        let all = vec![boxed(task), boxed(child), boxed(signal), boxed(timer)];
        let results = crate::combinators::All::of(all).await;
        assert!(results.iter().all(|it| *it == Settlement::Cancelled), "{results:?}");
        assert!(ctx.is_cancelled());
        let done = unawaited.await;
        assert_eq!(done, Settlement::Value(json("5")), "it was not awaited then");
        ctx.task(name("compensate"), json("1"), TaskOptions::default()).await;
        End::Cancelled
    }
    let mut machine = replay(&History::new(), code);
    assert_eq!(new_commands(&mut machine).len(), 4);
    machine.accepted(Offset(2), []).expect("it was handed out");
    let mut history = History::new();
    for _ in 0..4 {
        history = history.came(signal("other", "1"));
    }
    let inputs = history.came(Input::CancellationRequested { reason: "no".to_owned() });
    machine.feed(inputs.0[4..].to_vec()).expect("it is sound");
    machine.advance();
    let cancels = [
        Command::CancelTimer { target: CommandId::Timer(0) },
        Command::CancelTask { target: CommandId::Task(0) },
        Command::CancelChild { target: CommandId::ChildWorkflow(0) },
    ];
    assert_eq!(new_commands(&mut machine), cancels);
    machine.accepted(Offset(7), []).expect("it was handed out");
    let later = inputs.came(Input::TimerFired { index: 0 });
    let mut later = later.came(task_done(1, "5"));
    for (event, offset) in later.0.iter_mut().zip(5..) {
        event.offset = Offset(offset);
    }
    machine.feed(later.0[5..].to_vec()).expect("a terminal of what was cancelled is no damage");
    assert_eq!(machine.advance(), Rest::Waiting);
    assert_eq!(new_commands(&mut machine), [schedule("compensate", "1")]);
}

#[test]
fn a_step_that_had_not_begun_when_the_run_was_cancelled_is_not_started() {
    async fn code(ctx: Context) -> End {
        let settlement = ctx.run(name("s")).await;
        assert_eq!(settlement, Settlement::Cancelled);
        ctx.set_state(name("k"), json("1"));
        ctx.signal(name("end")).await;
        End::Cancelled
    }
    let set = Command::SetState { key: name("k"), value: json("1") };
    let cancelled = History::new().came(Input::CancellationRequested { reason: "no".to_owned() });
    let mut machine = replay(&cancelled.clone().asked(set.clone()), code);
    assert_eq!(machine.take_turn().expect("it follows").steps, []);
    // It had begun elsewhere, and its result was recorded all the same.
    let recorded = cancelled.asked(set).asked(step(0, "s", "1"));
    let mut machine = replay(&recorded, code);
    let turn = machine.take_turn().expect("it follows");
    assert_eq!((turn.commands.len(), turn.steps.len()), (0, 0));
}

#[test]
fn a_loser_that_was_dropped_is_awaited_no_more() {
    async fn code(ctx: Context) -> End {
        let slow = ctx.task(name("slow"), json("1"), TaskOptions::default());
        let signals = boxed(ctx.signal(name("never")));
        Race(vec![boxed(slow), signals, boxed(ctx.timer(None, 1))]).await;
        let (signal, timer) = (boxed(ctx.signal(name("go"))), boxed(ctx.timer(None, 2)));
        Race(vec![timer, signal]).await;
        End::Cancelled
    }
    let history = History::new().asked(schedule("slow", "1")).asked(start_timer(1));
    let mut machine = replay(&history, code);
    let (task, timer) = (CommandId::Task(0), CommandId::Timer(0));
    let waits = [Awaited::Command(task), Awaited::Signal(name("never")), Awaited::Command(timer)];
    assert_eq!(machine.awaited(), waits, "in the order of creation");
    let history = history.came(Input::TimerFired { index: 0 });
    let later = replay(&history, code);
    let waits = [Awaited::Signal(name("go")), Awaited::Command(CommandId::Timer(1))];
    assert_eq!(later.awaited(), waits);
    // Nor is it cancelled with the run.
    let reason = "no".to_owned();
    let history = history.asked(start_timer(2)).came(Input::CancellationRequested { reason });
    let cancel = Command::CancelTimer { target: CommandId::Timer(1) };
    let end = Command::Close(Closing::Cancel);
    assert_eq!(new_commands(&mut replay(&history, code)), [cancel, end]);
    assert_eq!(machine.advance(), Rest::Waiting);
}

#[test]
fn of_several_that_are_settled_the_lowest_delivery_came_first() {
    async fn code(ctx: Context) -> End {
        let a = ctx.task(name("a"), json("1"), TaskOptions::default());
        let b = ctx.task(name("b"), json("1"), TaskOptions::default());
        let c = ctx.task(name("c"), json("1"), TaskOptions::default());
        c.await;
        let (a, b) = (a.delivery().expect("it is settled"), b.delivery().expect("it is too"));
        End::Completed(json(format!("{}", b < a)))
    }
    let history =
        ["a", "b", "c"].iter().fold(History::new(), |it, task| it.asked(schedule(task, "1")));
    let history = history.came(task_done(1, "1")).came(task_done(0, "1")).came(task_done(2, "1"));
    assert_eq!(new_commands(&mut replay(&history, code)), [complete("true")]);
}
