//! The partition machine, driven as a node drives it, with everything stored in memory.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::cast_possible_truncation,
    clippy::wildcard_enum_match_arm,
    reason = "tests fail by panicking, and say what they mean briefly"
)]

mod allocations;
mod attacks;
mod bare;
mod definitions;
mod entities;
mod faults;
mod idempotency;
mod limits;
mod model;
mod numbers;
mod receipts;
mod records;
mod refusals;
mod trust;
mod workspaces;
mod world;
