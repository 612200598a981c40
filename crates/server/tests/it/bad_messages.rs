//! Whatever is sent over gRPC, the status says what is wrong with it, and nothing is written.

use bytes::{Buf, BufMut, Bytes};
use serde_json::json;
use seriatim_api::{
    Change, Command, Delete, Draw, DrawnNumber, EventInput, Set, SubmitRequest, Unset, Update,
    change,
};
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::codegen::http::uri::PathAndQuery;
use tonic::{Code, Request, Status};

use crate::grpc::{Grpc, failed, request};
use crate::world::{NOTED, World, error};

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
        let read = "/seriatim.v1.ReadService/GetHead";
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
        let value_json = format!("\"{}\"", "x".repeat(bytes)).into();
        let set = Set { key: "k".to_owned(), value_json, ..Set::default() };
        Change { change: Some(change::Change::Set(set)) }
    };
    let large = |changes: Vec<Change>| SubmitRequest {
        command: Some(Command {
            events: vec![EventInput { name: "A".to_owned(), changes, ..EventInput::default() }],
            ..Command::default()
        }),
        ..request("store-1", 1, NOTED)
    };
    // The field is too large, and then all of them together are.
    let one = grpc.submit(large(vec![value(600_000)]));
    let body = failed(one, Code::ResourceExhausted, "TOO_LARGE");
    assert_eq!(body["field"], "events[0].changes[0].set.value");
    let many = grpc.submit(large((0..3).map(|_| value(400_000)).collect()));
    let body = failed(many, Code::ResourceExhausted, "TOO_LARGE");
    assert_eq!((&body["limit"], &body["field"]), (&json!(1024 * 1024), &json!(null)));
    assert_eq!(world.last_offset(), 0);
}

/// Somebody who sets a version on a change may take it for a condition, and would get a write
/// without one.
#[test]
fn what_only_events_say_is_refused_in_a_command() {
    use change::Change as Word;
    let world = World::shop();
    let grpc = world.grpc();
    let (id, version, key) = (200_001, 9, "k".to_owned());
    let value_json = Bytes::from_static(b"1");
    let drawn = Some(DrawnNumber::default());
    for (word, field) in [
        (Word::Update(Update { id, version, ..Update::default() }), "update.version"),
        (Word::Delete(Delete { id, version, ..Delete::default() }), "delete.version"),
        (Word::Set(Set { key: key.clone(), value_json, version, ..Set::default() }), "set.version"),
        (Word::Unset(Unset { key, version, ..Unset::default() }), "unset.version"),
        (Word::Draw(Draw { sequence: "invoice".to_owned(), drawn }), "draw.drawn"),
    ] {
        let changes = vec![Change { change: Some(word) }];
        let event = EventInput { name: "A".to_owned(), changes, ..EventInput::default() };
        let command = Some(Command { events: vec![event], ..Command::default() });
        let answer = grpc.submit(SubmitRequest { command, ..request("store-1", 1, NOTED) });
        let body = failed(answer, Code::InvalidArgument, "INVALID_ARGUMENT");
        assert_eq!(body["field"], format!("events[0].changes[0].{field}"));
    }
    assert_eq!(world.last_offset(), 0);
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
        (SubmitRequest { command: None, ..good() }, "events"),
    ] {
        let shown = format!("{request:?}");
        let body = failed(grpc.submit(request), Code::InvalidArgument, "INVALID_ARGUMENT");
        assert_eq!(
            (&body["field"], &body["outcome"]),
            (&json!(field), &json!("refused")),
            "{shown}"
        );
    }
    // Numbers are said as they came, also those that no double can hold.
    let mut high = good();
    high.command.as_mut().unwrap().if_offset = Some(u64::MAX - 1);
    let body = failed(grpc.submit(high), Code::InvalidArgument, "INVALID_ARGUMENT");
    let why =
        "if_offset: must be a whole number from 0 to 9007199254740991, not 18446744073709551614";
    assert_eq!(body["message"], why);
    let mut late = Request::new(good());
    late.metadata_mut().insert("grpc-timeout", "soon".parse().unwrap());
    let late = grpc.wait(grpc.commands().submit(late));
    assert_eq!(failed(late, Code::InvalidArgument, "INVALID_ARGUMENT")["field"], "grpc-timeout");
    assert_eq!(world.last_offset(), 0);
}

#[test]
fn texts_of_json_have_the_rules_of_bodies() {
    let world = World::shop();
    let grpc = world.grpc();
    let with_args = |args: &[u8]| SubmitRequest {
        command: Some(Command {
            events: vec![EventInput {
                name: "A".to_owned(),
                args_json: Bytes::copy_from_slice(args),
                changes: Vec::new(),
            }],
            ..Command::default()
        }),
        ..request("store-1", 1, NOTED)
    };
    let deep = [b"{\"a\":".repeat(62), b"1".to_vec(), b"}".repeat(62)].concat();
    let too_deep = format!("events[0].args{}", ".a".repeat(61));
    for (args, field) in [
        (&b"{"[..], "events[0].args"),
        (b"[]", "events[0].args"),
        (b"null", "events[0].args"),
        (b"{\"a\":\"\xff\"}", "events[0].args"),
        (b"\xef\xbb\xbf{}", "events[0].args"),
        (b"{\"a\":1,\"a\":2}", "events[0].args.a"),
        (b"{\"a\":12345678901234567891}", "events[0].args.a"),
        (b"{\"a\":{\"$ref\":1}}", "events[0].args.a.$ref"),
        (b"{\"a\":{\"$next\":1}}", "events[0].args.a.$next"),
        (b"{}x", "events[0].args"),
        (&deep, &too_deep),
    ] {
        let body = failed(grpc.submit(with_args(args)), Code::InvalidArgument, "INVALID_ARGUMENT");
        assert_eq!(body["field"], field, "{}", String::from_utf8_lossy(args));
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
