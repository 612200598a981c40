//! Records and entities: what is left of them behind their last change.

use seriatim_types::{
    Change, EntityKey, EntityRow, Fields, Number, RecordRow, Time, Unknown, WorkspaceId,
};

use super::{Fold, breach};
use crate::difference::{Error, Kind};
use crate::sort::Item;
use crate::walk::facts::ChangeFact;

impl Fold<'_> {
    pub(super) fn record(
        &mut self,
        workspace: WorkspaceId,
        id: Number,
        first: Item,
    ) -> Result<u64, Error> {
        let rules = self.rules;
        let mut row: Option<RecordRow> = None;
        let count = self.each(first, |_, payload| {
            let fact = ChangeFact::decode(payload);
            let version = row.as_ref().map(|row| row.version);
            let (expected, found) = versions_of_record(version, &fact.change);
            if expected != found {
                let at = (fact.event, format!("workspace {}, record {id}", workspace.0));
                let (expected, found) = (show(expected), show(found));
                return Err(breach(rules, Kind::RecordVersion, at, expected, found));
            }
            row = change_record(row.take(), fact);
            Ok(())
        })?;
        self.visitor.record(workspace, id, row.as_ref())?;
        Ok(count)
    }

    pub(super) fn entity(
        &mut self,
        workspace: WorkspaceId,
        key: &EntityKey,
        first: Item,
    ) -> Result<u64, Error> {
        let rules = self.rules;
        let mut row: Option<EntityRow> = None;
        let count = self.each(first, |_, payload| {
            let fact = ChangeFact::decode(payload);
            let present = row.as_ref().filter(|row| is_present(row, fact.time));
            let (expected, found) =
                versions_of_entity(present.map(|row| row.version), &fact.change);
            if expected != found {
                let at = (fact.event, format!("workspace {}, entity {key:?}", workspace.0));
                let (expected, found) = (show(expected), show(found));
                return Err(breach(rules, Kind::EntityVersion, at, expected, found));
            }
            row = match fact.change {
                Change::Set { version, value, expires_at, .. } => {
                    let (offset, unknown) = (fact.offset, Unknown::default());
                    Some(EntityRow { version, expires_at, offset, value, unknown })
                }
                Change::Create { .. }
                | Change::Update { .. }
                | Change::Delete { .. }
                | Change::Unset { .. }
                | Change::Draw { .. }
                | Change::Define(_) => None,
            };
            Ok(())
        })?;
        self.visitor.entity(workspace, key, row.as_ref())?;
        Ok(count)
    }
}

/// The version that a change must speak of, and the one that it does; `None` for no record. A new
/// record speaks of there being none.
fn versions_of_record(now: Option<u64>, change: &Change) -> (Option<u64>, Option<u64>) {
    match change {
        Change::Create { .. } => (None, now),
        Change::Update { version, .. } => {
            (now.map(|now| now.saturating_add(1)).or(Some(0)), Some(*version))
        }
        Change::Delete { version, .. } => (now.or(Some(0)), Some(*version)),
        Change::Set { .. } | Change::Unset { .. } | Change::Draw { .. } | Change::Define(_) => {
            unreachable!("facts about a record are its changes")
        }
    }
}

/// The same of an entity, which is set whether or not there is one.
fn versions_of_entity(now: Option<u64>, change: &Change) -> (Option<u64>, Option<u64>) {
    match change {
        Change::Set { version, .. } => (Some(now.unwrap_or(0).saturating_add(1)), Some(*version)),
        Change::Unset { version, .. } => (now, *version),
        Change::Create { .. }
        | Change::Update { .. }
        | Change::Delete { .. }
        | Change::Draw { .. }
        | Change::Define(_) => unreachable!("facts about an entity are its changes"),
    }
}

fn change_record(row: Option<RecordRow>, fact: ChangeFact) -> Option<RecordRow> {
    let offset = fact.offset;
    match (row, fact.change) {
        (_, Change::Create { kind, class, parent, fields, .. }) => {
            let unknown = Unknown::default();
            Some(RecordRow { kind, class, parent, version: 1, offset, fields, unknown })
        }
        (Some(row), Change::Update { version, fields, .. }) => {
            Some(RecordRow { version, offset, fields: merged(row.fields, fields), ..row })
        }
        (_, _) => None,
    }
}

/// Fields with others in the place of those of the same name.
fn merged(old: Fields, new: Fields) -> Fields {
    let all: std::collections::BTreeMap<_, _> = old.into_iter().chain(new).collect();
    all.into_iter().collect()
}

/// An entity is absent from its expiry on.
fn is_present(row: &EntityRow, time: Time) -> bool {
    row.expires_at.is_none_or(|expires_at| time.0 < expires_at.0)
}

fn show(version: Option<u64>) -> String {
    match version {
        Some(0) => "no change of what is not there".to_owned(),
        Some(version) => format!("version {version}"),
        None => "none".to_owned(),
    }
}
