//! The validation matrix: one test per row, in which every field matches, differs, is new and is
//! left over.

use seriatim_replay::{
    ChildOptions, Class, Closing, Command, CommandId, Context, End, Failure, Input, Offset,
    OnParentClose, Orphan, Retry, Settlement, TaskOptions,
};
use seriatim_types::Time;

use crate::support::{
    History, failure, json, name, new_commands, replay, schedule, start_timer, step, violation,
};

/// One field that differs: what history has recorded instead, and both values as they are shown.
struct Differs {
    field: &'static str,
    recorded: Command,
    history: &'static str,
    code: &'static str,
}

struct Row {
    id: CommandId,
    /// What comes before the command that the row is about.
    before: History,
    recorded: Command,
    differs: Vec<Differs>,
    /// Creates what comes before, and the command itself if it is told to.
    code: fn(&Context, bool),
}

impl Row {
    fn check(self) {
        let Self { id, before, recorded, differs, code } = self;
        let run = |history: &History, creates: bool| {
            replay(history, move |ctx: Context| async move {
                code(&ctx, creates);
                ctx.signal(name("end")).await;
                End::Cancelled
            })
        };
        let offset = Some(Offset(before.0.len() as u64 + 2));

        let new = new_commands(&mut run(&before, true));
        assert_eq!(new, std::slice::from_ref(&recorded), "absent: it is new work, once");
        let matches = before.clone().asked(recorded.clone());
        assert_eq!(new_commands(&mut run(&matches, true)), [], "it matches");

        for Differs { field, recorded, history, code } in differs {
            let found = violation(&mut run(&before.clone().asked(recorded), true));
            assert_eq!((found.class, found.command), (Class::Field, id), "{found}");
            assert_eq!((found.field, found.offset), (field, offset), "{found}");
            assert_eq!((&*found.history, &*found.code), (history, code), "{found}");
            assert!(found.source_location.file.ends_with("matrix.rs"), "{found}");
            let shown = found.to_string();
            for part in [&*id.to_string(), field, history, code, "matrix.rs:"] {
                assert!(shown.contains(part), "{part} in {shown}");
            }
        }

        let found = violation(&mut run(&matches, false));
        assert_eq!((found.class, found.command), (Class::Missing, id), "surplus: {found}");
        assert_eq!(found.offset, offset, "{found}");
        assert!(found.history.starts_with(&id.to_string()), "{found}");
    }
}

fn task(ctx: &Context) {
    drop(ctx.task(name("charge"), json("1"), TaskOptions::default()));
}

fn timer(ctx: &Context) -> seriatim_replay::Handle {
    ctx.timer(Some(name("sleep-1")), 5_000)
}

fn named_timer() -> Command {
    Command::StartTimer { name: Some(name("sleep-1")), duration_ms: 5_000 }
}

fn child(id: &str, workflow: &str, input: &str, on_parent_close: OnParentClose) -> Command {
    let options = ChildOptions { on_parent_close, ..ChildOptions::default() };
    let id = Some(name(id));
    Command::StartChild { id, workflow: name(workflow), input: json(input), options }
}

fn promise(called: &str, timeout_ms: Option<u64>) -> Command {
    Command::CreatePromise { name: name(called), timeout_ms }
}

fn resolve(called: &str, value: &str) -> Command {
    Command::ResolvePromise { name: name(called), value: json(value) }
}

fn set(key: &str, value: &str) -> Command {
    Command::SetState { key: name(key), value: json(value) }
}

fn clear(key: &str) -> Command {
    Command::ClearState { key: name(key) }
}

fn send(id: &str, called: &str, input: &str) -> Command {
    Command::SendSignal { id: name(id), name: name(called), input: json(input) }
}

