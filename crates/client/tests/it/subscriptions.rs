//! Subscriptions give every event once, whatever happens to their connections.

use std::pin::Pin;
use std::time::Duration;

use futures_core::Stream;
use serde_json::json;
use seriatim_client::{Command, Event, Subscription};
use seriatim_node::{Settings, schema};
use seriatim_storage::memory::MemoryStore;

use crate::proxy::{Cut, Proxy};
use crate::world::{World, client, noted, shop, turn};

async fn take(events: &mut Subscription, count: u64) -> Vec<Event> {
    let mut taken = Vec::new();
    for _ in 0..count {
        taken.push(events.next().await.unwrap());
    }
    taken
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_comes_first_and_then_what_is_added() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let mut late = store.subscribe(2);
    for turn in 1..=3 {
        store.submit(noted(turn)).await.unwrap();
    }
    assert_eq!(take(&mut store.subscribe(0), 3).await[0].offset, 1);
    assert_eq!(take(&mut late, 2).await[0].offset, 2);
    let waiting = tokio::spawn(async move { take(&mut late, 1).await });
    store.submit(noted(4)).await.unwrap();
    assert_eq!(turn(&waiting.await.unwrap()[0]), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_on_across_broken_connections_without_hole_or_repeat() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    // Events that wait come in messages of up to 256, of which one has to get through at some time: so
    // connections live longer and longer.
    let cut = |connection: u64| {
        let range = 20_000 + 2_000 * connection;
        let somewhere = 500 + connection.wrapping_mul(2_654_435_761) % range;
        Cut { to_client: somewhere, ..Cut::NEVER }
    };
    let proxy = Proxy::new(world.address, cut).await;
    let mut events = client(proxy.address).app("shop").workspace("store-1").subscribe(1);
    let writer = tokio::spawn(async move {
        for turn in 1..=600 {
            store.submit(noted(turn)).await.unwrap();
        }
    });
    let taken = take(&mut events, 600).await;
    assert!(taken.iter().map(|event| event.offset).eq(1..=600));
    assert!(taken.iter().map(turn).eq(1..=600));
    assert!(events.interruptions() > 3, "{events:?}");
    assert_eq!(events.next_offset(), 601);
    writer.await.unwrap();
}

/// Giving up a wait for the next event, at any time, loses none.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_can_be_given_up() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let mut events = store.subscribe(1);
    let writer = tokio::spawn(async move {
        for turn in 1..=200 {
            store.submit(noted(turn)).await.unwrap();
        }
    });
    let mut offsets = Vec::new();
    while offsets.len() < 200 {
        let given_up = Duration::from_micros(offsets.len() as u64 % 50);
        if let Ok(event) = tokio::time::timeout(given_up, events.next()).await {
            offsets.push(event.unwrap().offset);
        }
    }
    assert!(offsets.into_iter().eq(1..=200));
    writer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_too_slow_begins_anew_and_misses_nothing() {
    let memory = std::sync::Arc::new(MemoryStore::new(&schema()));
    let settings = Settings { subscription_lag_max: 10, ..Settings::default() };
    let world = World::with(memory, settings).await;
    let store = shop(&world.client()).await;
    let large = || Command::new("Large").args(json!({"text": "x".repeat(20_000)}));
    store.submit(large()).await.unwrap();
    let mut events = client(world.address).app("shop").workspace("store-1").subscribe(1);
    assert_eq!(events.next().await.unwrap().offset, 1);
    // More than the connection takes while nobody reads.
    let written: Vec<_> = (0..1000).map(|_| store.submit(large())).collect();
    for written in written {
        written.await.unwrap();
    }
    let taken = take(&mut events, 1000).await;
    assert!(taken.iter().map(|event| event.offset).eq(2..=1001));
    assert!(events.interruptions() > 0, "it has lagged");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_followed_is_an_error_and_it_can_be_tried_again() {
    let world = World::new().await;
    let client = world.client();
    let mut events = client.app("shop").workspace("store-1").subscribe(1);
    assert_eq!(events.next().await.unwrap_err().code(), "APP_NOT_FOUND");
    shop(&client).await.submit(noted(1)).await.unwrap();
    let next = std::future::poll_fn(|context| Pin::new(&mut events).poll_next(context)).await;
    assert_eq!(next.unwrap().unwrap().offset, 1);
}
