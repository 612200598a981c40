//! A server that is killed and started again on the same data, while a client goes on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seriatim_client::{Key, SubmitError};

use crate::process::Process;
use crate::world::{all, client, noted, shop, turns};

#[tokio::test(flavor = "multi_thread")]
async fn commands_survive_a_server_that_is_killed_again_and_again() {
    let data = tempfile::tempdir().unwrap();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut server = Process::start(data.path(), any);
    let address = server.address;
    let client = client(address);
    let store = shop(&client).await;
    let answered = Arc::new(AtomicU64::new(0));
    let writer = {
        let (store, answered) = (store.clone(), answered.clone());
        tokio::spawn(async move {
            let mut turn = 0;
            for _ in 0..60 {
                let submitted: Vec<_> =
                    (turn + 1..=turn + 20).map(|turn| store.submit(noted(turn))).collect();
                for submitted in submitted {
                    turn += 1;
                    assert_eq!(submitted.await.unwrap().receipt.last_offset, turn);
                    answered.store(turn, Ordering::Relaxed);
                }
            }
            turn
        })
    };
    // In the middle of what is on its way, wherever that is.
    for kill in 1..=5 {
        while answered.load(Ordering::Relaxed) < kill * 200 {
            tokio::task::yield_now().await;
        }
        server.kill();
        server = Process::start(data.path(), address);
    }
    let turn = writer.await.unwrap();
    assert!(turns(&all(&store).await).into_iter().eq(1..=turn));
    assert!(client.sent_again() > 0, "what was on its way was sent again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_come_back_leaves_unknown_and_the_key_resolves_it() {
    let data = tempfile::tempdir().unwrap();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Process::start(data.path(), any);
    let address = server.address;
    shop(&client(address)).await;
    let builder = seriatim_client::Client::builder().client_id("till-4");
    let hasty = builder.deadline(std::time::Duration::from_secs(1));
    let hasty = hasty.connect(&format!("http://{address}")).unwrap();
    let hasty = hasty.app("shop").workspace("store-1");
    hasty.submit(noted(1)).await.unwrap();
    let submissions: Vec<_> = (2..=200).map(|turn| hasty.submit(noted(turn))).collect();
    let keys: Vec<Key> = submissions.iter().map(|submission| submission.key()).collect();
    let mut submissions = submissions.into_iter();
    // Killed when the first of them is answered: the others are on their way, or written, or both.
    submissions.next().unwrap().await.unwrap();
    server.kill();
    let mut answers = vec![Ok(())];
    for submission in submissions {
        answers.push(submission.await.map(drop));
    }
    let server = Process::start(data.path(), address);
    let store = client(address).app("shop").workspace("store-1");
    for ((key, turn), answer) in keys.into_iter().zip(2..).zip(answers) {
        let receipt = store.receipt("till-4", key).await.unwrap();
        match answer {
            Ok(()) => assert!(receipt.is_some(), "{turn} has a receipt"),
            Err(SubmitError::NotWritten { .. }) => assert!(receipt.is_none(), "{turn}"),
            Err(SubmitError::Unknown { .. }) => {
                let resolved = store.submit_with_key(key, noted(turn)).await.unwrap();
                assert_eq!(resolved.is_replayed, receipt.is_some(), "{turn}");
            }
            Err(error @ SubmitError::Refused { .. }) => panic!("{turn}: {error}"),
        }
    }
    turns(&all(&store).await);
    drop(server);
}
