//! Commands and reads over HTTP, as the contract for clients says.
//!
//! ```text
//!  socket ─► router ─► asked: path, query, headers ─┬─► commands, definitions ─► node ─► reply
//!                                                   └─► reads ─► a view, off the async threads
//!         ◄── receipts, rows, events, errors: JSON ◄────────────────────────────────┘
//! ```
//!
//! **Invariants**
//! - Whatever is asked, the answer is JSON, and an error has a code. Only what is no HTTP at all
//!   gets a bare status.
//! - Of a command, the body tells the three answers apart: refused, not written, unknown.
//! - The async threads never wait for the store.
//!
//! **Deliberately absent:** numbers, durability, duplicates: all of that is the node's. Also
//! authentication and TLS, so nothing but loopback must reach this server.

mod answer;
mod apps;
mod asked;
mod commands;
mod connections;
mod context;
mod definitions;
mod error;
mod health;
mod metrics;
mod partitions;
mod reads;
mod refusals;
mod router;
mod server;
mod settings;

pub use error::ApiError;
pub use server::Server;
pub use settings::Settings;
