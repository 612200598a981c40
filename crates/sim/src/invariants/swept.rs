//! What is over is removed: no entity stays stored for long behind its expiry, and no key behind its
//! retention.
//!
//! A tick removes what its proposer has found, and the model follows it. So a proposer that never finds
//! some of it would be right in everything that is compared.

use seriatim_testkit::core::Model;
use seriatim_types::{Body, Change, DueEntity, Event, PartitionRef, Time};

use super::{Violation, show_partition};
use crate::world::World;

/// How long something may stay behind its end while entries are applied, in milliseconds: several looks
/// at what is due, as seldom as any process looks.
const STAYS_MS: u64 = 10_000;

/// It takes a while, so it is what a run comes to once everything has healed.
pub(crate) fn check(world: &World) -> Result<(), Violation> {
    // Nothing is due by a clock that was set back, or that nobody believes, however late the last entry is.
    let Ok(now) = world.clock.now(world.agenda.now()) else { return Ok(()) };
    let mut partitions = world.oracle.settled();
    partitions.try_for_each(|(partition, model)| check_partition(partition, model, now))
}

fn check_partition(partition: PartitionRef, model: &Model, now: Time) -> Result<(), Violation> {
    let long_ago = Time(model.time().min(now).0.saturating_sub(STAYS_MS));
    let Body::Tick(mut left) = model.tick(long_ago, usize::MAX).body else {
        unreachable!("a tick is a tick")
    };
    // One may be set whose end has come already.
    left.entities.retain(|due| set_at(model, due).is_some_and(|set_at| set_at <= long_ago));
    if left.entities.is_empty() && left.keys.is_empty() {
        return Ok(());
    }
    let partition = show_partition(partition);
    let what = format!("partition {partition}: it is {now:?}, and these are left: {left:?}");
    Err(Violation::new("swept", what))
}

/// When an entity was set.
fn set_at(model: &Model, due: &DueEntity) -> Option<Time> {
    let sets = |change: &Change| matches!(change, Change::Set { key, .. } if *key == due.key);
    let is_its =
        |event: &&Event| event.workspace == due.workspace && event.changes.iter().any(sets);
    model.log().iter().rev().find(is_its).map(|event| event.time)
}