#[test]
fn schedule_task_is_matched_by_task_and_input() {
    Row {
        id: CommandId::Task(1),
        before: History::new().asked(schedule("charge", "1")),
        recorded: schedule("charge", "2"),
        differs: vec![
            Differs {
                field: "task",
                recorded: schedule("refund", "2"),
                history: "refund",
                code: "charge",
            },
            Differs {
                field: "input",
                recorded: schedule("charge", "{\"a\":1}"),
                history: "{\"a\":1}",
                code: "2",
            },
        ],
        code: |ctx, creates| {
            task(ctx);
            if creates {
                drop(ctx.task(name("charge"), json("2"), TaskOptions::default()));
            }
        },
    }
    .check();
}

#[test]
fn options_that_code_cannot_see_are_not_matched() {
    let retry = Retry { max_attempts: Some(1), first_ms: 1, factor_percent: 100, max_ms: 1 };
    let options = TaskOptions {
        queue: Some(name("slow")),
        retry: Some(retry),
        attempt_timeout_ms: Some(1),
        timeout_ms: Some(2),
    };
    let recorded = Command::ScheduleTask { task: name("charge"), input: json("1"), options };
    let history = History::new().asked(recorded);
    let mut machine = replay(&history, |ctx: Context| async move {
        let task = ctx.task(name("charge"), json("1"), TaskOptions::default());
        task.await;
        End::Cancelled
    });
    assert_eq!(new_commands(&mut machine), []);
}

#[test]
fn cancel_task_is_matched_by_its_task() {
    let two = || History::new().asked(schedule("charge", "1")).asked(schedule("charge", "1"));
    Row {
        id: CommandId::CancelTask(0),
        before: two(),
        recorded: Command::CancelTask { target: CommandId::Task(1) },
        differs: vec![Differs {
            field: "target",
            recorded: Command::CancelTask { target: CommandId::Task(0) },
            history: "Task(0)",
            code: "Task(1)",
        }],
        code: |ctx, creates| {
            task(ctx);
            let second = ctx.task(name("charge"), json("1"), TaskOptions::default());
            if creates {
                second.cancel();
            }
        },
    }
    .check();
}

#[test]
fn start_timer_is_matched_by_name_and_duration() {
    Row {
        id: CommandId::Timer(0),
        before: History::new(),
        recorded: named_timer(),
        differs: vec![
            Differs {
                field: "name",
                recorded: Command::StartTimer { name: Some(name("x")), duration_ms: 5_000 },
                history: "x",
                code: "sleep-1",
            },
            Differs {
                field: "name",
                recorded: start_timer(5_000),
                history: "none",
                code: "sleep-1",
            },
            Differs {
                field: "duration_ms",
                recorded: Command::StartTimer { name: Some(name("sleep-1")), duration_ms: 1 },
                history: "1",
                code: "5000",
            },
        ],
        code: |ctx, creates| {
            if creates {
                drop(timer(ctx));
            }
        },
    }
    .check();
}

#[test]
fn cancel_timer_is_matched_by_its_timer_in_an_order_of_its_own() {
    Row {
        id: CommandId::CancelTimer(0),
        before: History::new().asked(named_timer()).asked(named_timer()),
        recorded: Command::CancelTimer { target: CommandId::Timer(1) },
        differs: vec![Differs {
            field: "target",
            recorded: Command::CancelTimer { target: CommandId::Timer(0) },
            history: "Timer(0)",
            code: "Timer(1)",
        }],
        code: |ctx, creates| {
            let (_first, second) = (timer(ctx), timer(ctx));
            if creates {
                second.cancel();
            }
        },
    }
    .check();
}

