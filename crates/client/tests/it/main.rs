//! The client against real servers: in this process, behind a network that breaks, and in a
//! process that is killed.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking, and say so briefly")]
#![expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "tests know the sizes of what they have made"
)]

mod breaks;
mod deadlines;
mod gate;
mod guide;
mod kills;
mod orders;
mod process;
mod proxy;
mod subscriptions;
mod whole;
mod world;
