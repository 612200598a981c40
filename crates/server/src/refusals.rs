//! What the node answers, in the codes and facts of the contract.

use std::time::Duration;

use seriatim_core::{Current, CurrentValue, Exhausted, Outcome as Applied, Refusal, Subject};
use seriatim_json::write::Fact;
use seriatim_node::{AskError, Busy, ReadFailed, Reason, Reply, State};
use seriatim_types::Name;

use crate::clock;
use crate::error::{ApiError, Outcome};

/// How long to wait before trying again. What keeps a partition busy takes less, or nobody knows
/// how long.
pub(crate) const RETRY_AFTER: Duration = Duration::from_millis(50);

/// How long to wait for room for keys, which comes as old ones end.
const ROOM_AFTER: Duration = Duration::from_secs(1);

/// What was applied, or why nothing was.
pub(crate) fn applied(reply: Reply) -> Result<Applied, ApiError> {
    match reply {
        Reply::Applied(Applied::Refused(refusal)) => Err(refusal.into()),
        Reply::Applied(outcome) => Ok(outcome),
        Reply::Busy(busy) => Err(busy.into()),
        // It was taken and did not come to be written: as if the partition had been busy.
        Reply::NotWritten { why } => {
            let error = ApiError::new("BUSY", why).with("reason", text("interrupted"));
            Err(error.retryable_after(RETRY_AFTER))
        }
        // This is said only by a store that has stopped in the middle of it.
        Reply::Unknown { why } => {
            let error = ApiError::new("PARTITION_STOPPED", why).retryable();
            Err(error.with_outcome(Outcome::Unknown))
        }
        Reply::Stopped(reason) => Err(ApiError::from(reason).with_outcome(Outcome::NotWritten)),
    }
}

/// Why a partition that readers cannot see yet gives no answer. `None` is one that was not
/// started yet.
pub(crate) fn not_serving(state: Option<State>) -> ApiError {
    match state {
        Some(State::Stopped(reason)) => reason.into(),
        Some(State::Actualizing(progress)) => Busy::Actualizing(progress).into(),
        Some(State::Serving) | None => actualizing("the partition is being started", 0, 0),
    }
}

impl From<Busy> for ApiError {
    fn from(busy: Busy) -> Self {
        let message = busy.to_string();
        let reason = match busy {
            Busy::Actualizing(progress) => {
                return actualizing(message, progress.done, progress.total);
            }
            Busy::Clock(ahead) => return clock::busy(ahead),
            Busy::Unflushed => "unflushed",
            Busy::DiskFull { .. } => "disk_full",
            Busy::Behind => "behind",
            Busy::QueueFull { .. } | Busy::QueueLarge { .. } => "queue_full",
        };
        Self::new("BUSY", message).with("reason", text(reason)).retryable_after(RETRY_AFTER)
    }
}

fn actualizing(message: impl Into<String>, done: u64, total: u64) -> ApiError {
    ApiError::new("BUSY", message)
        .with("reason", text("actualizing"))
        .with("done", Fact::Number(done))
        .with("total", Fact::Number(total))
        .retryable_after(RETRY_AFTER)
}

impl From<Reason> for ApiError {
    fn from(reason: Reason) -> Self {
        Self::new("PARTITION_STOPPED", reason.to_string())
    }
}

impl From<AskError> for ApiError {
    fn from(error: AskError) -> Self {
        let message = error.to_string();
        match error {
            AskError::AppNotFound => Self::new("APP_NOT_FOUND", message),
            AskError::AppsUnknown => not_serving(None),
            AskError::PartitionNotFound { .. } => Self::not_found(message),
            AskError::TimedOut { .. } => late(message),
            AskError::Unreadable(failed) => failed.into(),
        }
    }
}

/// Nobody knows what came of it.
pub(crate) fn late(message: impl Into<String>) -> ApiError {
    ApiError::new("DEADLINE_EXCEEDED", message).retryable().with_outcome(Outcome::Unknown)
}

