//! The backends of this crate against the conformance suite, and the suite against backends
//! with planted bugs.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not take for tests: a panic fails the test"
)]

mod backends;
mod faulty;
mod planted;
