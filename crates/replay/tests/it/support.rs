//! Histories written by hand, and code replayed against them.

use std::future::Future;

use bytes::Bytes;
use seriatim_replay::{
    Command, Context, End, Event, Failure, Input, MATCHING_VERSION, Machine, Offset, OnOrphans,
    Output, Payload, Recorded, RunNumber, Started, Stopped, TaskOptions, Violation,
};
use seriatim_types::{Name, Time, WorkspaceId};

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("tests use names that are names")
}

pub(crate) fn json(text: impl Into<String>) -> Payload {
    Payload(Bytes::from(text.into()))
}

pub(crate) fn failure(kind: &str) -> Failure {
    let message = format!("it was {kind}");
    Failure { kind: kind.to_owned(), message, details: Payload::null(), cause: None }
}

pub(crate) fn started() -> Started {
    Started {
        offset: Offset(1),
        at: Time(1_000),
        workspace: WorkspaceId(1_099_511_627_778),
        id: name("order-17"),
        run: RunNumber(1),
        workflow: name("fulfil"),
        input: Payload::null(),
        matching: MATCHING_VERSION,
        on_orphans: OnOrphans::Violate,
        carried: Vec::new(),
    }
}

/// A history that begins after WorkflowStarted, which has offset 1. Entry times are the offsets,
/// in seconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct History(pub(crate) Vec<Recorded>);

impl History {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// What code asked for, when it had seen everything so far.
    pub(crate) fn asked(self, command: Command) -> Self {
        let inputs = self.0.iter().filter(|it| matches!(it.event, Event::Input(_)));
        let seen = inputs.map(|it| it.offset).max().unwrap_or(Offset(1));
        self.asked_at(seen, command)
    }

    pub(crate) fn asked_at(mut self, seen: Offset, command: Command) -> Self {
        let output = Output { seen, index: None, command };
        self.push(Event::Output(output));
        self
    }

    pub(crate) fn came(mut self, input: Input) -> Self {
        self.push(Event::Input(input));
        self
    }

    fn push(&mut self, event: Event) {
        let offset = self.0.len() as u64 + 2;
        self.0.push(Recorded { offset: Offset(offset), at: Time(offset * 1_000), event });
    }
}

pub(crate) fn schedule(task: &str, input: &str) -> Command {
    Command::ScheduleTask { task: name(task), input: json(input), options: TaskOptions::default() }
}

pub(crate) fn start_timer(duration_ms: u64) -> Command {
    Command::StartTimer { name: None, duration_ms }
}

pub(crate) fn step(index: u32, called: &str, result: &str) -> Command {
    let result = Ok(json(result));
    Command::RecordOperation { index, name: name(called), result, worker_at: Time(0) }
}

pub(crate) fn task_done(index: u32, result: &str) -> Input {
    Input::TaskCompleted { index, result: json(result) }
}

/// Code that was shown a whole history.
pub(crate) fn replay<F>(history: &History, code: impl FnOnce(Context) -> F + 'static) -> Machine
where
    F: Future<Output = End> + 'static,
{
    replay_as(started(), history, code)
}

pub(crate) fn replay_as<F>(
    started: Started,
    history: &History,
    code: impl FnOnce(Context) -> F + 'static,
) -> Machine
where
    F: Future<Output = End> + 'static,
{
    let mut machine = Machine::new(started, code).expect("the version is known");
    machine.feed(history.0.clone()).expect("the history is sound");
    machine.advance();
    machine
}

/// The commands that code creates beyond its history.
pub(crate) fn new_commands(machine: &mut Machine) -> Vec<Command> {
    let turn = machine.take_turn().expect("the code follows its history");
    turn.commands.into_iter().map(|it| it.command).collect()
}

pub(crate) fn violation(machine: &mut Machine) -> Violation {
    match machine.take_turn() {
        Err(Stopped::Violation(violation)) => *violation,
        other => panic!("the code follows its history: {other:?}"),
    }
}
