//! Opening and closing folders.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use seriatim::{
    AppOptions, Busy, Clock, ClockAhead, Committed, NodeSettings, NotWritten, OpenError, Options,
    ReadError, RecordClass, Seriatim, Time, WriteError,
};
use seriatim_storage::faulty::{CallKind, Fault};
use seriatim_storage::hooked::HookedStore;

use crate::world::{ORDER, PATIENCE, Storage, key, orders, shop};

#[test]
fn a_folder_that_is_opened_again_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("new").join("data");
    let seriatim = Seriatim::open(&folder).unwrap();
    let store = shop(&seriatim).workspace("store-1").unwrap();
    let first = orders(&store, 1..=20);
    seriatim.close().unwrap();
    drop((seriatim, store));

    let seriatim = Seriatim::open(&folder).unwrap();
    let store = shop(&seriatim).workspace("store-1").unwrap();
    let again = orders(&store, 1..=20);
    assert!(again.iter().all(|it| it.is_replayed));
    assert!(again.iter().zip(&first).all(|(again, first)| again.receipt == first.receipt));
    assert_eq!(orders(&store, [21])[0].number("ticket").unwrap().number.get(), 21);
}

#[test]
fn a_folder_is_open_once_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let seriatim = Seriatim::open(folder.path()).unwrap();
    let error = Seriatim::open(folder.path()).err().expect("it is in use");
    assert!(
        matches!(error, OpenError::Store(seriatim_storage::OpenError::InUse { .. })),
        "{error:?}"
    );
    assert!(error.to_string().contains("is in use: stop the process"), "{error}");
    let clone = seriatim.clone();
    drop(seriatim);
    assert!(Seriatim::open(folder.path()).is_err(), "a handle is left");
    drop(clone);
    Seriatim::open(folder.path()).unwrap();
}

#[test]
fn handles_that_are_left_say_that_it_is_closed_and_the_folder_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let seriatim = Seriatim::open(folder.path()).unwrap();
    let app = shop(&seriatim);
    let store = app.workspace("store-1").unwrap();
    let mut subscription = store.subscribe(1).unwrap();
    orders(&store, [1]);
    seriatim.close().unwrap();
    seriatim.close().unwrap();

    let closed = WriteError::NotWritten(NotWritten::Closed);
    assert_eq!(store.submit("till-4", key(1), ORDER).unwrap_err(), closed);
    assert_eq!(app.define_record("x", RecordClass::C).unwrap_err(), closed);
    assert_eq!(seriatim.app("x", AppOptions::default()).err(), Some(closed.clone()));
    assert_eq!((closed.code().as_str(), closed.retry_after()), ("BUSY", None));
    assert_eq!(store.head().unwrap_err(), ReadError::Closed);
    assert_eq!(store.subscribe(1).err(), Some(ReadError::Closed));
    assert_eq!(seriatim.partitions(), Err(ReadError::Closed));
    assert_eq!(ReadError::Closed.code().as_str(), "BUSY");

    let rest: Vec<Committed> = subscription.by_ref().map(Result::unwrap).collect();
    assert_eq!(rest.len(), 1, "what was durable is still given");
    Seriatim::open(folder.path()).unwrap();
}

#[test]
fn what_was_sent_before_it_is_closed_is_carried_out() {
    let storage = Storage::new();
    let seriatim = storage.open(Options::default());
    let store = shop(&seriatim).workspace("store-1").unwrap();
    storage.hold(true);
    let sent: Vec<_> = (1..=50).map(|it| store.send("till-4", key(it), ORDER)).collect();
    storage.wait_until_held();
    thread::scope(|scope| {
        let closing = scope.spawn(|| seriatim.close());
        storage.hold(false);
        closing.join().unwrap().unwrap();
    });
    let numbers = sent.into_iter().map(|it| it.wait().unwrap().receipt.last_offset.get());
    assert_eq!(numbers.collect::<Vec<_>>(), (1..=50).collect::<Vec<_>>());
}

#[test]
fn closing_is_bounded_while_the_disk_does_not_answer() {
    let storage = Storage::new();
    let close_within = Duration::from_millis(50);
    let seriatim = storage.open(Options { close_within, ..Options::default() });
    let store = shop(&seriatim).workspace("store-1").unwrap();
    storage.hold(true);
    let sent = store.send("till-4", key(1), ORDER);
    storage.wait_until_held();
    let begun = Instant::now();
    let not_ended = seriatim.close().unwrap_err();
    assert!(begun.elapsed() < PATIENCE / 4, "{:?}", begun.elapsed());
    assert!(!not_ended.partitions.is_empty());
    let error = store.submit("till-4", key(2), ORDER).unwrap_err();
    assert_eq!(error, NotWritten::Closed.into(), "nothing new is taken");
    storage.hold(false);
    seriatim.close().unwrap();
    assert_eq!(sent.wait().unwrap().receipt.last_offset.get(), 1);
}

