//! A follower is given each event once and in order, never before it is durable, and all of them.

use seriatim_node::Log;
use seriatim_testkit::core::Model;
use seriatim_types::Event;

use super::Violation;
use crate::follower::Follower;
use crate::oracle::Oracle;
use crate::world::World;

/// An event is the next one of the log.
pub(crate) fn check_next(follower: &Follower, event: &Event) -> Result<(), Violation> {
    let offset = offset(follower, event);
    if offset == follower.next() {
        return Ok(());
    }
    let what = format!("{:?}: behind {} comes {offset}", follower.log, follower.next());
    Err(Violation::new("subscriptions", what))
}

/// Everything that was given is durable.
pub(crate) fn check_durable(follower: &Follower, oracle: &Oracle) -> Result<(), Violation> {
    let settled = oracle.settled().find(|(name, _)| *name == follower.partition);
    let Some(event) = follower.given.last() else { return Ok(()) };
    let place = usize::try_from(event.partition_offset.get()).unwrap_or(0);
    let stored = settled.and_then(|(_, model)| model.log().get(place.checked_sub(1)?));
    if stored == Some(event) {
        return Ok(());
    }
    let what = format!("{:?} was given {event:?}, and durable is {stored:?}", follower.log);
    Err(Violation::new("subscriptions", what))
}

/// Everybody has everything.
pub(crate) fn check(world: &World) -> Result<(), Violation> {
    for follower in &world.followers {
        let settled = world.oracle.settled().find(|(name, _)| *name == follower.partition);
        let expected = settled.map(|(_, model)| {
            let of_log = model.log().iter().filter(|event| is_of(follower, event));
            of_log.cloned().collect::<Vec<_>>()
        });
        if expected.unwrap_or_default() != follower.given {
            let what = format!("{:?}: what was given is not the log", follower.log);
            return Err(Violation::new("subscriptions", what));
        }
    }
    Ok(())
}

/// The last offset of the log that is followed.
pub(crate) fn last(follower: &Follower, model: &Model) -> u64 {
    let mut of_log = model.log().iter().rev().filter(|event| is_of(follower, event));
    of_log.next().map_or(0, |event| offset(follower, event))
}

fn is_of(follower: &Follower, event: &Event) -> bool {
    match &follower.log {
        Log::Partition(_) => true,
        Log::Workspace(seriatim_types::WorkspaceRef::Id(id)) => event.workspace == *id,
        Log::Workspace(seriatim_types::WorkspaceRef::Name(_)) => false,
    }
}

fn offset(follower: &Follower, event: &Event) -> u64 {
    match follower.log {
        Log::Workspace(_) => event.offset.get(),
        Log::Partition(_) => event.partition_offset.get(),
    }
}
