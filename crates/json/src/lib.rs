//! The JSON edge: what clients send becomes commands and definitions.
//!
//! ```text
//!  bytes ─► read: tree ─┬─► canonical: RFC 8785
//!                       ├─► command: templates with holes
//!                       └─► define:  definitions
//! ```
//!
//! **Invariant:** only syntax is checked here. Whatever can change between two attempts of a
//! request is checked when it is applied, behind the check for duplicates.
//!
//! **Deliberately absent:** serde. What is refused needs the path of the culprit, numbers as they
//! were written, repeated members, and the byte where each hole stood.

mod canonical;
mod command;
pub mod define;
mod error;
pub mod header;
mod node;
mod number;
mod path;
mod read;
mod time;

pub use canonical::canonical;
pub use command::{CommandBody, command};
pub use error::{Invalid, Problem};
