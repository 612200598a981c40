//! The loop of a partition on real storage contracts, with faults by plan.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests fail by panicking, and say what they mean briefly"
)]

mod chain;
mod directory;
mod driver;
mod due;
mod faults;
mod gate;
mod host;
mod load;
mod node;
mod ordered;
mod reads;
mod subscriptions;
mod trust;
