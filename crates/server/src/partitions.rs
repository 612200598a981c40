//! What the partitions are doing: `GET /v1/partitions`, `POST /v1/partitions/{app}/{p}/restart`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use seriatim::service::{SYSTEM, find_partition};
use seriatim_api::message::{PartitionState, PartitionStatus, Partitions, Restarted};
use seriatim_core::SYSTEM_NAME;
use seriatim_node::State as Doing;
use seriatim_types::{Name, PartitionId, PartitionRef};

use crate::answer;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::{ApiError, ErrorResponse};

/// All partitions, with what they are doing.
pub(crate) async fn list(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    let partitions = context.ask(|context| Ok(states(context))).await?;
    Ok(answer::ok(&Partitions { partitions }))
}

/// Lets a partition read its log again: 202, because that goes on behind the answer.
pub(crate) async fn restart(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ErrorResponse> {
    asked.query()?;
    let (app, partition) = (asked.app()?, asked.partition()?);
    let found = find(&context, app.clone(), partition).await?;
    context.node.restart(found);
    let restarted = Restarted { app: app.as_str().to_owned(), partition: partition.0 };
    Ok(answer::json(StatusCode::ACCEPTED, &restarted))
}

/// A partition of an app, also of the system's.
pub(crate) async fn find(
    context: &Arc<Context>,
    app: Name,
    partition: PartitionId,
) -> Result<PartitionRef, ApiError> {
    // It is there also when what it holds cannot be read.
    if app.as_str() == SYSTEM_NAME && partition == SYSTEM.partition {
        return Ok(SYSTEM);
    }
    let find = move |context: &Context| {
        let found = find_partition(&context.node, &app, partition);
        found.map_err(|error| context.not_asked(error))
    };
    Ok(context.read_apps(find, |_| 0).await?.value)
}

/// What all partitions are doing.
pub(crate) fn states(context: &Context) -> Vec<PartitionStatus> {
    let status = |(app, PartitionId(partition), doing): (String, PartitionId, Doing)| {
        let (done, total) = match &doing {
            Doing::Actualizing(progress) => (progress.done, progress.total),
            Doing::Serving | Doing::Stopped(_) => (0, 0),
        };
        let reason = match &doing {
            Doing::Actualizing(_) | Doing::Serving => None,
            Doing::Stopped(reason) => Some(reason.to_string()),
        };
        PartitionStatus { app, partition, state: state(&doing), done, total, reason }
    };
    context.partitions().into_iter().map(status).collect()
}

/// The contract's word for what a partition is doing.
fn state(doing: &Doing) -> PartitionState {
    match doing {
        Doing::Actualizing(_) => PartitionState::Actualizing,
        Doing::Serving => PartitionState::Serving,
        Doing::Stopped(_) => PartitionState::Stopped,
    }
}

/// The same in metrics.
pub(crate) fn word(doing: &Doing) -> &'static str {
    match doing {
        Doing::Actualizing(_) => "actualizing",
        Doing::Serving => "serving",
        Doing::Stopped(_) => "stopped",
    }
}
