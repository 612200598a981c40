//! Stores of real nodes, sound and spoiled.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests fail by panicking, and say what they mean briefly"
)]

mod breaches;
mod clean;
mod flips;
mod live;
mod proofs;
mod sequences;
mod spoiled;
mod world;
