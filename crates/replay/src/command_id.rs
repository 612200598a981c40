//! What a command of workflow code is called: its type, and its position in that type.
//!
//! ```text
//!  task A ─► Task(0)      timer ─► Timer(0)      task B ─► Task(1)
//! ```
//!
//! **Invariant:** a position is taken when a command is created and never given back, so it does
//! not depend on what completes first, or on whether anybody awaits it.

use std::fmt;

use crate::Command;

/// Identifies a command of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandId {
    /// The n-th scheduled task.
    Task(u32),
    /// The n-th started timer.
    Timer(u32),
    /// The n-th started child.
    ChildWorkflow(u32),
    /// The n-th step.
    Operation(u32),
    /// The n-th created promise.
    Promise(u32),
    /// The n-th set or clear of state, both in one order.
    State(u32),
    /// The n-th cancel of a task.
    CancelTask(u32),
    /// The n-th cancel of a timer.
    CancelTimer(u32),
    /// The n-th cancel of a child.
    CancelChild(u32),
    /// The n-th promise that the workflow resolved itself.
    ResolvePromise(u32),
    /// The n-th signal sent.
    Signal(u32),
    /// The n-th version marker.
    Version(u32),
    /// The end of the run.
    Close,
}

/// The types of commands. Each has positions of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CommandType {
    Task,
    Timer,
    ChildWorkflow,
    Operation,
    Promise,
    State,
    CancelTask,
    CancelTimer,
    CancelChild,
    ResolvePromise,
    Signal,
    Version,
    Close,
}

/// How many commands of each type there are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts([u32; TYPES]);

const TYPES: usize = CommandType::Close as usize + 1;

impl CommandType {
    pub(crate) fn of(command: &Command) -> Self {
        match command {
            Command::ScheduleTask { .. } => Self::Task,
            Command::CancelTask { .. } => Self::CancelTask,
            Command::StartTimer { .. } => Self::Timer,
            Command::CancelTimer { .. } => Self::CancelTimer,
            Command::StartChild { .. } => Self::ChildWorkflow,
            Command::CancelChild { .. } => Self::CancelChild,
            Command::RecordOperation { .. } => Self::Operation,
            Command::CreatePromise { .. } => Self::Promise,
            Command::ResolvePromise { .. } => Self::ResolvePromise,
            Command::SetState { .. } | Command::ClearState { .. } => Self::State,
            Command::SendSignal { .. } => Self::Signal,
            Command::MarkVersion { .. } => Self::Version,
            Command::Close(_) => Self::Close,
        }
    }

    pub(crate) fn at(self, position: u32) -> CommandId {
        match self {
            Self::Task => CommandId::Task(position),
            Self::Timer => CommandId::Timer(position),
            Self::ChildWorkflow => CommandId::ChildWorkflow(position),
            Self::Operation => CommandId::Operation(position),
            Self::Promise => CommandId::Promise(position),
            Self::State => CommandId::State(position),
            Self::CancelTask => CommandId::CancelTask(position),
            Self::CancelTimer => CommandId::CancelTimer(position),
            Self::CancelChild => CommandId::CancelChild(position),
            Self::ResolvePromise => CommandId::ResolvePromise(position),
            Self::Signal => CommandId::Signal(position),
            Self::Version => CommandId::Version(position),
            Self::Close => CommandId::Close,
        }
    }
}

impl CommandId {
    /// Its type and its position.
    pub(crate) fn parts(self) -> (CommandType, u32) {
        match self {
            Self::Task(position) => (CommandType::Task, position),
            Self::Timer(position) => (CommandType::Timer, position),
            Self::ChildWorkflow(position) => (CommandType::ChildWorkflow, position),
            Self::Operation(position) => (CommandType::Operation, position),
            Self::Promise(position) => (CommandType::Promise, position),
            Self::State(position) => (CommandType::State, position),
            Self::CancelTask(position) => (CommandType::CancelTask, position),
            Self::CancelTimer(position) => (CommandType::CancelTimer, position),
            Self::CancelChild(position) => (CommandType::CancelChild, position),
            Self::ResolvePromise(position) => (CommandType::ResolvePromise, position),
            Self::Signal(position) => (CommandType::Signal, position),
            Self::Version(position) => (CommandType::Version, position),
            Self::Close => (CommandType::Close, 0),
        }
    }
}

impl Counts {
    /// The next position of a type, which is then taken.
    pub(crate) fn take(&mut self, of: CommandType) -> CommandId {
        let count = self.slot(of);
        let position = *count;
        *count = count.checked_add(1).expect("a run has fewer than 2^32 commands of one type");
        of.at(position)
    }

    pub(crate) fn get(&self, of: CommandType) -> u32 {
        self.0.get(of as usize).copied().expect("there is a count for every type")
    }

    pub(crate) fn raise(&mut self, of: CommandType, to: u32) {
        let count = self.slot(of);
        *count = to.max(*count);
    }

    fn slot(&mut self, of: CommandType) -> &mut u32 {
        self.0.get_mut(of as usize).expect("there is a count for every type")
    }
}

impl fmt::Display for CommandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
