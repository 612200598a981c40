//! Which commits share a sync, and what follows when one is durable.

use std::sync::Arc;

use seriatim_planted::{self as planted, Bug};
use seriatim_types::PartitionRef;

use super::{Address, Caller, DirectoryMailbox, ReplyTo, ToDirectory, ToPartition, give};
use crate::partition::Flight;
use crate::reply::{Reason, RequestError};

/// A commit on its way to the disk, with everything that needs to be done when it is there.
pub struct Landing<C> {
    flight: Flight<ReplyTo<C>>,
    address: Arc<Address<C>>,
    directory: DirectoryMailbox<C>,
}

impl<C: Caller> Landing<C> {
    pub(super) fn new(
        flight: Flight<ReplyTo<C>>,
        address: Arc<Address<C>>,
        directory: DirectoryMailbox<C>,
    ) -> Self {
        Self { flight, address, directory }
    }

    /// The partition that has committed it.
    #[must_use]
    pub fn partition(&self) -> PartitionRef {
        self.address.name()
    }

    /// The sync that covers it has returned, or failed with these causes. Returns what its partition
    /// is to be told.
    ///
    /// Whoever is told that the partition serves sees all that is durable in it: told before, the
    /// system partition would have missed messages that it had found in its log.
    pub fn land(self, synced: &Result<(), String>) -> ToPartition<C> {
        let Self { flight, address, directory } = self;
        let Flight { replies, touched, messages, view, begins } = flight;
        if let Err(what) = synced {
            let unknown = Err(RequestError::Unknown { why: what.clone() });
            give(replies.into_iter().map(|(to, _)| (to, unknown.clone())).collect(), &directory);
            return ToPartition::Stop(Reason::Store { what: what.clone() });
        }
        address.shared().publish(view, &touched);
        give(replies, &directory);
        if !messages.is_empty() {
            directory(ToDirectory::Carry(messages));
        }
        if begins {
            directory(ToDirectory::Serves(address.name()));
        }
        ToPartition::Landed
    }

    /// Gives the answers away, as if the commit were durable.
    fn answer_early(&mut self) {
        give(std::mem::take(&mut self.flight.replies), &self.directory);
    }
}

/// Syncs for all partitions: whoever waits while the disk is busy shares the next sync.
pub struct Syncer<C> {
    waiting: Vec<Landing<C>>,
    syncing: Vec<Landing<C>>,
}

impl<C: Caller> Syncer<C> {
    /// One that has nothing to do.
    #[must_use]
    pub fn new() -> Self {
        Self { waiting: Vec::new(), syncing: Vec::new() }
    }

    /// A commit waits for the disk from now on.
    pub fn take(&mut self, landing: Landing<C>) {
        self.waiting.push(landing);
    }

    /// A sync of the store begins, if somebody waits for one: it covers all that wait. Returns
    /// whether it does.
    pub fn begin(&mut self) -> bool {
        assert!(self.syncing.is_empty(), "one sync at a time");
        if planted::is(Bug::FlightOvertakes) && self.waiting.len() > 1 {
            self.syncing.extend(self.waiting.pop());
        } else {
            self.syncing = std::mem::take(&mut self.waiting);
        }
        if planted::is(Bug::AnswerBeforeSync) {
            self.syncing.iter_mut().for_each(Landing::answer_early);
        }
        !self.syncing.is_empty()
    }

    /// The sync has returned, or failed with these causes.
    pub fn end(&mut self, synced: &Result<(), String>) {
        for landing in self.syncing.drain(..) {
            let address = landing.address.clone();
            // A partition that has ended needs not be told.
            drop(address.send(landing.land(synced)));
        }
    }

    /// Whose commits the sync under way covers, in the order in which they land.
    pub fn syncing(&self) -> impl Iterator<Item = PartitionRef> {
        self.syncing.iter().map(Landing::partition)
    }

    /// How many commits wait for the next sync.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

impl<C: Caller> Default for Syncer<C> {
    fn default() -> Self {
        Self::new()
    }
}
