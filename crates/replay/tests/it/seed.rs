//! The examples and the test cases of the design that this crate descends from.

use seriatim_replay::{
    ChildOptions, Class, Command, CommandId, Context, End, Input, MATCHING_VERSION, Machine,
    Offset, OnOrphans, Orphan, Rest, Settlement, Started, TaskOptions, UnknownMatching,
};

use crate::combinators::{All, Branch};
use crate::support::{
    History, failure, json, name, new_commands, replay, replay_as, schedule, start_timer, started,
    task_done, violation,
};

/// A loop of tasks of one type, one after another.
async fn process(ctx: Context, count: u32) -> End {
    for item in 0..count {
        let task = ctx.task(name("ProcessTask"), json(item.to_string()), TaskOptions::default());
        assert_eq!(task.id(), CommandId::Task(item));
        assert_eq!(task.await, Settlement::Value(json(format!("{}", item * 10))));
    }
    End::Completed(json(count.to_string()))
}

fn looped(count: u32) -> History {
    (0..count).fold(History::new(), |history, item| {
        let history = history.asked(schedule("ProcessTask", &item.to_string()));
        history.came(task_done(item, &format!("{}", item * 10)))
    })
}

fn complete(result: &str, orphaned: Vec<Orphan>) -> Command {
    Command::Close(seriatim_replay::Closing::Complete { result: json(result), orphaned })
}

#[test]
fn loops_schedule_the_same_task_at_rising_positions() {
    let mut machine = replay(&History::new(), |ctx| process(ctx, 3));
    assert_eq!(new_commands(&mut machine), [schedule("ProcessTask", "0")]);
    for item in 0..3 {
        let mut machine = replay(&looped(item), |ctx| process(ctx, 3));
        assert_eq!(new_commands(&mut machine), [schedule("ProcessTask", &item.to_string())]);
        let mut waits = looped(item).asked(schedule("ProcessTask", &item.to_string()));
        let mut machine = replay(&waits, |ctx| process(ctx, 3));
        assert_eq!(new_commands(&mut machine), [], "what runs is awaited and created once");
        waits = waits.came(task_done(item, "7"));
        assert_eq!(waits.0.len() as u32, item * 2 + 2);
    }
}

#[test]
fn loops_replay_against_their_whole_history() {
    let history = looped(3).asked(complete("3", Vec::new()));
    let mut machine = replay(&history, |ctx| process(ctx, 3));
    assert_eq!(machine.advance(), Rest::Ended);
    assert_eq!(new_commands(&mut machine), []);
}

#[test]
fn loops_that_are_extended_create_new_commands() {
    let mut machine = replay(&looped(3), |ctx| process(ctx, 4));
    assert_eq!(new_commands(&mut machine), [schedule("ProcessTask", "3")]);
}

#[test]
fn loops_that_are_shortened_orphan_what_is_left() {
    let mut machine = replay(&looped(3), |ctx| process(ctx, 2));
    let found = violation(&mut machine);
    assert_eq!((found.class, found.command), (Class::Orphaned, CommandId::Task(2)));
    assert_eq!(found.offset, Some(Offset(6)));
    assert_eq!(found.history, "Task(2) TaskScheduled \"ProcessTask\"");
    assert_eq!(found.code, "the end of the run");
    assert_eq!(found.orphans, [Orphan { command: CommandId::Task(2), offset: Offset(6) }]);

    let allowed = Started { on_orphans: OnOrphans::Allow, ..started() };
    let mut machine = replay_as(allowed, &looped(3), |ctx| process(ctx, 2));
    let orphan = Orphan { command: CommandId::Task(2), offset: Offset(6) };
    assert_eq!(new_commands(&mut machine), [complete("2", vec![orphan])]);
}

#[test]
fn a_completion_with_orphans_replays() {
    let allowed = || Started { on_orphans: OnOrphans::Allow, ..started() };
    let orphan = Orphan { command: CommandId::Task(2), offset: Offset(6) };
    let history = looped(3).asked(complete("2", vec![orphan]));
    let mut machine = replay_as(allowed(), &history, |ctx| process(ctx, 2));
    assert_eq!(machine.advance(), Rest::Ended);
    assert_eq!(new_commands(&mut machine), []);
}

/// Two tasks and a timer, started together.
async fn parallel(ctx: Context) -> End {
    let a = ctx.task(name("TaskA"), json("1"), TaskOptions::default());
    let b = ctx.task(name("TaskB"), json("2"), TaskOptions::default());
    let c = ctx.timer(None, 5_000);
    assert_eq!(a.id(), CommandId::Task(0));
    assert_eq!(b.id(), CommandId::Task(1));
    assert_eq!(c.id(), CommandId::Timer(0));
    let branches: Vec<Branch<Settlement>> = vec![Box::pin(a), Box::pin(b), Box::pin(c)];
    let results = All::of(branches).await;
    let expected =
        [Settlement::Value(json("\"a\"")), Settlement::Value(json("\"b\"")), Settlement::Fired];
    assert_eq!(results, expected);
    End::Completed(json("\"all\""))
}

