//! The validation matrix: which fields of a command must be those of its event.
//!
//! | command | event | fields |
//! |---|---|---|
//! | ScheduleTask | TaskScheduled | task, input |
//! | CancelTask | TaskCancelled | target |
//! | StartTimer | TimerStarted | name, duration_ms |
//! | CancelTimer | TimerCancelled | target |
//! | StartChild | ChildWorkflowInitiated | id, workflow, input, on_parent_close |
//! | CancelChild | ChildWorkflowCancelRequested | target |
//! | RecordOperation | OperationCompleted | name |
//! | CreatePromise | PromiseCreated | name, timeout_ms |
//! | ResolvePromise | PromiseResolved | name, value |
//! | SetState | StateSet | key, value |
//! | ClearState | StateCleared | key |
//! | SendSignal | SignalSent | id, name, input |
//! | MarkVersion | VersionMarked | name, version |
//! | Close | WorkflowCompleted, -Failed, -Cancelled, -Continued | which; result, failure, input |
//!
//! **Invariant:** payloads are compared by their bytes, which are canonical.
//!
//! **Deliberately absent:** queues, retries and time-outs of tasks and children. Code cannot see
//! them, so a change of them is no violation; what was recorded holds.

use std::fmt::Display;

use seriatim_types::Name;

use crate::command_id::CommandType;
use crate::violation::Difference;
use crate::{Closing, Command, Failure, Payload};

/// What comparing a command with a recorded one came to.
pub(crate) enum Comparison {
    Same,
    /// One type of command, and a field differs.
    Field(Difference),
    /// One type of command, and another event of it.
    Type(Difference),
    /// Another type of command altogether.
    Other,
}

pub(crate) fn compare(history: &Command, code: &Command) -> Comparison {
    if CommandType::of(history) != CommandType::of(code) {
        return Comparison::Other;
    }
    if event_name(history) != event_name(code) {
        let difference = Difference::new("event", &describe(history), &describe(code));
        return Comparison::Type(difference);
    }
    difference(history, code).map_or(Comparison::Same, Comparison::Field)
}

/// The first field of two commands of one type that differs.
fn difference(history: &Command, code: &Command) -> Option<Difference> {
    use Command as C;
    match (history, code) {
        (C::ScheduleTask { task, input, .. }, C::ScheduleTask { task: t, input: i, .. }) => {
            name("task", task, t).or_else(|| payload("input", input, i))
        }
        (C::CancelTask { target }, C::CancelTask { target: t })
        | (C::CancelTimer { target }, C::CancelTimer { target: t })
        | (C::CancelChild { target }, C::CancelChild { target: t }) => {
            differ("target", target == t, target, t)
        }
        (C::StartTimer { name, duration_ms }, C::StartTimer { name: n, duration_ms: d }) => {
            optional("name", name.as_ref(), n.as_ref())
                .or_else(|| differ("duration_ms", duration_ms == d, duration_ms, d))
        }
        (
            C::StartChild { id, workflow, input, options },
            C::StartChild { id: c, workflow: w, input: i, options: o },
        ) => optional("id", id.as_ref(), c.as_ref())
            .or_else(|| name("workflow", workflow, w))
            .or_else(|| payload("input", input, i))
            .or_else(|| {
                let (history, code) = (options.on_parent_close, o.on_parent_close);
                let shown = |it| format!("{it:?}").to_lowercase();
                differ("on_parent_close", history == code, &shown(history), &shown(code))
            }),
        (C::RecordOperation { name: h, .. }, C::RecordOperation { name: c, .. }) => {
            name("name", h, c)
        }
        (C::CreatePromise { name: h, timeout_ms }, C::CreatePromise { name: c, timeout_ms: t }) => {
            name("name", h, c).or_else(|| optional("timeout_ms", timeout_ms.as_ref(), t.as_ref()))
        }
        (C::ResolvePromise { name: h, value }, C::ResolvePromise { name: c, value: v }) => {
            name("name", h, c).or_else(|| payload("value", value, v))
        }
        (C::SetState { key, value }, C::SetState { key: k, value: v }) => {
            name("key", key, k).or_else(|| payload("value", value, v))
        }
        (C::ClearState { key }, C::ClearState { key: k }) => name("key", key, k),
        (C::SendSignal { id, name: h, input }, C::SendSignal { id: d, name: c, input: i }) => {
            name("id", id, d).or_else(|| name("name", h, c)).or_else(|| payload("input", input, i))
        }
        (C::MarkVersion { name: h, version }, C::MarkVersion { name: c, version: v }) => {
            name("name", h, c).or_else(|| differ("version", version == v, version, v))
        }
        (C::Close(history), C::Close(code)) => closing(history, code),
        _ => None,
    }
}

