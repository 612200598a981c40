//! What the partitions are doing: `GET /v1/partitions`, `POST /v1/partitions/{app}/{p}/restart`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use seriatim_core::{SYSTEM_APP, SYSTEM_NAME};
use seriatim_json::write::{self, Fact};
use seriatim_node::State as Doing;
use seriatim_types::{PartitionId, PartitionRef};

use crate::answer;
use crate::apps::find;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::ApiError;

/// All partitions, with what they are doing.
pub(crate) async fn list(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.query(&[])?;
    let partitions = context.ask(|context| Ok(states(context))).await?;
    Ok(answer::ok(write::facts(&[("partitions", Fact::List(partitions))])))
}

/// Lets a partition read its log again: 202, because that goes on behind the answer.
pub(crate) async fn restart(
    State(context): State<Arc<Context>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.query(&[])?;
    let partition = self::asked(&context, &asked).await?;
    context.node.restart(partition);
    let app = asked.part("app").to_owned();
    let number = u64::from(partition.partition.0);
    let facts = [("app", Fact::Text(app)), ("partition", Fact::Number(number))];
    Ok(answer::json(StatusCode::ACCEPTED, write::facts(&facts)))
}

/// The partition that a path names.
pub(crate) async fn asked(context: &Arc<Context>, asked: &Asked) -> Result<PartitionRef, ApiError> {
    let app = asked.app()?;
    let number = asked.number("p", 0..=u64::from(u16::MAX))?;
    let number = u16::try_from(number).expect("the range is that of the type");
    let partition = PartitionId(number);
    if app.as_str() == SYSTEM_NAME && number == 0 {
        return Ok(PartitionRef { app: SYSTEM_APP, partition });
    }
    let settings = context.ask_apps(move |context| Ok(find(context, &app)?.app)).await?;
    if number >= settings.partitions {
        let count = settings.partitions;
        return Err(ApiError::not_found(format!("the app has {count} partitions, from 0 on")));
    }
    Ok(PartitionRef { app: settings.app, partition })
}

/// The bodies of all partitions.
pub(crate) fn states(context: &Context) -> Vec<Vec<u8>> {
    let body = |(app, PartitionId(partition), doing): (String, PartitionId, Doing)| {
        let (done, total, reason) = match &doing {
            Doing::Actualizing(progress) => (progress.done, progress.total, Fact::Null),
            Doing::Serving => (0, 0, Fact::Null),
            Doing::Stopped(reason) => (0, 0, Fact::Text(reason.to_string())),
        };
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
