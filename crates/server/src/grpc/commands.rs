//! `CommandService`: commands and their receipts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use seriatim_api as proto;
use seriatim_api::command_service_server::CommandService;
use seriatim_types::Time;
use tonic::{Request, Response, Status, Streaming};

use super::reads::read_message;
use super::stream::SubmitStream;
use super::timeout::timeout;
use super::{read, write};
use crate::asked::{name, workspace};
use crate::commands::{Target, carry_out, command, counted};
use crate::context::Context;
use crate::error::ApiError;
use crate::reads;

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
            let body = read::command(asked.command.as_ref())?;
            let target = Target::of(&self.0, app, workspace)?;
            let command = command(&target, client, key, deadline, body);
            carry_out(&self.0, target, command).await
        };
        let carried = counted(&self.0, began, answered.await)?;
        Ok(Response::new(write::carried(carried)))
    }

    async fn submit_stream(
        &self,
        request: Request<Streaming<proto::StreamRequest>>,
    ) -> Result<Response<SubmitStream>, Status> {
        let permit = self.0.begin_stream().map_err(ApiError::of_write)?;
        Ok(Response::new(SubmitStream::new(self.0.clone(), request.into_inner(), permit)))
    }

    async fn get_receipt(
        &self,
        request: Request<proto::GetReceiptRequest>,
    ) -> Result<Response<proto::SubmitResponse>, Status> {
        let proto::GetReceiptRequest { asked, client, key } = request.into_inner();
        let asked = read::asked(&self.0, asked)?;
        let (client, key) = (read::client(&client)?, read::key(&key)?);
        read_message(&self.0, reads::receipt(asked, client, key).await?.map(write::carried))
    }
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
