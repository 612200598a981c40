//! Kinds, sequences, records and workspaces: `PUT /v1/apps/{app}/…`, and
//! `GET /v1/apps/{app}/definitions`.
//!
//! A definition is answered once all partitions of the app have it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use seriatim_core::Outcome;
use seriatim_json::write::{self, Fact};
use seriatim_json::{Invalid, define};
use seriatim_types::{Declare, DefineRequest, Name};

use crate::answer;
use crate::apps::find;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::ApiError;
use crate::reads::shown;
use crate::refusals::{applied, defined};

/// Everything that is defined for an app.
pub(crate) async fn get(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.query(&[])?;
    let app = asked.app()?;
    let definitions = context.ask_apps(move |context| find(context, &app)).await?;
    Ok(answer::ok(write::definitions(&definitions)))
}

/// Defines a kind of workspaces.
pub(crate) async fn kind(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ApiError> {
    define(&context, &asked, body, define::kind).await.map_err(ApiError::of_write)
}

/// Defines a sequence.
pub(crate) async fn sequence(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ApiError> {
    define(&context, &asked, body, define::sequence).await.map_err(ApiError::of_write)
}

/// Defines a kind of records.
pub(crate) async fn record(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ApiError> {
    define(&context, &asked, body, define::record).await.map_err(ApiError::of_write)
}

/// Settles the kind of a workspace.
pub(crate) async fn workspace(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ApiError> {
    declare(&context, &asked, body).await.map_err(ApiError::of_write)
}

/// Defines what a reader makes of the name in the path and the body.
async fn define(
    context: &Arc<Context>,
    asked: &Asked,
    body: Body,
    read: impl FnOnce(Name, &[u8]) -> Result<DefineRequest, Invalid>,
) -> Result<Response, ApiError> {
    asked.query(&[])?;
    let app = asked.app()?;
    let request = read(asked.name("name")?, &asked.body(body).await?)?;
    let define = move |context: &Context| {
        let within = context.settings.answer_within;
        defined(context.node.define(&app, request, within)?)
    };
    let Outcome::Defined { version, is_new, .. } = context.ask_apps(define).await? else {
        unreachable!("a request for a definition comes to one, or to a refusal");
    };
    let facts = [("version", Fact::Number(version)), ("changed", Fact::Flag(is_new))];
    Ok(answer::ok(write::facts(&facts)))
}

async fn declare(context: &Arc<Context>, asked: &Asked, body: Body) -> Result<Response, ApiError> {
    asked.query(&[])?;
    let (app, workspace) = (asked.app()?, asked.workspace()?);
    let kind = define::workspace(&asked.body(body).await?)?;
    let partition = context.partition_of(&app, &workspace)?;
    context.check_serves(partition)?;
    let declare = Declare { workspace, kind: kind.clone() };
    let declare = move |context: &Context| {
        let within = context.settings.answer_within;
        applied(context.node.declare(&app, declare, within)?)
    };
    let Outcome::Declared { workspace: id, is_new } = context.ask(declare).await? else {
        unreachable!("a declaration comes to one, or to a refusal");
    };
    let name = context.read(partition, move |reader| shown(reader, id)).await?;
    Ok(answer::ok(write::facts(&[
        ("workspace", Fact::Text(name)),
        ("workspace_id", Fact::Number(id.0)),
        ("kind", Fact::Text(kind.as_str().to_owned())),
        ("created", Fact::Flag(is_new)),
    ])))
}
