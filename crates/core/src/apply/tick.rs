//! Time has passed. A tick names what its proposer found to be due; each item is looked at again,
//! because entries in between may have changed it. No event tells of it and no offset is taken:
//! what is swept was absent already.

use seriatim_planted::{self as planted, Bug};
use seriatim_types::limits::TICK_ITEMS_MAX;
use seriatim_types::{DueEntity, DueKey, EntityRow, KeyRow, Tick, Time};

use super::keep;
use crate::decide::Stop;
use crate::effects::{Effects, Outcome, TickOutcome};
use crate::machine::Machine;
use crate::refusal::Refusal;
use crate::rows::{Draft, Rows, Unreadable};

pub(crate) fn tick(
    machine: &mut Machine,
    time: Time,
    tick: &Tick,
    rows: &mut Rows,
) -> Result<Effects, Stop> {
    let found = tick.entities.len().saturating_add(tick.keys.len());
    if found > TICK_ITEMS_MAX {
        let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
        let (max, found) = (number(TICK_ITEMS_MAX), number(found));
        return Err(Refusal::TooLarge { what: "items of a tick", max, found }.into());
    }
    let mut draft = Draft::new(rows);
    let (mut entities, mut keys) = (0_u32, 0_u32);
    for due in &tick.entities {
        entities =
            entities.saturating_add(u32::from(sweep_entity(machine, time, due, &mut draft)?));
    }
    let mut all_over = true;
    for due in &tick.keys {
        match sweep_key(machine, time, due, tick, &mut draft)? {
            Sweep::Removed => keys = keys.saturating_add(1),
            Sweep::Absent => {}
            Sweep::Early => all_over = false,
        }
    }
    if !planted::is(Bug::SweptKeysStillCount) {
        machine.row.keys = machine.row.keys.saturating_sub(u64::from(keys));
    }
    if all_over {
        let last = machine.row.offset;
        // Not past what there is: keys that come later must be looked at.
        machine.row.keys_through = machine.row.keys_through.max(tick.keys_through.min(last));
    }
    let outcome = Outcome::Tick(TickOutcome { entities, keys });
    Ok(keep(draft.settle(), Effects::only(outcome), rows))
}

fn sweep_entity(
    machine: &Machine,
    time: Time,
    due: &DueEntity,
    draft: &mut Draft<'_>,
) -> Result<bool, Unreadable> {
    let row = machine.home.entity(due.workspace, &due.key);
    let entity: Option<EntityRow> = draft.read(Some(due.workspace), &row)?;
    let is_due = entity.is_some_and(|entity| {
        entity.expires_at == Some(due.expires_at) && !entity.is_present_at(time)
    });
    if is_due {
        draft.delete(row);
        draft.delete(machine.home.expiry(due.expires_at, due.workspace, &due.key));
    }
    Ok(is_due)
}

enum Sweep {
    Removed,
    Absent,
    /// Its time is not over, and its event is one that the tick says it has looked at.
    Early,
}

fn sweep_key(
    machine: &Machine,
    time: Time,
    due: &DueKey,
    tick: &Tick,
    draft: &mut Draft<'_>,
) -> Result<Sweep, Unreadable> {
    let row = machine.home.key(due.workspace, &due.client, due.key);
    let Some(key) = draft.read::<KeyRow>(Some(due.workspace), &row)? else {
        return Ok(Sweep::Absent);
    };
    let retention = machine.defined.as_ref().map(|defined| defined.app().retention);
    let is_over = retention.is_some_and(|retention| retention.is_over(key.time, time));
    if is_over || planted::is(Bug::TickOnTrust) {
        draft.delete(row);
        return Ok(Sweep::Removed);
    }
    // A key that was used anew belongs to a later event, which a later tick will name.
    let is_of_this_tick = tick.keys_through.is_some_and(|through| key.first <= through);
    Ok(if is_of_this_tick { Sweep::Early } else { Sweep::Absent })
}
