//! The server over a real socket, on a node in memory.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests fail by panicking, and say what they mean briefly"
)]

mod bad_input;
mod commands;
mod definitions;
mod ending;
mod failures;
mod health;
mod reads;
mod refusals;
mod streams;
mod world;
