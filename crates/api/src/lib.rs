//! The messages and services of `seriatim.v1`: what client and server say to each other over gRPC.
//!
//! **Deliberately absent:** meaning. What the messages stand for is read and written where it is
//! known: by the server from the core's types, by the client from its own.

#![expect(
    missing_docs,
    clippy::allow_attributes_without_reason,
    reason = "generated from the description, whose comments are for both sides"
)]

#[warn(missing_docs)]
pub mod message;
pub mod rpc;

tonic::include_proto!("seriatim.v1");

/// The description of all services, for reflection.
pub const DESCRIPTION: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/seriatim.v1.bin"));
