//! A value for an entity, under a condition, perhaps with an expiry.

use std::ops::Range;

use bytes::Bytes;
use seriatim_codec::Stored;
use seriatim_planted::{self as planted, Bug};
use seriatim_types::{Change, Condition, EntityKey, EntityRow, Template, Time, WorkspaceId};

use super::{Deciding, Stop};
use crate::decide::{at_most, fill};
use crate::effects::Fault;
use crate::home::Home;
use crate::refusal::{Current, CurrentValue, Refusal, Subject};
use crate::rows::{Draft, Unreadable};

/// What is asked for.
pub(super) struct Set<'a> {
    pub(super) key: &'a EntityKey,
    pub(super) value: &'a Template,
    pub(super) condition: Option<&'a Condition>,
    pub(super) expires_at: Option<Time>,
}

pub(super) fn decide(
    deciding: &Deciding<'_>,
    draft: &Draft<'_>,
    set: Set<'_>,
    part: &Range<usize>,
) -> Result<Change, Stop> {
    let current = deciding.entity(draft, set.key)?;
    check(set.condition, set.key, current.as_ref())?;
    let last = current.map_or(0, |row| row.version);
    let version = last.checked_add(1).expect("a version is one of fewer than 2^53 events");
    let value = fill(set.value, deciding.numbers, part);
    at_most("bytes of a field", value.len(), deciding.limits().field_bytes)?;
    Ok(Change::Set { key: set.key.clone(), version, value, expires_at: set.expires_at })
}

pub(super) fn evolve(
    draft: &mut Draft<'_>,
    home: Home,
    workspace: WorkspaceId,
    key: &EntityKey,
    row: &EntityRow,
) -> Result<(), Fault> {
    forget_expiry(draft, home, workspace, key)?;
    if let Some(expires_at) = row.expires_at {
        draft.put(home.expiry(expires_at, workspace, key), Bytes::new());
    }
    draft.put(home.entity(workspace, key), row.to_bytes());
    Ok(())
}

/// Takes the entity off the list of those that expire. Returns whether there was one.
pub(super) fn forget_expiry(
    draft: &mut Draft<'_>,
    home: Home,
    workspace: WorkspaceId,
    key: &EntityKey,
) -> Result<bool, Unreadable> {
    let row: Option<EntityRow> = draft.read(Some(workspace), &home.entity(workspace, key))?;
    if let Some(expires_at) = row.as_ref().and_then(|row| row.expires_at) {
        draft.delete(home.expiry(expires_at, workspace, key));
    }
    Ok(row.is_some())
}

/// Whether what was asked to hold does hold.
pub(super) fn check(
    condition: Option<&Condition>,
    key: &EntityKey,
    row: Option<&EntityRow>,
) -> Result<(), Refusal> {
    let current = |row: &EntityRow| {
        let value = CurrentValue::Entity(row.value.clone());
        Current { version: row.version, value }
    };
    let key = || key.clone();
    let is_other = |row: &EntityRow, expected: u64| match planted::is(Bug::VersionAtLeast) {
        true => row.version < expected,
        false => row.version != expected,
    };
    let is_other_value = |row: &EntityRow, expected: &Bytes| match planted::is(Bug::ValueByLength) {
        true => row.value.len() != expected.len(),
        false => row.value != *expected,
    };
    match (condition, row) {
        (Some(Condition::Exists | Condition::Version(_) | Condition::Value(_)), None) => {
            Err(Refusal::KeyNotFound { key: key() })
        }
        (Some(Condition::Absent), Some(row)) => {
            Err(Refusal::KeyExists { key: key(), current: current(row) })
        }
        (Some(Condition::Version(expected)), Some(row)) if is_other(row, *expected) => {
            let subject = Subject::Entity(key());
            Err(Refusal::VersionMismatch { subject, current: current(row) })
        }
        (Some(Condition::Value(expected)), Some(row)) if is_other_value(row, expected) => {
            Err(Refusal::ValueMismatch { key: key(), current: current(row) })
        }
        (None | Some(_), _) => Ok(()),
    }
}
