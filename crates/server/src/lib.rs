//! Commands and reads over HTTP, and what streams over gRPC, on one port, as the contract says.
//!
//! ```text
//!  socket ─► overload ────► router ─┬─► HTTP: path, query, headers, JSON ─┐
//!                                   └─► grpc: streams ────────────────────┤
//!                    commands, definitions ─► node ─► reply ◄─────────────┤
//!                    reads ─► a view, off the async threads ◄─────────────┘
//!         ◄── receipts, rows, events, errors: JSON, also in messages
//! ```
//!
//! **Invariants**
//! - Whatever is asked, the answer is JSON or a message, and an error has a code. Only what is no
//!   HTTP at all gets a bare status.
//! - Both protocols call the same functions, so they check, refuse and answer alike.
//! - Of a command, the answer tells the three outcomes apart: refused, not written, unknown.
//! - The async threads never wait for the store.
//! - A web page of another site cannot use the server through somebody's browser.
//!
//! **Deliberately absent:** numbers, durability, duplicates: all of that is the node's. Also
//! authentication and TLS, so nothing but loopback must reach this server.

mod address;
mod answer;
mod apps;
mod asked;
mod browsers;
mod clock;
mod commands;
mod context;
mod definitions;
mod error;
mod error_page;
mod grpc;
mod health;
mod metrics;
mod node_metrics;
mod openapi;
mod overload;
mod partitions;
mod path;
mod reads;
mod router;
mod server;
mod settings;

pub use address::Address;
pub use seriatim::service::describe_clock;
pub use server::Server;
pub use settings::Settings;
