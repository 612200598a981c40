//! `ReadService`: following logs.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use seriatim_api::grpc as proto;
use seriatim_api::grpc::read_service_server::ReadService;
use seriatim_types::NUMBER_MAX;
use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Request, Response, Status};

use super::error::status;
use super::read;
use crate::answer;
use crate::asked::check_in;
use crate::context::Context;
use crate::reads::{self, Part};

/// Events of one message of a subscription, in number and in bytes. It is cut behind the event with
/// which it comes to as many.
const BATCH_EVENTS_MAX: usize = 256;
const BATCH_BYTES_MAX: usize = 256 * 1024;

/// The service.
pub(super) struct Reads(pub(super) Arc<Context>);

#[tonic::async_trait]
impl ReadService for Reads {
    type SubscribeStream = Followed;

    async fn subscribe(
        &self,
        request: Request<proto::SubscribeRequest>,
    ) -> Result<Response<Followed>, Status> {
        let proto::SubscribeRequest { log, from } = request.into_inner();
        let from = check_in("from", from, 0..=NUMBER_MAX).map_err(status)?;
        let log = read::log(&self.0, log).await.map_err(status)?;
        let followed = reads::follow(log, from, written).await.map_err(status)?;
        Ok(Response::new(Followed(followed)))
    }
}

/// The messages of a subscription.
pub(super) struct Followed(mpsc::Receiver<Result<proto::SubscribeResponse, Status>>);

impl Stream for Followed {
    type Item = Result<proto::SubscribeResponse, Status>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// A message for a part, or for its first events, and how many those are.
fn written(part: &Part<'_>) -> (Result<proto::SubscribeResponse, Status>, usize) {
    let mut message = proto::SubscribeResponse::default();
    match part {
        Part::Events(events) => {
            let mut bytes = 0_usize;
            for it in events.iter().take(BATCH_EVENTS_MAX) {
                let json = answer::body(&it.message());
                bytes = bytes.saturating_add(json.len());
                message.events_json.push(json.into());
                if bytes >= BATCH_BYTES_MAX {
                    break;
                }
            }
        }
        Part::Alive => {}
        Part::Failed(error) => return (Err(status((*error).clone())), 0),
    }
    let count = message.events_json.len();
    (Ok(message), count)
}
