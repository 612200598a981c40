//! fjall against the conformance suite, and its guards against what the engine gets wrong.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not take for tests: a panic fails the test"
)]

mod clean_end;
mod conformance;
mod damage;
mod failed_sync;
mod failures;
mod full_disk;
mod isolation;
mod on_disk;
mod opening;