#[test]
fn three_in_parallel_replay_in_every_order_of_completion() {
    let created = [schedule("TaskA", "1"), schedule("TaskB", "2"), start_timer(5_000)];
    let inputs = [task_done(0, "\"a\""), task_done(1, "\"b\""), Input::TimerFired { index: 0 }];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut history = created.iter().cloned().fold(History::new(), History::asked);
        for index in order {
            let mut machine = replay(&history, parallel);
            assert_eq!(new_commands(&mut machine), [], "{order:?}");
            history = history.came(inputs[index].clone());
        }
        for cut in 0..=history.0.len() {
            // A live machine that is given the rest event by event, and a replay of it all.
            let mut machine = replay(&History(history.0[..cut].to_vec()), parallel);
            let beyond: Vec<Command> = created.iter().skip(cut).cloned().collect();
            if cut < 3 {
                assert_eq!(new_commands(&mut machine), beyond, "{order:?}, cut {cut}");
                machine.accepted(Offset(cut as u64 + 2), []).expect("it was handed out");
            }
            for event in &history.0[cut.max(3)..] {
                machine.feed([event.clone()]).expect("the history is sound");
                machine.advance();
            }
            let end = complete("\"all\"", Vec::new());
            assert_eq!(new_commands(&mut machine), [end], "{order:?}, cut {cut}");
        }
    }
}

#[test]
fn positions_are_taken_at_creation_and_never_shift() {
    async fn code(ctx: Context) -> End {
        drop(ctx.task(name("dropped"), json("0"), TaskOptions::default()));
        let never_polled = ctx.task(name("never polled"), json("1"), TaskOptions::default());
        let timer = ctx.timer(Some(name("sleep-1")), 1);
        ctx.set_state(name("k"), json("1"));
        for index in 2..10_002 {
            let task = ctx.task(name("one of many"), json("2"), TaskOptions::default());
            assert_eq!(task.id(), CommandId::Task(index));
        }
        let child = ctx.child(None, name("child"), json("3"), ChildOptions::default());
        assert_eq!(timer.id(), CommandId::Timer(0));
        assert_eq!(child.id(), CommandId::ChildWorkflow(0));
        assert_eq!(ctx.run(name("step")).id(), CommandId::Operation(0));
        assert_eq!(ctx.promise(name("promise"), None).id(), CommandId::Promise(0));
        timer.await;
        drop(never_polled);
        End::Completed(json("null"))
    }
    let mut machine = Machine::new(started(), code).expect("the version is known");
    machine.advance();
    let mut ids = Vec::new();
    let mut next = 2;
    loop {
        let turn = machine.take_turn().expect("nothing is recorded");
        if turn.commands.is_empty() {
            break;
        }
        next += turn.commands.len() as u64;
        ids.extend(turn.commands.iter().map(|it| it.id));
        let first = Offset(next - turn.commands.len() as u64);
        machine.accepted(first, []).expect("it was handed out");
    }
    assert_eq!(ids.len(), 10_006);
    let first = [CommandId::Task(0), CommandId::Task(1), CommandId::Timer(0), CommandId::State(0)];
    assert_eq!(ids[..4], first);
    assert_eq!(ids[10_003], CommandId::Task(10_001));
}

/// What becomes of one task, by what history has of it.
#[test]
fn a_task_is_matched_completed_failed_running_or_new() {
    async fn code(ctx: Context) -> End {
        match ctx.task(name("A"), json("1"), TaskOptions::default()).await {
            Settlement::Value(value) => End::Completed(value),
            Settlement::Failed(failure) => End::Failed(failure),
            other => panic!("{other:?}"),
        }
    }
    let asked = || History::new().asked(schedule("A", "1"));
    let new = new_commands(&mut replay(&History::new(), code));
    assert_eq!(new, [schedule("A", "1")], "new work is exactly one command");
    assert_eq!(new_commands(&mut replay(&asked(), code)), [], "it runs, and nothing is created");
    let mut done = replay(&asked().came(task_done(0, "5")), code);
    assert_eq!(new_commands(&mut done), [complete("5", Vec::new())]);
    let failed = asked().came(Input::TaskFailed { index: 0, failure: failure("lost") });
    let end = Command::Close(seriatim_replay::Closing::Fail(failure("lost")));
    assert_eq!(new_commands(&mut replay(&failed, code)), [end]);
}

