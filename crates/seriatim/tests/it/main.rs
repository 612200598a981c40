//! Seriatim in a process of one's own, from the outside.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests fail by panicking, and say what they mean briefly"
)]

mod commands;
mod crashes;
mod definitions;
mod invoicing;
mod methods;
mod opening;
mod outcomes;
mod partitions;
mod reads;
mod refusals;
mod subscriptions;
mod world;