impl From<ReadFailed> for ApiError {
    /// The read has stopped its partition, which says the same reason if it was the first to find
    /// one. Trying again does not help.
    fn from(failed: ReadFailed) -> Self {
        failed.reason().into()
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let mut error = Self::new(refusal.code(), refusal.to_string());
        if refusal.is_retryable() {
            error = error.retryable_after(ROOM_AFTER);
        }
        // The contract says so: with another deadline the same command can be carried out.
        if matches!(refusal, Refusal::DeadlineExceeded { .. }) {
            error.outcome = Some(Outcome::NotWritten);
        }
        error.facts = facts(refusal);
        error
    }
}

fn facts(refusal: Refusal) -> Vec<(&'static str, Fact)> {
    match refusal {
        Refusal::InvalidArgument { field, why: _ } => vec![("field", Fact::Text(field))],
        Refusal::UnknownSequence { name, field } => {
            vec![("field", Fact::Text(field)), ("sequence", name_of(&name))]
        }
        Refusal::UnknownKind { name, field } => {
            vec![("field", Fact::Text(field)), ("kind", name_of(&name))]
        }
        Refusal::NotFound { workspace } => vec![("workspace_id", Fact::Number(workspace))],
        Refusal::RecordNotFound { id } => vec![("id", Fact::Number(id))],
        Refusal::DefinitionConflict { name, why: _ } => vec![("name", name_of(&name))],
        Refusal::KindConflict { current } => vec![("current_kind", name_of(&current))],
        Refusal::RecordExists { id } => vec![("id", Fact::Number(id.get()))],
        Refusal::SingletonExists { kind, id } => {
            vec![("kind", name_of(&kind)), ("id", Fact::Number(id.get()))]
        }
        Refusal::SequenceExhausted { what } => exhausted_facts(&what),
        Refusal::KeyExists { key, current } => {
            [vec![("key", text(key.as_str()))], current_facts(Some(current))].concat()
        }
        Refusal::KeyNotFound { key } => vec![("key", text(key.as_str()))],
        Refusal::VersionMismatch { subject, current } => {
            let subject = match subject {
                Subject::Entity(key) => ("key", text(key.as_str())),
                Subject::Record(id) => ("id", Fact::Number(id.get())),
            };
            [vec![subject], current_facts(current)].concat()
        }
        Refusal::ValueMismatch { key, current } => {
            [vec![("key", text(key.as_str()))], current_facts(current)].concat()
        }
        Refusal::OffsetMismatch { current } => vec![("current_offset", Fact::Number(current))],
        Refusal::TooLarge { what: _, max, found } => {
            vec![("limit", Fact::Number(max)), ("found", Fact::Number(found))]
        }
        Refusal::KeyWindowFull { max } => vec![("limit", Fact::Number(max))],
        Refusal::DeadlineExceeded { deadline, time } => {
            vec![("deadline", Fact::Time(deadline)), ("time", Fact::Time(time))]
        }
        // The original of a reused key has to be looked up: see the commands.
        Refusal::KeyReused { .. } | Refusal::PermissionDenied { .. } | Refusal::AppNotFound => {
            Vec::new()
        }
        Refusal::AppExists { setting } => vec![("setting", text(setting))],
    }
}

/// Which sequence has no more numbers: the app's own by its name, Seriatim's by what they number.
fn exhausted_facts(exhausted: &Exhausted) -> Vec<(&'static str, Fact)> {
    let sequence = match exhausted {
        Exhausted::Sequence(name) => name.as_str(),
        Exhausted::RecordIds(kind) => {
            return vec![("sequence", text("record ids")), ("kind", name_of(kind))];
        }
        Exhausted::Log => "log offsets",
        Exhausted::Client => "client sequence",
        Exhausted::Workspaces => "workspace ids",
        Exhausted::Apps => "app ids",
    };
    vec![("sequence", text(sequence))]
}

/// What something is now; nulls when it does not exist.
fn current_facts(current: Option<Current>) -> Vec<(&'static str, Fact)> {
    let (version, value) = match current {
        Some(Current { version, value: CurrentValue::Entity(value) }) => {
            (Fact::Number(version), Fact::Json(value))
        }
        Some(Current { version, value: CurrentValue::Record(fields) }) => {
            (Fact::Number(version), Fact::Fields(fields))
        }
        None => (Fact::Null, Fact::Null),
    };
    vec![("current_version", version), ("current_value", value)]
}

fn name_of(name: &Name) -> Fact {
    text(name.as_str())
}

fn text(text: &str) -> Fact {
    Fact::Text(text.to_owned())
}
