//! The stored encodings from outside: golden files, round trips, and bytes that are no encoding.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not take for tests: a panic fails the test"
)]

mod allocations;
mod fingerprints;
mod fuzz;
mod golden;
mod keys;
mod peer;
mod refusals;
mod round_trips;
mod samples;
mod strategies;
