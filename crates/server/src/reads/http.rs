//! `GET /v1/apps/{app}/workspaces/{ws}/…` and `GET /v1/apps/{app}/partitions/{p}/events`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use seriatim::service::Proven;
use seriatim_api::message::{
    ClientState, Consistency, Entity, Event, Events, Hash, Head, InclusionProof, Record, Records,
    SequenceState,
};
use seriatim_core::Committed;
use seriatim_types::{NUMBER_MAX, Number, PartitionId, RecordRow, Year};

use super::events::{Listed, Span, list};
use super::page::Page;
use super::{LogRead, Wait, WorkspaceRead, sse};
use crate::answer;
use crate::asked::{Asked, Query, name, whole};
use crate::context::Context;
use crate::error::{ApiError, ErrorResponse};

/// The events of a workspace: a list, or all from there on.
pub(crate) async fn of_workspace(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, query) = workspace_read(context, &asked)?;
    let span = span(&query)?;
    listed_or_followed(&asked, read.of_log(), span).await
}

/// The events of a partition: a list, or all from there on.
pub(crate) async fn of_partition(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let query = asked.query()?;
    let span = span(&query)?;
    let (app, partition) = (asked.app()?, asked.partition()?);
    let read = LogRead::of_partition(context, app, partition, wait(&query)?).await?;
    listed_or_followed(&asked, read, span).await
}

/// A stream for whoever wants one. It goes on behind the last event that was seen, also if that is
/// beyond the end: it then begins once the log gets there.
async fn listed_or_followed(
    asked: &Asked,
    read: LogRead,
    span: Span,
) -> Result<Response, ErrorResponse> {
    // A list has no use for it, and a header that is declared means the same whoever is asked.
    let last_seen = asked.header("Last-Event-ID")?;
    let last_seen = last_seen.map(|id| whole("Last-Event-ID", id, 0..=NUMBER_MAX)).transpose()?;
    if !asked.wants_stream() {
        return Ok(answer::reserved(list(read, span, body, listed).await?));
    }
    sse::stream(read, last_seen.map_or(span.from, |id| id.saturating_add(1))).await
}

/// One record.
pub(crate) async fn record(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, _) = workspace_read(context, &asked)?;
    let id = asked.number("id")?;
    let id = Number::new(id).expect("the range is that of numbers");
    let record = super::record(read, id).await?;
    Ok(answer::read(record.map(|row| answer::body(&Record::new(id, &row)))))
}

/// Records of a kind, by their ids.
pub(crate) async fn records(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, query) = workspace_read(context, &asked)?;
    let kind = name("kind", query.required("kind")?)?;
    let (from, limit) = (query.number_or_default("from")?, query.number_or_default("limit")?);
    let write = |id, row: &RecordRow| counted(answer::body(&Record::new(id, row)));
    let finish = |page: Page<Vec<u8>>| {
        // Behind the last id there can be no more.
        let next = (!page.is_last && page.next <= NUMBER_MAX).then_some(page.next);
        answer::page(&Records { records: Vec::new(), next }, &page.rows)
    };
    let page = super::records(read, kind, (from, limit), write, finish).await?;
    Ok(answer::reserved(page))
}

/// One entity. Its key may hold slashes.
pub(crate) async fn entity(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, _) = workspace_read(context, &asked)?;
    let key = asked.entity_key()?;
    let entity = super::entity(read, key.clone()).await?;
    Ok(answer::read(entity.map(|row| answer::body(&Entity::new(&key, &row)))))
}

/// Where a sequence stands.
pub(crate) async fn sequence(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, query) = workspace_read(context, &asked)?;
    let name = asked.name("name")?;
    let period = query.number("period")?;
    let year = period.and_then(|year| Year::new(u16::try_from(year).ok()?));
    let state = super::sequence(read, name.clone(), year).await?;
    let (next, next_text) = state.next.map(|(next, text)| (next.get(), text)).unzip();
    Ok(answer::ok(&SequenceState {
        name: name.as_str().to_owned(),
        period: state.period.map(Year::get),
        last: state.last.map_or(0, Number::get),
        next,
        next_text,
    }))
}

/// Where a client stands.
pub(crate) async fn client(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, _) = workspace_read(context, &asked)?;
    let client = asked.client()?;
    let state = super::client(read, client.clone()).await?;
    Ok(answer::ok(&ClientState {
        client: String::from_utf8_lossy(client.as_bytes()).into_owned(),
        last_client_sequence: state.last_client_sequence.get(),
        last_offset: state.last_offset.get(),
    }))
}

/// The receipt of a command.
pub(crate) async fn receipt(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, _) = workspace_read(context, &asked)?;
    let client = asked.client()?;
    let key = asked.idempotency_key()?;
    let carried = super::receipt(read, client, key).await?;
    Ok(answer::read(carried.map(|carried| answer::body(&carried.receipt()))))
}

/// The size and the root of the tree over a workspace's log.
pub(crate) async fn head(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, _) = workspace_read(context, &asked)?;
    let (workspace, head) = super::head(read).await?;
    Ok(answer::ok(&Head { workspace, size: head.size, root: head.root.into() }))
}

/// That an event is among the first of a workspace's log.
pub(crate) async fn proof(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, query) = workspace_read(context, &asked)?;
    let offset = asked.number("offset")?;
    let offset = Number::new(offset).expect("the range is that of numbers");
    let size = query.number("size")?;
    let Proven { proof, to: size, .. } = super::proof(read, offset, size).await?;
    Ok(answer::ok(&InclusionProof::new(offset.get(), size, &proof)))
}

/// That a workspace's log only grew from one size to another.
pub(crate) async fn consistency(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    let (read, query) = workspace_read(context, &asked)?;
    query.required("from")?;
    let (from, to) = (query.number_or_default("from")?, query.number("to")?);
    let Proven { proof, from, to } = super::consistency(read, from, to).await?;
    Ok(answer::ok(&Consistency {
        from,
        to,
        path: proof.path.iter().map(Hash::from).collect(),
        from_root: proof.from_root.into(),
        to_root: proof.to_root.into(),
    }))
}

/// The read that a request asks for, with its parameters.
fn workspace_read(
    context: Arc<Context>,
    asked: &Asked,
) -> Result<(WorkspaceRead, Query), ApiError> {
    let query = asked.query()?;
    let (app, workspace) = (asked.app()?, asked.workspace()?);
    let read = WorkspaceRead::new(context, app, workspace, wait(&query)?)?;
    Ok((read, query))
}

fn wait(query: &Query) -> Result<Wait, ApiError> {
    let min_offset = query.number_or_default("min_offset")?;
    let within = query.number("wait_ms")?.map(Duration::from_millis);
    Ok(Wait { min_offset, within })
}

fn span(query: &Query) -> Result<Span, ApiError> {
    Ok(Span {
        from: query.number_or_default("from")?,
        limit: query.number_or_default("limit")?,
        wait: Duration::from_millis(query.number("wait_ms")?.unwrap_or(0)),
    })
}

fn body(committed: &Committed, workspace: &str, partition: PartitionId) -> (Vec<u8>, usize) {
    let Committed { event, leaf, .. } = committed;
    counted(answer::body(&Event::new(event, workspace, partition, leaf)))
}

fn counted(written: Vec<u8>) -> (Vec<u8>, usize) {
    let bytes = written.len();
    (written, bytes)
}

fn listed(listed: Listed<Vec<u8>>) -> Vec<u8> {
    let Listed { events, next, last } = listed;
    answer::page(&Events { events: Vec::new(), next: next.get(), last }, &events)
}
