//! A client that knows nothing of Seriatim but its address.

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor, Value};
use serde_json::json;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Request, Status};
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::grpc::{Grpc, json_of, key};
use crate::world::{NOTED, World};

fn ask(grpc: &Grpc<'_>, question: MessageRequest) -> MessageResponse {
    let request = ServerReflectionRequest { host: String::new(), message_request: Some(question) };
    let mut client = ServerReflectionClient::new(grpc.channel.clone());
    let requests = tonic::codegen::tokio_stream::once(request);
    let mut answers = grpc.wait(client.server_reflection_info(requests)).unwrap();
    grpc.runtime.block_on(answers.message()).unwrap().unwrap().message_response.unwrap()
}

#[test]
fn a_generic_client_finds_the_services_and_submits_a_command() {
    let world = World::shop();
    let grpc = world.grpc();
    let MessageResponse::ListServicesResponse(services) =
        ask(&grpc, MessageRequest::ListServices(String::new()))
    else {
        panic!("a list")
    };
    let names: Vec<&str> = services.service.iter().map(|it| it.name.as_str()).collect();
    let own: Vec<&&str> = names.iter().filter(|name| name.starts_with("seriatim.")).collect();
    assert_eq!(own, [&"seriatim.v1.CommandService", &"seriatim.v1.ReadService"]);
    assert!(names.contains(&"grpc.health.v1.Health"), "{names:?}");
    let service = "seriatim.v1.CommandService".to_owned();
    let MessageResponse::FileDescriptorResponse(files) =
        ask(&grpc, MessageRequest::FileContainingSymbol(service.clone()))
    else {
        panic!("a description")
    };
    let mut pool = DescriptorPool::new();
    for file in files.file_descriptor_proto {
        pool.decode_file_descriptor_proto(file.as_slice()).unwrap();
    }
    let service = pool.get_service_by_name(&service).unwrap();
    let submit = service.methods().find(|method| method.name() == "Submit").unwrap();
    let answer = call(&grpc, &submit, command(&submit)).unwrap();
    let receipt = answer.get_field_by_name("receipt_json").unwrap();
    let receipt = json_of(receipt.as_bytes().unwrap());
    assert_eq!((&receipt["first_offset"], &receipt["workspace"]), (&json!(1), &json!("store-1")));
    assert_eq!(world.last_offset(), 1);
}

/// A command, by the names of its fields alone.
fn command(submit: &MethodDescriptor) -> DynamicMessage {
    let mut request = DynamicMessage::new(submit.input());
    request.set_field_by_name("app", Value::String("shop".to_owned()));
    request.set_field_by_name("workspace", Value::String("store-1".to_owned()));
    request.set_field_by_name("client", Value::String("generic".to_owned()));
    request.set_field_by_name("key", Value::Bytes(key(1).into()));
    request.set_field_by_name("command_json", Value::Bytes(NOTED.into()));
    request
}

fn call(
    grpc: &Grpc<'_>,
    method: &MethodDescriptor,
    request: DynamicMessage,
) -> Result<DynamicMessage, Status> {
    let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
    let path: PathAndQuery = path.parse().unwrap();
    let mut client = tonic::client::Grpc::new(grpc.channel.clone());
    grpc.runtime.block_on(client.ready()).unwrap();
    grpc.wait(client.unary(Request::new(request), path, Dynamic(method.clone())))
}

/// Writes and reads messages by their description.
struct Dynamic(MethodDescriptor);

impl Codec for Dynamic {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self(self.0.clone())
    }

    fn decoder(&mut self) -> Self {
        Self(self.0.clone())
    }
}

impl Encoder for Dynamic {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, item: DynamicMessage, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        item.encode(to).map_err(|error| Status::internal(error.to_string()))
    }
}

impl Decoder for Dynamic {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        let read = DynamicMessage::decode(self.0.output(), from);
        read.map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}
