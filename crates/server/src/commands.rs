//! `POST /v1/apps/{app}/workspaces/{ws}/commands`.
//!
//! ```text
//!  headers, body ─► command ─► node ─┬─► committed ─► receipt
//!                                    ├─► duplicate ─► receipt, rebuilt from the events
//!                                    └─► refused, not written, unknown
//! ```
//!
//! **Invariant:** a receipt's body depends on its events, on the app and on whether a proof was
//! asked for. So a repetition is answered with the same bytes, by whichever name of its workspace it
//! was sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use seriatim_codec::fingerprint;
use seriatim_core::{Outcome as Applied, Refusal};
use seriatim_json::write::{self, Fact};
use seriatim_json::{CommandBody, header};
use seriatim_node::{Reader, Reply};
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{Command, Name, PartitionOffset, PartitionRef, Receipt, Time, WorkspaceRef};
use tokio::sync::oneshot;

use crate::answer;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::{ApiError, Outcome};
use crate::reads::shown;
use crate::refusals::{applied, late};

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// How long after its deadline a command's own refusal is waited for. It says for certain that
/// nothing was written, which the server itself cannot know.
const GRACE: Duration = Duration::from_secs(1);

/// Carries out a command.
pub(crate) async fn submit(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Response {
    let began = Instant::now();
    let answered = carry_out(&context, &asked, body).await.map_err(ApiError::of_write);
    let code = match &answered {
        Ok(Carried { is_replayed: true, .. }) => "REPLAYED",
        Ok(_) => "COMMITTED",
        Err(error) => error.code,
    };
    context.metrics.command(code, began.elapsed());
    match answered {
        Ok(Carried { body, is_replayed }) => {
            let is_replayed = if is_replayed { "true" } else { "false" };
            let header = [(REPLAYED, HeaderValue::from_static(is_replayed))];
            (header, answer::ok(body)).into_response()
        }
        Err(error) => {
            context.metrics.busy(&error);
            error.into_response()
        }
    }
}

/// A command that was carried out, now or before.
struct Carried {
    body: Vec<u8>,
    is_replayed: bool,
}

async fn carry_out(context: &Arc<Context>, asked: &Asked, body: Body) -> Result<Carried, ApiError> {
    asked.query(&[])?;
    let (app, workspace) = (asked.app()?, asked.workspace()?);
    let key = header::key(asked.required_header("Idempotency-Key")?)?;
    let client = header::client(asked.required_header("Client-Id")?)?;
    let deadline = asked.header("Deadline")?.map(header::deadline).transpose()?;
    let CommandBody { events, if_offset, include_proof } =
        seriatim_json::command(&asked.body(body).await?)?;
    let partition = context.partition_of(&app, &workspace)?;
    context.check_serves(partition)?;
    let fingerprint = fingerprint(&events, if_offset);
    let by = workspace.clone();
    let command =
        Command { workspace, client, key, fingerprint, deadline, if_offset, include_proof, events };
    let reply = submit_before(context, &app, command, deadline).await?;
    if let Reply::Applied(Applied::Refused(Refusal::KeyReused { first })) = reply {
        return Err(reused(context, partition, first).await);
    }
    let place = Place { app, by, partition };
    match applied(reply)? {
        Applied::Committed(receipt) => {
            let body = match place.shown() {
                Some(shown) => write::receipt(&receipt, &place.app, &shown, partition.partition),
                None => place.read(context, move |_| Ok(receipt)).await?,
            };
            Ok(Carried { body, is_replayed: false })
        }
        Applied::Duplicate { first, count } => {
            let rebuild =
                move |reader: &Reader<'_>| Ok(reader.repeated(first, count, include_proof)?);
            let body = place.read(context, rebuild).await?;
            Ok(Carried { body, is_replayed: true })
        }
        Applied::Refused(_)
        | Applied::Declared { .. }
        | Applied::Swept { .. }
        | Applied::Received { .. }
        | Applied::OutOfOrder { .. }
        | Applied::Removed
        | Applied::Defined { .. } => unreachable!("a command comes to events or a refusal"),
    }
}

/// Sends a command and waits for its answer: as long as the server waits for anything, or until
/// the command's own deadline has passed.
async fn submit_before(
    context: &Context,
    app: &Name,
    command: Command,
    deadline: Option<Time>,
) -> Result<Reply, ApiError> {
    let left = deadline.map(|deadline| {
        Duration::from_millis(deadline.0.saturating_sub(context.now().0)).saturating_add(GRACE)
    });
    let within = context.settings.answer_within.min(left.unwrap_or(Duration::MAX));
    let (sender, answer) = oneshot::channel();
    // The answer may come when nobody waits any more.
    let answered = move |reply| drop(sender.send(reply));
    context.node.submit(app, command, answered).map_err(|error| context.not_asked(error))?;
    match tokio::time::timeout(within, answer).await {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(_)) | Err(_) => Err(late(format!(
            "no answer within {} ms: send it again with the same key",
            within.as_millis()
        ))),
    }
}

/// The refusal of a reused key, with what the key belongs to.
async fn reused(
    context: &Arc<Context>,
    partition: PartitionRef,
    first: PartitionOffset,
) -> ApiError {
    let refused = ApiError::from(Refusal::KeyReused { first });
    let original = context.read(partition, move |reader| Ok(reader.committed_hash(first)?)).await;
    match original {
        Ok((offset, hash)) => refused
            .with("committed_offset", Fact::Number(offset.get()))
            .with("committed_hash", Fact::Hash(hash)),
        // It was refused, whether or not the original can be shown.
        Err(_) => refused,
    }
}

/// Where a command was sent.
struct Place {
    app: Name,
    by: WorkspaceRef,
    partition: PartitionRef,
}

impl Place {
    /// The workspace as receipts show it; `None` for the id of one that has a name.
    fn shown(&self) -> Option<String> {
        match &self.by {
            WorkspaceRef::Name(name) => Some(name.as_str().to_owned()),
            WorkspaceRef::Id(id) => (id.0 < NAMED_WORKSPACE_FIRST).then(|| id.0.to_string()),
        }
    }

    /// The body of a receipt that needs something of the store. It was committed, so whatever
    /// cannot be read leaves the caller without knowing.
    async fn read(
        self,
        context: &Arc<Context>,
        receipt: impl FnOnce(&Reader<'_>) -> Result<Receipt, ApiError> + Send + 'static,
    ) -> Result<Vec<u8>, ApiError> {
        let read = move |reader: &Reader<'_>| {
            let receipt = receipt(reader)?;
            let shown = shown(reader, receipt.workspace)?;
            Ok(write::receipt(&receipt, &self.app, &shown, self.partition.partition))
        };
        let body = context.read(self.partition, read).await;
        body.map_err(|error| error.retryable().with_outcome(Outcome::Unknown))
    }
}
