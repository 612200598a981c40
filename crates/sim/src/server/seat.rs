//! One partition of a server: what its thread would own.

use std::collections::VecDeque;

use seriatim_node::parts::{Held, Landing, PartitionHost, ToPartition};

use super::Address;
use super::mail::Handle;
use crate::agenda::Moment;

/// A partition that was started.
pub(super) struct Seat {
    pub(super) host: PartitionHost<Handle>,
    pub(super) address: Address,
    pub(super) inbox: VecDeque<ToPartition<Handle>>,
    /// The commit whose sync it waits for itself. It does nothing else meanwhile.
    pub(super) syncing: Option<Landing<Handle>>,
    /// Whether it is about to be woken.
    pub(super) is_awaited: bool,
    /// When it wakes by itself.
    pub(super) timer: Option<Moment>,
    pub(super) has_ended: bool,
    /// Rows that waited for a checkpoint when it began to serve.
    pub(super) unflushed_at_first: usize,
}

/// What a partition takes up.
#[derive(Debug)]
pub(crate) struct Usage {
    pub(crate) held: Held,
    pub(crate) unanswered: usize,
    pub(crate) unflushed_at_first: usize,
}

impl Seat {
    pub(super) fn new(host: PartitionHost<Handle>, address: Address) -> Self {
        Self {
            host,
            address,
            inbox: VecDeque::new(),
            syncing: None,
            is_awaited: false,
            timer: None,
            has_ended: false,
            unflushed_at_first: 0,
        }
    }

    pub(super) fn usage(&self) -> Usage {
        let unanswered = self.address.unanswered();
        let held = self.host.partition().held();
        Usage { held, unanswered, unflushed_at_first: self.unflushed_at_first }
    }

    /// Whether nothing that somebody waits for is left in it.
    pub(super) fn is_quiet(&self) -> bool {
        let held = self.host.partition().held();
        self.inbox.is_empty()
            && self.syncing.is_none()
            && held.queued == 0
            && self.address.unanswered() == 0
    }
}
