//! What tests say to a server over gRPC: the commands that they send over HTTP, as messages.

use std::future::Future;

use prost::Message;
use serde_json::{Map, Value, json};
use seriatim_api::app_service_client::AppServiceClient;
use seriatim_api::command_service_client::CommandServiceClient;
use seriatim_api::partition_service_client::PartitionServiceClient;
use seriatim_api::read_service_client::ReadServiceClient;
use seriatim_api::rpc;
use seriatim_api::{
    Change, Command, Condition, Create, Delete, Draw, Error, EventInput, Outcome, Proof, Receipt,
    Set, SubmitRequest, SubmitResponse, Unset, Update, WorkspaceAsked, change, condition,
};
use tokio::runtime::Runtime;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

/// A connection.
pub(crate) struct Grpc<'w> {
    pub(crate) runtime: &'w Runtime,
    pub(crate) channel: Channel,
}

impl Grpc<'_> {
    pub(crate) fn apps(&self) -> AppServiceClient<Channel> {
        AppServiceClient::new(self.channel.clone())
    }

    pub(crate) fn commands(&self) -> CommandServiceClient<Channel> {
        CommandServiceClient::new(self.channel.clone()).max_encoding_message_size(usize::MAX)
    }

    pub(crate) fn reads(&self) -> ReadServiceClient<Channel> {
        ReadServiceClient::new(self.channel.clone())
    }

    pub(crate) fn partitions(&self) -> PartitionServiceClient<Channel> {
        PartitionServiceClient::new(self.channel.clone())
    }

    pub(crate) fn wait<T>(
        &self,
        call: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Status> {
        self.runtime.block_on(call).map(Response::into_inner)
    }

    pub(crate) fn submit(&self, request: SubmitRequest) -> Result<SubmitResponse, Status> {
        self.wait(self.commands().submit(request))
    }

    /// Sends a command of the client `pos-4` to the workspace `store-1` of the shop.
    pub(crate) fn command(&self, number: u64, body: &str) -> Result<SubmitResponse, Status> {
        self.submit(request("store-1", number, body))
    }
}

pub(crate) fn asked(workspace: &str) -> Option<WorkspaceAsked> {
    let (app, workspace) = ("shop".to_owned(), workspace.to_owned());
    Some(WorkspaceAsked { app, workspace, ..WorkspaceAsked::default() })
}

/// The request that sends a body of HTTP.
pub(crate) fn request(workspace: &str, number: u64, body: &str) -> SubmitRequest {
    SubmitRequest {
        app: "shop".to_owned(),
        workspace: workspace.to_owned(),
        client: "pos-4".to_owned(),
        key: key(number).into(),
        deadline_ms: None,
        command: Some(command(&serde_json::from_str(body).unwrap())),
    }
}

/// The bytes of an idempotency key.
pub(crate) fn key(number: u64) -> Vec<u8> {
    let text = crate::world::key(number).replace('-', "");
    u128::from_str_radix(&text, 16).unwrap().to_be_bytes().to_vec()
}

fn command(body: &Value) -> Command {
    let events = body["events"].as_array().unwrap().iter().map(|event| EventInput {
        name: text(&event["name"]),
        args_json: text_of(event.get("args")),
        changes: event["changes"].as_array().into_iter().flatten().map(change).collect(),
    });
    Command {
        events: events.collect(),
        if_offset: body["if_offset"].as_u64(),
        include_proof: body["include_proof"] == true,
    }
}

fn change(change: &Value) -> Change {
    let (word, it) = change.as_object().unwrap().iter().next().unwrap();
    let number = |name: &str| it[name].as_u64();
    let id = number("id").unwrap_or(0);
    let fields_json = text_of(it.get("fields"));
    let change = match word.as_str() {
        "create" => change::Change::Create(Create {
            id,
            kind: text(&it["kind"]),
            parent: number("parent").unwrap_or(0),
            fields_json,
        }),
        "update" => change::Change::Update(Update {
            id,
            fields_json,
            if_version: number("if_version"),
            version: 0,
        }),
        "delete" => {
            change::Change::Delete(Delete { id, if_version: number("if_version"), version: 0 })
        }
        "set" => change::Change::Set(Set {
            key: text(&it["key"]),
            value_json: text_of(it.get("value")),
            condition: it.get("if").map(condition),
            expires_at_ms: None,
            version: 0,
        }),
        "unset" => change::Change::Unset(Unset {
            key: text(&it["key"]),
            condition: it.get("if").map(condition),
            version: 0,
        }),
        "draw" => change::Change::Draw(Draw { sequence: text(&it["sequence"]), drawn: None }),
        word => panic!("a change: {word}"),
    };
    Change { change: Some(change) }
}

