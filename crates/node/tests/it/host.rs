//! One partition with all that is decided around it, driven by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use seriatim_codec::event_key;
use seriatim_node::parts::{
    Address, Caller, Landing, PartitionHost, ReplyTo, SyncBy, ToPartition, prefix_of,
};
use seriatim_node::{Partition, Reason, Reply, Settings, State, schema};
use seriatim_storage::Store;
use seriatim_storage::faulty::{Call, CallKind, Fault, FaultyStore};
use seriatim_storage::memory::MemoryStore;
use seriatim_testkit::core::{Shop, ShopSettings, changes, command};
use seriatim_types::{AppId, Body, Key, PartitionId, PartitionOffset, PartitionRef, Time};

const NAME: PartitionRef = PartitionRef { app: AppId(1), partition: PartitionId(0) };

/// Nobody waits for answers here.
struct Nobody;

impl Caller for Nobody {
    fn answer(self, _: Reply) {}
}

/// A partition, with a store whose snapshots fail when they are told to.
struct Hosted {
    host: PartitionHost<Nobody>,
    address: Arc<Address<Nobody>>,
    store: FaultyStore,
    fails: Arc<AtomicBool>,
    now: Duration,
}

impl Hosted {
    fn new(settings: Settings) -> Self {
        let fails = Arc::new(AtomicBool::new(false));
        let told = fails.clone();
        let schedule = move |Call { kind, .. }| {
            let fails = kind == CallKind::Snapshot && told.load(Ordering::Relaxed);
            fails.then_some(Fault::Fail)
        };
        let store = FaultyStore::new(Arc::new(MemoryStore::new(&schema())), Box::new(schedule));
        let shared: Arc<dyn Store> = Arc::new(store.clone());
        let partition = Partition::new(shared.clone(), prefix_of(NAME), settings);
        let address = Address::new(
            NAME,
            partition.state(),
            Arc::new(|message| Err(Box::new(message))),
            &Arc::default(),
        );
        let (directory, now) = (Arc::new(|_| ()), Duration::ZERO);
        let host = PartitionHost::new(partition, address.clone(), directory, shared, settings, now);
        Self { host, address, store, fails, now }
    }

    /// Lets two seconds pass, and then it works once and rests.
    fn work(&mut self) -> Option<Landing<Nobody>> {
        self.now += Duration::from_secs(2);
        let time = Time(1_782_000_000_000 + u64::try_from(self.now.as_millis()).unwrap());
        let sync = self.host.work(Ok(time));
        self.host.rest(self.now);
        sync.map(|(SyncBy::Owner(landing) | SyncBy::Syncer(landing))| landing)
    }

    /// Works until it serves and a commit is durable.
    fn settle(&mut self) {
        loop {
            let landing = self.work();
            if let Some(landing) = landing {
                self.store.sync().unwrap();
                self.host.take(landing.land(&Ok(())));
                return;
            }
        }
    }

    fn send(&mut self, body: Body) {
        self.host.take(ToPartition::Request(body, ReplyTo::Nobody));
    }

    /// Sends a command with one event.
    fn create(&mut self, number: u128) {
        let events = changes("{'create': {'id': 1, 'kind': 'note'}}");
        self.send(Body::Command(command("pos-4", Key(number.to_be_bytes()), "1", events)));
    }

    fn state(&self) -> State {
        self.host.partition().state()
    }

    /// Whether readers are shown an event.
    fn shows(&self, offset: u64) -> bool {
        let view = self.address.shared().view().unwrap();
        let key = event_key(prefix_of(NAME), PartitionOffset::new(offset).unwrap());
        view.snapshot.get(schema().table("log").unwrap(), &key).unwrap().is_some()
    }
}

/// A partition whose commit had succeeded, and whose snapshot behind it failed, was restarted. While it
/// read its log, its view was renewed: the new snapshot showed the commit, which no sync had covered.
#[test]
fn commit_that_the_partition_could_not_see_is_not_shown_before_its_sync() {
    let settings = Settings {
        actualize_events: 1,
        checkpoint_delay: Duration::from_secs(100_000),
        ..Settings::default()
    };
    let mut hosted = Hosted::new(settings);
    hosted.settle();
    for delivery in Shop::deliveries(ShopSettings::default()) {
        hosted.send(Body::Delivery(delivery));
        hosted.settle();
    }
    for number in 1..=3 {
        hosted.create(number);
        hosted.settle();
    }
    assert!(hosted.shows(3) && !hosted.shows(4));

    hosted.fails.store(true, Ordering::Relaxed);
    hosted.create(4);
    assert!(hosted.work().is_none());
    assert!(matches!(hosted.state(), State::Stopped(Reason::Store { .. })));
    hosted.fails.store(false, Ordering::Relaxed);

    hosted.host.take(ToPartition::Restart);
    let landing = loop {
        if let Some(landing) = hosted.work() {
            break landing;
        }
        assert!(matches!(hosted.state(), State::Actualizing(_)));
        assert!(!hosted.shows(4), "what no sync has covered is not shown");
    };
    assert!(!hosted.shows(4), "nor when it has read its log");
    hosted.store.sync().unwrap();
    hosted.host.take(landing.land(&Ok(())));
    assert!(hosted.shows(4), "it was committed");
    for _ in 0..3 {
        hosted.work();
    }
    assert!(hosted.shows(4));
}
