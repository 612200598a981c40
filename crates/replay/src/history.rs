//! The plain data of a workflow's history: what came in, what code asked for.
//!
//! ```text
//!  Started ─► Recorded { offset, at, Event::Input  }       from outside: completions, signals …
//!             Recorded { offset, at, Event::Output }       of a submit: a Command, its index, `seen`
//! ```
//!
//! Code creates [`Command`]s. A submit makes each an event, and history gives it back as an
//! [`Output`], so that one type says what was asked for and what was recorded.
//!
//! **Invariant:** a [`Payload`] is canonical JSON, so two payloads are equal when their bytes are.
//!
//! **Deliberately absent:** turns, tokens and `late`. The order in which code sees things follows
//! from offsets and `seen` alone.

use std::fmt;

use bytes::Bytes;
use seriatim_types::{Name, Time, WorkspaceId};

use crate::CommandId;

/// The version of the matching rules that this crate follows.
pub const MATCHING_VERSION: u32 = 1;

/// What a run began with: its WorkflowStarted event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Where the event stands in the workspace log.
    pub offset: Offset,
    /// The time of its entry.
    pub at: Time,
    /// The workspace of the workflow id. With `run` it keys random numbers.
    pub workspace: WorkspaceId,
    /// The workflow id.
    pub id: Name,
    /// Which execution under that id this is.
    pub run: RunNumber,
    /// Which workflow.
    pub workflow: Name,
    /// Its input.
    pub input: Payload,
    /// The version of the matching rules by which its history was made.
    pub matching: u32,
    /// What history left over at the end means.
    pub on_orphans: OnOrphans,
    /// The signals that the previous run left to this one, by offset. Code sees them first.
    pub carried: Vec<CarriedSignal>,
}

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Where it stands in the workspace log: its history sequence number.
    pub offset: Offset,
    /// The time of its entry.
    pub at: Time,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It came from outside.
    Input(Input),
    /// Code asked for it.
    Output(Output),
}

/// What code asked for, as a submit recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The last offset that code had been shown before it asked.
    pub seen: Offset,
    /// Its number among those of its type, from 0, where its event has one. Cancels and resolves
    /// have none: theirs is of what they are about.
    pub index: Option<u32>,
    /// What was asked for. Of a child, `id` is the id that it was given.
    pub command: Command,
}

/// What came from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "members are named as in the contract, which explains them")]
pub enum Input {
    /// A task has its result.
    TaskCompleted { index: u32, result: Payload },
    /// A task failed for good.
    TaskFailed { index: u32, failure: Failure },
    /// A timer is due.
    TimerFired { index: u32 },
    /// A child has its result.
    ChildCompleted { index: u32, result: Payload },
    /// A child failed, or could not be started.
    ChildFailed { index: u32, failure: Failure },
    /// A child was cancelled.
    ChildCancelled { index: u32 },
    /// A promise was resolved by a client.
    PromiseResolved { index: u32, value: Payload },
    /// A promise was rejected by a client.
    PromiseRejected { index: u32, message: String },
    /// A promise was settled by nobody in time.
    PromiseTimedOut { index: u32 },
    /// A signal arrived.
    SignalReceived { name: Name, input: Payload },
    /// Somebody wants the run to end.
    CancellationRequested { reason: String },
    /// The run was terminated, timed out, or failed by a determinism violation. Code sees nothing
    /// more.
    RunClosed,
}

/// What code asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "members are named as in the contract, which explains them")]
pub enum Command {
    /// TaskScheduled.
    ScheduleTask { task: Name, input: Payload, options: TaskOptions },
    /// TaskCancelled.
    CancelTask { target: CommandId },
    /// TimerStarted.
    StartTimer { name: Option<Name>, duration_ms: u64 },
    /// TimerCancelled.
    CancelTimer { target: CommandId },
    /// ChildWorkflowInitiated. Without an id the child is called `{parent}/{run}.{index}`.
    StartChild { id: Option<Name>, workflow: Name, input: Payload, options: ChildOptions },
    /// ChildWorkflowCancelRequested.
    CancelChild { target: CommandId },
    /// OperationCompleted: a step is recorded once, with its result. `index` is the position at
    /// which code created it.
    RecordOperation { index: u32, name: Name, result: Result<Payload, Failure>, worker_at: Time },
    /// PromiseCreated. History has `due`, which is the time of the entry and this.
    CreatePromise { name: Name, timeout_ms: Option<u64> },
    /// PromiseResolved by the workflow.
    ResolvePromise { name: Name, value: Payload },
    /// StateSet.
    SetState { key: Name, value: Payload },
    /// StateCleared.
    ClearState { key: Name },
    /// SignalSent.
    SendSignal { id: Name, name: Name, input: Payload },
    /// VersionMarked.
    MarkVersion { name: Name, version: u32 },
    /// The end of the run.
    Close(Closing),
}

/// How code ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "members are named as in the contract, which explains them")]
pub enum Closing {
    /// WorkflowCompleted.
    Complete { result: Payload, orphaned: Vec<Orphan> },
    /// WorkflowFailed.
    Fail(Failure),
    /// WorkflowCancelled.
    Cancel,
    /// WorkflowContinued: the next run begins with this input and the signals left unread. Its
    /// event does not have the input, so in history that is known only to whoever read the next
    /// run's beginning.
    ContinueAsNew { input: Option<Payload>, unread: Vec<Offset> },
}

