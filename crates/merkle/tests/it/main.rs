//! The tree against the RFC, against another implementation of it, and against forgers.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not take for tests: a panic fails the test"
)]

mod edges;
mod forgery;
mod frontier;
mod golden;
mod oracle;
mod rfc;
mod stored;
mod world;
