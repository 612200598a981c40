//! The end of an entity. Removing one that is not there changes nothing and is no mistake: ask for
//! `exists` where it would be one.

use seriatim_planted::{self as planted, Bug};
use seriatim_types::{Change, Condition, EntityKey, WorkspaceId};

use super::set::{check, forget_expiry};
use super::{Deciding, Stop};
use crate::effects::Fault;
use crate::home::Home;
use crate::rows::Draft;

pub(super) fn decide(
    deciding: &Deciding<'_>,
    draft: &Draft<'_>,
    key: &EntityKey,
    condition: Option<&Condition>,
) -> Result<Change, Stop> {
    let current = deciding.entity(draft, key)?;
    check(condition, key, current.as_ref())?;
    Ok(Change::Unset { key: key.clone(), version: current.map(|row| row.version) })
}

pub(super) fn evolve(
    draft: &mut Draft<'_>,
    home: Home,
    workspace: WorkspaceId,
    key: &EntityKey,
) -> Result<(), Fault> {
    // Also one whose time is over and that was not swept yet.
    if planted::is(Bug::UnsetLeavesExpiry) || forget_expiry(draft, home, workspace, key)? {
        draft.delete(home.entity(workspace, key));
    }
    Ok(())
}
