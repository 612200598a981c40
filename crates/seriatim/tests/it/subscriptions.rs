//! Following a log.

use std::thread;
use std::time::{Duration, Instant};

use seriatim::{Committed, NodeSettings, Options, SubscribeError};

use crate::world::{PATIENCE, Storage, block_on, in_memory, orders, shop};

fn offsets(events: &[Committed]) -> Vec<u64> {
    events.iter().map(|committed| committed.event.offset.get()).collect()
}

#[test]
fn stored_events_are_followed_by_live_ones_while_others_write() {
    let (_seriatim, store) = in_memory();
    orders(&store, 1..=300);
    thread::scope(|scope| {
        let store = &store;
        let writers = [1_u128, 2, 3].map(|writer| {
            scope.spawn(move || {
                for number in 0..100 {
                    orders(store, [writer * 1_000 + number]);
                }
            })
        });
        for from in [0, 1, 250] {
            let events: Vec<Committed> =
                store.subscribe(from).unwrap().map(Result::unwrap).take(350).collect();
            let first = from.max(1);
            assert_eq!(offsets(&events), (first..first + 350).collect::<Vec<u64>>());
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    let all: Vec<Committed> = store.subscribe(1).unwrap().map(Result::unwrap).take(600).collect();
    assert_eq!(offsets(&all), (1..=600).collect::<Vec<u64>>());
}

#[test]
fn a_workspace_that_is_not_there_yet_can_be_followed_and_the_iterator_ends_when_it_is_closed() {
    let (seriatim, store) = in_memory();
    let subscription = store.subscribe(1).unwrap();
    let follower = thread::spawn(move || subscription.map(Result::unwrap).collect::<Vec<_>>());
    orders(&store, 1..=3);
    seriatim.close().unwrap();
    assert_eq!(offsets(&follower.join().unwrap()), [1, 2, 3]);
}

#[test]
fn pages_can_be_waited_for_and_awaited() {
    let (seriatim, store) = in_memory();
    let mut subscription = store.subscribe(1).unwrap();
    let soon = Instant::now() + Duration::from_millis(1);
    assert_eq!(subscription.next_before(soon).unwrap(), []);
    orders(&store, 1..=3);
    assert_eq!(subscription.next().unwrap().unwrap().event.offset.get(), 1);
    let rest = subscription.next_before(Instant::now() + PATIENCE).unwrap();
    assert_eq!(offsets(&rest), [2, 3], "what the iterator has fetched is not lost");
    let page = thread::scope(|scope| {
        let waiting = scope.spawn(|| block_on(subscription.next_page()).unwrap());
        orders(&store, [4]);
        waiting.join().unwrap()
    });
    assert_eq!(offsets(&page), [4]);
    seriatim.close().unwrap();
    assert_eq!(block_on(subscription.next_page()), Err(SubscribeError::Closed));
    assert_eq!(subscription.next_before(soon), Err(SubscribeError::Closed));
    assert_eq!(subscription.next(), None);
    assert_eq!(SubscribeError::Closed.code().as_str(), "BUSY");
}

#[test]
fn a_slow_subscriber_is_told_where_to_resume() {
    let node = NodeSettings { subscription_lag_max: 3, ..NodeSettings::default() };
    let seriatim = Storage::new().open(Options { node, ..Options::default() });
    let store = shop(&seriatim).workspace("store-1").unwrap();
    orders(&store, 1..=10);
    let mut subscription = store.subscribe(1).unwrap();
    let first: Vec<_> = subscription.by_ref().take(10).map(Result::unwrap).collect();
    assert_eq!(offsets(&first), (1..=10).collect::<Vec<u64>>(), "what is old is no lag");
    orders(&store, 11..=15);
    let lagged = subscription.next().unwrap().unwrap_err();
    assert_eq!(lagged, SubscribeError::Lagged { resume_from: 11, behind: 5 });
    assert_eq!(lagged.code().as_str(), "LAGGED");
    assert_eq!(subscription.next(), None);
    let resumed: Vec<_> = store.subscribe(11).unwrap().map(Result::unwrap).take(5).collect();
    assert_eq!(offsets(&resumed), [11, 12, 13, 14, 15]);
}