fn closing(history: &Closing, code: &Closing) -> Option<Difference> {
    use Closing as C;
    match (history, code) {
        (C::Complete { result, .. }, C::Complete { result: r, .. }) => payload("result", result, r),
        (C::Fail(history), C::Fail(code)) => failure(history, code),
        (C::ContinueAsNew { input: Some(input), .. }, C::ContinueAsNew { input: Some(i), .. }) => {
            payload("input", input, i)
        }
        _ => None,
    }
}

/// The cause is not compared: it is made of the failures that history delivered.
fn failure(history: &Failure, code: &Failure) -> Option<Difference> {
    differ("type", history.kind == code.kind, &history.kind, &code.kind)
        .or_else(|| {
            differ("message", history.message == code.message, &history.message, &code.message)
        })
        .or_else(|| payload("details", &history.details, &code.details))
}

fn name(field: &'static str, history: &Name, code: &Name) -> Option<Difference> {
    differ(field, history == code, history.as_str(), code.as_str())
}

fn payload(field: &'static str, history: &Payload, code: &Payload) -> Option<Difference> {
    differ(field, history == code, history, code)
}

fn optional<T: PartialEq + Shown>(
    field: &'static str,
    history: Option<&T>,
    code: Option<&T>,
) -> Option<Difference> {
    let shown = |it: Option<&T>| it.map_or_else(|| "none".to_owned(), Shown::shown);
    differ(field, history == code, &shown(history), &shown(code))
}

fn differ<T: Display + ?Sized>(
    field: &'static str,
    is_same: bool,
    history: &T,
    code: &T,
) -> Option<Difference> {
    (!is_same).then(|| Difference::new(field, &history.to_string(), &code.to_string()))
}

trait Shown {
    fn shown(&self) -> String;
}

impl Shown for Name {
    fn shown(&self) -> String {
        self.as_str().to_owned()
    }
}

impl Shown for u64 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

/// A command in a few words: the name of its event and what it is about.
pub(crate) fn describe(command: &Command) -> String {
    let event = event_name(command);
    match command {
        Command::ScheduleTask { task: about, .. }
        | Command::StartChild { workflow: about, .. }
        | Command::RecordOperation { name: about, .. }
        | Command::CreatePromise { name: about, .. }
        | Command::ResolvePromise { name: about, .. }
        | Command::SetState { key: about, .. }
        | Command::ClearState { key: about }
        | Command::SendSignal { name: about, .. }
        | Command::MarkVersion { name: about, .. }
        | Command::StartTimer { name: Some(about), .. } => format!("{event} {:?}", about.as_str()),
        Command::StartTimer { name: None, duration_ms } => format!("{event} {duration_ms} ms"),
        Command::CancelTask { target }
        | Command::CancelTimer { target }
        | Command::CancelChild { target } => format!("{event} {target}"),
        Command::Close(_) => event.to_owned(),
    }
}

/// The name of the event that records a command.
pub(crate) const fn event_name(command: &Command) -> &'static str {
    match command {
        Command::ScheduleTask { .. } => "TaskScheduled",
        Command::CancelTask { .. } => "TaskCancelled",
        Command::StartTimer { .. } => "TimerStarted",
        Command::CancelTimer { .. } => "TimerCancelled",
        Command::StartChild { .. } => "ChildWorkflowInitiated",
        Command::CancelChild { .. } => "ChildWorkflowCancelRequested",
        Command::RecordOperation { .. } => "OperationCompleted",
        Command::CreatePromise { .. } => "PromiseCreated",
        Command::ResolvePromise { .. } => "PromiseResolved",
        Command::SetState { .. } => "StateSet",
        Command::ClearState { .. } => "StateCleared",
        Command::SendSignal { .. } => "SignalSent",
        Command::MarkVersion { .. } => "VersionMarked",
        Command::Close(Closing::Complete { .. }) => "WorkflowCompleted",
        Command::Close(Closing::Fail(_)) => "WorkflowFailed",
        Command::Close(Closing::Cancel) => "WorkflowCancelled",
        Command::Close(Closing::ContinueAsNew { .. }) => "WorkflowContinued",
    }
}
