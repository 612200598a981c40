//! Waiting for an offset: `min_offset` and `wait_ms`, which every read of a log takes.

use std::sync::Arc;
use std::time::Duration;

use seriatim::service::{OffsetWait, Step, last_of, not_yet};
use seriatim_node::{Log, Reader, View};
use seriatim_types::PartitionRef;
use tokio::time::Instant;

use crate::context::Context;
use crate::error::ApiError;

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
        Err(not_yet(last, min_offset))
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
    let mut wait = OffsetWait::new(partition, offset);
    loop {
        let changed = wait.changed(&context.node);
        let log = log.clone();
        let look = move |reader: &Reader<'_>, view: &View| Ok(last_of(reader, view, &log)?);
        let last = context.read_view(partition, look).await?;
        let (last, changed) = match wait.next(last, changed) {
            Step::Reached(last) => return Ok(last),
            Step::LookAgain => continue,
            Step::Wait(last, changed) => (last, changed),
        };
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(deadline) => return Ok(last),
            () = context.ended() => return Ok(last),
        }
    }
}