#[test]
fn start_child_is_matched_by_id_workflow_input_and_close_policy() {
    let cancel = OnParentClose::Cancel;
    Row {
        id: CommandId::ChildWorkflow(0),
        before: History::new(),
        recorded: child("order-17/1.0", "Notify", "1", cancel),
        differs: vec![
            Differs {
                field: "id",
                recorded: child("order-17/1.7", "Notify", "1", cancel),
                history: "order-17/1.7",
                code: "order-17/1.0",
            },
            Differs {
                field: "workflow",
                recorded: child("order-17/1.0", "Mail", "1", cancel),
                history: "Mail",
                code: "Notify",
            },
            Differs {
                field: "input",
                recorded: child("order-17/1.0", "Notify", "7", cancel),
                history: "7",
                code: "1",
            },
            Differs {
                field: "on_parent_close",
                recorded: child("order-17/1.0", "Notify", "1", OnParentClose::Abandon),
                history: "abandon",
                code: "cancel",
            },
        ],
        code: |ctx, creates| {
            if creates {
                let options = ChildOptions::default();
                drop(ctx.child(None, name("Notify"), json("1"), options));
            }
        },
    }
    .check();
}

#[test]
fn cancel_child_is_matched_by_its_child() {
    let start = || child("order-17/1.0", "Notify", "1", OnParentClose::Cancel);
    let second = || child("order-17/1.1", "Notify", "1", OnParentClose::Cancel);
    Row {
        id: CommandId::CancelChild(0),
        before: History::new().asked(start()).asked(second()),
        recorded: Command::CancelChild { target: CommandId::ChildWorkflow(1) },
        differs: vec![Differs {
            field: "target",
            recorded: Command::CancelChild { target: CommandId::ChildWorkflow(0) },
            history: "ChildWorkflow(0)",
            code: "ChildWorkflow(1)",
        }],
        code: |ctx, creates| {
            let start = || ctx.child(None, name("Notify"), json("1"), ChildOptions::default());
            let (_first, second) = (start(), start());
            if creates {
                second.cancel();
            }
        },
    }
    .check();
}

/// A step has one event, its completion, so what is new shows as a closure to start.
#[test]
fn record_operation_is_matched_by_name() {
    async fn code(ctx: Context) -> End {
        match ctx.run(name("issue-invoice")).await {
            Settlement::Value(value) => End::Completed(value),
            other => panic!("{other:?}"),
        }
    }
    let mut new = replay(&History::new(), code);
    let turn = new.take_turn().expect("nothing is recorded");
    assert_eq!(turn.commands, []);
    assert_eq!(turn.steps.len(), 1);
    assert_eq!(turn.steps[0].id, CommandId::Operation(0));

    let mut done = replay(&History::new().asked(step(0, "issue-invoice", "7")), code);
    let turn = done.take_turn().expect("it matches");
    assert_eq!(turn.steps, [], "a recorded closure is never called");
    let end = Command::Close(Closing::Complete { result: json("7"), orphaned: Vec::new() });
    assert_eq!(turn.commands[0].command, end, "its recorded value is used");

    let found = violation(&mut replay(&History::new().asked(step(0, "mail", "7")), code));
    assert_eq!((found.class, found.command), (Class::Field, CommandId::Operation(0)));
    assert_eq!((found.field, found.offset), ("name", Some(Offset(2))));
    assert_eq!((&*found.history, &*found.code), ("mail", "issue-invoice"));
    assert!(found.source_location.file.ends_with("matrix.rs"), "{found}");

    let surplus = History::new().asked(step(0, "issue-invoice", "7"));
    let found = violation(&mut replay(&surplus, |ctx: Context| async move {
        ctx.signal(name("end")).await;
        End::Cancelled
    }));
    assert_eq!((found.class, found.command), (Class::Missing, CommandId::Operation(0)));
}

