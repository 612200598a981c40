//! A follower is given each event once and in order, never before it is durable, and all of them.

use seriatim_node::Log;
use seriatim_testkit::core::Model;
use seriatim_types::{Event, WorkspaceId, WorkspaceRef};

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

/// One who has fallen behind is told to go on behind the last event that was given.
pub(crate) fn check_lagged(follower: &Follower, resume_from: u64) -> Result<(), Violation> {
    let next = follower.next();
    if resume_from == next {
        return Ok(());
    }
    let what = format!("{:?}: waits for {next}, and is to go on from {resume_from}", follower.log);
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
            let workspace = workspace_of(follower, model);
            let of_log = model.log().iter().filter(|event| is_of(follower, workspace, event));
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
    let workspace = workspace_of(follower, model);
    let mut of_log = model.log().iter().rev().filter(|event| is_of(follower, workspace, event));
    of_log.next().map_or(0, |event| offset(follower, event))
}

/// The workspace that is followed, if there is one by that name.
fn workspace_of(follower: &Follower, model: &Model) -> Option<WorkspaceId> {
    match &follower.log {
        Log::Partition(_) => None,
        Log::Workspace(WorkspaceRef::Id(id)) => Some(*id),
        Log::Workspace(WorkspaceRef::Name(name)) => {
            let mut log = model.log().iter();
            let first = log.find(|event| event.workspace_name.as_ref() == Some(name));
            first.map(|event| event.workspace)
        }
    }
}

fn is_of(follower: &Follower, workspace: Option<WorkspaceId>, event: &Event) -> bool {
    matches!(follower.log, Log::Partition(_)) || workspace == Some(event.workspace)
}

fn offset(follower: &Follower, event: &Event) -> u64 {
    match follower.log {
        Log::Workspace(_) => event.offset.get(),
        Log::Partition(_) => event.partition_offset.get(),
    }
}
