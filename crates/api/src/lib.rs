//! The contract between server and clients, written once.
//!
//! ```text
//!  message   one struct per message ─┐
//!  code      every error code ───────┼─► method   the table of methods ─► openapi   the document
//!  error     the body of an error ───┘
//!
//!  proto     the messages and services of `seriatim.v1`, for gRPC
//! ```
//!
//! **Deliberately absent:** reading what clients send. What is refused needs the place of the culprit, and
//! is read by the parser of the server.

#![expect(
    missing_docs,
    clippy::allow_attributes_without_reason,
    reason = "generated from the description, whose comments are for both sides"
)]

#[warn(missing_docs)]
pub mod code;
#[warn(missing_docs)]
pub mod error;
#[warn(missing_docs)]
pub mod message;
#[warn(missing_docs)]
pub mod method;
#[warn(missing_docs)]
pub mod openapi;
pub mod rpc;

tonic::include_proto!("seriatim.v1");

/// The description of all services, for reflection.
pub const DESCRIPTION: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/seriatim.v1.bin"));
