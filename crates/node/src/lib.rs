//! Runs partitions: fetch, apply, commit, answer.

mod partition;
mod reply;
mod settings;
mod tables;
mod writes;

pub use partition::{Flight, Partition, State, Step, View};
pub use reply::{Busy, Reason, Reply};
pub use settings::Settings;
pub use tables::schema;
