//! Somebody who follows a log, over connections that break.

use seriatim_node::{Log, Subscription};
use seriatim_types::{Event, PartitionRef};

/// A follower of a log.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) partition: PartitionRef,
    pub(crate) log: Log,
    /// What it was given, in the order in which it was given.
    pub(crate) given: Vec<Event>,
    /// Counts its connections. What comes over an old one is not taken.
    pub(crate) connection: u64,
    /// The server's side of the connection.
    pub(crate) subscription: Option<Subscription>,
    /// Events that it is given at a time.
    pub(crate) page_events: usize,
}

impl Follower {
    pub(crate) fn new(partition: PartitionRef, log: Log) -> Self {
        let (given, subscription) = (Vec::new(), None);
        Self { partition, log, given, connection: 0, subscription, page_events: 0 }
    }

    /// The first offset that it lacks.
    pub(crate) fn next(&self) -> u64 {
        let last = self.given.last().map(|event| match self.log {
            Log::Workspace(_) => event.offset.get(),
            Log::Partition(_) => event.partition_offset.get(),
        });
        last.unwrap_or(0).saturating_add(1)
    }
}
