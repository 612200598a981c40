//! `ReadService`: what was written.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use prost::Message;
use seriatim_api as proto;
use seriatim_api::read_service_server::ReadService;
use seriatim_core::Committed;
use seriatim_types::{NUMBER_MAX, RecordRow, Year};
use tokio::sync::mpsc;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Request, Response, Status};

use super::{read, write};
use crate::asked::{check_in, entity_key, name};
use crate::context::Context;
use crate::memory_budget::Reserved;
use crate::reads::{self, Listed, Page, Part, Proven, Wait};
use crate::slow_clients::LARGE_BYTES;

/// Events of one message of a subscription, in number and in bytes. It is cut behind the event with
/// which it comes to as many.
const BATCH_EVENTS_MAX: usize = 256;
const BATCH_BYTES_MAX: usize = 256 * 1024;

/// The service.
pub(super) struct Reads(pub(super) Arc<Context>);

/// A message whose memory was reserved. Until it is encoded it counts three times: as it is, and for a
/// buffer that doubles as it grows. From then on it counts with its own size, until it is sent.
pub(super) fn reserved<M: Message>(message: Reserved<M>) -> Response<M> {
    let Reserved { value: message, reservation } = message;
    let bytes = message.encoded_len();
    let mut response = Response::new(message);
    if bytes > LARGE_BYTES {
        reservation.shrink_to(bytes.saturating_mul(3));
        response.extensions_mut().insert(Arc::new(reservation));
    }
    response
}

/// A message that was reserved for a read, which is over: if it is large, it counts from here on as an
/// answer that is not sent yet.
pub(super) fn read_message<M: Message>(
    context: &Context,
    message: Reserved<M>,
) -> Result<Response<M>, Status> {
    let bytes = message.value.encoded_len();
    let mut response = Response::new(message.value);
    if bytes > LARGE_BYTES {
        let reservation = context.budgets.unsent.try_reserve(bytes.saturating_mul(3))?;
        response.extensions_mut().insert(Arc::new(reservation));
    }
    Ok(response)
}

/// A message of a list, and how many bytes it takes there.
fn counted<M: Message>(message: M) -> (M, usize) {
    let bytes = message.encoded_len();
    (message, bytes)
}

#[tonic::async_trait]
impl ReadService for Reads {
    type SubscribeStream = Followed;

    async fn list_events(
        &self,
        request: Request<proto::ListEventsRequest>,
    ) -> Result<Response<proto::ListEventsResponse>, Status> {
        let request = request.into_inner();
        let (span, wait) = read::span(&request)?;
        let log = read::log(&self.0, request.log, wait).await?;
        let write = |it: &Committed, workspace: &str, partition| {
            counted(write::event(it, workspace, partition))
        };
        let finish = |listed: Listed<proto::Event>| {
            let Listed { events, next, last } = listed;
            proto::ListEventsResponse { events, next: next.get(), last }
        };
        Ok(reserved(reads::list(log, span, write, finish).await?))
    }

    async fn subscribe(
        &self,
        request: Request<proto::SubscribeRequest>,
    ) -> Result<Response<Followed>, Status> {
        let proto::SubscribeRequest { log, from } = request.into_inner();
        let from = check_in("from", from, 0..=NUMBER_MAX)?;
        let log = read::log(&self.0, log, Wait::default()).await?;
        Ok(Response::new(Followed(reads::follow(log, from, written).await?)))
    }

    async fn get_record(
        &self,
        request: Request<proto::GetRecordRequest>,
    ) -> Result<Response<proto::Record>, Status> {
        let proto::GetRecordRequest { asked, id } = request.into_inner();
        let (asked, id) = (read::asked(&self.0, asked)?, read::number("id", id)?);
        let record = reads::record(asked, id).await?.map(|row| write::record(id, &row));
        read_message(&self.0, record)
    }

