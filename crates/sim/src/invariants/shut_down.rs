//! A process that has ended in good order has answered everybody, and the next one reads no event of
//! the partitions whose numbers waited for no checkpoint.

use super::{Violation, show_partition};
use crate::server::Server;
use crate::world::World;

/// Looks at a process that has ended.
pub(crate) fn check(world: &World, server: &Server) -> Result<(), Violation> {
    if let Some((partition, count)) = server.unanswered().find(|(_, count)| *count > 0) {
        let partition = show_partition(partition);
        let what = format!("partition {partition} has ended, and {count} wait for an answer");
        return Err(Violation::new("shut_down", what));
    }
    for partition in server.idle() {
        let left = world.oracle.behind_checkpoint(&world.disk, partition).len();
        if left > 0 {
            let partition = show_partition(partition);
            let what =
                format!("partition {partition} has ended, and no checkpoint has {left} events");
            return Err(Violation::new("shut_down", what));
        }
    }
    Ok(())
}
