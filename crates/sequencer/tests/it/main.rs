//! The sequencer alone: no storage, no threads, every step by hand.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not take for tests: a panic fails the test"
)]

mod allocations;
mod edges;
mod histories;
mod world;
