//! Records, entities, sequences, clients and receipts.

use seriatim::service::{called, check_listed};
use seriatim_api::code::ErrorCode;
use seriatim_node::{ClientState, SequenceState};
use seriatim_types::{ClientId, EntityKey, EntityRow, Key, Name, Number, RecordRow, Year};

use super::page::{Batch, Page, Row, page};
use super::{WorkspaceRead, cost};
use crate::commands::Carried;
use crate::error::{ApiError, Fact};
use crate::overload::memory_budget::Reserved;
use crate::settings::LIST_BYTES_MAX;

/// One record.
pub(crate) async fn record(
    read: WorkspaceRead,
    id: Number,
) -> Result<Reserved<RecordRow>, ApiError> {
    let found = read.answer(cost::RECORD, move |reader, workspace| {
        reader.record(workspace.id, id)?.ok_or_else(|| {
            let error =
                ApiError::new(ErrorCode::RecordNotFound, format!("there is no record {id}"));
            error.with("id", Fact::Number(id.get()))
        })
    });
    found.await
}

/// Records of a kind, by their ids: `write` shows each, `finish` makes the answer of all of them.
pub(crate) async fn records<T, A: Send + 'static>(
    read: WorkspaceRead,
    kind: Name,
    (from, limit): (u64, u64),
    write: impl Fn(Number, &RecordRow) -> (T, usize) + Send + 'static,
    finish: impl FnOnce(Page<T>) -> A + Send + 'static,
) -> Result<Reserved<A>, ApiError> {
    let found = read.answer_list(move |reader, workspace| {
        check_listed(reader, &kind)?;
        let read = |from, limit| {
            let (rows, is_cut) = reader.records_page(workspace.id, &kind, from, limit)?;
            let is_last = rows.len() < limit && !is_cut;
            Ok(Batch { rows, is_last })
        };
        let write = |(id, row): (Number, RecordRow)| {
            let (row, bytes) = write(id, &row);
            Ok(Row { next: id.get().saturating_add(1), bytes, row })
        };
        Ok(finish(page(from, limit, LIST_BYTES_MAX, read, write)?))
    });
    found.await
}

/// One entity.
pub(crate) async fn entity(
    read: WorkspaceRead,
    key: EntityKey,
) -> Result<Reserved<EntityRow>, ApiError> {
    let now = read.context.now();
    let found = read.answer(cost::ENTITY, move |reader, workspace| {
        reader.entity(workspace.id, &key, now)?.ok_or_else(|| {
            let error = ApiError::not_found(format!("there is no entity {:?}", key.as_str()));
            error.with("key", Fact::Text(key.as_str().to_owned()))
        })
    });
    found.await
}

/// Where a sequence stands.
pub(crate) async fn sequence(
    read: WorkspaceRead,
    name: Name,
    year: Option<Year>,
) -> Result<SequenceState, ApiError> {
    let now = read.context.now();
    let found = read.answer(cost::SEQUENCE, move |reader, workspace| {
        reader.sequence(workspace, &name, year, now)?.ok_or_else(|| {
            let of_year = if year.is_some() { " with periods" } else { "" };
            let message = format!("the workspace has no sequence {:?}{of_year}", name.as_str());
            ApiError::not_found(message)
        })
    });
    Ok(found.await?.value)
}

/// Where a client stands.
pub(crate) async fn client(read: WorkspaceRead, client: ClientId) -> Result<ClientState, ApiError> {
    let found = read.answer(cost::LOG, move |reader, workspace| {
        reader.client(workspace.id, &client)?.ok_or_else(|| {
            ApiError::not_found("nothing of this client was carried out in the workspace")
        })
    });
    Ok(found.await?.value)
}

/// The command that a key belongs to.
pub(crate) async fn receipt(
    read: WorkspaceRead,
    client: ClientId,
    key: Key,
) -> Result<Reserved<Carried>, ApiError> {
    let (app, partition, now) = (read.app.clone(), read.partition.partition, read.context.now());
    let found = read.answer(cost::RECEIPT, move |reader, workspace| {
        let receipt = reader.receipt(workspace.id, &client, key, now)?.ok_or_else(|| {
            ApiError::not_found(
                "there is no receipt under this key: the command was not carried out, is still on \
                 its way, or was carried out so long ago that the retention of its key is over",
            )
        })?;
        Ok(Carried { app, workspace: called(workspace), partition, receipt, is_replayed: true })
    });
    found.await
}
