//! Drives a partition on one thread, as a scheduler would.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;

use seriatim_codec::{PartitionPrefix, Stored, events_prefix};
use seriatim_core::{CommandOutcome, Outcome, receipt};
use seriatim_node::{Flight, Partition, Reply, RequestError, Settings, State, View, schema};
use seriatim_storage::faulty::{FaultyStore, Schedule};
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{KeyRange, Read, Scan, Store};
use seriatim_testkit::core::{Shop, ShopSettings};
use seriatim_types::{
    AppId, Body, Command, Event, Incarnation, PartitionId, PartitionOffset, Receipt, Time,
};

pub(crate) const APP: PartitionPrefix =
    PartitionPrefix { app: AppId(1), partition: PartitionId(0), incarnation: Incarnation(1) };

pub(crate) struct Driver {
    pub(crate) store: FaultyStore,
    pub(crate) partition: Partition<usize>,
    pub(crate) now: Time,
    pub(crate) view: Option<View>,
    flights: VecDeque<Flight<usize>>,
    pub(crate) answers: BTreeMap<usize, Reply>,
}

/// Handles of requests that nobody waits for.
const NOBODY: usize = usize::MAX;

impl Driver {
    pub(crate) fn new(settings: Settings, schedule: Schedule) -> Self {
        let store = FaultyStore::new(Arc::new(MemoryStore::new(&schema())), schedule);
        Self::open(store, settings)
    }

    pub(crate) fn open(store: FaultyStore, settings: Settings) -> Self {
        let partition = Partition::new(Arc::new(store.clone()), APP, settings);
        Self {
            store,
            partition,
            now: Time(1_782_000_000_000),
            view: None,
            flights: VecDeque::new(),
            answers: BTreeMap::new(),
        }
    }

    /// Delivers the definitions, until all of them are there.
    pub(crate) fn define(&mut self, settings: ShopSettings) {
        for delivery in Shop::deliveries(settings) {
            self.settle();
            let taken = self.partition.take(Body::Delivery(delivery), NOBODY);
            if taken.is_err() {
                return;
            }
        }
        self.settle();
    }

    pub(crate) fn submit(&mut self, handle: usize, command: &Command) {
        if let Err((handle, reply)) = self.partition.take(Body::Command(command.clone()), handle) {
            self.answers.insert(handle, reply);
        }
    }

    /// One step of the partition. Returns whether there is more to do at once.
    pub(crate) fn step(&mut self) -> bool {
        self.now = Time(self.now.0 + 1);
        let work = self.partition.work(self.now);
        self.answers.extend(work.replies);
        self.flights.extend(work.flight);
        work.has_more
    }

    /// Syncs, and lets the oldest flight go.
    pub(crate) fn land(&mut self) {
        let Some(flight) = self.flights.pop_front() else { return };
        match self.store.sync() {
            Ok(()) => {
                self.view = Some(flight.view);
                self.answers.extend(flight.replies);
                self.partition.landed();
            }
            Err(error) => {
                let why = error.to_string();
                let flights = std::iter::once(flight).chain(self.flights.drain(..));
                let replies = flights.flat_map(|flight| flight.replies);
                let unknown = replies
                    .map(|(handle, _)| (handle, Err(RequestError::Unknown { why: why.clone() })));
                self.answers.extend(unknown);
                let reason = seriatim_node::Reason::Store { what: why.clone() };
                self.answers.extend(self.partition.stop(reason));
            }
        }
    }

    /// Runs until nothing is left to do.
    pub(crate) fn settle(&mut self) {
        loop {
            let has_more = self.step();
            if !has_more && self.flights.is_empty() && self.is_quiet() {
                return;
            }
            if !has_more {
                self.land();
            }
        }
    }

    fn is_quiet(&self) -> bool {
        match self.partition.state() {
            State::Actualizing(_) => false,
            State::Serving => self.partition.is_idle(),
            State::Stopped(_) => true,
        }
    }

    /// The log, as it is stored.
    pub(crate) fn events(&self) -> Vec<Event> {
        let table = schema().table("log").unwrap();
        let scan = Scan::new(table, KeyRange::prefix(&events_prefix(APP)));
        let mut events = Vec::new();
        let scanned = self.store.scan(&scan, &mut |row| {
            events.push(Event::from_bytes(&row.value).unwrap());
            ControlFlow::Continue(())
        });
        assert!(scanned.is_ok(), "{scanned:?}");
        events
    }

    /// What a request was answered, with a repetition's receipt rebuilt.
    pub(crate) fn receipt(&self, handle: usize) -> Option<Receipt> {
        match self.answers.get(&handle)? {
            Ok(Outcome::Command(CommandOutcome::Committed(receipt))) => Some(receipt.clone()),
            Ok(Outcome::Command(CommandOutcome::Duplicate { first, count })) => {
                Some(self.rebuilt(*first, *count))
            }
            Ok(_) | Err(_) => None,
        }
    }

    fn rebuilt(&self, first: PartitionOffset, count: u32) -> Receipt {
        let is_of_it = |event: &Event| {
            (first.get()..first.get() + u64::from(count)).contains(&event.partition_offset.get())
        };
        let events: Vec<Event> = self.events().into_iter().filter(is_of_it).collect();
        receipt(&events).expect("the events of one command")
    }
}