/// A value that is recorded without a step of its own is matched like any other output.
#[test]
fn a_recorded_value_is_matched_by_name_and_answered_at_once() {
    fn code(ctx: &Context, creates: bool) {
        if creates {
            let value = ctx.record(name("fee"), || json("3"));
            assert!(value == json("3") || value == json("9"), "{value}");
        }
    }
    // Its time is that of code, which has seen WorkflowStarted.
    let fee = |called: &str, value: &str| Command::RecordOperation {
        index: 0,
        name: name(called),
        result: Ok(json(value)),
        worker_at: Time(1_000),
    };
    Row {
        id: CommandId::Operation(0),
        before: History::new(),
        recorded: fee("fee", "3"),
        differs: vec![Differs {
            field: "name",
            recorded: fee("tax", "3"),
            history: "tax",
            code: "fee",
        }],
        code,
    }
    .check();
    let mut machine = replay(&History::new().asked(fee("fee", "9")), |ctx: Context| async move {
        let value = ctx.record(name("fee"), || panic!("a recorded closure is never called"));
        End::Completed(value)
    });
    let end = Command::Close(Closing::Complete { result: json("9"), orphaned: Vec::new() });
    assert_eq!(new_commands(&mut machine), [end]);
}

#[test]
fn create_promise_is_matched_by_name_and_time_out() {
    Row {
        id: CommandId::Promise(0),
        before: History::new(),
        recorded: promise("approval", Some(5)),
        differs: vec![
            Differs {
                field: "name",
                recorded: promise("consent", Some(5)),
                history: "consent",
                code: "approval",
            },
            Differs {
                field: "timeout_ms",
                recorded: promise("approval", None),
                history: "none",
                code: "5",
            },
        ],
        code: |ctx, creates| {
            if creates {
                drop(ctx.promise(name("approval"), Some(5)));
            }
        },
    }
    .check();
}

#[test]
fn resolve_promise_is_matched_by_name_and_value_in_an_order_of_its_own() {
    let two = || History::new().asked(promise("a", None)).asked(promise("b", None));
    Row {
        id: CommandId::ResolvePromise(0),
        before: two(),
        recorded: resolve("b", "1"),
        differs: vec![
            Differs { field: "name", recorded: resolve("a", "1"), history: "a", code: "b" },
            Differs { field: "value", recorded: resolve("b", "7"), history: "7", code: "1" },
        ],
        code: |ctx, creates| {
            drop((ctx.promise(name("a"), None), ctx.promise(name("b"), None)));
            if creates {
                ctx.resolve(name("b"), json("1"));
            }
        },
    }
    .check();
}

#[test]
fn set_state_is_matched_by_key_and_value() {
    Row {
        id: CommandId::State(1),
        before: History::new().asked(set("a", "1")),
        recorded: set("b", "1"),
        differs: vec![
            Differs { field: "key", recorded: set("c", "1"), history: "c", code: "b" },
            Differs { field: "value", recorded: set("b", "7"), history: "7", code: "1" },
        ],
        code: |ctx, creates| {
            ctx.set_state(name("a"), json("1"));
            if creates {
                ctx.set_state(name("b"), json("1"));
            }
        },
    }
    .check();
}

#[test]
fn clear_state_is_matched_by_key() {
    Row {
        id: CommandId::State(1),
        before: History::new().asked(set("a", "1")),
        recorded: clear("a"),
        differs: vec![Differs { field: "key", recorded: clear("b"), history: "b", code: "a" }],
        code: |ctx, creates| {
            ctx.set_state(name("a"), json("1"));
            if creates {
                ctx.clear_state(name("a"));
            }
        },
    }
    .check();
}

#[test]
fn a_set_where_history_has_a_clear_is_of_class_type_and_the_other_way_round() {
    async fn sets(ctx: Context) -> End {
        ctx.set_state(name("a"), json("1"));
        End::Cancelled
    }
    async fn clears(ctx: Context) -> End {
        ctx.clear_state(name("a"));
        End::Cancelled
    }
    let found = violation(&mut replay(&History::new().asked(clear("a")), sets));
    assert_eq!((found.class, found.command), (Class::Type, CommandId::State(0)));
    assert_eq!((found.field, found.offset), ("event", Some(Offset(2))));
    assert_eq!((&*found.history, &*found.code), ("StateCleared \"a\"", "StateSet \"a\""));
    let found = violation(&mut replay(&History::new().asked(set("a", "1")), clears));
    assert_eq!(found.class, Class::Type);
    assert_eq!((&*found.history, &*found.code), ("StateSet \"a\"", "StateCleared \"a\""));
}

