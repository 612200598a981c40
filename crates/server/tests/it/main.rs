//! The server over a real socket, on a node in memory.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests fail by panicking, and say what they mean briefly"
)]

mod bad_input;
mod bad_messages;
mod both;
mod browsers;
mod commands;
mod contract;
mod damage;
mod definitions;
mod ending;
mod failures;
mod fitting;
mod fuzz;
mod grpc;
mod health;
mod held;
mod limits;
mod list_budget;
mod methods;
mod node_metrics;
mod raw;
mod reads;
mod reflection;
mod refusals;
mod schema;
mod streams;
mod submit_stream;
mod world;
