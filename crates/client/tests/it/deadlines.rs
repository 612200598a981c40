//! When time is over, the client says what is true: not written, or unknown.

use std::time::Duration;

use seriatim_client::{Error, Key, SubmitError};
use seriatim_node::Settings;
use tokio::net::TcpListener;

use crate::gate::Gate;
use crate::world::{World, all, hasty, noted, shop, turned_away, turns};

#[tokio::test(flavor = "multi_thread")]
async fn nobody_there_is_not_written() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = hasty(address);
    let error = client.app("shop").workspace("store-1").submit(noted(1)).await.unwrap_err();
    assert!(matches!(error, SubmitError::NotWritten { .. }), "{error}");
    assert_eq!((error.code(), error.error().is_retryable()), (Error::DEADLINE_EXCEEDED, true));
    let error = client.version().await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (Error::UNAVAILABLE, true));
    assert!(error.message().contains("refused"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_listens_and_says_nothing_is_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = hasty(listener.local_addr().unwrap());
    let submission = client.app("shop").workspace("store-1").submit(noted(1));
    let key = submission.key();
    let error = submission.await.unwrap_err();
    assert!(matches!(error, SubmitError::Unknown { .. }), "{error}");
    assert_eq!(error.key(), key);
    assert_eq!(client.version().await.unwrap_err().code(), Error::DEADLINE_EXCEEDED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_before_the_commit_is_unknown_and_the_same_key_resolves_it() {
    let (gate, store) = Gate::store();
    let world = World::with(store, Settings::default()).await;
    let patient = shop(&world.client()).await;
    gate.close();
    let key = Key::random();
    let hasty = hasty(world.address).app("shop").workspace("store-1");
    let error = hasty.submit_with_key(key, noted(1)).await.unwrap_err();
    assert!(matches!(error, SubmitError::Unknown { .. }), "{error}");
    let resolved = patient.submit_with_key(key, noted(1));
    gate.open();
    // Whether it is a replay or was too late to be taken before: there is one event.
    resolved.await.unwrap();
    assert_eq!(turns(&all(&patient).await), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_of_the_command_itself_is_not_written() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let past = std::time::SystemTime::now() - Duration::from_secs(3600);
    let error = store.submit(noted(1).deadline(past)).await.unwrap_err();
    assert!(matches!(error, SubmitError::NotWritten { .. }), "{error}");
    assert_eq!(error.code(), "DEADLINE_EXCEEDED");
    assert!(all(&store).await.is_empty());
}

/// While a partition holds one command and has no room for others, those are turned away until
/// the client gives up.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_stays_busy_is_not_written() {
    let (gate, store) = Gate::store();
    let world = World::with(store, Settings { queue_max: 1, ..Settings::default() }).await;
    let patient = shop(&world.client()).await;
    gate.close();
    let held = patient.submit(noted(1));
    let busy = turned_away(&world).await;
    assert!(matches!(busy, SubmitError::NotWritten { .. }), "{busy}");
    gate.open();
    held.await.unwrap();
    assert_eq!(patient.receipt("till-4", busy.key()).await.unwrap(), None);
}
