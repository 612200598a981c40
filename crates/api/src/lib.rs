//! The contract of Seriatim: what servers and clients say to each other.
//!
//! ```text
//!  message   one struct for each message, as JSON
//!  command   puts together what a client asks for ─► JSON
//!  grpc      the streams that carry both (feature `grpc`)
//! ```

mod command;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod message;

pub use command::{
    Command, CommandJson, InvalidCommand, NotJson, drawn, id_of, literal, next, next_text,
};
