//! What the node answers, in the codes and facts of the contract.

use seriatim_api::code::ErrorCode;
use seriatim_api::message::Json;
use seriatim_core::{Current, CurrentValue, Exhausted, Refusal, Subject};
use seriatim_node::{
    AskError, Busy, Node, RETRY_AFTER, ROOM_AFTER, ReadFailed, Reason, RequestError, State,
    SubscribeError, Written,
};
use seriatim_types::Name;

use super::apps::{self, NotServing, SYSTEM};
use super::clock::clock_ahead;
use super::error::{ApiError, Fact, code_of};

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        let (code, written, reason) = (error.code(), error.written(), error.busy_reason());
        let message = error.to_string();
        let (is_retryable, retry_after) = (error.is_retryable(), error.retry_after());
        let told = match error {
            RequestError::Refused(refusal) => refusal.into(),
            RequestError::Busy(busy) => busy.into(),
            RequestError::NotWritten { why } => {
                let reason = reason.expect("what was not written was met by something");
                Self::new(code_of(code), why).with("reason", text(reason))
            }
            RequestError::Unknown { .. } => Self::new(code_of(code), message),
            RequestError::Stopped(reason) => reason.into(),
        };
        Self { is_retryable, retry_after, outcome: Some(written), ..told }
    }
}

/// Why a partition that readers cannot see yet gives no answer. `None` is one that was not
/// started yet.
#[must_use]
pub fn not_serving(state: Option<State>) -> ApiError {
    match state {
        Some(State::Stopped(reason)) => reason.into(),
        Some(State::Actualizing(progress)) => Busy::Actualizing(progress).into(),
        Some(State::Serving) | None => actualizing("the partition is being started", 0, 0),
    }
}

impl From<Busy> for ApiError {
    fn from(busy: Busy) -> Self {
        let (message, reason) = (busy.to_string(), busy.reason());
        match busy {
            Busy::Actualizing(progress) => actualizing(message, progress.done, progress.total),
            Busy::Clock(ahead) => clock_ahead(ahead),
            Busy::Unflushed
            | Busy::DiskFull { .. }
            | Busy::Behind
            | Busy::QueueFull { .. }
            | Busy::QueueLarge { .. } => Self::new(ErrorCode::Busy, message)
                .with("reason", text(reason))
                .retryable_after(RETRY_AFTER),
        }
    }
}

fn actualizing(message: impl Into<String>, done: u64, total: u64) -> ApiError {
    ApiError::new(ErrorCode::Busy, message)
        .with("reason", text("actualizing"))
        .with("done", Fact::Number(done))
        .with("total", Fact::Number(total))
        .retryable_after(RETRY_AFTER)
}

impl From<Reason> for ApiError {
    fn from(reason: Reason) -> Self {
        Self::new(ErrorCode::PartitionStopped, reason.to_string())
    }
}

impl From<AskError> for ApiError {
    fn from(error: AskError) -> Self {
        let message = error.to_string();
        match error {
            AskError::AppNotFound(_) => Self::new(ErrorCode::AppNotFound, message),
            AskError::AppsUnknown => not_serving(None),
            AskError::PartitionNotFound { .. } => Self::not_found(message),
            AskError::TimedOut { .. } => late(message),
            AskError::Unreadable(failed) => failed.into(),
        }
    }
}

/// Why something could not be asked: while the apps cannot be read, none is missing.
#[must_use]
pub fn not_asked(node: &Node, error: AskError) -> ApiError {
    match apps::state(node, SYSTEM) {
        doing if error == AskError::AppsUnknown => not_serving(doing),
        Some(State::Serving) => error.into(),
        doing if matches!(error, AskError::AppNotFound(_)) => not_serving(doing),
        Some(State::Actualizing(_) | State::Stopped(_)) | None => error.into(),
    }
}

impl From<NotServing> for ApiError {
    fn from(NotServing(doing): NotServing) -> Self {
        not_serving(doing)
    }
}

/// Nobody knows what came of it.
#[must_use]
pub fn late(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::DeadlineExceeded, message).retryable().with_outcome(Written::Unknown)
}

