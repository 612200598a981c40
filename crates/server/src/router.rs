//! Which path goes where.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};

use seriatim_json::write::Fact;

use crate::context::Context;
use crate::error::ApiError;
use crate::reads::http as reads;
use crate::{
    apps, browsers, clock, commands, definitions, grpc, health, metrics, openapi, partitions,
};

/// All endpoints, over HTTP and over gRPC.
pub(crate) fn router(context: Arc<Context>) -> Router {
    Router::new()
        .route("/v1/apps", post(apps::create).get(apps::list))
        .route("/v1/apps/{app}", get(apps::get).patch(apps::change))
        .route("/v1/apps/{app}/definitions", get(definitions::get))
        .route("/v1/apps/{app}/kinds/{name}", put(definitions::kind))
        .route("/v1/apps/{app}/sequences/{name}", put(definitions::sequence))
        .route("/v1/apps/{app}/records/{name}", put(definitions::record))
        .route("/v1/apps/{app}/partitions/{p}/events", get(reads::of_partition))
        .route("/v1/apps/{app}/workspaces/{ws}", put(definitions::workspace))
        .merge(workspace())
        .route("/v1/partitions", get(partitions::list))
        .route("/v1/partitions/{app}/{p}/restart", post(partitions::restart))
        .route("/v1/clock/accept", post(clock::accept))
        .route("/livez", get(health::live))
        .route("/readyz", get(health::ready))
        .route("/version", get(health::version))
        .route("/metrics", get(metrics::get))
        .route("/openapi.json", get(openapi::get))
        .merge(grpc::router(&context))
        .fallback(unknown)
        .method_not_allowed_fallback(not_allowed)
        .layer(middleware::from_fn_with_state(context.clone(), pass))
        .with_state(context)
}

/// What a workspace is sent and asked. Whole paths: a router within a router would take each path
/// apart once more.
fn workspace() -> Router<Arc<Context>> {
    let at = |path: &str| format!("/v1/apps/{{app}}/workspaces/{{ws}}/{path}");
    Router::new()
        .route(&at("commands"), post(commands::submit))
        .route(&at("events"), get(reads::of_workspace))
        .route(&at("records"), get(reads::records))
        .route(&at("records/{id}"), get(reads::record))
        .route(&at("entities/{*key}"), get(reads::entity))
        .route(&at("sequences/{name}"), get(reads::sequence))
        .route(&at("clients/{client}"), get(reads::client))
        .route(&at("receipts/{client}/{key}"), get(reads::receipt))
        .route(&at("head"), get(reads::head))
        .route(&at("proofs/{offset}"), get(reads::proof))
        .route(&at("consistency"), get(reads::consistency))
}

/// Every request: kept out if its head is too long or it may come from a page of another site, and
/// counted once it is answered. One layer for all: each is a box and a copy of all that lies behind it.
async fn pass(State(context): State<Arc<Context>>, request: Request, next: Next) -> Response {
    let asked = metrics::CountedAs::of(&request);
    let refusal = too_many_headers(&context, &request);
    let response = match refusal.or_else(|| browsers::refusal(&context, &request)) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    context.metrics.answered(asked, response.status());
    response
}

/// HTTP/1.1 is held to the limit where it is read. HTTP/2 has a limit of bytes alone, and its answer is
/// made here: as bare as the other one, and an error in the form of gRPC to whoever speaks that.
fn too_many_headers(context: &Context, request: &Request) -> Option<Response> {
    let (count, max) = (request.headers().len(), context.settings.headers_max);
    if count <= max {
        return None;
    }
    if grpc::is_grpc(request.headers()) {
        let message = format!("{count} headers are more than {max}");
        let limit = Fact::Number(u64::try_from(max).unwrap_or(u64::MAX));
        let error = ApiError::new("TOO_LARGE", message).with("limit", limit);
        return Some(grpc::refused(request.uri().path(), error));
    }
    Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.into_response())
}

async fn unknown(uri: Uri, headers: HeaderMap) -> Response {
    if grpc::is_grpc(&headers) {
        return grpc::unknown(uri.path());
    }
    let path: String = uri.path().chars().take(200).collect();
    ApiError::not_found(format!("there is nothing at {path}")).into_response()
}

async fn not_allowed(method: Method) -> ApiError {
    let message = format!("{method} is not for this path: the header Allow says what is");
    ApiError::new("METHOD_NOT_ALLOWED", message)
}
