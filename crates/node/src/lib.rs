//! Runs partitions: fetch, apply, commit, answer.

mod absent_keys;
mod answer;
mod chain;
mod clock;
mod damage;
mod host;
mod metrics;
mod newest_time;
mod node;
mod partition;
mod reads;
mod reply;
mod row_cache;
mod settings;
mod shared;
mod similar_names;
mod subscription;
mod sync_watch;
mod tables;
mod threads;
mod watch;
mod writes;

pub use chain::{Chain, PartitionOrder, StreamOrder};
pub use clock::{Ahead, Clock, ClockAhead, ClockSettings, Jump, SystemClock};
pub use metrics::{Cache, EntryKind, Histogram, NodeCounters};
pub use node::{AskError, Node, NotEnded, Queued};
pub use partition::{Flight, Partition, State, View, Work};
pub use reads::{
    ClientState, Consistency, Head, ProofFailed, ReadFailed, Reader, SequenceState, Workspace,
};
pub use reply::{Busy, RETRY_AFTER, ROOM_AFTER, Reason, Reply, RequestError, Written};
pub use seriatim_types::Inclusion;
pub use settings::Settings;
pub use similar_names::no_app;
pub use subscription::{Log, SubscribeError, Subscription};
pub use sync_watch::SyncStalled;
pub use tables::schema;
pub use watch::{Changed, Interest};

/// What a driver of partitions is made of, for one that runs them on a thread and a time of its
/// own.
#[doc(hidden)]
pub mod parts {
    pub use crate::chain::Link;
    pub use crate::clock::{AHEAD_MAX, ClockGuard, Reading};
    pub use crate::damage::Damage;
    pub use crate::host::{
        Address, AppHome, Caller, Directory, DirectoryMailbox, Landing, Mailbox, Next,
        PartitionHost, ReplyTo, Routes, SYSTEM, Start, SyncBy, Syncer, Ticket, ToDirectory,
        ToPartition, outbox_of, partitions_of, prefix_of, shutting_down,
    };
    pub use crate::newest_time::newest_time;
    pub use crate::partition::{Applier, Held, Observer, causes};
    pub use crate::shared::Shared;
}
