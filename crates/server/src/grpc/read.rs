//! What requests say, in the words of the core.

use std::sync::Arc;
use std::time::Duration;

use seriatim_api as proto;
use seriatim_api::method::{LIMIT_DEFAULT, LIMIT_MAX, WAIT_MS_MAX};
use seriatim_json::{ChangeParts, CommandBody, CommandParts, ConditionParts, EventParts, header};
use seriatim_types::{ClientId, Key, NUMBER_MAX, Number, PartitionId, Time};

use crate::asked::{check_in, name, workspace};
use crate::context::Context;
use crate::error::ApiError;
use crate::reads::{LogRead, Span, Wait, WorkspaceRead};

/// The last moment of the year 9999, which is the last that has a text.
const LAST_MS: u64 = 253_402_300_799_999;

/// The key of 16 bytes. The nil one is refused: it is what a client sends that forgot to make one.
pub(super) fn key(bytes: &[u8]) -> Result<Key, ApiError> {
    let key = <[u8; 16]>::try_from(bytes).ok().filter(|key| *key != [0; 16]);
    key.map(Key).ok_or_else(|| {
        let found = bytes.len();
        ApiError::invalid("key", format!("must be 16 bytes, not all zeros, and has {found}"))
    })
}

pub(super) fn client(text: &str) -> Result<ClientId, ApiError> {
    header::client(text).map_err(|invalid| ApiError::invalid("client", invalid.problem))
}

pub(super) fn deadline(ms: Option<u64>) -> Result<Option<Time>, ApiError> {
    ms.map(|ms| check_in("deadline_ms", ms, 0..=LAST_MS).map(Time)).transpose()
}

/// The body of a command. One that is absent has no events, and is refused for that.
pub(super) fn command(command: Option<&proto::Command>) -> Result<CommandBody, ApiError> {
    check_asks_only(command)?;
    let parts = command.map(|command| CommandParts {
        events: command.events.iter().map(event).collect(),
        if_offset: command.if_offset,
        include_proof: command.include_proof,
    });
    Ok(seriatim_json::command_of_parts(&parts.unwrap_or_default())?)
}

/// That no change says what only an event can say. Somebody who sets a version may take it for a
/// condition.
fn check_asks_only(command: Option<&proto::Command>) -> Result<(), ApiError> {
    use proto::change::Change as Word;
    let events = command.map_or(&[][..], |command| &command.events);
    for (at, event) in events.iter().enumerate() {
        for (index, change) in event.changes.iter().enumerate() {
            let told = match &change.change {
                Some(Word::Update(it)) if it.version != 0 => "update.version",
                Some(Word::Delete(it)) if it.version != 0 => "delete.version",
                Some(Word::Set(it)) if it.version != 0 => "set.version",
                Some(Word::Unset(it)) if it.version != 0 => "unset.version",
                Some(Word::Draw(it)) if it.drawn.is_some() => "draw.drawn",
                Some(_) | None => continue,
            };
            let field = format!("events[{at}].changes[{index}].{told}");
            return Err(ApiError::invalid(&field, "is for events only: leave it out of a command"));
        }
    }
    Ok(())
}

fn event(event: &proto::EventInput) -> EventParts<'_> {
    let changes = event.changes.iter().map(change).collect();
    EventParts { name: &event.name, args: &event.args_json, changes }
}

fn change(change: &proto::Change) -> ChangeParts<'_> {
    use proto::change::Change as Word;
    match &change.change {
        Some(Word::Create(it)) => ChangeParts::Create {
            id: it.id,
            kind: &it.kind,
            parent: it.parent,
            fields: &it.fields_json,
        },
        Some(Word::Update(it)) => {
            ChangeParts::Update { id: it.id, fields: &it.fields_json, if_version: it.if_version }
        }
        Some(Word::Delete(it)) => ChangeParts::Delete { id: it.id, if_version: it.if_version },
        Some(Word::Set(it)) => ChangeParts::Set {
            key: &it.key,
            value: &it.value_json,
            condition: it.condition.as_ref().map(condition),
            expires_at: it.expires_at_ms.map(Time),
        },
        Some(Word::Unset(it)) => {
            ChangeParts::Unset { key: &it.key, condition: it.condition.as_ref().map(condition) }
        }
        Some(Word::Draw(it)) => ChangeParts::Draw { sequence: &it.sequence },
        // Nobody can ask for a definition in a command.
        Some(Word::DefineJson(_)) | None => ChangeParts::None,
    }
}

