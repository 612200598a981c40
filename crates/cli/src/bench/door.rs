//! The three ways to send a command.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use seriatim_api::grpc as api;
use seriatim_api::grpc::command_service_client::CommandServiceClient;
use seriatim_client::parts::Dice;
use seriatim_client::{Client, Command, Error, Key, Receipt, RetryPolicy, Workspace};
use tokio::time::{Instant, sleep, timeout_at};
use tonic::transport::{Channel, Endpoint};

use super::http::{Answer, Http};
use super::{Mode, Plan};
use crate::exit::{Exit, Failure};
use crate::remote::{not_read, not_submitted};

/// Connections that clients share.
pub(super) enum Shared {
    Stream(Vec<Arc<Library>>),
    Unary(Vec<Channel>),
    /// Each client has its own.
    Http,
}

/// The way of one client to the server.
pub(super) enum Door {
    Stream(Arc<Library>),
    Unary(CommandServiceClient<Channel>),
    Http(Http),
}

/// A connection of the client library, and the workspaces that were used over it: an application keeps
/// what it uses again.
pub(super) struct Library {
    client: Client,
    workspaces: Box<[OnceLock<Workspace>]>,
}

/// What came back, as it came.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given {
    Receipt(Box<Receipt>),
    Body(Vec<u8>),
}

/// A command of a run: who sends it, the how manieth of that client it is, and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) client: u32,
    pub(super) nth: u64,
    pub(super) workspace: u32,
    pub(super) key: Key,
}

impl Shared {
    pub(super) fn connect(plan: &Plan) -> Result<Self> {
        let connections = 0..plan.connections;
        Ok(match plan.mode {
            Mode::Stream => {
                // Commands of a connection come from one client: the connection.
                let library = |number| Library::connect(plan, number).map(Arc::new);
                Self::Stream(connections.map(library).collect::<Result<_>>()?)
            }
            Mode::Unary => {
                let endpoint = Endpoint::from_shared(plan.server.clone())?;
                Self::Unary(connections.map(|_| endpoint.connect_lazy()).collect())
            }
            Mode::Http => Self::Http,
        })
    }

    /// The way for one client.
    pub(super) fn door(&self, plan: &Plan, client: u32) -> Result<Door> {
        Ok(match self {
            Self::Stream(libraries) => Door::Stream(one_of(libraries, client)?.clone()),
            Self::Unary(channels) => {
                Door::Unary(CommandServiceClient::new(one_of(channels, client)?.clone()))
            }
            Self::Http => Door::Http(Http::new(&plan.server)),
        })
    }

    /// How often the client library has sent commands again by itself.
    pub(super) fn sent_again(&self) -> u64 {
        match self {
            Self::Stream(libraries) => {
                let sent_again = libraries.iter().map(|library| library.client.sent_again());
                sent_again.fold(0, u64::saturating_add)
            }
            Self::Unary(_) | Self::Http => 0,
        }
    }
}

fn one_of<T>(connections: &[T], client: u32) -> Result<&T> {
    let index = usize::try_from(client)?.checked_rem(connections.len());
    index.and_then(|index| connections.get(index)).context("there is at least one connection")
}

impl Library {
    fn connect(plan: &Plan, number: u32) -> Result<Self> {
        let client = plan.connect(&plan.client_id(number))?;
        let workspaces = (0..plan.workspaces).map(|_| OnceLock::new()).collect();
        Ok(Self { client, workspaces })
    }

    async fn send(&self, plan: &Plan, sent: &Sent) -> Result<Given, Missed> {
        let index = usize::try_from(sent.workspace).ok();
        let kept = index.and_then(|index| self.workspaces.get(index));
        let workspace = kept
            .expect("a plan has as many workspaces")
            .get_or_init(|| self.client.app(&plan.app).workspace(plan.workspace(sent.workspace)));
        let command = Command::new(EVENT).args(plan.args(sent.nth));
        let submitted = workspace.submit_with_key(sent.key, command).await;
        let submitted = submitted.map_err(|error| Missed::from(not_submitted(&error)))?;
        Ok(Given::Receipt(Box::new(submitted.receipt)))
    }
}

impl Door {
    /// Has a command carried out: sends it again with its key as long as that can help, later each
    /// time, and counts how often.
    pub(super) async fn carry_out(
        &mut self,
        plan: &Plan,
        sent: &Sent,
        retries: &mut u64,
    ) -> Result<Given, Failure> {
        let began = Instant::now();
        let missed = match self {
            // The library is as patient by itself, and has one timer for all of its commands.
            Self::Stream(library) => match library.send(plan, sent).await {
                Ok(given) => return Ok(given),
                Err(missed) => Some(missed),
            },
            Self::Unary(_) | Self::Http(_) => None,
        };
        let until = began.checked_add(plan.patience).unwrap_or(began);
        // In a place of its own: with it, thousands of lines by stream would not fit into the caches.
        Box::pin(self.insist(plan, sent, missed, until, retries)).await
    }

