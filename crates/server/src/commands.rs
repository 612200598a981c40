//! Commands: what is done with one, whoever has sent it, and
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
use seriatim::service::{Look, Looked, Settled, called_as_asked, command, late, settle};
use seriatim_api::message;
use seriatim_core::CommandOutcome;
use seriatim_json::header;
use seriatim_node::Reply;
use seriatim_types::{Command, Name, PartitionId, PartitionRef, Receipt, WorkspaceRef};
use tokio::sync::oneshot;

use crate::answer;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::{ApiError, ErrorResponse};
use crate::overload::memory_budget::Reservation;
use crate::reads::cost;

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// How long after its deadline a command's own refusal is waited for. It says for certain that
/// nothing was written, which the server itself cannot know.
const GRACE: Duration = Duration::from_secs(1);

/// Where commands are sent.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) app: Name,
    pub(crate) workspace: WorkspaceRef,
    pub(crate) partition: PartitionRef,
}

/// A command that was carried out, now or before.
#[derive(Debug)]
pub(crate) struct Carried {
    pub(crate) app: Name,
    /// What answers call the workspace.
    pub(crate) workspace: String,
    pub(crate) partition: PartitionId,
    pub(crate) receipt: Receipt,
    pub(crate) is_replayed: bool,
}

/// `POST …/commands`.
pub(crate) async fn submit(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ErrorResponse> {
    let began = Instant::now();
    let answered = async {
        let (target, command) = read(&context, asked, body).await?;
        carry_out(&context, target, command).await
    };
    let carried = counted(&context, began, answered.await)?;
    let is_replayed = if carried.is_replayed { "true" } else { "false" };
    let header = [(REPLAYED, HeaderValue::from_static(is_replayed))];
    Ok((header, answer::ok(&carried.receipt())).into_response())
}

/// The headers end with it: while the command is carried out, nothing holds the buffer that they were
/// read into, so the connection goes on reading into the same one.
async fn read(context: &Context, asked: Asked, body: Body) -> Result<(Target, Command), ApiError> {
    asked.query()?;
    let (app, workspace) = (asked.app()?, asked.workspace()?);
    let key = header::key(asked.required_header("Idempotency-Key")?)?;
    let client = header::client(asked.required_header("Client-Id")?)?;
    let deadline = asked.header("Deadline")?.map(header::deadline).transpose()?;
    let body = seriatim_json::command(&asked.body(body, context).await?)?;
    let target = Target::of(context, app, workspace)?;
    let command = command(target.workspace.clone(), client, key, deadline, body);
    Ok((target, command))
}

/// Carries out a command and waits for what comes of it.
pub(crate) async fn carry_out(
    context: &Arc<Context>,
    target: Target,
    command: Command,
) -> Result<Carried, ApiError> {
    context.check_serves(target.partition)?;
    let include_proof = command.include_proof;
    let reply = submit_before(context, &target.app, command).await?;
    let look = match settle(&target.app, include_proof, reply)? {
        Settled::Committed(receipt) => return Ok(target.carried(receipt, false)),
        Settled::Look(look) => look,
    };
    let looked = async {
        let reservation = reserve_look(context).await?;
        let look = move |context: &Context| {
            let looked = looked(context, &target, look);
            drop(reservation);
            Ok(looked)
        };
        context.ask_reader(look).await
    };
    looked.await.unwrap_or_else(|error| Err(error.unread()))
}

/// What came of a command, once it is counted.
pub(crate) fn counted(
    context: &Context,
    began: Instant,
    answered: Result<Carried, ApiError>,
) -> Result<Carried, ApiError> {
    let answered = answered.map_err(ApiError::of_write);
    let code = match &answered {
        Ok(Carried { is_replayed: true, .. }) => "REPLAYED",
        Ok(_) => "COMMITTED",
        Err(error) => error.code.as_str(),
    };
    context.metrics.command(code, began.elapsed());
    if let Err(error) = &answered {
        context.metrics.busy(error);
    }
    answered
}

/// Sends a command and waits for its answer: as long as the server waits for anything, or until
/// the command's own deadline has passed.
async fn submit_before(
    context: &Context,
    app: &Name,
    command: Command,
) -> Result<Reply<CommandOutcome>, ApiError> {
    let left = command.deadline.map(|deadline| {
        Duration::from_millis(deadline.0.saturating_sub(context.now().0)).saturating_add(GRACE)
    });
    let within = context.settings.answer_within.min(left.unwrap_or(Duration::MAX));
    let (sender, answer) = oneshot::channel();
    // The answer may come when nobody waits any more.
    let answered = move |reply| drop(sender.send(reply));
    context.node.submit(app, command, answered).map_err(|error| context.not_asked(error))?;
    match tokio::time::timeout(within, answer).await {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(_)) | Err(_) => Err(unanswered(within)),
    }
}

/// Why a command has no answer.
pub(crate) fn unanswered(within: Duration) -> ApiError {
    let waited = within.as_millis();
    late(format!("no answer within {waited} ms: send it again with the same key"))
}

impl Carried {
    /// The answer to the command.
    pub(crate) fn receipt(&self) -> message::Receipt {
        let Self { app, workspace, partition, receipt, is_replayed: _ } = self;
        message::Receipt::new(receipt, app, workspace.clone(), *partition)
    }
}

impl Target {
    pub(crate) fn of(
        context: &Context,
        app: Name,
        workspace: WorkspaceRef,
    ) -> Result<Self, ApiError> {
        let partition = context.partition_to_write(&app, &workspace)?;
        Ok(Self { app, workspace, partition })
    }

    pub(crate) fn carried(&self, receipt: Receipt, is_replayed: bool) -> Carried {
        let (app, partition) = (self.app.clone(), self.partition.partition);
        let workspace = called_as_asked(&self.workspace);
        Carried { app, workspace, partition, receipt, is_replayed }
    }
}

/// Reserves what asking the store for the rest of an answer may read: the events of a command.
pub(crate) async fn reserve_look(context: &Context) -> Result<Reservation, ApiError> {
    context.reserve(cost::RECEIPT, context.settings.reserve_within).await
}

/// Asks the store for the rest of an answer, on a thread that may wait.
pub(crate) fn looked(context: &Context, target: &Target, look: Look) -> Result<Carried, ApiError> {
    let looked = context.read_here(target.partition, |reader| Ok(look.look(reader)?));
    match looked.map_err(ApiError::unread)? {
        Looked::Repeated(receipt) => Ok(target.carried(receipt, true)),
        Looked::Reused(reused) => Err(reused.into()),
    }
}
