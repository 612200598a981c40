//! The JSON edge from outside: documents in, templates and bodies out.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not take for tests: a panic fails the test"
)]

mod bad_commands;
mod commands;
mod corpus;
mod definitions;
mod documents;
mod fingerprints;
mod fuzz;
mod limits;
mod orders;
