//! Start-up does not grow with the log: what a partition reads of it was written within the time that
//! numbers wait for a checkpoint.
//!
//! A commit that comes later takes a checkpoint along, which covers everything before it. So the
//! commits of the events behind the last checkpoint are never further apart than that.

use std::time::Duration;

use seriatim_node::State;
use seriatim_types::{PartitionRef, Time};

use super::{Violation, show_partition};
use crate::agenda::Moment;
use crate::world::World;

pub(crate) fn check(
    world: &World,
    partition: PartitionRef,
    state: &State,
) -> Result<(), Violation> {
    let State::Actualizing(progress) = state else { return Ok(()) };
    let events = usize::try_from(progress.total).unwrap_or(usize::MAX);
    let log = world.oracle.log_ahead(partition).len();
    let (Some(first), Some(last)) = (
        committed(world, partition, log.saturating_sub(events)),
        committed(world, partition, log.saturating_sub(1)),
    ) else {
        return Ok(());
    };
    // The delay is counted by the server's clock. Set back, it stretches the delay; set ahead, it makes
    // events look far apart between which little time has passed. What grows with the log is long by
    // both clocks.
    let apart = last.0.saturating_sub(first.0);
    let apart = apart.min(Duration::from_millis(last.1.0.saturating_sub(first.1.0)));
    if events == 0 || apart <= world.checkpoint_delay_max {
        return Ok(());
    }
    let (partition, most) = (show_partition(partition), world.checkpoint_delay_max);
    let what = format!(
        "partition {partition} reads {events} events of {apart:?} when it begins, and a checkpoint \
         waits for {most:?} at most"
    );
    Err(Violation::new("start_up", what))
}

/// When an event was committed by the world's clock and by the server's, if somebody has seen it.
fn committed(world: &World, partition: PartitionRef, event: usize) -> Option<(Moment, Time)> {
    let committed = world.committed.get(&partition)?;
    let mut behind = committed.iter().filter(|(behind, ..)| *behind > event);
    behind.next().map(|(_, at, time)| (*at, *time))
}