#[test]
fn send_signal_is_matched_by_id_name_and_input() {
    Row {
        id: CommandId::Signal(0),
        before: History::new(),
        recorded: send("order-18", "go", "1"),
        differs: vec![
            Differs {
                field: "id",
                recorded: send("order-19", "go", "1"),
                history: "order-19",
                code: "order-18",
            },
            Differs {
                field: "name",
                recorded: send("order-18", "stop", "1"),
                history: "stop",
                code: "go",
            },
            Differs {
                field: "input",
                recorded: send("order-18", "go", "7"),
                history: "7",
                code: "1",
            },
        ],
        code: |ctx, creates| {
            if creates {
                ctx.send_signal(name("order-18"), name("go"), json("1"));
            }
        },
    }
    .check();
}

/// Replays an end against a recorded one.
fn ended(recorded: Closing, end: End) -> Option<(Class, &'static str, String, String)> {
    let history = History::new().asked(Command::Close(recorded));
    let mut machine = replay(&history, |_| async move { end });
    machine.take_turn().err().map(|_| {
        let found = violation(&mut machine);
        assert_eq!((found.command, found.offset), (CommandId::Close, Some(Offset(2))));
        (found.class, found.field, found.history, found.code)
    })
}

#[test]
fn the_end_is_matched_by_its_kind_and_what_it_says() {
    let complete = |it: &str| Closing::Complete { result: json(it), orphaned: Vec::new() };
    let fail = |it: Failure| Closing::Fail(it);
    let again = |it: &str| Closing::ContinueAsNew { input: Some(json(it)), unread: Vec::new() };
    let other = Failure { message: "other".to_owned(), ..failure("lost") };
    let detailed = Failure { details: json("1"), ..failure("lost") };

    assert_eq!(ended(complete("1"), End::Completed(json("1"))), None);
    assert_eq!(ended(fail(failure("lost")), End::Failed(failure("lost"))), None);
    assert_eq!(ended(Closing::Cancel, End::Cancelled), None);
    assert_eq!(ended(again("1"), End::Continued(json("1"))), None);
    let unknown = Closing::ContinueAsNew { input: None, unread: Vec::new() };
    assert_eq!(ended(unknown, End::Continued(json("1"))), None);

    let found = |recorded, end| ended(recorded, end).map(|(class, field, ..)| (class, field));
    let lost = || End::Failed(failure("lost"));
    let field = |field| Some((Class::Field, field));
    assert_eq!(found(complete("7"), End::Completed(json("1"))), field("result"));
    assert_eq!(found(fail(failure("found")), lost()), field("type"));
    assert_eq!(found(fail(other), lost()), field("message"));
    assert_eq!(found(fail(detailed), lost()), field("details"));
    assert_eq!(found(again("7"), End::Continued(json("1"))), field("input"));
    let (class, field, history, code) =
        ended(Closing::Cancel, End::Completed(json("1"))).expect("a cancel is no completion");
    assert_eq!((class, field), (Class::Type, "event"));
    assert_eq!((&*history, &*code), ("WorkflowCancelled", "WorkflowCompleted"));
}

#[test]
fn what_is_left_is_listed_with_its_offsets() {
    let history = History::new()
        .asked(set("a", "1"))
        .asked(schedule("charge", "1"))
        .came(Input::CancellationRequested { reason: "no".to_owned() })
        .asked(named_timer());
    let found = violation(&mut replay(&history, |ctx: Context| async move {
        ctx.set_state(name("a"), json("1"));
        End::Completed(json("1"))
    }));
    let left = |command, offset| Orphan { command, offset: Offset(offset) };
    assert_eq!(found.class, Class::Orphaned);
    assert_eq!(found.orphans, [left(CommandId::Task(0), 3), left(CommandId::Timer(0), 5)]);
    assert!(found.to_string().contains("left:    Timer(0) at offset 5"), "{found}");
}
