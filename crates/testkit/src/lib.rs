//! Fixtures that tests and benchmarks share.
//!
//! **Invariant:** what is generated depends on the arguments alone, so that a run can be
//! repeated and two stores can be given the same bytes.

mod commands;
pub mod console;
pub mod core;
mod full_scan;
mod http;

pub use commands::{CommandRows, PAIRS_PER_COMMAND, command_schema};
pub use full_scan::full_scan;
pub use http::{HttpAnswer, HttpClient, ReconnectingClient, request};
