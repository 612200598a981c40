//! Events, of a workspace and of a partition, in lists. Following a log is next door.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use seriatim_core::Committed;
use seriatim_json::write;
use seriatim_node::{Log, Reader, View, Workspace};
use seriatim_types::{NUMBER_MAX, Number, PartitionId, PartitionOffset, WorkspaceId};

use super::page::{Page, page};
use super::wait::{wait_for, wait_for_min_offset, wait_of};
use super::{WorkspaceRead, called, shown, stream};
use crate::answer;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::ApiError;
use crate::settings::{LIMIT_DEFAULT, LIMIT_MAX};

/// The events of a workspace: a list, or all from there on.
pub(crate) async fn of_workspace(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let read = WorkspaceRead::new(context, &asked, &["from", "limit", "wait_ms", "min_offset"])?;
    let from = read.query.number("from", 0..=NUMBER_MAX)?.unwrap_or(1).max(1);
    let limit = read.query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT);
    let wait = wait_of(&read.query)?.unwrap_or(Duration::ZERO);
    if asked.wants_stream() {
        let last_seen = asked.header("Last-Event-ID")?;
        return stream::follow(read, from, last_seen).await;
    }
    if !wait.is_zero() {
        wait_for(&read.context, read.partition, &read.log(), from, wait).await?;
    }
    let partition = read.partition.partition;
    read.answer(move |reader, workspace| list(reader, workspace, partition, from, limit)).await
}

/// The events of a partition.
pub(crate) async fn of_partition(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let query = asked.query(&["from", "limit", "wait_ms", "min_offset"])?;
    let from = query.number("from", 0..=NUMBER_MAX)?.unwrap_or(1).max(1);
    let limit = query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT);
    let partition = crate::partitions::asked(&context, &asked).await?;
    let log = Log::Partition(partition.partition);
    let wait = wait_of(&query)?.unwrap_or(Duration::ZERO);
    if !wait.is_zero() {
        wait_for(&context, partition, &log, from, wait).await?;
    }
    wait_for_min_offset(&context, partition, &log, &query).await?;
    let read = move |reader: &Reader<'_>, view: &View| {
        let mut names = Names::new(reader);
        let page = page(from, limit, |from, limit| {
            let events = reader.partition_events(from, limit)?;
            let body = |it: Committed| {
                let name = names.of(it.event.workspace)?;
                let body = write::event(&it.event, name, partition.partition, &it.leaf);
                Ok((it.event.partition_offset.get().saturating_add(1), body))
            };
            events.into_iter().map(body).collect()
        })?;
        Ok(body(&page, view.offset.map_or(0, PartitionOffset::get)))
    };
    Ok(answer::ok(context.read_view(partition, read).await?))
}

fn list(
    reader: &Reader<'_>,
    workspace: &Workspace,
    partition: PartitionId,
    from: u64,
    limit: u64,
) -> Result<Vec<u8>, ApiError> {
    let name = called(workspace);
    let page = page(from, limit, |from, limit| {
        let events = reader.events(workspace.id, from, limit)?;
        let body = |it: Committed| {
            let body = write::event(&it.event, &name, partition, &it.leaf);
            (it.event.offset.get().saturating_add(1), body)
        };
        Ok(events.into_iter().map(body).collect())
    })?;
    Ok(body(&page, reader.last_offset(workspace.id)?))
}

fn body(page: &Page, last: u64) -> Vec<u8> {
    let next = Number::new(page.next.clamp(1, NUMBER_MAX)).expect("it was brought into the range");
    write::events(&page.bodies, next, Number::new(last))
}

/// What the workspaces of a partition are called, each looked up once.
struct Names<'r> {
    reader: &'r Reader<'r>,
    known: BTreeMap<WorkspaceId, String>,
}

impl<'r> Names<'r> {
    fn new(reader: &'r Reader<'r>) -> Self {
        Self { reader, known: BTreeMap::new() }
    }

    fn of(&mut self, workspace: WorkspaceId) -> Result<&str, ApiError> {
        match self.known.entry(workspace) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(unknown) => Ok(unknown.insert(shown(self.reader, workspace)?)),
        }
    }
}
