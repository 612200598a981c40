//! The machine alone: every step by hand, time as an argument.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not take for tests: a panic fails the test"
)]

mod barrier;
mod clocks;
mod fencing;
mod health;
mod leases;
mod model;
mod stored;
mod world;
