//! Apps: making, finding and changing them: `POST /v1/apps`, `GET /v1/apps`, and `GET` and `PATCH` of
//! `/v1/apps/{app}`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use seriatim::service::find_app;
use seriatim_api::message::{App, Apps};
use seriatim_json::define;
use seriatim_types::{AppSettings, Define, Definitions, Name};

use crate::answer;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::{ApiError, ErrorResponse};

/// `POST /v1/apps`: 201, or 200 when there is the same one.
pub(crate) async fn create(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    let body = asked.body(body, &context).await?;
    let (settings, is_new) = make(&context, body).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(answer::json(status, &App::from(&settings)))
}

/// `GET /v1/apps`.
pub(crate) async fn list(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    let list = |context: &Context| {
        let apps = context.node.apps()?;
        let apps = apps.iter().map(|definitions| App::from(&definitions.app)).collect();
        Ok(answer::body(&Apps { apps }))
    };
    Ok(answer::reserved(context.read_apps(list, Vec::len).await?))
}

/// `GET /v1/apps/{app}`.
pub(crate) async fn get(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    let app = asked.app()?;
    let get = move |context: &Context| Ok(answer::body(&App::from(&find(context, &app)?.app)));
    Ok(answer::reserved(context.read_apps(get, Vec::len).await?))
}

/// `PATCH /v1/apps/{app}`: another limit of keys.
pub(crate) async fn change(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    let app = asked.app()?;
    let request = define::app_change(&asked.body(body, &context).await?)?;
    let change = move |context: &Context| {
        context.node.define(&app, request, context.settings.answer_within)??;
        Ok(find(context, &app)?.app)
    };
    let settings = context.ask_apps(change).await?;
    Ok(answer::ok(&App::from(&settings)))
}

/// Makes an app as a body says. Returns whether there was none before.
///
/// What the body leaves out is the server's default for a new app. Of one that is there it is what that
/// has: a program that makes its app each time it starts must not end where a default has changed.
pub(crate) async fn make(
    context: &Arc<Context>,
    body: Bytes,
) -> Result<(AppSettings, bool), ApiError> {
    let Define { app, request } = define::app_or(&body, &context.settings.apps)?;
    let make = move |context: &Context| {
        let known = context.node.apps()?.into_iter().find(|known| known.app.name == app);
        let request = match &known {
            Some(known) => define::app_again(&body, &known.app)?.request,
            None => request,
        };
        let within = context.settings.answer_within;
        let made = context.node.define(&app, request, within)??;
        Ok((find(context, &app)?.app, made.is_new))
    };
    context.ask_apps(make).await
}

/// The definitions of an app, on a thread that may wait.
pub(crate) fn find(context: &Context, app: &Name) -> Result<Definitions, ApiError> {
    find_app(&context.node, app).map_err(|error| context.not_asked(error))
}