fn condition(condition: &proto::Condition) -> ConditionParts<'_> {
    use proto::condition::Condition as Word;
    match &condition.condition {
        Some(Word::Exists(true)) => ConditionParts::Exists,
        Some(Word::Exists(false)) => ConditionParts::Absent,
        Some(Word::Version(version)) => ConditionParts::Version(*version),
        Some(Word::ValueJson(value)) => ConditionParts::Value(value),
        None => ConditionParts::None,
    }
}

/// The read of a workspace that is asked for.
pub(super) fn asked(
    context: &Arc<Context>,
    asked: Option<proto::WorkspaceAsked>,
) -> Result<WorkspaceRead, ApiError> {
    let asked = asked.unwrap_or_default();
    let (app, workspace) = (name("app", &asked.app)?, workspace(&asked.workspace)?);
    let within = asked.wait_ms.map(wait_ms).transpose()?;
    let min_offset = check_in("min_offset", asked.min_offset, 0..=NUMBER_MAX)?;
    WorkspaceRead::new(context.clone(), app, workspace, Wait { min_offset, within })
}

/// The read of a log that is asked for.
pub(super) async fn log(
    context: &Arc<Context>,
    log: Option<proto::Log>,
    wait: Wait,
) -> Result<LogRead, ApiError> {
    let log = log.unwrap_or_default();
    let app = name("app", &log.app)?;
    match log.log {
        Some(proto::log::Log::Workspace(text)) => {
            Ok(WorkspaceRead::new(context.clone(), app, workspace(&text)?, wait)?.of_log())
        }
        Some(proto::log::Log::Partition(number)) => {
            LogRead::of_partition(context.clone(), app, partition(number)?, wait).await
        }
        None => Err(ApiError::invalid("log", "must be a workspace or a partition")),
    }
}

pub(super) fn partition(number: u32) -> Result<PartitionId, ApiError> {
    let number = check_in("partition", u64::from(number), 0..=u64::from(u16::MAX))?;
    Ok(PartitionId(u16::try_from(number).expect("the range is that of the type")))
}

/// The events of a log that are asked for.
pub(super) fn span(request: &proto::ListEventsRequest) -> Result<(Span, Wait), ApiError> {
    let wait = wait_ms(request.wait_ms)?;
    let span = Span {
        from: check_in("from", request.from, 0..=NUMBER_MAX)?,
        limit: limit(request.limit)?,
        wait,
    };
    let min_offset = check_in("min_offset", request.min_offset, 0..=NUMBER_MAX)?;
    let within = (!wait.is_zero()).then_some(wait);
    Ok((span, Wait { min_offset, within }))
}

/// How many rows of a list; 0 for as many as the server thinks right.
pub(super) fn limit(limit: u32) -> Result<u64, ApiError> {
    match u64::from(limit) {
        0 => Ok(LIMIT_DEFAULT),
        limit => check_in("limit", limit, 1..=LIMIT_MAX),
    }
}

fn wait_ms(ms: u32) -> Result<Duration, ApiError> {
    Ok(Duration::from_millis(check_in("wait_ms", u64::from(ms), 0..=WAIT_MS_MAX)?))
}

/// A number that a sequence can have given.
pub(super) fn number(field: &str, number: u64) -> Result<Number, ApiError> {
    let number = check_in(field, number, 1..=NUMBER_MAX)?;
    Ok(Number::new(number).expect("the range is that of numbers"))
}