    async fn list_records(
        &self,
        request: Request<proto::ListRecordsRequest>,
    ) -> Result<Response<proto::ListRecordsResponse>, Status> {
        let proto::ListRecordsRequest { asked, kind, from, limit } = request.into_inner();
        let asked = read::asked(&self.0, asked)?;
        let kind = name("kind", &kind)?;
        let from = check_in("from", from, 0..=NUMBER_MAX)?;
        let limit = read::limit(limit)?;
        let write = |id, row: &RecordRow| counted(write::record(id, row));
        let finish = |page: Page<proto::Record>| {
            let next = if page.is_last { 0 } else { page.next };
            proto::ListRecordsResponse { records: page.rows, next }
        };
        Ok(reserved(reads::records(asked, kind, (from, limit), write, finish).await?))
    }

    async fn get_entity(
        &self,
        request: Request<proto::GetEntityRequest>,
    ) -> Result<Response<proto::Entity>, Status> {
        let proto::GetEntityRequest { asked, key } = request.into_inner();
        let (asked, key) = (read::asked(&self.0, asked)?, entity_key(&key)?);
        let row = reads::entity(asked, key.clone()).await?;
        read_message(&self.0, row.map(|row| write::entity(&key, row)))
    }

    async fn get_sequence(
        &self,
        request: Request<proto::GetSequenceRequest>,
    ) -> Result<Response<proto::Sequence>, Status> {
        let proto::GetSequenceRequest { asked, name: sequence, period } = request.into_inner();
        let (asked, sequence) = (read::asked(&self.0, asked)?, name("name", &sequence)?);
        let period =
            period.map(|year| check_in("period", u64::from(year), 1..=9999)).transpose()?;
        let year = period.and_then(|year| Year::new(u16::try_from(year).ok()?));
        let state = reads::sequence(asked, sequence.clone(), year).await?;
        Ok(Response::new(write::sequence(&sequence, state)))
    }

    async fn get_client(
        &self,
        request: Request<proto::GetClientRequest>,
    ) -> Result<Response<proto::Client>, Status> {
        let proto::GetClientRequest { asked, client } = request.into_inner();
        let (asked, client) = (read::asked(&self.0, asked)?, read::client(&client)?);
        let state = reads::client(asked, client.clone()).await?;
        Ok(Response::new(write::client(&client, state)))
    }

    async fn get_head(
        &self,
        request: Request<proto::GetHeadRequest>,
    ) -> Result<Response<proto::Head>, Status> {
        let asked = read::asked(&self.0, request.into_inner().asked)?;
        let (workspace, head) = reads::head(asked).await?;
        Ok(Response::new(write::head(workspace, &head)))
    }

    async fn get_proof(
        &self,
        request: Request<proto::GetProofRequest>,
    ) -> Result<Response<proto::Proof>, Status> {
        let proto::GetProofRequest { asked, offset, size } = request.into_inner();
        let (asked, offset) = (read::asked(&self.0, asked)?, read::number("offset", offset)?);
        let size = (size != 0).then_some(size);
        let Proven { proof, from, to } = reads::proof(asked, offset, size).await?;
        Ok(Response::new(write::inclusion(&proof, from, to)))
    }

    async fn get_consistency(
        &self,
        request: Request<proto::GetConsistencyRequest>,
    ) -> Result<Response<proto::Consistency>, Status> {
        let proto::GetConsistencyRequest { asked, from, to } = request.into_inner();
        let asked = read::asked(&self.0, asked)?;
        let from = check_in("from", from, 0..=NUMBER_MAX)?;
        let to = (to != 0).then_some(to);
        let proven = reads::consistency(asked, from, to).await?;
        Ok(Response::new(write::consistency(&proven)))
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
                message.events.push(write::event(&it.committed, &it.workspace, it.partition));
                bytes = bytes.saturating_add(it.committed.bytes.len());
                if bytes >= BATCH_BYTES_MAX {
                    break;
                }
            }
        }
        Part::Alive => {}
        Part::Failed(error) => return (Err((*error).clone().into()), 0),
    }
    let count = message.events.len();
    (Ok(message), count)
}
