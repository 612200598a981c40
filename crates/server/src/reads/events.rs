//! Events, of a workspace and of a partition, in lists. Following a log is next door.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, Instant};

use seriatim::service::{called, called_by_id, find};
use seriatim_core::Committed;
use seriatim_node::{Log, Reader, View};
use seriatim_types::{NUMBER_MAX, Number, PartitionId, PartitionOffset, WorkspaceId};

use super::page::{Batch, Page, Row, page};
use super::wait::wait_for;
use super::{LogRead, cost};
use crate::error::ApiError;
use crate::overload::memory_budget::Reserved;
use crate::settings::LIST_BYTES_MAX;

/// Which events of a log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) limit: u64,
    /// How long to wait for the first one.
    pub(crate) wait: Duration,
}

/// Some events of a log.
pub(crate) struct Listed<T> {
    pub(crate) events: Vec<T>,
    /// Where to go on.
    pub(crate) next: Number,
    /// The last offset of the log; 0 for none.
    pub(crate) last: u64,
}

/// Lists events of a log: `write` shows each with the name of its workspace and says how many bytes
/// that takes, `finish` makes the answer of all of them.
pub(crate) async fn list<T, A: Send + 'static>(
    read: LogRead,
    span: Span,
    write: impl Fn(&Committed, &str, PartitionId) -> (T, usize) + Send + 'static,
    finish: impl FnOnce(Listed<T>) -> A + Send + 'static,
) -> Result<Reserved<A>, ApiError> {
    let mut read = read;
    let began = Instant::now();
    let left = || span.wait.saturating_sub(began.elapsed());
    if !span.wait.is_zero() {
        wait_for(&read.context, read.partition, &read.log, span.from.max(1), span.wait).await?;
        // One time for both.
        read.wait.within = Some(left());
    }
    read.wait().await?;
    let LogRead { context, log, partition, .. } = read;
    // One write wakes all who wait for it. They read in turn, as far as their time allows.
    let within = left().max(context.settings.reserve_within);
    let unsent = context.reserve_unsent(cost::LIST_BODY, within).await?;
    let reading = context.reserve(cost::LIST, within).await?;
    let write = move |it: &Committed, name: &str| write(it, name, partition.partition);
    let list = move |reader: &Reader<'_>, view: &View| {
        let (page, last) = match &log {
            Log::Partition(_) => {
                let last = view.offset.map_or(0, PartitionOffset::get);
                (of_partition(reader, span, write)?, last)
            }
            Log::Workspace(asked) => {
                let workspace = find(reader, asked)?;
                let (name, last) = (called(&workspace), reader.last_offset(workspace.id)?);
                let write = |it: &Committed| write(it, &name);
                (of_workspace(reader, workspace.id, span, write)?, last)
            }
        };
        let next = Number::new(page.next.clamp(1, NUMBER_MAX)).expect("brought into the range");
        Ok(finish(Listed { events: page.rows, next, last }))
    };
    Ok(context.read_reserved(partition, reading, list).await?.kept_by(unsent))
}

fn of_workspace<T>(
    reader: &Reader<'_>,
    workspace: WorkspaceId,
    span: Span,
    write: impl Fn(&Committed) -> (T, usize),
) -> Result<Page<T>, ApiError> {
    let read = |from, limit| Ok(batch(reader.events(workspace, from, limit)?, limit));
    let write = |it: Committed| Ok(row(it.event.offset.get(), &it, write(&it)));
    page(span.from.max(1), span.limit, LIST_BYTES_MAX, read, write)
}

fn of_partition<T>(
    reader: &Reader<'_>,
    span: Span,
    write: impl Fn(&Committed, &str) -> (T, usize),
) -> Result<Page<T>, ApiError> {
    let mut names = Names::new(reader);
    let read = |from, limit| Ok(batch(reader.partition_events(from, limit)?, limit));
    let write = |it: Committed| {
        let written = write(&it, names.of(it.event.workspace)?);
        Ok(row(it.event.partition_offset.get(), &it, written))
    };
    page(span.from.max(1), span.limit, LIST_BYTES_MAX, read, write)
}

/// Events that were read in one go. Fewer than were asked for are either the last ones or as large as
/// a list may be.
fn batch(rows: Vec<Committed>, limit: usize) -> Batch<Committed> {
    let is_last = rows.len() < limit;
    Batch { rows, is_last }
}

/// Small events grow by being written, large ones hardly. The larger of the two sizes counts, so that
/// both are bounded.
fn row<T>(offset: u64, event: &Committed, (row, written): (T, usize)) -> Row<T> {
    Row { next: offset.saturating_add(1), bytes: event.bytes.len().max(written), row }
}

/// What the workspaces of a partition are called, each looked up once.
pub(super) struct Names<'r> {
    reader: &'r Reader<'r>,
    known: BTreeMap<WorkspaceId, String>,
}

impl<'r> Names<'r> {
    pub(super) fn new(reader: &'r Reader<'r>) -> Self {
        Self { reader, known: BTreeMap::new() }
    }

    pub(super) fn of(&mut self, workspace: WorkspaceId) -> Result<&str, ApiError> {
        match self.known.entry(workspace) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => Ok(unknown.insert(called_by_id(self.reader, workspace)?)),
        }
    }
}
