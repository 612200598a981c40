//! Whatever is sent over gRPC, the status says what is wrong with it, and nothing is written.

use bytes::{Buf, BufMut, Bytes};
use prost::Message;
use serde_json::json;
use seriatim_api::grpc::SubmitRequest;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};

use crate::grpc::{Grpc, failed, request};
use crate::world::{NOTED, World, changes, error};

const SUBMIT: &str = "/seriatim.v1.CommandService/Submit";

/// Sends bytes in the place of a message.
fn send(grpc: &Grpc<'_>, path: &str, bytes: &[u8]) -> Result<Bytes, Status> {
    let path: PathAndQuery = path.parse().unwrap();
    let mut client =
        tonic::client::Grpc::new(grpc.channel.clone()).max_encoding_message_size(usize::MAX);
    grpc.runtime.block_on(client.ready()).unwrap();
    grpc.wait(client.unary(Request::new(Bytes::copy_from_slice(bytes)), path, Raw))
}

#[derive(Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, to: &mut EncodeBuf<'_>) -> Result<(), Status> {
        to.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

#[test]
fn what_is_no_message_is_an_invalid_argument_and_not_a_fault_of_the_server() {
    let world = World::shop();
    let grpc = world.grpc();
    // Wire type 7; a length beyond the end; a string that is not UTF-8; a message for a string's
    // field that is a number; groups without an end.
    for bytes in [&b"\x0f"[..], b"\x0a\xff\x01", b"\x0a\x02\xff\xfe", b"\x08\x01", b"\x0b\x0b"] {
        let body = failed(send(&grpc, SUBMIT, bytes), Code::InvalidArgument, "INVALID_ARGUMENT");
        assert_eq!((&body["field"], &body["outcome"]), (&json!("message"), &json!("refused")));
        let read = "/seriatim.v1.ReadService/Subscribe";
        let body = failed(send(&grpc, read, bytes), Code::InvalidArgument, "INVALID_ARGUMENT");
        assert!(body["outcome"].is_null());
    }
    let body = failed(send(&grpc, SUBMIT, b""), Code::InvalidArgument, "INVALID_ARGUMENT");
    assert_eq!(body["field"], "app", "an empty message is one without an app");
    for path in ["/seriatim.v1.CommandService/Delete", "/seriatim.v1.None/Submit", "/none"] {
        failed(send(&grpc, path, b""), Code::Unimplemented, "METHOD_NOT_ALLOWED");
    }
    assert_eq!(world.last_offset(), 0);
}

