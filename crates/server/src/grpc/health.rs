//! `grpc.health.v1`: serving as long as every partition takes commands.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_server};

use super::SERVICES;
use super::error::status;
use crate::context::Context;
use crate::error::ApiError;

/// How often to look for those who watch.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The service.
pub(super) struct Health(pub(super) Arc<Context>);

#[tonic::async_trait]
impl health_server::Health for Health {
    type WatchStream = Watched;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        let service = request.into_inner().service;
        if !SERVICES.contains(&service.as_str()) {
            return Err(status(ApiError::not_found("there is no such service")));
        }
        Ok(Response::new(said(serving(&self.0))))
    }

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Watched>, Status> {
        let service = request.into_inner().service;
        let is_known = SERVICES.contains(&service.as_str());
        let permit = self.0.subscribe().map_err(status)?;
        let (states, watched) = mpsc::channel(1);
        let context = self.0.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let mut last = None;
            loop {
                let now = if is_known { serving(&context) } else { ServingStatus::ServiceUnknown };
                if last.replace(now) != Some(now) && states.send(Ok(said(now))).await.is_err() {
                    return;
                }
                // Said for the last time.
                if *context.ending.borrow() {
                    return;
                }
                tokio::select! {
                    () = tokio::time::sleep(LOOK_EVERY) => {}
                    () = states.closed() => return,
                    () = context.ended() => {}
                }
            }
        });
        Ok(Response::new(Watched(watched)))
    }
}

/// The states that somebody watches.
pub(super) struct Watched(mpsc::Receiver<Result<HealthCheckResponse, Status>>);

impl Stream for Watched {
    type Item = Result<HealthCheckResponse, Status>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

fn serving(context: &Context) -> ServingStatus {
    let is_serving = context.node.is_ready() && !*context.ending.borrow();
    if is_serving { ServingStatus::Serving } else { ServingStatus::NotServing }
}

fn said(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}
