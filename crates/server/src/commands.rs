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
use seriatim_api::code::ErrorCode;
use seriatim_api::message;
use seriatim_codec::fingerprint;
use seriatim_core::{CommandOutcome, Refusal};
use seriatim_json::{CommandBody, header};
use seriatim_node::{Reader, Reply, RequestError, Written};
use seriatim_types::{
    ClientId, Command, Key, Name, PartitionId, PartitionOffset, PartitionRef, Receipt, Time,
    WorkspaceRef,
};
use tokio::sync::oneshot;

use crate::answer;
use crate::asked::Asked;
use crate::context::Context;
use crate::error::{ApiError, Fact};
use crate::overload::memory_budget::Reservation;
use crate::reads::cost;
use crate::refusals::late;

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

/// What the node's reply to a command comes to.
pub(crate) enum Settled {
    Carried(Carried),
    /// The store has to be asked for the rest.
    Look(Look),
}

/// What the store has to be asked for.
pub(crate) enum Look {
    /// The receipt of a repetition.
    Repeated { first: PartitionOffset, count: u32, include_proof: bool },
    /// What a reused key belongs to.
    Reused { first: PartitionOffset },
}

/// `POST …/commands`.
pub(crate) async fn submit(
    State(context): State<Arc<Context>>,
    asked: Asked,
    body: Body,
) -> Result<Response, ApiError> {
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
    let command = command(&target, client, key, deadline, body);
    Ok((target, command))
}

/// The command that a body becomes at a target.
pub(crate) fn command(
    target: &Target,
    client: ClientId,
    key: Key,
    deadline: Option<Time>,
    body: CommandBody,
) -> Command {
    let CommandBody { events, if_offset, include_proof } = body;
    let fingerprint = fingerprint(&events, if_offset);
    let workspace = target.workspace.clone();
    Command { workspace, client, key, fingerprint, deadline, if_offset, include_proof, events }
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
    match settle(&target, include_proof, reply)? {
        Settled::Carried(carried) => Ok(carried),
        Settled::Look(it) => {
            let looked = async {
                let reservation = Look::reserve(context).await?;
                let look = move |context: &Context| {
                    let looked = it.look(context, &target);
                    drop(reservation);
                    Ok(looked)
                };
                context.ask_reader(look).await
            };
            looked.await.unwrap_or_else(|error| Err(unread(error)))
        }
    }
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

/// What the node's reply to a command comes to.
pub(crate) fn settle(
    target: &Target,
    include_proof: bool,
    reply: Reply<CommandOutcome>,
) -> Result<Settled, ApiError> {
    match reply {
        Ok(CommandOutcome::Committed(receipt)) => {
            Ok(Settled::Carried(target.carried(receipt, false)))
        }
        Ok(CommandOutcome::Duplicate { first, count }) => {
            Ok(Settled::Look(Look::Repeated { first, count, include_proof }))
        }
        Err(RequestError::Refused(Refusal::KeyReused { first })) => {
            Ok(Settled::Look(Look::Reused { first }))
        }
        Err(error) => Err(error.of_app(&target.app).into()),
    }
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

    fn carried(&self, receipt: Receipt, is_replayed: bool) -> Carried {
        let (app, partition) = (self.app.clone(), self.partition.partition);
        let workspace = called(&self.workspace);
        Carried { app, workspace, partition, receipt, is_replayed }
    }
}

/// What answers call the workspace that a request names.
pub(crate) fn called(workspace: &WorkspaceRef) -> String {
    match workspace {
        WorkspaceRef::Name(name) => name.as_str().to_owned(),
        WorkspaceRef::Id(id) => id.0.to_string(),
    }
}

impl Look {
    /// Reserves what it may read: the events of a command.
    pub(crate) async fn reserve(context: &Context) -> Result<Reservation, ApiError> {
        context.reserve(cost::RECEIPT, context.settings.reserve_within).await
    }

    /// Asks the store, on a thread that may wait.
    pub(crate) fn look(self, context: &Context, target: &Target) -> Result<Carried, ApiError> {
        let is_replayed = matches!(self, Self::Repeated { .. });
        let receipt = |reader: &Reader<'_>| match self {
            Self::Repeated { first, count, include_proof } => {
                Ok(reader.repeated(first, count, include_proof)?)
            }
            Self::Reused { first } => Err(reused(reader, first)),
        };
        let carried = |reader: &Reader<'_>| Ok(target.carried(receipt(reader)?, is_replayed));
        context.read_here(target.partition, carried).map_err(|error| match error.outcome {
            Some(Written::Refused) => error,
            Some(Written::NotWritten | Written::Unknown) | None => unread(error),
        })
    }
}

/// The refusal of a reused key, with what the key belongs to.
fn reused(reader: &Reader<'_>, first: PartitionOffset) -> ApiError {
    let refused = ApiError::from(Refusal::KeyReused { first }).with_outcome(Written::Refused);
    match reader.committed_hash(first) {
        Ok((offset, hash)) => refused
            .with("committed_offset", Fact::Number(offset.get()))
            .with("committed_hash", Fact::Hash(hash.into())),
        // It was refused, whether or not the original can be shown.
        Err(_) => refused,
    }
}

/// Something was committed and could not be read, so the caller is left without knowing.
pub(crate) fn unread(error: ApiError) -> ApiError {
    let is_stopped = error.code == ErrorCode::PartitionStopped;
    let code = if is_stopped { ErrorCode::OutcomeUnknown } else { error.code };
    ApiError { code, ..error }.retryable().with_outcome(Written::Unknown)
}
