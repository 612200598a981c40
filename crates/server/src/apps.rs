//! `POST /v1/apps`, `GET /v1/apps` and `GET /v1/apps/{app}`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use seriatim_core::Outcome;
use seriatim_json::write::{self, Fact};
use seriatim_node::AskError;
use seriatim_types::{Definitions, Name};

use crate::answer;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::ApiError;
use crate::refusals::defined;

/// Makes an app: 201, or 200 when there is the same one.
pub(crate) async fn create(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ApiError> {
    let made = async {
        asked.query(&[])?;
        let define = seriatim_json::define::app(&asked.body(body).await?)?;
        let make = move |context: &Context| {
            let within = context.settings.answer_within;
            let outcome = defined(context.node.define(&define.app, define.request, within)?)?;
            let is_new = matches!(outcome, Outcome::Defined { is_new: true, .. });
            Ok((is_new, find(context, &define.app)?))
        };
        context.ask_apps(make).await
    };
    let (is_new, definitions) = made.await.map_err(ApiError::of_write)?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(answer::json(status, write::app(&definitions.app)))
}

/// All apps.
pub(crate) async fn list(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.query(&[])?;
    let apps = context.ask_apps(|context| Ok(context.node.apps()?)).await?;
    let apps = apps.iter().map(|definitions| write::app(&definitions.app)).collect();
    Ok(answer::ok(write::facts(&[("apps", Fact::List(apps))])))
}

/// One app.
pub(crate) async fn get(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.query(&[])?;
    let app = asked.app()?;
    let definitions = context.ask_apps(move |context| find(context, &app)).await?;
    Ok(answer::ok(write::app(&definitions.app)))
}

/// The definitions of an app.
pub(crate) fn find(context: &Context, app: &Name) -> Result<Definitions, ApiError> {
    let mut apps = context.node.apps()?.into_iter();
    let found = apps.find(|definitions| definitions.app.name == *app);
    found.ok_or_else(|| context.not_asked(AskError::AppNotFound))
}