fn condition(value: &Value) -> Condition {
    let word = value.as_str().map(|word| condition::Condition::Exists(word == "exists"));
    let version = value["version"].as_u64().map(condition::Condition::Version);
    let compared = || condition::Condition::ValueJson(text_of(value.get("value")));
    Condition { condition: word.or(version).or_else(|| Some(compared())) }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn text_of(value: Option<&Value>) -> bytes::Bytes {
    value.map(|value| value.to_string().into()).unwrap_or_default()
}

/// A receipt as HTTP writes it.
pub(crate) fn receipt(receipt: &Receipt) -> Value {
    let ids: Map<String, Value> =
        receipt.ids.iter().map(|it| (it.raw.to_string(), json!(it.id))).collect();
    let numbers = receipt.numbers.iter().map(|it| {
        let mut number = json!({"sequence": it.sequence, "number": it.number, "text": it.text});
        if it.period != 0 {
            number["period"] = json!(it.period);
        }
        number
    });
    let mut body = json!({
        "app": receipt.app, "workspace": receipt.workspace,
        "workspace_id": receipt.workspace_id, "partition": receipt.partition,
        "first_offset": receipt.first_offset, "last_offset": receipt.last_offset,
        "first_partition_offset": receipt.first_partition_offset,
        "last_partition_offset": receipt.last_partition_offset,
        "client_sequence": receipt.client_sequence, "ids": ids,
        "numbers": numbers.collect::<Vec<_>>(),
        "committed_at_ms": receipt.committed_at_ms,
    });
    if let Some(shown) = &receipt.proof {
        body["head"] = json!({"size": shown.size, "root": hex(&shown.root)});
        body["proof"] = proof(shown);
    }
    body
}

pub(crate) fn proof(proof: &Proof) -> Value {
    json!({
        "offset": proof.offset, "size": proof.size, "leaf": hex(&proof.leaf),
        "path": proof.path.iter().map(|hash| hex(hash)).collect::<Vec<_>>(),
        "root": hex(&proof.root),
    })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Milliseconds since 1970 of a moment as HTTP writes it.
pub(crate) fn with_ms(mut body: Value) -> Value {
    let moment = body["committed_at"].take();
    let time = seriatim_json::header::deadline(moment.as_str().unwrap()).unwrap();
    let members = body.as_object_mut().unwrap();
    members.remove("committed_at");
    members.insert("committed_at_ms".to_owned(), json!(time.0));
    body
}

/// After how long to try again, as a failure says it.
pub(crate) fn retry_after_ms<T>(answered: &Result<T, Status>) -> u32 {
    let details = answered.as_ref().err().unwrap().details();
    let told = rpc::Status::decode(details).unwrap();
    Error::decode(told.details[0].value.as_slice()).unwrap().retry_after_ms
}

/// An error as HTTP writes it, if it is complete.
pub(crate) fn error(status: &Status) -> Value {
    let told = rpc::Status::decode(status.details()).expect("every status has details");
    assert_eq!((told.code, told.message.as_str()), (status.code() as i32, status.message()));
    let urls: Vec<&str> = told.details.iter().map(|any| any.type_url.as_str()).collect();
    let expected = ["seriatim.v1.Error", "google.rpc.ErrorInfo", "google.rpc.RetryInfo"];
    for (url, expected) in urls.iter().zip(expected) {
        assert_eq!(*url, format!("type.googleapis.com/{expected}"));
    }
    let error = Error::decode(told.details[0].value.as_slice()).unwrap();
    let info = rpc::ErrorInfo::decode(told.details[1].value.as_slice()).unwrap();
    assert_eq!((info.reason, info.domain.as_str()), (error.code.clone(), "seriatim"));
    let retry = told.details.get(2).map(|any| {
        let retry = rpc::RetryInfo::decode(any.value.as_slice()).unwrap().retry_delay.unwrap();
        1000 * u32::try_from(retry.seconds).unwrap() + retry.nanos.unsigned_abs() / 1_000_000
    });
    assert_eq!(error.retry_after_ms, retry.unwrap_or(0));
    body(&error)
}

/// The body that HTTP has for the error.
pub(crate) fn body(error: &Error) -> Value {
    let mut body: Value = serde_json::from_slice(&error.facts_json).unwrap();
    body["code"] = json!(error.code);
    body["message"] = json!(error.message);
    body["retryable"] = json!(error.retryable);
    match error.outcome() {
        Outcome::Unspecified => {}
        Outcome::Refused => body["outcome"] = json!("refused"),
        Outcome::NotWritten => body["outcome"] = json!("not_written"),
        Outcome::Unknown => body["outcome"] = json!("unknown"),
    }
    body
}

/// The error of a call that must fail with these codes.
pub(crate) fn failed<T: std::fmt::Debug>(
    answered: Result<T, Status>,
    grpc: Code,
    code: &str,
) -> Value {
    let status = answered.unwrap_err();
    let body = error(&status);
    assert_eq!((status.code(), body["code"].as_str()), (grpc, Some(code)), "{body}");
    body
}