/// What history has and code never asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orphan {
    /// The command.
    pub command: CommandId,
    /// Where it stands in history.
    pub offset: Offset,
}

/// Options of a task that code cannot see. They are not matched and hold as they were recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskOptions {
    /// The queue, if not that of the run.
    pub queue: Option<Name>,
    /// When to try again.
    pub retry: Option<Retry>,
    /// How long one attempt may take.
    pub attempt_timeout_ms: Option<u64>,
    /// How long all attempts may take.
    pub timeout_ms: Option<u64>,
}

/// When to try a task again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often to try; without limit if absent.
    pub max_attempts: Option<u32>,
    /// The first delay.
    pub first_ms: u64,
    /// By how much the delay grows, in hundredths.
    pub factor_percent: u32,
    /// The longest delay.
    pub max_ms: u64,
}

/// Options of a child. Only `on_parent_close` is matched; the others hold as they were recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChildOptions {
    /// The queue, if not that of the run.
    pub queue: Option<Name>,
    /// What becomes of it when its parent closes.
    pub on_parent_close: OnParentClose,
    /// How long it may take.
    pub timeout_ms: Option<u64>,
    /// What its violations come to, if not the same as for its parent.
    pub on_violation: Option<OnViolation>,
    /// What its orphans come to, if not the same as for its parent.
    pub on_orphans: Option<OnOrphans>,
}

/// What becomes of a child when its parent closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnParentClose {
    /// It is asked to cancel.
    #[default]
    Cancel,
    /// It is terminated.
    Terminate,
    /// It goes on.
    Abandon,
}

/// What a determinism violation comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnViolation {
    /// The run fails.
    #[default]
    Fail,
    /// The run waits for another build.
    Block,
}

/// What history left over at the end comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnOrphans {
    /// A determinism violation.
    #[default]
    Violate,
    /// The run completes and lists what was left.
    Allow,
}

/// A signal that the previous run left unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedSignal {
    /// Where it stands in the workspace log, before WorkflowStarted.
    pub offset: Offset,
    /// The time of its entry.
    pub at: Time,
    /// Its name.
    pub name: Name,
    /// Its input.
    pub input: Payload,
}

/// Counts the events of a workspace log, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Offset(pub u64);

/// Counts the executions under one workflow id, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunNumber(pub u64);

/// Canonical JSON, by its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Payload(pub Bytes);

/// Why a task, a child or a step failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Its type, by which code tells failures apart.
    pub kind: String,
    /// What happened, for people.
    pub message: String,
    /// More, for programs.
    pub details: Payload,
    /// What led to it.
    pub cause: Option<Box<Failure>>,
}

/// What came of a task, a timer, a child, a step or a promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// It has a result.
    Value(Payload),
    /// It failed.
    Failed(Failure),
    /// The promise was rejected.
    Rejected(String),
    /// The timer is due.
    Fired,
    /// The promise was settled by nobody in time.
    TimedOut,
    /// It was cancelled, or the run was while code awaited it.
    Cancelled,
}

impl Input {
    /// What this settles, and how.
    pub(crate) fn settles(self) -> Result<(CommandId, Settlement), Self> {
        use CommandId::{ChildWorkflow, Promise, Task, Timer};
        Ok(match self {
            Self::TaskCompleted { index, result } => (Task(index), Settlement::Value(result)),
            Self::TaskFailed { index, failure } => (Task(index), Settlement::Failed(failure)),
            Self::TimerFired { index } => (Timer(index), Settlement::Fired),
            Self::ChildCompleted { index, result } => {
                (ChildWorkflow(index), Settlement::Value(result))
            }
            Self::ChildFailed { index, failure } => {
                (ChildWorkflow(index), Settlement::Failed(failure))
            }
            Self::ChildCancelled { index } => (ChildWorkflow(index), Settlement::Cancelled),
            Self::PromiseResolved { index, value } => (Promise(index), Settlement::Value(value)),
            Self::PromiseRejected { index, message } => {
                (Promise(index), Settlement::Rejected(message))
            }
            Self::PromiseTimedOut { index } => (Promise(index), Settlement::TimedOut),
            other @ (Self::SignalReceived { .. }
            | Self::CancellationRequested { .. }
            | Self::RunClosed) => return Err(other),
        })
    }

    /// The command that this settles.
    #[must_use]
    pub(crate) fn settled(&self) -> Option<CommandId> {
        use CommandId::{ChildWorkflow, Promise, Task, Timer};
        match self {
            Self::TaskCompleted { index, .. } | Self::TaskFailed { index, .. } => {
                Some(Task(*index))
            }
            Self::TimerFired { index } => Some(Timer(*index)),
            Self::ChildCompleted { index, .. }
            | Self::ChildFailed { index, .. }
            | Self::ChildCancelled { index } => Some(ChildWorkflow(*index)),
            Self::PromiseResolved { index, .. }
            | Self::PromiseRejected { index, .. }
            | Self::PromiseTimedOut { index } => Some(Promise(*index)),
            Self::SignalReceived { .. } | Self::CancellationRequested { .. } | Self::RunClosed => {
                None
            }
        }
    }
}

impl Settlement {
    pub(crate) fn of(result: Result<Payload, Failure>) -> Self {
        result.map_or_else(Self::Failed, Self::Value)
    }
}

impl Payload {
    /// `null`.
    #[must_use]
    pub const fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}
