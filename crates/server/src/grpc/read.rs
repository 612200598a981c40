//! What requests say, in the words of the core.

use std::sync::Arc;

use seriatim_api::grpc as proto;
use seriatim_json::{CommandBody, header};
use seriatim_types::{ClientId, Key, PartitionId, Time};

use crate::asked::{check_in, name, workspace};
use crate::context::Context;
use crate::error::ApiError;
use crate::reads::{LogRead, Wait, WorkspaceRead};

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

/// The command. A client from before sends it as a message in field 6, which is not read any more:
/// to this server its request has no command, and must not pass for one without changes.
pub(super) fn command(json: &[u8]) -> Result<CommandBody, ApiError> {
    if json.is_empty() {
        let why = "is required: this server reads commands as JSON, and not as the messages of \
                   version 0.1 and earlier (field 6); update the client";
        return Err(ApiError::invalid("command_json", why));
    }
    Ok(seriatim_json::command(json)?)
}

/// The log that is to be followed.
pub(super) async fn log(
    context: &Arc<Context>,
    log: Option<proto::Log>,
) -> Result<LogRead, ApiError> {
    let log = log.unwrap_or_default();
    let (app, wait) = (name("app", &log.app)?, Wait::default());
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

fn partition(number: u32) -> Result<PartitionId, ApiError> {
    let number = check_in("partition", u64::from(number), 0..=u64::from(u16::MAX))?;
    Ok(PartitionId(u16::try_from(number).expect("the range is that of the type")))
}
