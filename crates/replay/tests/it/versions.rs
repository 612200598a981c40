//! Changing code while runs are open.

use seriatim_replay::{Class, Closing, Command, CommandId, Context, End, Input, TaskOptions};

use crate::support::{
    History, json, name, new_commands, replay, schedule, step, task_done, violation,
};

/// The old code: a task, a step, a task.
fn old() -> History {
    History::new()
        .asked(schedule("a", "1"))
        .came(task_done(0, "1"))
        .asked(step(0, "s", "1"))
        .asked(schedule("b", "1"))
        .came(task_done(1, "1"))
}

fn marker(version: u32) -> Command {
    Command::MarkVersion { name: name("change"), version }
}

fn complete(result: &str) -> Command {
    Command::Close(Closing::Complete { result: json(result), orphaned: Vec::new() })
}

async fn task(ctx: &Context, called: &str) {
    ctx.task(name(called), json("1"), TaskOptions::default()).await;
}

/// Code with a change at one of four lines.
async fn patched(ctx: Context, line: u32) -> End {
    let mut at = 0;
    let mut change = async |ctx: &Context| {
        at += 1;
        if at == line + 1 && ctx.patched(name("change")) {
            task(ctx, "new").await;
        }
    };
    change(&ctx).await;
    task(&ctx, "a").await;
    change(&ctx).await;
    ctx.run(name("s")).await;
    change(&ctx).await;
    task(&ctx, "b").await;
    change(&ctx).await;
    End::Completed(json("1"))
}

#[test]
fn a_run_that_was_past_the_change_takes_the_old_path() {
    for line in 0..3 {
        let mut machine = replay(&old(), move |ctx| patched(ctx, line));
        assert_eq!(new_commands(&mut machine), [complete("1")], "line {line}");
    }
}

#[test]
fn a_run_that_comes_to_the_change_takes_the_new_path_and_marks_it() {
    let mut machine = replay(&old(), |ctx| patched(ctx, 3));
    let new = [marker(1), schedule("new", "1")];
    assert_eq!(new_commands(&mut machine), new);
    let mut machine = replay(&History::new(), |ctx| patched(ctx, 0));
    assert_eq!(new_commands(&mut machine), new);
    // And so it does on every replay.
    let marked = old().asked(marker(1));
    let mut machine = replay(&marked, |ctx| patched(ctx, 3));
    assert_eq!(new_commands(&mut machine), [schedule("new", "1")]);
    let done = marked.asked(schedule("new", "1")).came(task_done(2, "1"));
    assert_eq!(new_commands(&mut replay(&done, |ctx| patched(ctx, 3))), [complete("1")]);
}

#[test]
fn the_answer_for_a_name_is_given_once() {
    async fn code(ctx: Context) -> End {
        let before = ctx.version(name("change"), 4);
        task(&ctx, "a").await;
        let after = ctx.version(name("change"), 4);
        End::Completed(json(format!("[{before},{after}]")))
    }
    // The first call is past what is recorded, the second is not.
    let history = History::new().asked(schedule("a", "1")).came(task_done(0, "1"));
    assert_eq!(new_commands(&mut replay(&history, code)), [complete("[0,0]")]);
    let marked = History::new().asked(marker(3)).asked(schedule("a", "1"));
    let marked = marked.came(task_done(0, "1"));
    assert_eq!(new_commands(&mut replay(&marked, code)), [complete("[3,3]")]);
}

#[test]
fn a_marker_of_newer_code_is_refused() {
    async fn code(ctx: Context) -> End {
        let version = ctx.version(name("change"), 2);
        End::Completed(json(format!("{version}")))
    }
    assert_eq!(new_commands(&mut replay(&History::new().asked(marker(2)), code)), [complete("2")]);
    let found = violation(&mut replay(&History::new().asked(marker(3)), code));
    assert_eq!((found.class, found.command), (Class::Field, CommandId::Version(0)));
    assert_eq!(found.field, "version");
    assert_eq!(found.code, "nothing newer than version 2");
    assert!(found.history.ends_with("version 3"), "{found}");
}

#[test]
fn a_marker_that_moved_or_was_renamed_is_refused() {
    let history = History::new()
        .asked(schedule("a", "1"))
        .came(task_done(0, "1"))
        .asked(marker(1))
        .asked(schedule("b", "1"));
    async fn moved(ctx: Context) -> End {
        let _ = ctx.patched(name("change"));
        task(&ctx, "a").await;
        task(&ctx, "b").await;
        End::Cancelled
    }
    let found = violation(&mut replay(&history, moved));
    assert_eq!((found.class, found.command), (Class::Order, CommandId::Version(0)));
    async fn renamed(ctx: Context) -> End {
        task(&ctx, "a").await;
        let _ = ctx.patched(name("other"));
        task(&ctx, "b").await;
        End::Cancelled
    }
    let found = violation(&mut replay(&history, renamed));
    assert_eq!(found.class, Class::Missing, "{found}");
    assert_eq!(found.command, CommandId::Version(0));
}

#[test]
fn a_marker_that_nobody_asks_for_is_refused_unless_it_is_retired() {
    async fn code(ctx: Context, retires: bool) -> End {
        if retires {
            ctx.retired(name("change"));
        }
        task(&ctx, "a").await;
        task(&ctx, "b").await;
        let newer = ctx.version(name("newer"), 1);
        End::Completed(json(format!("{newer}")))
    }
    let newer = Command::MarkVersion { name: name("newer"), version: 1 };
    let history = History::new()
        .asked(schedule("a", "1"))
        .came(task_done(0, "1"))
        .asked(marker(1))
        .asked(schedule("b", "1"))
        .came(task_done(1, "1"))
        .asked(newer)
        .asked(complete("1"));
    let found = violation(&mut replay(&history, |ctx| code(ctx, false)));
    assert_eq!((found.class, found.command), (Class::Missing, CommandId::Version(0)));
    assert_eq!(new_commands(&mut replay(&history, |ctx| code(ctx, true))), []);
    // At the very end, too.
    let at_end = History::new()
        .asked(schedule("a", "1"))
        .came(task_done(0, "1"))
        .asked(schedule("b", "1"))
        .came(task_done(1, "1"))
        .asked(Command::MarkVersion { name: name("newer"), version: 1 })
        .asked(marker(1));
    assert_eq!(new_commands(&mut replay(&at_end, |ctx| code(ctx, true))), [complete("1")]);
    let found = violation(&mut replay(&at_end, |ctx| code(ctx, false)));
    assert_eq!(found.class, Class::Orphaned);
}

/// A step that was created and has not ended does not count as recorded beyond the change.
#[test]
fn a_change_behind_a_running_step_is_decided_where_it_stands() {
    async fn code(ctx: Context) -> End {
        let running = ctx.run(name("s"));
        if ctx.patched(name("change")) {
            task(&ctx, "new").await;
        }
        running.await;
        End::Completed(json("1"))
    }
    // New code, whose step ended after the marker.
    let new = History::new().asked(marker(1)).asked(schedule("new", "1"));
    let new = new.asked(step(0, "s", "1")).came(task_done(0, "1"));
    assert_eq!(new_commands(&mut replay(&new, code)), [complete("1")]);
    // Old code, whose step ended: the change would stand before that.
    let old = History::new().asked(step(0, "s", "1"));
    assert_eq!(new_commands(&mut replay(&old, code)), [complete("1")]);
    // Old code, whose step has not ended: nothing is recorded beyond.
    let open = History::new().came(Input::SignalReceived { name: name("x"), input: json("1") });
    assert_eq!(new_commands(&mut replay(&open, code)), [marker(1), schedule("new", "1")]);
}