#[test]
fn two_children_of_one_name_have_their_own_results() {
    async fn code(ctx: Context) -> End {
        let child = || {
            let options = ChildOptions::default();
            ctx.child(Some(name("notify")), name("Notify"), json("1"), options)
        };
        let (first, second) = (child(), child());
        let second = second.await;
        let first = first.await;
        assert_eq!(first, Settlement::Value(json("\"first\"")));
        assert_eq!(second, Settlement::Value(json("\"second\"")));
        End::Completed(json("null"))
    }
    let child = || Command::StartChild {
        id: Some(name("notify")),
        workflow: name("Notify"),
        input: json("1"),
        options: ChildOptions::default(),
    };
    let done = |index, result| Input::ChildCompleted { index, result: json(result) };
    let both = || History::new().asked(child()).asked(child());
    for history in [
        both().came(done(0, "\"first\"")).came(done(1, "\"second\"")),
        both().came(done(1, "\"second\"")).came(done(0, "\"first\"")),
    ] {
        let end = complete("null", Vec::new());
        assert_eq!(new_commands(&mut replay(&history, code)), [end]);
    }
}

#[test]
fn a_history_of_an_unknown_matching_version_is_refused_as_a_whole() {
    for version in [0, MATCHING_VERSION + 1] {
        let started = Started { matching: version, ..started() };
        let refused = Machine::new(started, parallel).map(|_| ()).expect_err("it is not known");
        assert_eq!(refused, UnknownMatching { version });
        assert!(refused.to_string().contains("replay it with a newer build"));
    }
}

#[test]
fn test_case_1_loop_scheduling_the_same_task_type() {
    let history = looped(3);
    let mut machine = replay(&history, |ctx| process(ctx, 3));
    assert_eq!(new_commands(&mut machine), [complete("3", Vec::new())]);
}

#[test]
fn test_case_2_task_type_mismatch() {
    let mut history = looped(3);
    history.0[2].event = History::new().asked(schedule("OtherTask", "1")).0[0].event.clone();
    if let seriatim_replay::Event::Output(output) = &mut history.0[2].event {
        output.seen = Offset(3);
    }
    let found = violation(&mut replay(&history, |ctx| process(ctx, 3)));
    assert_eq!((found.class, found.command), (Class::Field, CommandId::Task(1)));
    assert_eq!((found.field, found.offset), ("task", Some(Offset(4))));
    assert_eq!((found.history.as_str(), found.code.as_str()), ("OtherTask", "ProcessTask"));
    assert!(found.source_location.file.ends_with("seed.rs"), "{}", found.source_location);
}

#[test]
fn test_case_3_child_workflow_name_and_kind_mismatch() {
    async fn code(ctx: Context) -> End {
        let options = ChildOptions::default();
        ctx.child(Some(name("notify-17")), name("Notify"), json("1"), options).await;
        End::Completed(json("null"))
    }
    for (id, workflow, field, history, code_has) in [
        ("notify-18", "Notify", "id", "notify-18", "notify-17"),
        ("notify-17", "Mail", "workflow", "Mail", "Notify"),
    ] {
        let recorded = Command::StartChild {
            id: Some(name(id)),
            workflow: name(workflow),
            input: json("1"),
            options: ChildOptions::default(),
        };
        let found = violation(&mut replay(&History::new().asked(recorded), code));
        assert_eq!((found.class, found.command), (Class::Field, CommandId::ChildWorkflow(0)));
        assert_eq!((found.field, found.offset), (field, Some(Offset(2))));
        assert_eq!((found.history.as_str(), found.code.as_str()), (history, code_has));
    }
}

#[test]
fn test_case_4_workflow_code_extension() {
    for recorded in 0..4 {
        let mut machine = replay(&looped(recorded), |ctx| process(ctx, 5));
        assert_eq!(new_commands(&mut machine), [schedule("ProcessTask", &recorded.to_string())]);
    }
}

#[test]
fn test_case_5_workflow_code_reduction() {
    async fn children(ctx: Context, count: u32) -> End {
        for item in 0..count {
            let options = ChildOptions::default();
            ctx.child(None, name("Child"), json(item.to_string()), options).await;
        }
        End::Completed(json("null"))
    }
    let mut history = History::new();
    for item in 0..3 {
        let child = Command::StartChild {
            id: Some(name(&format!("order-17/1.{item}"))),
            workflow: name("Child"),
            input: json(item.to_string()),
            options: ChildOptions::default(),
        };
        let done = Input::ChildCompleted { index: item, result: json("null") };
        history = history.asked(child).came(done);
    }
    let found = violation(&mut replay(&history, |ctx| children(ctx, 1)));
    let left = [1, 2].map(CommandId::ChildWorkflow);
    assert_eq!(found.class, Class::Orphaned);
    assert_eq!(found.orphans.iter().map(|it| it.command).collect::<Vec<_>>(), left);
    // Code that removes the last one, and has the same history otherwise, still completes.
    assert_eq!(replay(&history, |ctx| children(ctx, 3)).advance(), Rest::Ended);
}
