//! The log of a partition, from its table into a walk.

use seriatim_codec::{PartitionPrefix, Stored, Table as RowTable, decode_event_key};
use seriatim_merkle::leaf_hash;
use seriatim_types::{Event, PartitionOffset, PartitionRef, PartitionRow};

use super::rows::{Cursor, Tables, tags};
use super::totals::Totals;
use crate::difference::{Difference, Error, Kind, Place};
use crate::walk::Walk;

const EVENT: u8 = 0x05;

/// Is shown events with their bytes.
type Visit<'v> = dyn FnMut(Event, &[u8]) -> Result<(), Error> + 'v;

/// Shows all events of a partition to a visitor, with the bytes of each.
pub(crate) fn each_event(
    tables: Tables<'_>,
    prefix: PartitionPrefix,
    visit: &mut Visit<'_>,
) -> Result<Totals, Error> {
    let PartitionPrefix { app, partition, .. } = prefix;
    let place = Place::of(PartitionRef { app, partition });
    let mut totals = Totals::default();
    let mut log = Cursor::new(tables, RowTable::Log, tags(prefix, EVENT, EVENT));
    while let Some(row) = log.next()? {
        let at = || place.clone().row(RowTable::Log, &row.key);
        let offset = decode_event_key(&row.key).map_err(|error| {
            Difference::error(Kind::RowExtra, at(), "the key of an event", error)
        })?;
        let event = Event::from_bytes(&row.value).map_err(|error| {
            let place = at().event(offset);
            Difference::error(Kind::EventUnreadable, place, "an event", error)
        })?;
        if event.partition_offset != offset {
            let (place, found) = (at().event(offset), event.partition_offset);
            return Err(Difference::error(Kind::EventMisplaced, place, offset, found));
        }
        let bytes = row.key.len().saturating_add(row.value.len());
        totals.add(Totals {
            events: 1,
            rows: 1,
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            ..Totals::default()
        });
        visit(event, &row.value)?;
    }
    Ok(totals)
}

/// Reads the log of a partition. `visit` is shown the events too.
pub(crate) fn walk_log(
    tables: Tables<'_>,
    prefix: PartitionPrefix,
    walk: &mut Walk,
    visit: &mut dyn FnMut(&Event) -> Result<(), Error>,
) -> Result<Totals, Error> {
    each_event(tables, prefix, &mut |event, bytes| {
        walk.event(&event, leaf_hash(bytes))?;
        visit(&event)
    })
}

/// The log ends where the partition's row says. One that ends earlier has lost events.
pub(crate) fn check_end(
    place: Place,
    walk: &Walk,
    row: Option<&PartitionRow>,
) -> Result<(), Error> {
    let last = walk.last().map(|(offset, _)| offset);
    let committed = row.and_then(|row| row.offset);
    if committed <= last {
        return Ok(());
    }
    let next = last.map_or(Some(PartitionOffset::FIRST), PartitionOffset::next);
    let place = next.map_or(place.clone(), |next| place.event(next));
    let committed = committed.map_or(0, PartitionOffset::get);
    let expected = format!("events up to {committed}, as the partition's row says");
    Err(Difference::error(Kind::LogGap, place, expected, "the end of the log"))
}
