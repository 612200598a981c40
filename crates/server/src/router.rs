//! Which request goes where: the table of methods, with a handler for each, and what stands before all
//! of them.

use std::sync::Arc;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method as HttpMethod, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use seriatim_api::code::ErrorCode;
use seriatim_api::method::{METHODS, Method, MethodId, Verb};

use crate::context::Context;
use crate::error::{ApiError, Fact, finish, response};
use crate::reads::http as reads;
use crate::{
    apps, browsers, clock, commands, definitions, error_page, grpc, health, metrics, openapi,
    partitions,
};

/// All methods, over HTTP and over gRPC.
pub(crate) fn router(context: Arc<Context>) -> Router {
    openapi::prepare();
    let routes = METHODS
        .iter()
        .fold(Router::new(), |routes, method| routes.route(method.path, handler(method)));
    routes
        .merge(grpc::router(&context))
        .fallback(unknown)
        .method_not_allowed_fallback(not_allowed)
        .layer(middleware::from_fn_with_state(context.clone(), pass))
        .with_state(context)
}

/// What carries out a method. One that has no handler does not compile.
fn handler(method: &Method) -> MethodRouter<Arc<Context>> {
    let verb = match method.verb {
        Verb::Get => MethodFilter::GET,
        Verb::Post => MethodFilter::POST,
        Verb::Put => MethodFilter::PUT,
        Verb::Patch => MethodFilter::PATCH,
    };
    match method.id {
        MethodId::CreateApp => on(verb, apps::create),
        MethodId::ListApps => on(verb, apps::list),
        MethodId::GetApp => on(verb, apps::get),
        MethodId::ChangeApp => on(verb, apps::change),
        MethodId::GetDefinitions => on(verb, definitions::get),
        MethodId::DefineKind => on(verb, definitions::kind),
        MethodId::DefineSequence => on(verb, definitions::sequence),
        MethodId::DefineRecord => on(verb, definitions::record),
        MethodId::ListPartitionEvents => on(verb, reads::of_partition),
        MethodId::DeclareWorkspace => on(verb, definitions::workspace),
        MethodId::Submit => on(verb, commands::submit),
        MethodId::ListEvents => on(verb, reads::of_workspace),
        MethodId::ListRecords => on(verb, reads::records),
        MethodId::GetRecord => on(verb, reads::record),
        MethodId::GetEntity => on(verb, reads::entity),
        MethodId::GetSequence => on(verb, reads::sequence),
        MethodId::GetClient => on(verb, reads::client),
        MethodId::GetReceipt => on(verb, reads::receipt),
        MethodId::GetHead => on(verb, reads::head),
        MethodId::GetProof => on(verb, reads::proof),
        MethodId::GetConsistency => on(verb, reads::consistency),
        MethodId::ListPartitions => on(verb, partitions::list),
        MethodId::RestartPartition => on(verb, partitions::restart),
        MethodId::AcceptClock => on(verb, clock::accept),
        MethodId::Live => on(verb, health::live),
        MethodId::Ready => on(verb, health::ready),
        MethodId::Version => on(verb, health::version),
        MethodId::Metrics => on(verb, metrics::get),
        MethodId::Openapi => on(verb, openapi::get),
        MethodId::ErrorPage => on(verb, error_page::get),
    }
}

/// Every request: kept out if its head is too long or it may come from a page of another site, told which
/// method it is for, and counted once it is answered. Errors are written here, because only here it is
/// known for all of them what was asked. One layer for all: each is a box and a copy of all that lies
/// behind it.
async fn pass(State(context): State<Arc<Context>>, mut request: Request, next: Next) -> Response {
    let asked = metrics::CountedAs::of(&request);
    let method = method_of(&request);
    let verb = request.method().as_str();
    let writes = method.map_or_else(|| !Verb::is_safe(verb), |method| method.writes);
    let refusal = too_many_headers(&context, &request);
    let response = match refusal.or_else(|| browsers::refusal(&context, &request)) {
        Some(refusal) => refusal,
        None => {
            if let Some(method) = method {
                request.extensions_mut().insert(method);
            }
            next.run(request).await
        }
    };
    let response = finish(response, writes);
    context.metrics.answered(asked, response.status());
    response
}

fn method_of(request: &Request) -> Option<&'static Method> {
    let path = request.extensions().get::<MatchedPath>()?;
    Method::find(request.method().as_str(), path.as_str())
}

/// HTTP/1.1 is held to the limit where it is read, and what is refused there has no body. HTTP/2 has a
/// limit of bytes alone, and is answered here: with the same status, and in the form of gRPC to whoever
/// speaks that.
fn too_many_headers(context: &Context, request: &Request) -> Option<Response> {
    let (count, max) = (request.headers().len(), context.settings.headers_max);
    if count <= max {
        return None;
    }
    let message = format!("{count} headers are more than {max}");
    let limit = Fact::Number(u64::try_from(max).unwrap_or(u64::MAX));
    let error = ApiError::new(ErrorCode::TooLarge, message).with("limit", limit);
    if grpc::is_grpc(request.headers()) {
        return Some(grpc::refused(request.uri().path(), error));
    }
    let mut response = response(error);
    *response.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    Some(response)
}

async fn unknown(uri: Uri, headers: HeaderMap) -> Response {
    if grpc::is_grpc(&headers) {
        return grpc::unknown(uri.path());
    }
    let path: String = uri.path().chars().take(200).collect();
    response(ApiError::not_found(format!("there is nothing at {path}")))
}

async fn not_allowed(method: HttpMethod) -> Response {
    let message = format!("{method} is not for this path: the header Allow says what is");
    response(ApiError::new(ErrorCode::MethodNotAllowed, message))
}
