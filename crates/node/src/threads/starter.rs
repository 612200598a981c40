//! Starts the threads of partitions, and waits for their end.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use seriatim_storage::Store;
use seriatim_types::PartitionRef;

use super::partition::PartitionThread;
use crate::answer::Answer;
use crate::clock::Clock;
use crate::host::{
    Address, DirectoryMailbox, Landing, PartitionHost, SYSTEM, ToPartition, prefix_of, stopped,
};
use crate::metrics::NodeCounters;
use crate::partition::{Partition, State};
use crate::reply::Reason;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::sync_watch::SyncWatch;

/// How long a partition that must end may take for what it is doing.
const LAST_WORK: Duration = Duration::from_secs(1);

/// Starts the threads of partitions.
pub(super) struct Starter {
    pub(super) store: Arc<dyn Store>,
    pub(super) settings: Settings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) syncs: Arc<SyncWatch>,
    pub(super) counters: Arc<NodeCounters>,
    pub(super) directory: DirectoryMailbox<Answer>,
    /// Reads that found a stored row damaged or missing, of all partitions.
    pub(super) damaged_reads: Arc<AtomicU64>,
    pub(super) origin: Instant,
    pub(super) started: Mutex<Started>,
}

/// What was started.
pub(super) struct Started {
    /// The way to the syncer; `None` once the node ends, and then nothing is started any more.
    pub(super) syncer: Option<Sender<Landing<Answer>>>,
    pub(super) threads: BTreeMap<PartitionRef, Running>,
    pub(super) is_clock_started: bool,
}

/// A partition with its thread.
pub(super) struct Running {
    address: Arc<Address<Answer>>,
    thread: Option<JoinHandle<()>>,
}

impl Starter {
    /// Lets a partition run. Where the node ends, or the machine gives no thread, it takes nothing.
    pub(super) fn start(&self, name: PartitionRef) -> Arc<Address<Answer>> {
        let (sender, messages) = mpsc::channel::<ToPartition<Answer>>();
        // The standard library's hashers begin with random bytes of the system.
        let hash_seed = RandomState::new().hash_one(0);
        let partition = Partition::new(self.store.clone(), prefix_of(name), self.settings);
        let partition = partition.seeded(hash_seed).counted_by(self.counters.clone());
        let mailbox =
            Arc::new(move |message| sender.send(message).map_err(|error| Box::new(error.0)));
        let address = Address::new(name, partition.state(), mailbox, &self.damaged_reads);
        let mut started = self.started();
        let Some(syncer) = started.syncer.clone() else {
            address.shared().end();
            return address;
        };
        let (store, directory) = (self.store.clone(), self.directory.clone());
        let host = PartitionHost::new(
            partition,
            address.clone(),
            directory.clone(),
            store.clone(),
            self.settings,
            self.origin.elapsed(),
        );
        let starts_clock = name == SYSTEM && !started.is_clock_started;
        started.is_clock_started |= starts_clock;
        let owned = PartitionThread {
            host,
            address: address.clone(),
            directory,
            messages,
            syncer,
            store,
            syncs: self.syncs.clone(),
            counters: self.counters.clone(),
            clock: self.clock.clone(),
            origin: self.origin,
            starts_clock,
        };
        let thread = std::thread::Builder::new()
            .name(format!("{}.{}", name.app.0, name.partition.0))
            .spawn(move || owned.run());
        let thread = match thread {
            Ok(thread) => Some(thread),
            Err(error) => {
                let what = format!("the machine gives it no thread: {error}");
                let reason = Reason::Unready { what };
                stopped(&address, &reason, &self.counters);
                address.shared().set_state(State::Stopped(reason));
                address.shared().end();
                None
            }
        };
        started.threads.insert(name, Running { address: address.clone(), thread });
        address
    }

    /// Ends all partitions. Returns those that did not end in time.
    pub(super) fn end(&self, deadline: Instant) -> Vec<PartitionRef> {
        let by = deadline.saturating_duration_since(self.origin);
        let mut started = self.started();
        started.syncer = None;
        let all: Vec<_> = started.threads.values().map(|it| it.address.clone()).collect();
        // It is not held while partitions are waited for: whoever ends the node too has a time of
        // its own.
        drop(started);
        for address in &all {
            drop(address.send(ToPartition::Shutdown { by }));
        }
        // One that is past its deadline ends with the work that it is at: work that does not end is
        // not waited for.
        let latest = deadline.checked_add(LAST_WORK).unwrap_or(deadline);
        let mut left = Vec::new();
        for address in all {
            if !address.shared().wait(latest, Shared::is_over) {
                left.push(address.name());
                continue;
            }
            let ended = self.started().threads.remove(&address.name());
            let thread = ended.and_then(|running| running.thread);
            thread.into_iter().for_each(|thread| drop(thread.join()));
        }
        left
    }

    fn started(&self) -> MutexGuard<'_, Started> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
