//! The runtime on a mock with hooks, on our storage, and killed at every storage call.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not take for tests: a panic fails the test"
)]

mod crashes;
mod mock;
mod on_store;
mod own_log;
mod seed;