/// Why a log cannot be followed on; `None` for a node that has ended.
#[must_use]
pub fn not_followed(error: SubscribeError) -> Option<ApiError> {
    let message = error.to_string();
    Some(match error {
        SubscribeError::Lagged { resume_from, behind } => ApiError::new(ErrorCode::Lagged, message)
            .with("resume_from", Fact::Number(resume_from))
            .with("behind", Fact::Number(behind))
            .retryable(),
        SubscribeError::Read(failed) => failed.into(),
        SubscribeError::Stopped(reason) => reason.into(),
        SubscribeError::Ended => return None,
    })
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
        let mut error = Self::new(code_of(refusal.code()), refusal.to_string());
        if refusal.is_retryable() {
            error = error.retryable_after(ROOM_AFTER);
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
        Refusal::RecordNotFound { id } => vec![("id", Fact::Number(id))],
        Refusal::DefinitionConflict { name, why: _ } => vec![("name", name_of(&name))],
        Refusal::KindConflict { current } => vec![("current_kind", name_of(&current))],
        Refusal::RecordExists { id } => vec![("id", Fact::Number(id.get()))],
        Refusal::SingletonExists { kind, id } => {
            vec![("kind", name_of(&kind)), ("id", Fact::Number(id.get()))]
        }
        Refusal::SequenceExhausted { what } => exhausted_facts(&what),
        Refusal::KeyExists { key, current } => {
            [vec![("key", text(key.as_str()))], current_facts(current)].concat()
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
        Refusal::KeyWindowFull { max, .. } => vec![("limit", Fact::Number(max))],
        Refusal::DeadlineExceeded { deadline, time } => {
            vec![("deadline", Fact::Time(deadline.into())), ("time", Fact::Time(time.into()))]
        }
        // The original of a reused key has to be looked up: see the commands.
        Refusal::KeyReused { .. } | Refusal::PermissionDenied { .. } | Refusal::AppNotFound(_) => {
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

/// What something is now.
fn current_facts(Current { version, value }: Current) -> Vec<(&'static str, Fact)> {
    let value = match value {
        CurrentValue::Entity(value) => Fact::Json(Json::stored(&value)),
        CurrentValue::Record(fields) => Fact::Json(Json::object(&fields)),
    };
    vec![("current_version", Fact::Number(version)), ("current_value", value)]
}

fn name_of(name: &Name) -> Fact {
    text(name.as_str())
}

fn text(text: &str) -> Fact {
    Fact::Text(text.to_owned())
}

#[cfg(test)]
mod tests {
    use seriatim_api::error::BUSY_REASONS;
    use seriatim_node::ClockAhead;
    use seriatim_types::Time;

    use super::*;

    #[test]
    fn busy_has_one_of_seven_reasons_and_says_when_to_try_again() {
        let clock = ClockAhead { time: Time(2), last_time: Time(1) };
        let all = [
            Busy::Unflushed,
            Busy::Clock(clock),
            Busy::DiskFull { free_bytes: 1, reserve_bytes: 2 },
            Busy::Behind,
            Busy::QueueFull { queued: 1 },
            Busy::QueueLarge { bytes: 1 },
        ];
        let all = all.map(RequestError::Busy).into_iter();
        let all = all.chain([RequestError::NotWritten { why: "it was restarted".to_owned() }]);
        let all =
            all.map(ApiError::from).chain([not_serving(None).with_outcome(Written::NotWritten)]);
        let mut reasons = std::collections::BTreeSet::new();
        for told in all {
            let fact = |name| told.facts.iter().find(|(known, _)| *known == name);
            let Some((_, Fact::Text(reason))) = fact("reason") else { panic!("{told:?}") };
            assert_eq!((told.code, told.is_retryable), (ErrorCode::Busy, true));
            assert_eq!(told.outcome, Some(Written::NotWritten), "{reason}");
            assert!(told.retry_after.is_some(), "{reason}");
            let has_progress = fact("done").is_some() && fact("total").is_some();
            assert_eq!(has_progress, reason == "actualizing", "{reason}");
            reasons.insert(reason.clone());
        }
        assert!(reasons.iter().map(String::as_str).eq(BUSY_REASONS.iter().copied()), "{reasons:?}");
    }

    #[test]
    fn unknown_outcome_has_a_code_of_its_own_and_can_be_sent_again() {
        let told =
            ApiError::from(RequestError::Unknown { why: "the store has stopped".to_owned() });
        assert_eq!((told.code, told.code.status()), (ErrorCode::OutcomeUnknown, 503));
        assert_eq!((told.is_retryable, told.outcome), (true, Some(Written::Unknown)));
        assert!(told.message.contains("with the same key"), "{told:?}");
    }
}
