//! What tests say to a server over gRPC.

use std::future::Future;

use prost::Message;
use serde_json::{Value, json};
use seriatim_api::grpc::command_service_client::CommandServiceClient;
use seriatim_api::grpc::read_service_client::ReadServiceClient;
use seriatim_api::grpc::{Error, Log, Outcome, SubmitRequest, SubmitResponse, log, rpc};
use tokio::runtime::Runtime;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

/// A connection.
pub(crate) struct Grpc<'w> {
    pub(crate) runtime: &'w Runtime,
    pub(crate) channel: Channel,
}

impl Grpc<'_> {
    pub(crate) fn commands(&self) -> CommandServiceClient<Channel> {
        CommandServiceClient::new(self.channel.clone()).max_encoding_message_size(usize::MAX)
    }

    pub(crate) fn reads(&self) -> ReadServiceClient<Channel> {
        ReadServiceClient::new(self.channel.clone())
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

/// The request that sends a body of HTTP.
pub(crate) fn request(workspace: &str, number: u64, body: &str) -> SubmitRequest {
    SubmitRequest {
        app: "shop".to_owned(),
        workspace: workspace.to_owned(),
        client: "pos-4".to_owned(),
        key: key(number).into(),
        deadline_ms: None,
        command_json: body.to_owned().into(),
    }
}

/// The bytes of an idempotency key.
pub(crate) fn key(number: u64) -> Vec<u8> {
    let text = crate::world::key(number).replace('-', "");
    u128::from_str_radix(&text, 16).unwrap().to_be_bytes().to_vec()
}

/// The log of a workspace of the shop.
pub(crate) fn workspace_log(workspace: &str) -> Option<Log> {
    let log = Some(log::Log::Workspace(workspace.to_owned()));
    Some(Log { app: "shop".to_owned(), log })
}

/// The log of a partition of the shop.
pub(crate) fn partition_log(partition: u32) -> Option<Log> {
    Some(Log { app: "shop".to_owned(), log: Some(log::Log::Partition(partition)) })
}

/// A document inside a message.
pub(crate) fn json_of(document: &[u8]) -> Value {
    serde_json::from_slice(document).unwrap()
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

/// The body that HTTP has for the error. What the message repeats of it is the same.
pub(crate) fn body(error: &Error) -> Value {
    let body = json_of(&error.body_json);
    assert_eq!(body["code"], json!(error.code));
    assert_eq!(body["message"], json!(error.message));
    assert_eq!(body["retryable"], json!(error.retryable));
    let outcome = match error.outcome() {
        Outcome::Unspecified => Value::Null,
        Outcome::Refused => json!("refused"),
        Outcome::NotWritten => json!("not_written"),
        Outcome::Unknown => json!("unknown"),
    };
    assert_eq!(body["outcome"], outcome);
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
