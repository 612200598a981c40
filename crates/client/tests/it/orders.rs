//! Commands are carried out in the order in which they were submitted.

use seriatim_node::Settings;
use tokio::task::JoinSet;

use crate::gate::Gate;
use crate::world::{World, all, noted, shop, turned_away, turns};

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_nobody_waits_for_are_written_in_order() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let submitted: Vec<_> = (1..=3000).map(|turn| store.submit(noted(turn))).collect();
    for (submitted, offset) in submitted.into_iter().zip(1..) {
        assert_eq!(submitted.await.unwrap().receipt.last_offset, offset);
    }
    assert!(turns(&all(&store).await).into_iter().eq(1..=3000));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tasks_share_a_client_and_each_keeps_its_order() {
    let world = World::new().await;
    let client = world.client();
    shop(&client).await;
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let workspace = client.app("shop").workspace(format!("store-{}", task % 16));
        tasks.spawn(async move {
            let mut last = 0;
            for turn in 1..=20 {
                let submitted = workspace.submit(noted(turn)).await.unwrap();
                assert!(submitted.receipt.last_offset > last);
                last = submitted.receipt.last_offset;
            }
        });
    }
    tasks.join_all().await;
    for index in 0..16 {
        let events = all(&client.app("shop").workspace(format!("store-{index}"))).await;
        assert_eq!(turns(&events).len(), 4 * 20);
    }
}

/// A partition that lets some wait and turns all others away.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_partition_does_not_change_the_order() {
    let (gate, store) = Gate::store();
    let world = World::with(store, Settings { queue_max: 8, ..Settings::default() }).await;
    let store = shop(&world.client()).await;
    gate.close();
    let submitted: Vec<_> = (1..=24).map(|turn| store.submit(noted(turn))).collect();
    turned_away(&world).await;
    gate.open();
    for submitted in submitted {
        submitted.await.unwrap();
    }
    let mut turns = turns(&all(&store).await);
    turns.retain(|turn| *turn > 0);
    assert!(turns.into_iter().eq(1..=24));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_submissions_disturb_no_others() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let mut kept = Vec::new();
    for turn in 1..=1000 {
        let submission = store.submit(noted(turn));
        if turn % 3 == 0 {
            drop(submission);
        } else {
            kept.push(submission);
        }
        if turn % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let mut offsets = Vec::new();
    for submission in kept {
        offsets.push(submission.await.unwrap().receipt.last_offset);
    }
    assert!(offsets.is_sorted());
    let turns = turns(&all(&store).await);
    assert!(turns.is_sorted());
    assert!((1..=1000).filter(|turn| turn % 3 != 0).all(|turn| turns.contains(&turn)));
}

/// While nothing is answered, only so many are sent.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_dropped_before_it_was_sent_is_not_carried_out() {
    let (gate, store) = Gate::store();
    let world = World::with(store, Settings::default()).await;
    let store = shop(&world.client()).await;
    gate.close();
    let mut submitted: Vec<_> = (1..=100).map(|turn| store.submit(noted(turn))).collect();
    submitted.truncate(50);
    gate.open();
    for submitted in submitted {
        submitted.await.unwrap();
    }
    store.submit(noted(101)).await.unwrap();
    assert!(turns(&all(&store).await).into_iter().eq((1..=50).chain([101])));
}
