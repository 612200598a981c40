//! What is due: entities whose expiry has come, and idempotency keys whose retention is over.
//!
//! Nothing fires by itself. The partition looks at the front of both lists now and then, and
//! proposes a tick that names what it found, in bounded steps; apply looks at each item again.

use std::ops::{Bound, ControlFlow};

use seriatim_codec::{
    Stored, Table as RowTable, decode_expiry_key, event_key, events_prefix, expiries_prefix,
};
use seriatim_core::Machine;
use seriatim_planted::{self as planted, Bug};
use seriatim_storage::{KeyRange, Scan, ScanError};
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{DueEntity, DueKey, Event, PartitionOffset, Retention, Time};

use super::applier::{Applier, failed, unusable};
use crate::reply::Reason;

/// Keys whose retention is over.
#[derive(Default)]
struct DueKeys {
    keys: Vec<DueKey>,
    /// The last event whose key is over, and how many such events were looked at. Only the first
    /// event of a command has a key.
    through: Option<PartitionOffset>,
    events: usize,
}

/// What a tick would name.
#[derive(Default)]
pub(super) struct Due {
    pub(super) entities: Vec<DueEntity>,
    pub(super) keys: Vec<DueKey>,
    pub(super) keys_through: Option<PartitionOffset>,
    /// Whether the search ended at its limit, so that more may be due.
    pub(super) is_full: bool,
}

impl<R> Applier<R> {
    /// What is due at a time, in the state that was applied.
    pub(super) fn due(&self, now: Time) -> Result<Due, Reason> {
        let Some(machine) = self.serving() else { return Ok(Due::default()) };
        let entities = self.due_entities(now)?;
        let DueKeys { keys, through: keys_through, events } = self.due_keys(machine, now)?;
        let items_max = self.settings.due_items_max;
        let is_full = entities.len() == items_max || events == items_max;
        Ok(Due { entities, keys, keys_through, is_full })
    }

    fn due_entities(&self, now: Time) -> Result<Vec<DueEntity>, Reason> {
        let range = KeyRange::prefix(&expiries_prefix(self.prefix));
        let scan = Scan::new(self.tables.handle(RowTable::Entities), range)
            .limit(self.settings.due_items_max);
        let mut due = Vec::new();
        self.scan(&scan, &mut |row| {
            let (expires_at, workspace, key) =
                decode_expiry_key(&row.key).map_err(|e| unusable(&e))?;
            let is_starved = planted::is(Bug::SweepStarves) && workspace.0 >= NAMED_WORKSPACE_FIRST;
            if expires_at > now || is_starved {
                return Ok(ControlFlow::Break(()));
            }
            due.push(DueEntity { workspace, key, expires_at });
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(due)
    }

    /// Keys end in the order of their events, so the first that is not over ends the search.
    fn due_keys(&self, machine: &Machine, now: Time) -> Result<DueKeys, Reason> {
        let retention = machine.defined().map(|defined| defined.app().retention);
        let Some(retention) = retention.filter(|retention| *retention != Retention::Forever) else {
            return Ok(DueKeys::default());
        };
        let next = match machine.row().keys_through {
            None => Some(PartitionOffset::FIRST),
            Some(through) => through.next(),
        };
        let Some(next) = next else { return Ok(DueKeys::default()) };
        let log = KeyRange::prefix(&events_prefix(self.prefix));
        let from = event_key(self.prefix, next);
        let range = KeyRange::new(Bound::Included(&from), log.end());
        let scan =
            Scan::new(self.tables.handle(RowTable::Log), range).limit(self.settings.due_items_max);
        let mut due = DueKeys::default();
        self.scan(&scan, &mut |row| {
            let event = Event::from_bytes(&row.value).map_err(|error| unusable(&error))?;
            if !retention.is_over(event.time, now) {
                return Ok(ControlFlow::Break(()));
            }
            due.through = Some(event.partition_offset);
            due.events = due.events.saturating_add(1);
            if let Some(origin) = event.origin.filter(|_| event.index == 0) {
                let (workspace, client, key) = (event.workspace, origin.client, origin.key);
                due.keys.push(DueKey { workspace, client, key });
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(due)
    }

    fn scan(
        &self,
        scan: &Scan,
        visit: &mut dyn FnMut(seriatim_storage::Row) -> Result<ControlFlow<()>, Reason>,
    ) -> Result<(), Reason> {
        let mut failure = None;
        let scanned = self.tables.store.scan(scan, &mut |row| match visit(row) {
            Ok(flow) => flow,
            Err(reason) => {
                failure = Some(reason);
                ControlFlow::Break(())
            }
        });
        match (scanned, failure) {
            (_, Some(reason)) => Err(reason),
            (Ok(_), None) => Ok(()),
            (Err(ScanError::Read(error)), None) => Err(failed(&error)),
            (Err(ScanError::Cancelled { .. }), None) => {
                unreachable!("nobody has this scan's token")
            }
        }
    }
}
