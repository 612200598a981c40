//! Waiting for an offset: `min_offset` and `wait_ms`, which every read of a log takes.

use std::sync::Arc;
use std::time::Duration;

use seriatim_api::code::ErrorCode;
use seriatim_node::{Interest, Log, Reader, View};
use seriatim_types::{PartitionOffset, PartitionRef};
use tokio::time::Instant;

use super::{NO_ID, find};
use crate::context::Context;
use crate::error::{ApiError, Fact};

/// What a read waits for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wait {
    /// The offset that the log must have; 0 for any.
    pub(crate) min_offset: u64,
    /// How long; `None` for as long as the server thinks right.
    pub(crate) within: Option<Duration>,
}

impl Wait {
    /// Waits until the log has the offset.
    pub(super) async fn wait(
        self,
        context: &Arc<Context>,
        partition: PartitionRef,
        log: &Log,
    ) -> Result<(), ApiError> {
        let Self { min_offset, within } = self;
        if min_offset == 0 {
            return Ok(());
        }
        let within = within.unwrap_or(context.settings.offset_within);
        let last = wait_for(context, partition, log, min_offset, within).await?;
        if last >= min_offset {
            return Ok(());
        }
        let error = ApiError::new(
            ErrorCode::NotYet,
            format!("the last offset is {last}, not yet {min_offset}"),
        );
        Err(error.with("last", Fact::Number(last)).retryable())
    }
}

/// Waits until a log has an event at an offset. Returns its last offset, which is lower when the
/// time or the server ended first.
pub(super) async fn wait_for(
    context: &Arc<Context>,
    partition: PartitionRef,
    log: &Log,
    offset: u64,
    within: Duration,
) -> Result<u64, ApiError> {
    let now = Instant::now();
    let deadline = now.checked_add(within).unwrap_or(now);
    let mut interest = Interest::Partition;
    loop {
        // Asked for before looking, so that nothing comes in between.
        let changed = context.node.changed(partition, interest);
        let log = log.clone();
        let look = move |reader: &Reader<'_>, view: &View| last_of(reader, view, &log);
        let (narrowest, last) = context.read_view(partition, look).await?;
        if last >= offset {
            return Ok(last);
        }
        // Whoever can be told of less asks again, and looks again.
        let changed = changed.filter(|_| narrowest == interest);
        interest = narrowest;
        let Some(changed) = changed else { continue };
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(deadline) => return Ok(last),
            () = context.ended() => return Ok(last),
        }
    }
}

/// The last offset of a log, 0 for none, and the least that one has to be told of to notice more.
fn last_of(reader: &Reader<'_>, view: &View, log: &Log) -> Result<(Interest, u64), ApiError> {
    let workspace = match log {
        Log::Partition(_) => {
            return Ok((Interest::Partition, view.offset.map_or(0, PartitionOffset::get)));
        }
        Log::Workspace(asked) => find(reader, asked)?,
    };
    let is_new = workspace.id == NO_ID;
    let interest = if is_new { Interest::Partition } else { Interest::Workspace(workspace.id) };
    Ok((interest, reader.last_offset(workspace.id)?))
}
