//! `CommandService`: commands, one at a time or many in flight.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seriatim::service::command;
use seriatim_api::grpc as proto;
use seriatim_api::grpc::command_service_server::CommandService;
use seriatim_types::Time;
use tonic::{Request, Response, Status, Streaming};

use super::error::status;
use super::read;
use super::stream::SubmitStream;
use super::timeout::timeout;
use crate::answer;
use crate::asked::{name, workspace};
use crate::commands::{Carried, Target, carry_out, counted};
use crate::context::Context;
use crate::error::ApiError;

/// The service.
pub(super) struct Commands(pub(super) Arc<Context>);

#[tonic::async_trait]
impl CommandService for Commands {
    type SubmitStreamStream = SubmitStream;

    async fn submit(
        &self,
        request: Request<proto::SubmitRequest>,
    ) -> Result<Response<proto::SubmitResponse>, Status> {
        let began = Instant::now();
        let answered = async {
            let patience = timeout(request.metadata().as_ref())?;
            let deadline = self.deadline(patience, request.get_ref().deadline_ms)?;
            let asked = request.into_inner();
            let (app, workspace) = (name("app", &asked.app)?, workspace(&asked.workspace)?);
            let (key, client) = (read::key(&asked.key)?, read::client(&asked.client)?);
            let body = read::command(&asked.command_json)?;
            let target = Target::of(&self.0, app, workspace)?;
            let command = command(target.workspace.clone(), client, key, deadline, body);
            carry_out(&self.0, target, command).await
        };
        let carried = counted(&self.0, began, answered.await).map_err(status)?;
        Ok(Response::new(submitted(&carried)))
    }

    async fn submit_stream(
        &self,
        request: Request<Streaming<proto::StreamRequest>>,
    ) -> Result<Response<SubmitStream>, Status> {
        let permit = self.0.begin_stream().map_err(|error| status(error.of_write()))?;
        Ok(Response::new(SubmitStream::new(self.0.clone(), request.into_inner(), permit)))
    }
}

/// The answer to a command that was carried out.
pub(super) fn submitted(carried: &Carried) -> proto::SubmitResponse {
    let receipt_json = answer::body(&carried.receipt()).into();
    proto::SubmitResponse { replayed: carried.is_replayed, receipt_json }
}

impl Commands {
    /// The deadline of a command: its own, or the moment at which the client gives up if that is
    /// earlier. So nothing is written for a client that has been told that it was too late.
    fn deadline(
        &self,
        patience: Option<Duration>,
        own: Option<u64>,
    ) -> Result<Option<Time>, ApiError> {
        let own = read::deadline(own)?;
        // A clock that is not believed gives no deadline; the command is turned away for it.
        let given_up = self.0.clock.now().ok().zip(patience).map(|(now, it)| last_within(now, it));
        Ok(own.into_iter().chain(given_up).min())
    }
}

/// The last millisecond that has ended when a time from now on is over. What is carried out in a
/// deadline's own millisecond is in time.
fn last_within(now: Time, duration: Duration) -> Time {
    let ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Time(now.0.saturating_add(ms).saturating_sub(1))
}
