//! A shop to try things with, storage that fails by plan, and a clock that is set by hand.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use seriatim::{
    App, AppOptions, Clock, ClockAhead, Key, Numbering, Options, RecordClass, Seriatim, Submitted,
    Time, Workspace, schema,
};
use seriatim_storage::faulty::{CallKind, Fault, FaultyStore};
use seriatim_storage::memory::{MemoryDisk, MemoryStore};

/// Longer than anything takes that works.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// One new order with a number.
pub(crate) const ORDER: &str = r#"{"events": [{"name": "OrderMade", "changes": [
    {"create": {"id": 1, "kind": "order", "fields": {"no": {"$next": "ticket"}}}}]}]}"#;

pub(crate) fn key(number: u128) -> Key {
    Key(number.to_be_bytes())
}

pub(crate) fn in_memory() -> (Seriatim, Workspace) {
    let seriatim = Seriatim::in_memory().unwrap();
    let store = shop(&seriatim).workspace("store-1").unwrap();
    (seriatim, store)
}

/// The app `shop` with records `order` and `line`, the singleton `settings`, and the sequences
/// `ticket` and `invoice`.
pub(crate) fn shop(seriatim: &Seriatim) -> App {
    let shop = seriatim.app("shop", AppOptions::default()).unwrap();
    shop.define_record("order", RecordClass::C).unwrap();
    shop.define_record("line", RecordClass::W).unwrap();
    shop.define_singleton("settings", RecordClass::C).unwrap();
    shop.define_sequence("ticket", Numbering::continuous("{n}")).unwrap();
    shop.define_sequence("invoice", Numbering::yearly("INV-{yyyy}-{n:06}")).unwrap();
    shop
}

/// Sends an order for each of the keys, and waits for all.
pub(crate) fn orders(store: &Workspace, keys: impl IntoIterator<Item = u128>) -> Vec<Submitted> {
    let sent: Vec<_> =
        keys.into_iter().map(|number| store.send("till-4", key(number), ORDER)).collect();
    sent.into_iter().map(|sent| sent.wait().unwrap()).collect()
}

/// Sends an order again with its key until it is carried out, as the errors ask for.
pub(crate) fn persist(store: &Workspace, number: u128) -> Submitted {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match store.submit("till-4", key(number), ORDER) {
            Ok(submitted) => return submitted,
            Err(error) => assert!(error.retry_after().is_some(), "{error}"),
        }
        assert!(Instant::now() < deadline, "it is carried out in the end");
        thread::yield_now();
    }
}

/// Storage in memory that does as it is told.
pub(crate) struct Storage {
    disk: MemoryDisk,
    plan: Arc<Plan>,
}

#[derive(Default)]
struct Plan {
    orders: Mutex<Orders>,
    changed: Condvar,
}

#[derive(Default)]
struct Orders {
    is_held: bool,
    waiting: usize,
    fault: Option<(CallKind, Fault)>,
    is_lasting: bool,
}

impl Storage {
    pub(crate) fn new() -> Self {
        Self { disk: MemoryDisk::new(), plan: Arc::default() }
    }

    pub(crate) fn disk(&self) -> &MemoryDisk {
        &self.disk
    }

    /// The store, as a process finds it.
    pub(crate) fn store(&self) -> FaultyStore {
        let plan = self.plan.clone();
        let store = MemoryStore::open(&self.disk, &schema()).unwrap();
        FaultyStore::new(Arc::new(store), Box::new(move |call| plan.decide(call.kind)))
    }

    pub(crate) fn open(&self, options: Options) -> Seriatim {
        options.open_on(Arc::new(self.store())).unwrap()
    }

    /// While it is held, every sync waits.
    pub(crate) fn hold(&self, is_held: bool) {
        self.plan.orders.lock().unwrap().is_held = is_held;
        self.plan.changed.notify_all();
    }

    /// Waits until a sync waits.
    pub(crate) fn wait_until_held(&self) {
        let orders = self.plan.orders.lock().unwrap();
        let is_free = |orders: &mut Orders| orders.waiting == 0;
        let waited = self.plan.changed.wait_timeout_while(orders, PATIENCE, is_free).unwrap();
        assert!(!waited.1.timed_out(), "a sync comes");
    }

    /// The next call of a kind fails.
    pub(crate) fn fail_next(&self, kind: CallKind, fault: Fault) {
        self.plan.orders.lock().unwrap().fault = Some((kind, fault));
    }

    /// All calls of a kind fail from now on.
    pub(crate) fn fail_all(&self, kind: CallKind, fault: Fault) {
        self.fail_next(kind, fault);
        self.plan.orders.lock().unwrap().is_lasting = true;
    }

    /// Nothing fails any more.
    pub(crate) fn recover(&self) {
        self.plan.orders.lock().unwrap().fault = None;
    }
}

impl Plan {
    fn decide(&self, kind: CallKind) -> Option<Fault> {
        let mut orders = self.orders.lock().unwrap();
        if kind == CallKind::Sync && orders.is_held {
            orders.waiting += 1;
            self.changed.notify_all();
            orders = self.changed.wait_while(orders, |orders| orders.is_held).unwrap();
            orders.waiting -= 1;
        }
        let (planned, fault) = orders.fault?;
        if planned != kind {
            return None;
        }
        if !orders.is_lasting {
            orders.fault = None;
        }
        Some(fault)
    }
}

/// A clock that is set by hand.
pub(crate) struct HandClock(AtomicU64);

impl HandClock {
    pub(crate) fn at(ms: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(ms)))
    }

    pub(crate) fn set(&self, ms: u64) {
        self.0.store(ms, Ordering::Relaxed);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Result<Time, ClockAhead> {
        Ok(Time(self.0.load(Ordering::Relaxed)))
    }
}

/// Runs a future to its end on this thread, without a runtime.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        assert!(Instant::now() < deadline, "a future ends");
        thread::park_timeout(PATIENCE);
    }
}
