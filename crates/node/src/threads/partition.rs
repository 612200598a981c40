//! The thread that owns a partition.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Instant;

use seriatim_storage::Store;

use super::synced;
use crate::answer::Answer;
use crate::clock::Clock;
use crate::host::{
    Address, DirectoryMailbox, Landing, Next, PartitionHost, SyncBy, ToDirectory, ToPartition,
    stopped,
};
use crate::metrics::NodeCounters;
use crate::newest_time::newest_time;
use crate::partition::State;
use crate::reply::Reason;
use crate::sync_watch::SyncWatch;

/// The thread that owns a partition.
pub(super) struct PartitionThread {
    pub(super) host: PartitionHost<Answer>,
    pub(super) address: Arc<Address<Answer>>,
    pub(super) directory: DirectoryMailbox<Answer>,
    pub(super) messages: Receiver<ToPartition<Answer>>,
    pub(super) syncer: Sender<Landing<Answer>>,
    pub(super) store: Arc<dyn Store>,
    pub(super) syncs: Arc<SyncWatch>,
    pub(super) counters: Arc<NodeCounters>,
    pub(super) clock: Arc<dyn Clock>,
    /// The begin of the node's time.
    pub(super) origin: Instant,
    /// Whether it tells the clock what the newest time in the store is. The system partition does when a
    /// node begins: the others are started by it, so nothing is proposed before.
    pub(super) starts_clock: bool,
}

impl PartitionThread {
    /// Runs until its partition ends.
    pub(super) fn run(self) {
        // It is dropped last: what is seen to have ended has answered all that it held.
        let _ending = Ending { address: self.address.clone(), directory: self.directory.clone() };
        self.own();
    }

    fn own(mut self) {
        // It is dropped before what is queued: whoever is answered by that sees the reason.
        let _fault = Fault { address: self.address.clone(), counters: self.counters.clone() };
        if self.starts_clock {
            self.clock.start(newest_time(&self.store));
        }
        let mut next = Next::Now;
        while next != Next::End {
            self.receive(next);
            match self.host.work(self.clock.now()) {
                Some(SyncBy::Owner(landing)) => {
                    let told = landing.land(&synced(&self.store, &self.syncs));
                    self.host.take(told);
                }
                Some(SyncBy::Syncer(landing)) => {
                    self.syncer.send(landing).expect("the syncer outlives the partitions");
                }
                None => {}
            }
            next = self.host.rest(self.origin.elapsed());
        }
        while let Ok(message) = self.messages.try_recv() {
            self.host.take(message);
        }
    }

    /// Takes everything that was sent, and waits for the first of it if there is time.
    fn receive(&mut self, next: Next) {
        if let Next::Within(rest) = next {
            match self.messages.recv_timeout(rest) {
                Ok(message) => {
                    if self.host.is_crowded() {
                        std::thread::yield_now();
                    }
                    self.host.take(message);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
        while let Ok(message) = self.messages.try_recv() {
            self.host.take(message);
        }
    }
}

/// Shows that the partition has stopped if its thread ends by a fault.
struct Fault {
    address: Arc<Address<Answer>>,
    counters: Arc<NodeCounters>,
}

impl Drop for Fault {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let what = "a fault of Seriatim's own ended its thread".to_owned();
            let reason = Reason::Unready { what };
            stopped(&self.address, &reason, &self.counters);
            self.address.shared().set_state(State::Stopped(reason));
        }
    }
}

/// Says that the thread of a partition has ended, also when that was by a fault.
struct Ending {
    address: Arc<Address<Answer>>,
    directory: DirectoryMailbox<Answer>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.address.shared().end();
        if std::thread::panicking() {
            (self.directory)(ToDirectory::Stopped(self.address.name()));
        }
    }
}
