//! The messages and services of `seriatim.v1`: what streams, over gRPC.
//!
//! Commands, receipts, events and errors are the JSON documents of the contract inside them.

#![expect(
    missing_docs,
    clippy::allow_attributes_without_reason,
    reason = "generated from the description, whose comments are for both sides"
)]

pub mod rpc;

tonic::include_proto!("seriatim.v1");

/// The description of all services, for reflection.
pub const DESCRIPTION: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/seriatim.v1.bin"));
