//! The three ways to send a command.

use anyhow::{Context, Result, bail};
use seriatim_api as api;
use seriatim_api::command_service_client::CommandServiceClient;
use seriatim_client::{Client, Command, Key, Receipt, SubmitError};
use tonic::transport::{Channel, Endpoint};

use super::http::{Answer, Http};
use super::{Mode, Plan};
use crate::remote::not_submitted;

/// Connections that clients share.
pub(super) enum Shared {
    Stream(Vec<Client>),
    Unary(Vec<Channel>),
    /// Each client has its own.
    Http,
}

/// The way of one client to the server.
pub(super) enum Door {
    Stream(Client),
    Unary(CommandServiceClient<Channel>),
    Http(Http),
}

/// What came back, as it came.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given {
    Receipt(Box<Receipt>),
    Message(Box<api::Receipt>),
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
                let client = |number| plan.connect(&plan.client_id(number));
                Self::Stream(connections.map(client).collect::<Result<_>>()?)
            }
            Mode::Unary => {
                let endpoint = Endpoint::from_shared(plan.server.clone())?;
                Self::Unary(connections.map(|_| endpoint.connect_lazy()).collect())
            }
            Mode::Http => Self::Http,
        })
    }

    /// The way for one client.
    pub(super) async fn door(&self, plan: &Plan, client: u32) -> Result<Door> {
        Ok(match self {
            Self::Stream(clients) => Door::Stream(one_of(clients, client)?.clone()),
            Self::Unary(channels) => {
                Door::Unary(CommandServiceClient::new(one_of(channels, client)?.clone()))
            }
            Self::Http => Door::Http(Http::connect(&plan.server).await?),
        })
    }
}

fn one_of<T>(connections: &[T], client: u32) -> Result<&T> {
    let index = usize::try_from(client)?.checked_rem(connections.len());
    index.and_then(|index| connections.get(index)).context("there is at least one connection")
}

impl Door {
    /// Sends a command. `None` when it was not written, or perhaps, and should be sent again.
    pub(super) async fn send(&mut self, plan: &Plan, sent: &Sent) -> Result<Option<Given>> {
        let (args, workspace) = (plan.args(sent.nth), plan.workspace(sent.workspace));
        match self {
            Self::Stream(client) => {
                let command = Command::from_json(&body(&args))?;
                let workspace = client.app(&plan.app).workspace(workspace);
                match workspace.submit_with_key(sent.key, command).await {
                    Ok(submitted) => Ok(Some(Given::Receipt(Box::new(submitted.receipt)))),
                    Err(error @ SubmitError::Refused { .. }) => Err(not_submitted(&error).into()),
                    Err(SubmitError::NotWritten { .. } | SubmitError::Unknown { .. }) => Ok(None),
                }
            }
            Self::Unary(service) => {
                let event = api::EventInput {
                    name: EVENT.to_owned(),
                    args_json: args.into(),
                    changes: Vec::new(),
                };
                let command = api::Command { events: vec![event], ..Default::default() };
                let request = api::SubmitRequest {
                    app: plan.app.clone(),
                    workspace,
                    client: plan.client_id(sent.client),
                    key: sent.key.as_bytes().to_vec().into(),
                    deadline_ms: None,
                    command: Some(command),
                };
                match service.submit(request).await {
                    Ok(answer) => {
                        let receipt = answer.into_inner().receipt;
                        let receipt = receipt.context("an answer has its receipt")?;
                        Ok(Some(Given::Message(Box::new(receipt))))
                    }
                    Err(status) if status.code() == tonic::Code::Unavailable => Ok(None),
                    Err(status) => bail!("refused: {}", status.message()),
                }
            }
            Self::Http(http) => {
                let path = format!("/v1/apps/{}/workspaces/{workspace}/commands", plan.app);
                let (key, client) = (sent.key.to_string(), plan.client_id(sent.client));
                match http.post(&path, (&key, &client), &body(&args)).await? {
                    Answer { status: 200, body } => Ok(Some(Given::Body(body))),
                    Answer { status: 503 | 504, .. } => Ok(None),
                    Answer { body, .. } => bail!("refused: {}", String::from_utf8_lossy(&body)),
                }
            }
        }
    }
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
            Self::Message(receipt) => Ok(receipt.last_offset),
            Self::Body(body) => {
                let body: serde_json::Value = serde_json::from_slice(body)?;
                let offset = body.get("last_offset").and_then(serde_json::Value::as_u64);
                offset.context("a receipt has its offset")
            }
        }
    }
}
