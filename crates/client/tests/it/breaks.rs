//! Connections that break at every place, and commands that are carried out once all the same.

use seriatim_client::Key;

use crate::proxy::{Cut, Proxy};
use crate::world::{PATIENCE, World, all, client, noted, shop, turns};

/// The first connection is cut after each number of bytes, in each direction, so that every await
/// point of a command is the last one once.
#[tokio::test(flavor = "multi_thread")]
async fn a_cut_after_any_byte_leaves_one_event() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let mut turn = 0;
    let mut replayed = 0;
    for bytes in (0..700).step_by(7) {
        for cut in [Cut { to_server: bytes, ..Cut::NEVER }, Cut { to_client: bytes, ..Cut::NEVER }]
        {
            turn += 1;
            let first = move |connection| if connection == 0 { cut } else { Cut::NEVER };
            let proxy = Proxy::new(world.address, first).await;
            let through = client(proxy.address).app("shop").workspace("store-1");
            let submitted = through.submit(noted(turn)).await.unwrap();
            assert_eq!(submitted.receipt.last_offset, turn, "{cut:?}");
            replayed += u64::from(submitted.is_replayed);
        }
    }
    assert!(turns(&all(&store).await).into_iter().eq(1..=turn));
    assert!((1..turn).contains(&replayed), "{replayed} of {turn} were written before the cut");
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_through_a_network_that_breaks_again_and_again_stay_in_order() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    // Somewhere in the first kilobytes, and elsewhere each time. Nothing gets through for somebody
    // who sends all that they have before they have seen an answer.
    let cut = |connection: u64| {
        let somewhere = |salt: u64| 300 + (connection + salt).wrapping_mul(2_654_435_761) % 9000;
        Cut { to_server: somewhere(1), to_client: somewhere(77) }
    };
    let proxy = Proxy::new(world.address, cut).await;
    let through = client(proxy.address).app("shop").workspace("store-1");
    let keys: Vec<Key> = (1..=500).map(|_| Key::random()).collect();
    let submitted: Vec<_> = keys
        .iter()
        .zip(1..)
        .map(|(key, turn)| through.submit_with_key(*key, noted(turn)))
        .collect();
    for (submitted, offset) in submitted.into_iter().zip(1..) {
        assert_eq!(submitted.await.unwrap().receipt.last_offset, offset);
    }
    let events = all(&store).await;
    assert!(turns(&events).into_iter().eq(1..=500));
    assert!(events.iter().map(|event| event.key.unwrap().try_into()).eq(keys.into_iter().map(Ok)));
    assert!(proxy.connections() > 10, "{} connections", proxy.connections());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_whose_connection_is_lost_while_it_is_idle_goes_on() {
    let world = World::new().await;
    let store = shop(&world.client()).await;
    let proxy = Proxy::new(world.address, |_| Cut::NEVER).await;
    let through = client(proxy.address);
    for turn in 1..=20 {
        let submitted = through.app("shop").workspace("store-1").submit(noted(turn));
        let submitted = tokio::time::timeout(PATIENCE, submitted).await.expect("it does not hang");
        assert_eq!(submitted.unwrap().receipt.last_offset, turn);
        proxy.cut();
        // Once this is answered, the client has a new connection and knows of the end of the old.
        through.version().await.unwrap();
    }
    assert!(turns(&all(&store).await).into_iter().eq(1..=20));
    assert!(proxy.connections() > 20, "{} connections", proxy.connections());
}