    /// Sends a command until a time, also if an attempt was missed already.
    async fn insist(
        &mut self,
        plan: &Plan,
        sent: &Sent,
        mut missed: Option<Missed>,
        until: Instant,
        retries: &mut u64,
    ) -> Result<Given, Failure> {
        let mut last = None;
        for failures in 1.. {
            let attempt = match missed.take() {
                Some(missed) => Ok(Err(missed)),
                None => timeout_at(until, self.send(plan, sent)).await,
            };
            let Ok(attempt) = attempt else { break };
            let Missed { failure, after } = match attempt {
                Ok(given) => return Ok(given),
                Err(missed) => missed,
            };
            if !failure.is_retryable {
                return Err(failure);
            }
            last = Some(failure);
            let delay = RetryPolicy::default().delay(failures, after, &mut Dice::random());
            if until.saturating_duration_since(Instant::now()) <= delay {
                break;
            }
            sleep(delay).await;
            *retries = retries.saturating_add(1);
        }
        let late = format!("no answer within {} ms", plan.patience.as_millis());
        Err(match last {
            Some(last) => Failure { message: format!("{late}; {}", last.message), ..last },
            None => Failure::new(Exit::NotWritten, late).code(Error::UNAVAILABLE),
        })
    }

    /// One attempt.
    async fn send(&mut self, plan: &Plan, sent: &Sent) -> Result<Given, Missed> {
        let args = plan.args(sent.nth);
        match self {
            Self::Stream(library) => library.send(plan, sent).await,
            Self::Unary(service) => {
                let request = api::SubmitRequest {
                    app: plan.app.clone(),
                    workspace: plan.workspace(sent.workspace),
                    client: plan.client_id(sent.client),
                    key: sent.key.as_bytes().to_vec().into(),
                    deadline_ms: None,
                    command_json: body(&args.text()).into(),
                };
                let answer = service.submit(request).await;
                let answer = answer.map_err(|status| Missed::from(Error::from(status)))?;
                Ok(Given::Body(answer.into_inner().receipt_json.into()))
            }
            Self::Http(http) => {
                let workspace = plan.workspace(sent.workspace);
                let path = format!("/v1/apps/{}/workspaces/{workspace}/commands", plan.app);
                let (key, client) = (sent.key.to_string(), plan.client_id(sent.client));
                let answer = http.post(&path, (&key, &client), &body(&args.text())).await;
                match answer.map_err(|error| Missed::from(broken(&error)))? {
                    Answer { status: 200, body, .. } => Ok(Given::Body(body)),
                    other => Err(other.into()),
                }
            }
        }
    }
}

/// An attempt that has brought no receipt.
struct Missed {
    failure: Failure,
    /// How long the server asks to wait.
    after: Option<Duration>,
}

impl From<Failure> for Missed {
    fn from(failure: Failure) -> Self {
        Self { failure, after: None }
    }
}

impl From<Error> for Missed {
    fn from(error: Error) -> Self {
        Self { failure: not_read(&error), after: error.retry_after() }
    }
}

impl From<Answer> for Missed {
    fn from(Answer { status, retry_after, body }: Answer) -> Self {
        let body: Map<String, Value> = serde_json::from_slice(&body).unwrap_or_default();
        let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
        let is_retryable = body.get("retryable") == Some(&Value::Bool(true));
        let exit = if is_retryable { Exit::NotWritten } else { Exit::Refused };
        let failure =
            Failure::new(exit, format!("the server answers {status}: {}", text("message")));
        Self { failure: failure.code(text("code").to_owned()), after: retry_after }
    }
}

/// That a connection has brought no answer.
fn broken(error: &anyhow::Error) -> Failure {
    Failure::new(Exit::NotWritten, format!("{error:#}")).code(Error::UNAVAILABLE)
}

const EVENT: &str = "OrderPlaced";

fn body(args: &str) -> String {
    format!(r#"{{"events":[{{"name":"{EVENT}","args":{args}}}]}}"#)
}

impl Given {
    /// The offset in the workspace's log.
    pub(super) fn offset(&self) -> Result<u64> {
        match self {
            Self::Receipt(receipt) => Ok(receipt.last_offset),
            Self::Body(body) => Ok(serde_json::from_slice::<Placed>(body)?.last_offset),
        }
    }
}

/// What is looked at of a receipt.
#[derive(Deserialize)]
struct Placed {
    last_offset: u64,
}
