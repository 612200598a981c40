//! The answer to a command.

use crate::{Hash, Number, NumberDrawn, PartitionOffset, Time, WorkspaceId};

/// The answer to a command: all numbers that it was given. It is made of the stored events alone,
/// so a repeated command is given the same again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// How it is written. The form of a version never changes.
    pub version: u32,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The first event, in the workspace's log.
    pub first_offset: Number,
    /// The last event, in the workspace's log.
    pub last_offset: Number,
    /// The first event, in the partition's log.
    pub first_partition_offset: PartitionOffset,
    /// The last event, in the partition's log.
    pub last_partition_offset: PartitionOffset,
    /// The client's own count of its commands.
    pub client_sequence: Number,
    /// Raw ids with the ids that they stand for, ascending.
    pub ids: Vec<(u16, Number)>,
    /// Numbers that were drawn, in the order of the document.
    pub numbers: Vec<NumberDrawn>,
    /// The time of the entry.
    pub committed_at: Time,
    /// If it was asked for: that the last event is in the workspace's log as it was right behind
    /// that event. It follows from the log, so a repetition can be given the same.
    pub proof: Option<Box<Inclusion>>,
}

/// That an event is in a workspace's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inclusion {
    /// The hash of the event.
    pub leaf: Hash,
    /// What the leaf is hashed with, from below.
    pub path: Vec<Hash>,
    /// The root of the tree of the size that was asked for.
    pub root: Hash,
}
