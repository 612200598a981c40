//! Waiting for an offset of a log: `min_offset`, which every read of a log takes.
//!
//! ```text
//!  ask to be told ─► look at a view ─┬─► reached
//!        ▲                           ├─► less is of interest: ask again, look again
//!        └──────── told ◄────────────┴─► wait
//! ```
//!
//! The loop is the caller's: a task of the server waits for the change, its time or the server's end, and a
//! thread of an embedder for the change or its time.

use seriatim_api::code::ErrorCode;
use seriatim_node::{Changed, Interest, Log, Node, ReadFailed, Reader, View};
use seriatim_types::{PartitionOffset, PartitionRef};

use super::error::{ApiError, Fact};
use super::workspaces::{NO_ID, find};

/// Where a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    /// Its last offset, 0 for none.
    pub offset: u64,
    /// The least that one has to be told of to notice more.
    pub interest: Interest,
}

/// A wait for an offset, between two looks.
#[derive(Debug)]
pub struct OffsetWait {
    partition: PartitionRef,
    offset: u64,
    interest: Interest,
}

/// What follows from a look.
#[derive(Debug)]
pub enum Step {
    /// The log has the offset; this is its last one.
    Reached(u64),
    /// Look again at once.
    LookAgain,
    /// Wait for a change, then look again. If it does not come in time, this is the last offset.
    Wait(u64, Changed),
}

impl OffsetWait {
    /// Waits for an event at an offset of a log in a partition.
    #[must_use]
    pub fn new(partition: PartitionRef, offset: u64) -> Self {
        Self { partition, offset, interest: Interest::Partition }
    }

    /// What tells of a change. Ask for it before looking, so that nothing comes in between.
    #[must_use]
    pub fn changed(&self, node: &Node) -> Option<Changed> {
        node.changed(self.partition, self.interest)
    }

    /// What follows from a look, with the change that was asked for before it.
    pub fn next(&mut self, last: Last, changed: Option<Changed>) -> Step {
        if last.offset >= self.offset {
            return Step::Reached(last.offset);
        }
        // Whoever can be told of less asks again, and looks again.
        let changed = changed.filter(|_| last.interest == self.interest);
        self.interest = last.interest;
        changed.map_or(Step::LookAgain, |changed| Step::Wait(last.offset, changed))
    }
}

/// Looks where a log ends.
///
/// # Errors
///
/// When it could not be read.
pub fn last_of(reader: &Reader<'_>, view: &View, log: &Log) -> Result<Last, ReadFailed> {
    let workspace = match log {
        Log::Partition(_) => {
            let offset = view.offset.map_or(0, PartitionOffset::get);
            return Ok(Last { offset, interest: Interest::Partition });
        }
        Log::Workspace(asked) => find(reader, asked)?,
    };
    let is_new = workspace.id == NO_ID;
    let interest = if is_new { Interest::Partition } else { Interest::Workspace(workspace.id) };
    Ok(Last { offset: reader.last_offset(workspace.id)?, interest })
}

/// The error of a log that has not reached an offset in time.
#[must_use]
pub fn not_yet(last: u64, min_offset: u64) -> ApiError {
    let message = format!("the last offset is {last}, not yet {min_offset}");
    ApiError::new(ErrorCode::NotYet, message).with("last", Fact::Number(last)).retryable()
}
