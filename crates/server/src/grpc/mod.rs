//! The services of `seriatim.v1`, beside HTTP on the same port: what streams.
//!
//! ```text
//!  HTTP/2 ─► guard ─┬─► commands, stream ─┬─► what HTTP calls too ─► node
//!                   └─► reads: subscribe ─┘
//!         ◄── the documents of HTTP in messages, or a status with the body of an error
//! ```
//!
//! **Invariant:** a command is read by the parser that reads it over HTTP, and receipts, events and
//! errors are the bytes that HTTP would have had as bodies. What differs is only the frame.
//!
//! **Deliberately absent:** everything that does not stream. HTTP/JSON is the whole API; see
//! `docs/decisions/2026-11-20-http-is-the-api.md`.

mod commands;
mod error;
mod guard;
mod health;
mod partition_queue;
mod read;
mod reads;
mod stream;
mod timeout;

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware;
use axum::response::IntoResponse;
use seriatim_api::grpc::command_service_server::{self, CommandServiceServer};
use seriatim_api::grpc::read_service_server::{self, ReadServiceServer};
use seriatim_types::limits::COMMAND_BYTES_MAX;
use tonic::codegen::Service;
use tonic::server::NamedService;
use tonic_health::pb::health_server::HealthServer;
use tonic_reflection::server::Builder;

use crate::context::Context;

pub(crate) use guard::{is_grpc, refused, unknown};

/// The longest message that is read. It holds the largest command with all that is around it, so
/// that one that is larger is refused with its own error.
const MESSAGE_BYTES_MAX: usize = 2 * COMMAND_BYTES_MAX as usize;

/// The services whose health can be asked for. The empty name is the server as a whole.
const SERVICES: [&str; 3] =
    ["", command_service_server::SERVICE_NAME, read_service_server::SERVICE_NAME];

/// All services.
pub(crate) fn router(context: &Arc<Context>) -> Router<Arc<Context>> {
    let commands = CommandServiceServer::new(commands::Commands(context.clone()));
    let reads = ReadServiceServer::new(reads::Reads(context.clone()));
    let described = || {
        Builder::configure()
            .register_encoded_file_descriptor_set(seriatim_api::grpc::DESCRIPTION)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    Router::new()
        .merge(of(commands.max_decoding_message_size(MESSAGE_BYTES_MAX)))
        .merge(of(reads.max_decoding_message_size(MESSAGE_BYTES_MAX)))
        .merge(of(HealthServer::new(health::Health(context.clone()))))
        .merge(of(described().build_v1().expect("the descriptions are our own")))
        .merge(of(described().build_v1alpha().expect("the descriptions are our own")))
        .layer(middleware::from_fn_with_state(context.clone(), guard::guard))
}

/// The methods of one service.
fn of<S>(service: S) -> Router<Arc<Context>>
where
    S: Service<Request, Error = Infallible> + NamedService + Clone + Send + Sync + 'static,
    S::Response: IntoResponse,
    S::Future: Send,
{
    Router::new().route_service(&format!("/{}/{{*method}}", S::NAME), service)
}
