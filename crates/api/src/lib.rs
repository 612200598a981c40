//! The contract between server and clients, written once.
//!
//! ```text
//!  message   one struct per message ─┐
//!  code      every error code ───────┼─► method   the table of methods ─► openapi   the document
//!  error     the body of an error ───┘
//!
//!  command   puts together what a client asks for ─► JSON
//!  grpc      the streams that carry both (feature `grpc`)
//! ```
//!
//! **Deliberately absent:** reading what clients send. What is refused needs the place of the culprit, and
//! is read by the parser of the server.

pub mod code;
mod command;
pub mod error;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod message;
pub mod method;
pub mod openapi;
mod schema;

pub use command::{
    Command, CommandJson, InvalidCommand, NotJson, drawn, id_of, literal, next, next_text,
};
