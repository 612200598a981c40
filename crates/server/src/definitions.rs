//! Kinds, sequences, records and workspaces: `PUT /v1/apps/{app}/…`, and
//! `GET /v1/apps/{app}/definitions`.
//!
//! A definition is answered once all partitions of the app have it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use seriatim::service::{self, called_by_id};
use seriatim_api::message;
use seriatim_core::{DeclareOutcome, DefineOutcome};
use seriatim_json::{Invalid, define};
use seriatim_types::{Declare, DefineRequest, Name, WorkspaceId};

use crate::asked::Asked;
use crate::context::Context;
use crate::error::{ApiError, ErrorResponse};
use crate::{answer, apps};

/// Everything that is defined for an app.
pub(crate) async fn get(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    let app = asked.app()?;
    let get = move |context: &Context| {
        Ok(answer::body(&message::Definitions::from(&apps::find(context, &app)?)))
    };
    Ok(answer::reserved(context.read_apps(get, Vec::len).await?))
}

/// Defines a kind of workspaces.
pub(crate) async fn kind(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ErrorResponse> {
    define(&context, &asked, body, define::kind).await
}

/// Defines a sequence.
pub(crate) async fn sequence(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ErrorResponse> {
    define(&context, &asked, body, define::sequence).await
}

/// Defines a kind of records.
pub(crate) async fn record(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ErrorResponse> {
    define(&context, &asked, body, define::record).await
}

/// Settles the kind of a workspace.
pub(crate) async fn workspace(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ErrorResponse> {
    declare(&context, &asked, body).await
}

/// Defines what a reader makes of the name in the path and the body.
async fn define(
    context: &Arc<Context>,
    asked: &Asked,
    body: Body,
    read: impl FnOnce(Name, &[u8]) -> Result<DefineRequest, Invalid>,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    let app = asked.app()?;
    let request = read(asked.name("name")?, &asked.body(body, context).await?)?;
    let Defined { version, is_new } = carry_out(context, app, request).await?;
    Ok(answer::ok(&message::Defined { version, changed: is_new }))
}

async fn declare(
    context: &Arc<Context>,
    asked: &Asked,
    body: Body,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    let (app, workspace) = (asked.app()?, asked.workspace()?);
    let kind = define::workspace(&asked.body(body, context).await?)?;
    let declared = settle(context, app, Declare { workspace, kind: kind.clone() }).await?;
    let Declared { workspace, id, is_new } = declared;
    let kind = kind.as_str().to_owned();
    Ok(answer::ok(&message::Declared { workspace, workspace_id: id.0, kind, created: is_new }))
}

/// What came of a definition.
pub(crate) struct Defined {
    /// The version of the app's definitions.
    pub(crate) version: u64,
    /// Whether anything changed.
    pub(crate) is_new: bool,
}

/// Defines something for an app.
pub(crate) async fn carry_out(
    context: &Arc<Context>,
    app: Name,
    request: DefineRequest,
) -> Result<Defined, ApiError> {
    let define = move |context: &Context| {
        let within = context.settings.answer_within;
        let defined = service::define(&context.node, &app, request, within);
        Ok(defined.map_err(|error| context.not_asked(error))??)
    };
    let DefineOutcome { version, is_new, .. } = context.ask_apps(define).await?;
    Ok(Defined { version, is_new })
}

/// A workspace whose kind is settled.
pub(crate) struct Declared {
    /// What answers call it.
    pub(crate) workspace: String,
    pub(crate) id: WorkspaceId,
    /// Whether it came into being.
    pub(crate) is_new: bool,
}

/// Settles the kind of a workspace.
pub(crate) async fn settle(
    context: &Arc<Context>,
    app: Name,
    declare: Declare,
) -> Result<Declared, ApiError> {
    let partition = context.partition_to_write(&app, &declare.workspace)?;
    context.check_serves(partition)?;
    let declare = move |context: &Context| {
        let within = context.settings.answer_within;
        Ok(service::declare(&context.node, &app, declare, within)??)
    };
    let DeclareOutcome { workspace: id, is_new } = context.ask_to_write(declare).await?;
    let workspace = context.read(partition, move |reader| Ok(called_by_id(reader, id)?)).await?;
    Ok(Declared { workspace, id, is_new })
}
