//! What may be changed in code while runs are open, and what is refused: a test for each cell of
//! the table in `docs/reference/replay.md`.

use seriatim_replay::{
    ChildOptions, Class, Command, CommandId, Context, End, Handle, Input, Payload, Settlement,
    TaskOptions,
};
use seriatim_types::Time;

use crate::combinators::{All, Branch};
use crate::support::{History, json, name, new_commands, replay, schedule, violation};

/// One thing that the code does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Do {
    Task(&'static str, &'static str),
    Timer(u64),
    Child(&'static str, &'static str),
    Step(&'static str),
    Set(&'static str, &'static str),
    Clear(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Style {
    /// Each is awaited before the next is created.
    Sequential,
    /// All are created, and then awaited.
    Parallel,
}

/// What the code does behind all that.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    Waits,
    Ends,
}

use Do::{Child, Clear, Set, Step, Task, Timer};
use Style::{Parallel, Sequential};

const BASE: [Do; 6] =
    [Task("a", "1"), Timer(5), Task("b", "1"), Set("k", "1"), Child("c", "1"), Step("s")];

async fn perform(ctx: Context, what: Vec<Do>, style: Style, then: Then) -> End {
    let mut open: Vec<Branch<Settlement>> = Vec::new();
    for it in what {
        let Some(handle) = create(&ctx, it) else { continue };
        match style {
            Sequential => drop(handle.await),
            Parallel => open.push(Box::pin(handle)),
        }
    }
    All::of(open).await;
    if then == Then::Waits {
        ctx.signal(name("end")).await;
    }
    End::Completed(json("1"))
}

fn create(ctx: &Context, it: Do) -> Option<Handle> {
    match it {
        Task(task, input) => Some(ctx.task(name(task), json(input), TaskOptions::default())),
        Timer(ms) => Some(ctx.timer(None, ms)),
        Child(workflow, input) => {
            Some(ctx.child(None, name(workflow), json(input), ChildOptions::default()))
        }
        Step(step) => Some(ctx.run(name(step))),
        Set(key, value) => {
            ctx.set_state(name(key), json(value));
            None
        }
        Clear(key) => {
            ctx.clear_state(name(key));
            None
        }
    }
}

/// The history of such code, up to where all of it has come to an end.
fn history_of(what: &[Do], style: Style) -> History {
    let (mut history, mut ends) = (History::new(), Vec::new());
    let mut counts = [0_u32; 4];
    for it in what {
        let mut next = |of: usize| {
            counts[of] += 1;
            counts[of] - 1
        };
        let end = match *it {
            Task(task, input) => {
                history = history.asked(schedule(task, input));
                Completion::Came(Input::TaskCompleted { index: next(0), result: json("7") })
            }
            Timer(duration_ms) => {
                history = history.asked(Command::StartTimer { name: None, duration_ms });
                Completion::Came(Input::TimerFired { index: next(1) })
            }
            Child(workflow, input) => {
                let index = next(2);
                let id = Some(name(&format!("order-17/1.{index}")));
                let (workflow, input) = (name(workflow), json(input));
                let options = ChildOptions::default();
                history = history.asked(Command::StartChild { id, workflow, input, options });
                Completion::Came(Input::ChildCompleted { index, result: json("7") })
            }
            Step(step) => Completion::Asked(Command::RecordOperation {
                index: next(3),
                name: name(step),
                result: Ok(Payload::null()),
                worker_at: Time(0),
            }),
            Set(key, value) => {
                history = history.asked(Command::SetState { key: name(key), value: json(value) });
                continue;
            }
            Clear(key) => {
                history = history.asked(Command::ClearState { key: name(key) });
                continue;
            }
        };
        match style {
            Sequential => history = end.after(history),
            Parallel => ends.push(end),
        }
    }
    ends.into_iter().fold(history, |history, end| end.after(history))
}

enum Completion {
    Came(Input),
    Asked(Command),
}

impl Completion {
    fn after(self, history: History) -> History {
        match self {
            Self::Came(input) => history.came(input),
            Self::Asked(command) => history.asked(command),
        }
    }
}

/// What code comes to on the history of other code.
fn outcome(
    history: &History,
    what: &[Do],
    style: Style,
    then: Then,
) -> Result<Vec<Command>, (Class, CommandId)> {
    let what = what.to_vec();
    let mut machine = replay(history, move |ctx| perform(ctx, what, style, then));
    match machine.take_turn() {
        Ok(turn) => Ok(turn.commands.into_iter().map(|it| it.command).collect()),
        Err(_) => {
            let found = violation(&mut machine);
            assert!(found.history != found.code, "{found}");
            Err((found.class, found.command))
        }
    }
}

/// A change of the base, in both styles. `Ok` is how many commands are new work.
#[track_caller]
fn check(
    changed: &[Do],
    sequential: Result<usize, (Class, CommandId)>,
    parallel: Result<usize, (Class, CommandId)>,
) {
    check_from(&BASE, changed, sequential, parallel);
}

#[track_caller]
fn check_from(
    base: &[Do],
    changed: &[Do],
    sequential: Result<usize, (Class, CommandId)>,
    parallel: Result<usize, (Class, CommandId)>,
) {
    for (style, expected) in [(Sequential, sequential), (Parallel, parallel)] {
        let history = history_of(base, style);
        let found = outcome(&history, changed, style, Then::Waits).map(|it| it.len());
        assert_eq!(found, expected, "{style:?} {changed:?}");
        // Code that ends instead is refused for the same reason, or for what it left.
        let ends = outcome(&history, changed, style, Then::Ends);
        assert_eq!(ends.is_err(), expected.is_err(), "{style:?} {changed:?} ends: {ends:?}");
    }
}

fn with(edit: impl FnOnce(&mut Vec<Do>)) -> Vec<Do> {
    let mut changed = BASE.to_vec();
    edit(&mut changed);
    changed
}

fn without(index: usize) -> Vec<Do> {
    let mut changed = BASE.to_vec();
    changed.remove(index);
    changed
}

#[test]
fn unchanged_code_follows() {
    check(&BASE, Ok(0), Ok(0));
}

#[test]
fn a_command_appended_behind_the_last_recorded_output_is_new_work() {
    for it in [Task("x", "1"), Timer(9), Child("x", "1"), Set("x", "1"), Clear("x")] {
        let changed = with(|all| all.push(it));
        let history = history_of(&BASE, Sequential);
        let new = outcome(&history, &changed, Sequential, Then::Waits).expect("it is new work");
        assert_eq!(new.len(), 1, "{it:?}");
    }
    // In parallel code it comes before the recorded end of the step.
    let changed = with(|all| all.push(Timer(9)));
    let history = history_of(&BASE, Parallel);
    let found = outcome(&history, &changed, Parallel, Then::Waits);
    assert_eq!(found, Err((Class::Inserted, CommandId::Timer(1))));
    let base = &BASE[..5];
    let mut changed = base.to_vec();
    changed.push(Timer(9));
    check_from(base, &changed, Ok(1), Ok(1));
}

#[test]
fn a_command_inserted_before_a_recorded_output_is_refused() {
    let inserted = |id| Err((Class::Inserted, id));
    for (it, id) in [
        (Timer(9), CommandId::Timer(0)),
        (Child("x", "1"), CommandId::ChildWorkflow(0)),
        (Set("x", "1"), CommandId::State(0)),
        (Clear("x"), CommandId::State(0)),
    ] {
        check(&with(|all| all.insert(0, it)), inserted(id), inserted(id));
    }
    // Of the type of the next recorded command: another field at its position.
    let field = Err((Class::Field, CommandId::Task(0)));
    check(&with(|all| all.insert(0, Task("x", "1"))), field, field);
    let field = Err((Class::Field, CommandId::Timer(0)));
    check(&with(|all| all.insert(1, Timer(9))), field, field);
    // Behind the last of its type, before others.
    let id = CommandId::Task(2);
    check(&with(|all| all.insert(4, Task("x", "1"))), inserted(id), inserted(id));
    // Code that ends instead leaves a recorded command.
    check(
        &with(|all| all.insert(5, Timer(9))),
        inserted(CommandId::Timer(1)),
        inserted(CommandId::Timer(1)),
    );
}

#[test]
fn an_inserted_step_is_refused_unless_nothing_depends_on_it() {
    let id = CommandId::Operation(0);
    let changed = with(|all| all.insert(1, Step("x")));
    // The recorded step has its position now, and another name.
    let sequential = Err((Class::Inserted, id));
    check(&changed, sequential, Err((Class::Field, id)));
    // A step that was started and not recorded looks the same, so it is started again.
    let base = &BASE[..5];
    let mut changed = base.to_vec();
    changed.insert(1, Step("x"));
    for style in [Sequential, Parallel] {
        let history = history_of(base, style);
        let what = changed.clone();
        let mut machine = replay(&history, move |ctx| perform(ctx, what, style, Then::Waits));
        match style {
            Sequential => assert_eq!(violation(&mut machine).class, Class::Inserted),
            Parallel => {
                let turn = machine.take_turn().expect("it cannot be told apart");
                assert_eq!(turn.steps.len(), 1);
            }
        }
    }
}

#[test]
fn a_command_that_was_dropped_is_missed() {
    let missing = |id| Err((Class::Missing, id));
    for (index, id) in [
        (0, CommandId::Task(0)),
        (1, CommandId::Timer(0)),
        (2, CommandId::Task(1)),
        (3, CommandId::State(0)),
        (4, CommandId::ChildWorkflow(0)),
    ] {
        let changed = without(index);
        check(&changed, missing(id), missing(id));
    }
    check(&without(5), missing(CommandId::Operation(0)), missing(CommandId::Operation(0)));
    // One of a type whose next one follows at once: another field at its position.
    let base = [Task("a", "1"), Task("b", "1")];
    let field = Err((Class::Field, CommandId::Task(0)));
    check_from(&base, &base[1..], field, field);
}

/// A step that never ended is in no history, and is not what a dropped command is blamed on.
#[test]
fn a_dropped_command_is_missed_beside_a_step_that_never_ended() {
    let history = history_of(&[Task("a", "1"), Timer(5)], Sequential);
    let found = violation(&mut replay(&history, |ctx: Context| async move {
        drop(ctx.run(name("slow")));
        ctx.task(name("a"), json("1"), TaskOptions::default()).await;
        ctx.signal(name("end")).await;
        End::Cancelled
    }));
    assert_eq!((found.class, found.command), (Class::Missing, CommandId::Timer(0)));
    assert!(found.code.contains("the last that it created is Task(0)"), "{found}");
}

#[test]
fn what_is_dropped_at_the_end_is_orphaned_if_code_ends() {
    for style in [Sequential, Parallel] {
        for cut in 0..BASE.len() {
            let history = history_of(&BASE, style);
            let found = outcome(&history, &BASE[..cut], style, Then::Ends);
            let (class, _) = found.expect_err("history is left");
            // Parallel code still waits when the next command is due, unless that is the step's end.
            let is_at_end = style == Sequential || cut == 0 || cut == 5;
            let expected = if is_at_end { Class::Orphaned } else { Class::Missing };
            assert_eq!(class, expected, "{style:?}, {cut} of them");
        }
    }
}

#[test]
fn two_of_one_type_that_were_swapped_differ_in_a_field() {
    let base = [Task("a", "1"), Task("b", "1"), Timer(1), Timer(2), Set("k", "1"), Set("l", "1")];
    for (index, id) in [(0, CommandId::Task(0)), (2, CommandId::Timer(0)), (4, CommandId::State(0))]
    {
        let mut changed = base.to_vec();
        changed.swap(index, index + 1);
        check_from(&base, &changed, Err((Class::Field, id)), Err((Class::Field, id)));
    }
    let base = [Step("a"), Step("b")];
    let field = Err((Class::Field, CommandId::Operation(0)));
    check_from(&base, &[Step("b"), Step("a")], field, field);
    // Two that are equal in every field are the same.
    let base = [Task("a", "1"), Timer(1), Task("a", "1")];
    check_from(&base, &base, Ok(0), Ok(0));
}

#[test]
fn two_of_different_types_that_were_swapped_are_out_of_order() {
    for (index, missing, created) in [
        (0, CommandId::Task(0), CommandId::Timer(0)),
        (1, CommandId::Timer(0), CommandId::Task(1)),
        (2, CommandId::Task(1), CommandId::State(0)),
        (3, CommandId::State(0), CommandId::ChildWorkflow(0)),
    ] {
        let changed = with(|all| all.swap(index, index + 1));
        // Sequential code rests before it creates the other, unless the first needs no wait.
        let is_at_once = matches!(changed[index], Set(..));
        let sequential = match is_at_once {
            true => (Class::Order, created),
            false => (Class::Missing, missing),
        };
        check(&changed, Err(sequential), Err((Class::Order, created)));
    }
}

#[test]
fn a_step_swapped_with_a_command_is_out_of_order_in_sequence() {
    let changed = with(|all| all.swap(4, 5));
    let inserted = Err((Class::Missing, CommandId::ChildWorkflow(0)));
    // In parallel code steps are recorded when they end, so only their names count.
    check(&changed, inserted, Ok(0));
}

#[test]
fn what_was_renamed_or_retyped_differs_in_a_field_or_a_type() {
    let field = |id| Err((Class::Field, id));
    for (index, it, id) in [
        (0, Task("x", "1"), CommandId::Task(0)),
        (4, Child("x", "1"), CommandId::ChildWorkflow(0)),
        (3, Set("x", "1"), CommandId::State(0)),
        (5, Step("x"), CommandId::Operation(0)),
    ] {
        check(&with(|all| all[index] = it), field(id), field(id));
    }
    let of_type = Err((Class::Type, CommandId::State(0)));
    check(&with(|all| all[3] = Clear("k")), of_type, of_type);
    let inserted = Err((Class::Inserted, CommandId::ChildWorkflow(0)));
    check(&with(|all| all[0] = Child("a", "1")), inserted, inserted);
}

#[test]
fn another_input_duration_or_value_differs_in_a_field() {
    let field = |id| Err((Class::Field, id));
    for (index, it, id) in [
        (0, Task("a", "2"), CommandId::Task(0)),
        (1, Timer(6), CommandId::Timer(0)),
        (3, Set("k", "2"), CommandId::State(0)),
        (4, Child("c", "2"), CommandId::ChildWorkflow(0)),
    ] {
        check(&with(|all| all[index] = it), field(id), field(id));
    }
}

/// The recorded order of creation is what counts, not who waits for whom.
#[test]
fn a_join_instead_of_a_sequence_is_allowed_and_a_sequence_instead_of_a_join_is_not() {
    let base = &BASE[..5];
    let history = history_of(base, Sequential);
    assert_eq!(outcome(&history, base, Parallel, Then::Waits), Ok(Vec::new()));
    let history = history_of(base, Parallel);
    let found = outcome(&history, base, Sequential, Then::Waits);
    assert_eq!(found, Err((Class::Missing, CommandId::Timer(0))));
    // The end of a step stands in the order too: what followed it must not come before it.
    let base = [Step("s"), Task("a", "1")];
    let history = history_of(&base, Sequential);
    let found = outcome(&history, &base, Parallel, Then::Waits);
    assert_eq!(found, Err((Class::Order, CommandId::Task(0))));
}

#[test]
fn awaiting_in_another_order_is_allowed() {
    async fn code(ctx: Context, is_reversed: bool) -> End {
        let a = ctx.task(name("a"), json("1"), TaskOptions::default());
        let b = ctx.task(name("b"), json("1"), TaskOptions::default());
        let (first, second) = if is_reversed { (b, a) } else { (a, b) };
        first.await;
        second.await;
        ctx.timer(None, 1).await;
        End::Cancelled
    }
    let history = history_of(&[Task("a", "1"), Task("b", "1")], Parallel);
    let history = history.asked(Command::StartTimer { name: None, duration_ms: 1 });
    for is_reversed in [false, true] {
        assert_eq!(new_commands(&mut replay(&history, move |ctx| code(ctx, is_reversed))), []);
    }
}

#[test]
fn another_branch_on_state_or_time_counts_by_the_commands_it_creates() {
    async fn code(ctx: Context, limit: u64, task: &'static str) -> End {
        ctx.set_state(name("k"), json("5"));
        ctx.timer(None, 1).await;
        if ctx.now().0 > limit {
            ctx.task(name(task), json("1"), TaskOptions::default()).await;
        }
        ctx.signal(name("end")).await;
        End::Cancelled
    }
    let set = Command::SetState { key: name("k"), value: json("5") };
    let timer = Command::StartTimer { name: None, duration_ms: 1 };
    let history = History::new().asked(set).asked(timer).came(Input::TimerFired { index: 0 });
    let history = history.asked(schedule("late", "1"));
    assert_eq!(new_commands(&mut replay(&history, |ctx| code(ctx, 1, "late"))), []);
    assert_eq!(new_commands(&mut replay(&history, |ctx| code(ctx, 2, "late"))), []);
    let found = violation(&mut replay(&history, |ctx| code(ctx, 1_000_000, "late")));
    assert_eq!((found.class, found.command), (Class::Missing, CommandId::Task(0)));
    let found = violation(&mut replay(&history, |ctx| code(ctx, 1, "early")));
    assert_eq!((found.class, found.command), (Class::Field, CommandId::Task(0)));
}

/// Every pair of codes over a small alphabet: whatever is accepted creates the recorded commands
/// in the recorded order, and nothing is ever accepted that lacks one of them.
#[test]
fn no_change_is_accepted_that_has_other_commands() {
    let mut judged = [0, 0];
    let alphabet = [Task("a", "1"), Task("b", "1"), Timer(5), Set("k", "1")];
    judge_all(&programs(&alphabet, 3), &mut judged);
    let alphabet = [Task("a", "1"), Timer(5), Set("k", "1"), Step("s"), Step("t")];
    judge_all(&programs(&alphabet, 2), &mut judged);
    let [refused, accepted] = judged;
    assert!(accepted > 500 && refused > 5_000, "{accepted} accepted, {refused} refused");
}

/// All programs of at most so many commands.
fn programs(alphabet: &[Do], length_max: usize) -> Vec<Vec<Do>> {
    let mut programs: Vec<Vec<Do>> = vec![Vec::new()];
    for length in 0..length_max {
        let shorter: Vec<Vec<Do>> =
            programs.iter().filter(|it| it.len() == length).cloned().collect();
        for program in shorter {
            programs.extend(alphabet.iter().map(|it| [&program[..], &[*it]].concat()));
        }
    }
    programs
}

fn judge_all(programs: &[Vec<Do>], judged: &mut [u32; 2]) {
    for base in programs {
        for changed in programs {
            for style in [Sequential, Parallel] {
                let history = history_of(base, style);
                let is_allowed = match style {
                    Sequential => changed.starts_with(base),
                    Parallel => is_allowed_in_parallel(base, changed),
                };
                judged[usize::from(is_allowed)] += 1;
                for then in [Then::Waits, Then::Ends] {
                    let found = outcome(&history, changed, style, then);
                    assert_eq!(
                        found.is_ok(),
                        is_allowed,
                        "{style:?} {then:?} {base:?} {changed:?}: {found:?}"
                    );
                }
            }
        }
    }
}

/// In parallel code the steps are recorded when they end, after all commands.
fn is_allowed_in_parallel(base: &[Do], changed: &[Do]) -> bool {
    let parts =
        |of: &[Do]| -> (Vec<Do>, Vec<Do>) { of.iter().partition(|it| matches!(it, Step(_))) };
    let ((base_steps, base), (steps, commands)) = (parts(base), parts(changed));
    let is_extended = commands.len() > base.len();
    let has_room = base_steps.is_empty() || !is_extended;
    commands.starts_with(&base) && steps.starts_with(&base_steps) && has_room
}
