//! `PartitionService`: what the partitions of the server are doing.

use std::sync::Arc;

use seriatim_api as proto;
use seriatim_api::partition_service_server::PartitionService;
use seriatim_node::State;
use seriatim_types::PartitionId;
use tonic::{Request, Response, Status};

use super::read;
use crate::asked::name;
use crate::clock;
use crate::context::Context;
use crate::error::ApiError;
use crate::partitions::{find, progress, reason};

/// The service.
pub(super) struct Partitions(pub(super) Arc<Context>);

#[tonic::async_trait]
impl PartitionService for Partitions {
    async fn list_partitions(
        &self,
        _: Request<proto::ListPartitionsRequest>,
    ) -> Result<Response<proto::ListPartitionsResponse>, Status> {
        let look = |context: &Context| Ok((context.node.is_ready(), context.partitions()));
        let (ready, partitions) = self.0.ask(look).await?;
        let partitions = partitions.into_iter().map(partition).collect();
        Ok(Response::new(proto::ListPartitionsResponse { ready, partitions }))
    }

    async fn restart_partition(
        &self,
        request: Request<proto::RestartPartitionRequest>,
    ) -> Result<Response<proto::RestartPartitionResponse>, Status> {
        let proto::RestartPartitionRequest { app, partition } = request.into_inner();
        let (app, partition) = (name("app", &app)?, read::partition(partition)?);
        let partition = find(&self.0, app, partition).await?;
        self.0.node.restart(partition);
        Ok(Response::new(proto::RestartPartitionResponse {}))
    }

    async fn accept_clock(
        &self,
        _: Request<proto::AcceptClockRequest>,
    ) -> Result<Response<proto::AcceptClockResponse>, Status> {
        let time = clock::accepted(&self.0).map_err(ApiError::of_write)?;
        Ok(Response::new(proto::AcceptClockResponse { time_ms: time.0 }))
    }

    async fn get_version(
        &self,
        _: Request<proto::GetVersionRequest>,
    ) -> Result<Response<proto::Version>, Status> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Ok(Response::new(proto::Version { version }))
    }
}

fn partition((app, PartitionId(number), doing): (String, PartitionId, State)) -> proto::Partition {
    let state = match &doing {
        State::Actualizing(_) => proto::PartitionState::Actualizing,
        State::Serving => proto::PartitionState::Serving,
        State::Stopped(_) => proto::PartitionState::Stopped,
    };
    let (done, total) = progress(&doing);
    proto::Partition {
        app,
        partition: u32::from(number),
        state: state.into(),
        done,
        total,
        reason: reason(&doing).unwrap_or_default(),
    }
}
