//! The page about gRPC names every method that there is, and errors have the details that the
//! libraries of others read.

#![expect(clippy::unwrap_used, reason = "a test that fails by panicking is doing its job")]

mod messages;
mod reference;

use std::collections::BTreeSet;

use prost::Message;
use prost_types::FileDescriptorSet;

#[test]
fn the_reference_has_every_method_and_no_other() {
    let described = FileDescriptorSet::decode(seriatim_api::grpc::DESCRIPTION).unwrap();
    let services = described.file.iter().flat_map(|file| &file.service);
    let methods: BTreeSet<String> = services
        .flat_map(|service| {
            service.method.iter().map(|method| format!("{}.{}", service.name(), method.name()))
        })
        .collect();
    assert_eq!(methods.len(), 3, "{methods:?}");
    let page = include_str!("../../../../docs/reference/grpc.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.map(str::to_owned).collect::<BTreeSet<_>>(), methods);
}

/// Everybody's libraries read these.
#[test]
fn the_details_of_errors_have_the_bytes_of_google_rpc() {
    use seriatim_api::grpc::rpc::{Any, Duration, ErrorInfo, RetryInfo, Status};
    let info = ErrorInfo { reason: "R".to_owned(), domain: "d".to_owned() };
    let delay = Duration { seconds: 1, nanos: 2 };
    let retry = RetryInfo { retry_delay: Some(delay) };
    let any = Any::of("x", &info);
    let info = b"\x0a\x01R\x12\x01d";
    assert_eq!(any.value, info);
    assert_eq!(retry.encode_to_vec(), b"\x0a\x04\x08\x01\x10\x02");
    let any_bytes = [b"\x0a\x15type.googleapis.com/x\x12\x06".as_slice(), info].concat();
    assert_eq!(any.encode_to_vec(), any_bytes);
    let status = Status { code: 5, message: "m".to_owned(), details: vec![any] };
    let expected = [b"\x08\x05\x12\x01m\x1a\x1f".as_slice(), &any_bytes].concat();
    assert_eq!(status.encode_to_vec(), expected);
}
