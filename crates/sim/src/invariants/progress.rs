//! When nothing goes wrong any more, everybody comes to an end.

use super::{Violation, show_partition};
use crate::world::World;

/// Somebody has not. Says who.
pub(crate) fn stuck(world: &World) -> Violation {
    let mut who = Vec::new();
    match &world.server {
        None => who.push("the server does not run".to_owned()),
        Some(server) => {
            for (partition, state) in server.states() {
                who.push(format!("partition {}: {state:?}", show_partition(partition)));
            }
            for (partition, count) in server.unanswered().filter(|(_, count)| *count > 0) {
                who.push(format!("{} has {count} unanswered", show_partition(partition)));
            }
        }
    }
    for (index, client) in world.clients.iter().enumerate() {
        let (kept, unsettled) = (&client.kept, client.pipeline.unsettled());
        if !kept.is_empty() || unsettled > 0 || !client.is_up {
            who.push(format!("client {index} has kept {kept:?}, {unsettled} are unsettled"));
        }
    }
    if world.definer.current.is_some() {
        who.push(format!("definition {} is not answered", world.definer.number));
    }
    for (index, follower) in world.followers.iter().enumerate() {
        who.push(format!("follower {index} waits for {}", follower.next()));
    }
    Violation::new("progress", who.join("; "))
}
