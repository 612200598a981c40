//! Runs partitions: fetch, apply, commit, answer.

mod clock;
mod direct;
mod node;
mod partition;
mod reads;
mod reply;
mod settings;
mod tables;
mod writes;

pub use clock::{Clock, SystemClock};
pub use node::{AskError, Node};
pub use partition::{Flight, Partition, State, Step, View};
pub use reads::{
    ClientState, Consistency, Head, Inclusion, ProofFailed, ReadFailed, Reader, SequenceState,
    Workspace,
};
pub use reply::{Busy, Reason, Reply};
pub use settings::Settings;
pub use tables::schema;
