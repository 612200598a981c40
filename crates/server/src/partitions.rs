//! What the partitions are doing: `GET /v1/partitions`, `POST /v1/partitions/{app}/{p}/restart`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use seriatim_core::{SYSTEM_APP, SYSTEM_NAME};
use seriatim_json::write::{self, Fact};
use seriatim_node::State as Doing;
use seriatim_types::{Name, PartitionId, PartitionRef};

use crate::asked::Asked;
use crate::context::Context;
use crate::error::ApiError;
use crate::{answer, apps};

/// All partitions, with what they are doing.
pub(crate) async fn list(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.query()?;
    let partitions = context.ask(|context| Ok(states(context))).await?;
    Ok(answer::ok(write::facts(&[("partitions", Fact::List(partitions))])))
}

/// Lets a partition read its log again: 202, because that goes on behind the answer.
pub(crate) async fn restart(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.query()?;
    let (app, partition) = (asked.app()?, asked.partition()?);
    let found = find(&context, app.clone(), partition).await?;
    context.node.restart(found);
    let facts = [
        ("app", Fact::Text(app.as_str().to_owned())),
        ("partition", Fact::Number(u64::from(partition.0))),
    ];
    Ok(answer::json(StatusCode::ACCEPTED, write::facts(&facts)))
}

/// A partition of an app, also of the system's.
pub(crate) async fn find(
    context: &Arc<Context>,
    app: Name,
    partition: PartitionId,
) -> Result<PartitionRef, ApiError> {
    if app.as_str() == SYSTEM_NAME && partition.0 == 0 {
        return Ok(PartitionRef { app: SYSTEM_APP, partition });
    }
    let find = move |context: &Context| Ok(apps::find(context, &app)?.app);
    let settings = context.read_apps(find, |_| 0).await?.value;
    if partition.0 >= settings.partitions {
        let count = settings.partitions;
        return Err(ApiError::not_found(format!("the app has {count} partitions, from 0 on")));
    }
    Ok(PartitionRef { app: settings.app, partition })
}

/// The bodies of all partitions.
pub(crate) fn states(context: &Context) -> Vec<Vec<u8>> {
    let body = |(app, PartitionId(partition), doing): (String, PartitionId, Doing)| {
        let (done, total) = progress(&doing);
        let reason = reason(&doing).map_or(Fact::Null, Fact::Text);
        write::facts(&[
            ("app", Fact::Text(app)),
            ("partition", Fact::Number(u64::from(partition))),
            ("state", Fact::Text(word(&doing).to_owned())),
            ("done", Fact::Number(done)),
            ("total", Fact::Number(total)),
            ("reason", reason),
        ])
    };
    context.partitions().into_iter().map(body).collect()
}

/// The word for what a partition is doing.
pub(crate) fn word(doing: &Doing) -> &'static str {
    match doing {
        Doing::Actualizing(_) => "actualizing",
        Doing::Serving => "serving",
        Doing::Stopped(_) => "stopped",
    }
}

/// How far it is with reading its log.
pub(crate) fn progress(doing: &Doing) -> (u64, u64) {
    match doing {
        Doing::Actualizing(progress) => (progress.done, progress.total),
        Doing::Serving | Doing::Stopped(_) => (0, 0),
    }
}

/// Why it has stopped, if it has.
pub(crate) fn reason(doing: &Doing) -> Option<String> {
    match doing {
        Doing::Actualizing(_) | Doing::Serving => None,
        Doing::Stopped(reason) => Some(reason.to_string()),
    }
}