#[test]
fn what_was_closed_is_opened_without_reading_the_log() {
    let node = NodeSettings { actualize_events: 1, ..NodeSettings::default() };
    let calls_to_open = |events: u128| {
        let storage = Storage::new();
        let seriatim = storage.open(Options::default());
        let store = shop(&seriatim).workspace("store-1").unwrap();
        orders(&store, 1..=events);
        seriatim.close().unwrap();
        let store = storage.store();
        let opened = Options { node, ..Options::default() }.open_on(Arc::new(store.clone()));
        let calls = store.calls();
        drop(opened.unwrap());
        calls
    };
    let (few, many) = (calls_to_open(2), calls_to_open(1_000));
    assert!(many < few + 200, "{few} calls for 2 events, {many} for 1000");
}

/// A clock that is not believed until somebody vouches for it.
#[derive(Default)]
struct Doubted(AtomicBool);

const AHEAD: ClockAhead = ClockAhead { time: Time(2_000_000), last_time: Time(7) };

impl Clock for Doubted {
    fn now(&self) -> Result<Time, ClockAhead> {
        if self.0.load(Ordering::Relaxed) { Ok(AHEAD.time) } else { Err(AHEAD) }
    }

    fn accept(&self) -> Result<Time, ClockAhead> {
        self.0.store(true, Ordering::Relaxed);
        self.now()
    }
}

#[test]
fn clock_that_is_not_believed_leaves_reads_and_commands_wait_until_it_is_accepted() {
    let storage = Storage::new();
    let options = || Options { answer_within: PATIENCE, ..Options::default() };
    let seriatim = options().open_on(Arc::new(storage.store())).unwrap();
    let store = shop(&seriatim).workspace("store-1").unwrap();
    orders(&store, 1..=3);
    seriatim.close().unwrap();

    let options = Options { clock: Arc::new(Doubted::default()), ..options() };
    let seriatim = options.open_on(Arc::new(storage.store())).unwrap();
    let shop = seriatim.app("shop", AppOptions::default());
    let busy = match shop.err() {
        Some(WriteError::NotWritten(NotWritten::Busy { busy, .. })) => busy,
        other => panic!("{other:?}"),
    };
    assert_eq!(busy, Busy::Clock(AHEAD));
    assert_eq!(seriatim.accept_clock().unwrap(), AHEAD.time);
    let shop = seriatim.app("shop", AppOptions::default()).unwrap();
    let store = shop.workspace("store-1").unwrap();
    assert!(orders(&store, 1..=3).iter().all(|it| it.is_replayed));
}

/// Lets the syncs of a store go once whoever opens it has looked twice: the second time it has given up.
struct TwoLooks {
    opener: thread::ThreadId,
    looks: AtomicU32,
}

impl Clock for TwoLooks {
    fn now(&self) -> Result<Time, ClockAhead> {
        if thread::current().id() == self.opener {
            self.looks.fetch_add(1, Ordering::SeqCst);
        }
        Ok(Time(1))
    }
}

#[test]
fn what_does_not_serve_in_time_is_not_opened() {
    let ready_within = Duration::from_millis(50);
    let clock = Arc::new(TwoLooks { opener: thread::current().id(), looks: AtomicU32::new(0) });
    let looked = clock.clone();
    let store = HookedStore::new(Arc::new(Storage::new().store())).sync_by(move |store| {
        while looked.looks.load(Ordering::SeqCst) < 2 {
            thread::yield_now();
        }
        store.sync()
    });
    let options = Options { clock, ready_within, ..Options::default() };
    let error = options.open_on(Arc::new(store)).err().unwrap();
    let OpenError::NotReady { waited, partitions } = error else { panic!("{error:?}") };
    assert_eq!((waited, partitions.len()), (ready_within, 1));
}

#[test]
fn a_store_whose_apps_cannot_be_read_is_not_opened() {
    let storage = Storage::new();
    storage.fail_all(CallKind::GetMany, Fault::Fail);
    let error = Options::default().open_on(Arc::new(storage.store())).err().unwrap();
    assert!(matches!(error, OpenError::Stopped(_)), "{error:?}");
}