#[test]
fn a_message_that_is_too_large_is_said_to_be() {
    let world = World::shop();
    let grpc = world.grpc();
    let huge = vec![0; 2 * 1024 * 1024 + 1];
    let body = failed(send(&grpc, SUBMIT, &huge), Code::ResourceExhausted, "TOO_LARGE");
    assert_eq!((&body["outcome"], &body["limit"]), (&json!("refused"), &json!(2 * 1024 * 1024)));
    let value = |bytes: usize| {
        let value = "x".repeat(bytes);
        format!(r#"{{"set":{{"key":"k","value":"{value}"}}}}"#)
    };
    let large = |values: &[String]| grpc.command(1, &changes(&values.join(",")));
    // The field is too large, and then the whole command is.
    let body = failed(large(&[value(600_000)]), Code::ResourceExhausted, "TOO_LARGE");
    assert_eq!(body["field"], "events[0].changes[0].set.value");
    let many = large(&[value(400_000), value(400_000), value(400_000)]);
    let body = failed(many, Code::ResourceExhausted, "TOO_LARGE");
    assert_eq!((&body["limit"], &body["field"]), (&json!(1024 * 1024), &json!(null)));
    assert_eq!(world.last_offset(), 0);
}

/// What the client of version 0.1 sent: the name of an event, in the message that was field 6.
const COMMAND_OF_BEFORE: &[u8] = b"\x32\x09\x0a\x07\x0a\x05Noted";

/// To this server the request of such a client has no command, and what has no command must not be
/// taken for one that does nothing.
#[test]
fn a_client_of_before_is_told_that_commands_are_json_and_nothing_is_written() {
    let world = World::shop();
    let grpc = world.grpc();
    let without = SubmitRequest { command_json: Bytes::new(), ..request("store-1", 1, NOTED) };
    let bytes = [without.encode_to_vec().as_slice(), COMMAND_OF_BEFORE].concat();
    let status = send(&grpc, SUBMIT, &bytes);
    assert!(status.as_ref().unwrap_err().message().contains("update the client"), "{status:?}");
    let body = failed(status, Code::InvalidArgument, "INVALID_ARGUMENT");
    assert_eq!((&body["field"], &body["outcome"]), (&json!("command_json"), &json!("refused")));
    assert_eq!(world.last_offset(), 0);
    // The key is still free.
    assert!(!grpc.command(1, NOTED).unwrap().replayed);
}

#[test]
fn keys_clients_and_places_have_their_rules() {
    let world = World::shop();
    let grpc = world.grpc();
    let good = || request("store-1", 1, NOTED);
    let key = |bytes: &[u8]| SubmitRequest { key: Bytes::copy_from_slice(bytes), ..good() };
    for (request, field) in [
        (key(&[1; 15]), "key"),
        (key(&[1; 17]), "key"),
        (key(&[]), "key"),
        (key(&[0; 16]), "key"),
        (SubmitRequest { client: String::new(), ..good() }, "client"),
        (SubmitRequest { client: "a\nb".to_owned(), ..good() }, "client"),
        (SubmitRequest { client: "x".repeat(256), ..good() }, "client"),
        (SubmitRequest { app: String::new(), ..good() }, "app"),
        (SubmitRequest { app: "x".repeat(256), ..good() }, "app"),
        (SubmitRequest { workspace: String::new(), ..good() }, "workspace"),
        (SubmitRequest { workspace: "9".repeat(30), ..good() }, "workspace"),
        (SubmitRequest { deadline_ms: Some(u64::MAX), ..good() }, "deadline_ms"),
        (SubmitRequest { command_json: Bytes::new(), ..good() }, "command_json"),
        (SubmitRequest { command_json: "{}".into(), ..good() }, "events"),
    ] {
        let shown = format!("{request:?}");
        let body = failed(grpc.submit(request), Code::InvalidArgument, "INVALID_ARGUMENT");
        assert_eq!(
            (&body["field"], &body["outcome"]),
            (&json!(field), &json!("refused")),
            "{shown}"
        );
    }
    let mut late = Request::new(good());
    late.metadata_mut().insert("grpc-timeout", "soon".parse().unwrap());
    let late = grpc.wait(grpc.commands().submit(late));
    assert_eq!(failed(late, Code::InvalidArgument, "INVALID_ARGUMENT")["field"], "grpc-timeout");
    assert_eq!(world.last_offset(), 0);
}

#[test]
fn a_document_has_the_rules_of_bodies() {
    let world = World::shop();
    let grpc = world.grpc();
    let deep = [b"{\"a\":".repeat(62), b"1".to_vec(), b"}".repeat(62)].concat();
    let documents = [
        &b"{"[..],
        b"[]",
        b"null",
        b"\xff",
        b"\xef\xbb\xbf{}",
        b"{\"events\":[{\"name\":\"A\"}],\"events\":[]}",
        b"{\"events\":[{\"name\":\"A\"}],\"if_offset\":18446744073709551614}",
        b"{\"events\":[{\"name\":\"A\",\"args\":{\"a\":{\"$next\":1}}}]}",
        b"{\"events\":[{\"name\":\"A\"}]}x",
    ];
    let nested = [b"{\"events\":[{\"name\":\"A\",\"args\":".to_vec(), deep, b"}]}".to_vec()];
    for document in documents.map(<[u8]>::to_vec).into_iter().chain([nested.concat()]) {
        let over_http = world.client().send(
            "POST",
            "/v1/apps/shop/workspaces/store-1/commands",
            &[("Idempotency-Key", &crate::world::key(1)), ("Client-Id", "pos-4")],
            &document,
        );
        let over_http = error(&over_http.unwrap(), 400, "INVALID_ARGUMENT");
        let command_json = Bytes::from(document);
        let over_grpc = grpc.submit(SubmitRequest { command_json, ..request("store-1", 1, NOTED) });
        assert_eq!(failed(over_grpc, Code::InvalidArgument, "INVALID_ARGUMENT"), over_http);
    }
    assert_eq!(world.last_offset(), 0);
}

/// The status of an error travels in headers, and a client refuses answers with long ones.
#[test]
fn an_error_far_inside_of_something_still_fits_into_a_status() {
    let world = World::shop();
    let grpc = world.grpc();
    let name = "n".repeat(64);
    let deep =
        (0..55).fold("{\"$ref\":1}".to_owned(), |inner, _| format!("{{\"{name}\":{inner}}}"));
    let body = format!("{{\"events\":[{{\"name\":\"A\",\"args\":{deep}}}]}}");
    let refused = failed(grpc.command(1, &body), Code::InvalidArgument, "INVALID_ARGUMENT");
    assert!(refused["message"].as_str().unwrap().starts_with("events[0].args.nnn"));
    let over_http = error(&world.command(1, &body), 400, "INVALID_ARGUMENT");
    assert!(over_http["field"].as_str().unwrap().len() > 3500);
}

#[test]
fn what_is_not_grpc_is_told_so_in_json() {
    let world = World::shop();
    let body = error(&world.post(SUBMIT, "{}"), 400, "INVALID_ARGUMENT");
    assert_eq!(body["field"], "Content-Type");
    let grpc = [("Content-Type", "application/grpc")];
    let body = error(&world.send("POST", SUBMIT, &grpc, ""), 400, "INVALID_ARGUMENT");
    assert_eq!(body["field"], "version");
}
