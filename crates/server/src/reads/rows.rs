//! Records, entities, sequences, clients and receipts.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use seriatim_json::write::{self, Fact};
use seriatim_json::{Invalid, Problem, header};
use seriatim_node::Reader;
use seriatim_types::limits::NAME_BYTES_MAX;
use seriatim_types::{NUMBER_MAX, Name, Number, RecordClass, Year};

use super::page::page;
use super::{WorkspaceRead, called};
use crate::asked::Asked;
use crate::context::Context;
use crate::error::ApiError;
use crate::settings::{LIMIT_DEFAULT, LIMIT_MAX};

/// One record.
pub(crate) async fn record(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let read = WorkspaceRead::new(context, &asked, &["min_offset", "wait_ms"])?;
    let id = asked.number("id", 1..=NUMBER_MAX)?;
    let not_found = move || {
        let error = ApiError::new("RECORD_NOT_FOUND", format!("there is no record {id}"));
        error.with("id", Fact::Number(id))
    };
    let id = Number::new(id).expect("the range is that of numbers");
    let found = read.answer(move |reader, workspace| {
        let row = reader.record(workspace.id, id)?.ok_or_else(not_found)?;
        Ok(write::record(id, &row))
    });
    found.await
}

/// Records of a kind, by their ids.
pub(crate) async fn records(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let known = &["kind", "from", "limit", "min_offset", "wait_ms"];
    let read = WorkspaceRead::new(context, &asked, known)?;
    let kind = Name::new(read.query.required("kind")?).ok_or_else(|| {
        let problem = Problem::NotAName { bytes_max: NAME_BYTES_MAX };
        Invalid { field: "kind".to_owned(), problem }
    })?;
    let from = read.query.number("from", 0..=NUMBER_MAX)?.unwrap_or(1);
    let limit = read.query.number("limit", 1..=LIMIT_MAX)?.unwrap_or(LIMIT_DEFAULT);
    let found = read.answer(move |reader, workspace| {
        check_listed(reader, &kind)?;
        let page = page(from, limit, |from, limit| {
            let records = reader.records(workspace.id, &kind, from, limit)?.into_iter();
            let body =
                |(id, row): (Number, _)| (id.get().saturating_add(1), write::record(id, &row));
            Ok(records.map(body).collect())
        })?;
        let next = if page.is_last { Fact::Null } else { Fact::Number(page.next) };
        Ok(write::facts(&[("records", Fact::List(page.bodies)), ("next", next)]))
    });
    found.await
}

/// One entity. Its key may hold slashes.
pub(crate) async fn entity(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let read = WorkspaceRead::new(context, &asked, &["min_offset", "wait_ms"])?;
    let key = asked.entity_key()?;
    let now = read.context.now();
    let found = read.answer(move |reader, workspace| {
        let row = reader.entity(workspace.id, &key, now)?.ok_or_else(|| {
            let error = ApiError::not_found(format!("there is no entity {:?}", key.as_str()));
            error.with("key", Fact::Text(key.as_str().to_owned()))
        })?;
        Ok(write::entity(&key, &row))
    });
    found.await
}

/// Where a sequence stands.
pub(crate) async fn sequence(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let read = WorkspaceRead::new(context, &asked, &["period", "min_offset", "wait_ms"])?;
    let name = asked.name("name")?;
    let period = read.query.number("period", 1..=9999)?;
    let year = period.and_then(|year| Year::new(u16::try_from(year).ok()?));
    let now = read.context.now();
    let found = read.answer(move |reader, workspace| {
        let state = reader.sequence(workspace, &name, year, now)?.ok_or_else(|| {
            let of_year = if year.is_some() { " with periods" } else { "" };
            let message = format!("the workspace has no sequence {:?}{of_year}", name.as_str());
            ApiError::not_found(message)
        })?;
        let next = state.next.as_ref().map(|(number, text)| (*number, text.as_str()));
        Ok(write::sequence(&name, state.period, state.last, next))
    });
    found.await
}

/// Where a client stands.
pub(crate) async fn client(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let read = WorkspaceRead::new(context, &asked, &["min_offset", "wait_ms"])?;
    let client = header::client(asked.part("client"))?;
    let found = read.answer(move |reader, workspace| {
        let state = reader.client(workspace.id, &client)?.ok_or_else(|| {
            ApiError::not_found("nothing of this client was carried out in the workspace")
        })?;
        Ok(write::client(&client, state.last_client_sequence, state.last_offset))
    });
    found.await
}

/// The receipt of a command.
pub(crate) async fn receipt(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let read = WorkspaceRead::new(context, &asked, &["min_offset", "wait_ms"])?;
    let client = header::client(asked.part("client"))?;
    let key = header::key(asked.part("key"))?;
    let (app, partition, now) = (read.app.clone(), read.partition, read.context.now());
    let found = read.answer(move |reader, workspace| {
        let receipt = reader.receipt(workspace.id, &client, key, now)?.ok_or_else(|| {
            ApiError::not_found(
                "there is no such receipt: that is final once the command's deadline has passed",
            )
        })?;
        Ok(write::receipt(&receipt, &app, &called(workspace), partition.partition))
    });
    found.await
}

/// Only kinds of class c can be listed. An empty list of another would say that there are none.
fn check_listed(reader: &Reader<'_>, kind: &Name) -> Result<(), ApiError> {
    let definitions = reader.definitions()?;
    let mut records = definitions.iter().flat_map(|definitions| &definitions.records);
    let shown = kind.as_str();
    match records.find(|record| record.name == *kind) {
        Some(record) if record.class == RecordClass::C => Ok(()),
        Some(_) => Err(ApiError::invalid("kind", "only records of class c can be listed")),
        None => Err(ApiError::new("UNKNOWN_KIND", format!("there is no kind {shown:?}"))
            .with("field", Fact::Text("kind".to_owned()))),
    }
}
