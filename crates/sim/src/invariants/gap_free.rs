//! No gap and no repetition in any sequence: the logs, the clients' counts, what apps define, the ids
//! of records and those of workspaces that have names.

use std::collections::BTreeMap;

use seriatim_node::parts::SYSTEM;
use seriatim_testkit::core::Model;
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{Change, Event, PartitionRef, RecordClass, RecordIdScheme};

use super::{Violation, show_partition};

/// The first ids of records, by the scheme of the app and their class.
const RECORDS_FIRST: u64 = 200_001;
const SPLIT_C_FIRST: u64 = 322_685_000_131_072;
const SPLIT_OW_FIRST: u64 = 322_680_000_131_072;

pub(crate) fn check(partition: PartitionRef, model: &Model) -> Result<(), Violation> {
    let wrong = |what: String| {
        Err(Violation::new("gap_free", format!("partition {}: {what}", show_partition(partition))))
    };
    let mut last_of_workspace = BTreeMap::new();
    let mut last_of_client = BTreeMap::new();
    let mut last_of_series = BTreeMap::new();
    let mut last_of_records = BTreeMap::new();
    let mut last_named = None;
    for (before, event) in (0_u64..).zip(model.log()) {
        if event.partition_offset.get() != before.saturating_add(1) {
            return wrong(format!("behind {before} comes {}", event.partition_offset.get()));
        }
        let last = last_of_workspace.entry(event.workspace).or_insert(0_u64);
        if event.offset.get() != last.saturating_add(1) {
            let workspace = event.workspace.0;
            return wrong(format!("workspace {workspace}: behind {last} comes {}", event.offset));
        }
        *last = event.offset.get();
        if let Some(origin) = event.origin.as_ref().filter(|_| event.index == 0) {
            let client = (event.workspace, origin.client.clone());
            let last = last_of_client.entry(client).or_insert(0_u64);
            if origin.client_sequence.get() != last.saturating_add(1) {
                return wrong(format!("{origin:?} comes behind {last}"));
            }
            *last = origin.client_sequence.get();
        }
        for drawn in &event.numbers {
            let series = (event.workspace, drawn.sequence, drawn.year);
            let last: &mut Option<u64> = last_of_series.entry(series).or_default();
            let expected = next(model, drawn.sequence, *last);
            if expected != Some(drawn.number.get()) {
                return wrong(format!("{drawn:?} comes behind {last:?}"));
            }
            *last = expected;
        }
        for (first, id, is_import) in records(model, event) {
            let last = last_of_records.entry((event.workspace, first)).or_insert(None);
            let expected = last.map_or(first, |last: u64| last.saturating_add(1));
            if !is_import && id != expected {
                return wrong(format!("record {id} comes behind {last:?} in {event:?}"));
            }
            *last = (*last).max(Some(id));
        }
        if event.workspace_name.is_some() && partition != SYSTEM {
            let expected = next_named(model, partition, last_named);
            if expected != Some(event.workspace.0) {
                return wrong(format!("{event:?} has the first id behind {last_named:?}"));
            }
            last_named = expected;
        }
    }
    Ok(())
}

/// The ids of records that an event gives: the first of their sequence, the id, and whether it was
/// chosen by whoever imports the record. A singleton has an id of its own.
fn records<'m>(model: &'m Model, event: &'m Event) -> impl Iterator<Item = (u64, u64, bool)> + 'm {
    let definitions = model.definitions();
    event.changes.iter().filter_map(move |change| {
        let Change::Create { raw, id, kind, class, .. } = change else { return None };
        let defined = definitions?.records.iter().find(|defined| defined.name == *kind)?;
        let first = match (definitions?.app.record_ids, class) {
            (RecordIdScheme::Single, _) => RECORDS_FIRST,
            (RecordIdScheme::Split, RecordClass::C) => SPLIT_C_FIRST,
            (RecordIdScheme::Split, RecordClass::O | RecordClass::W) => SPLIT_OW_FIRST,
        };
        let is_drawn = defined.singleton.is_none();
        is_drawn.then_some((first, id.get(), raw.is_none()))
    })
}

/// The id behind the last one that a name got in a partition: they are dealt out in turn.
fn next_named(model: &Model, partition: PartitionRef, last: Option<u64>) -> Option<u64> {
    let partitions = u64::from(model.definitions()?.app.partitions);
    let here = u64::from(partition.partition.0);
    match last {
        Some(last) => last.checked_add(partitions),
        None => (NAMED_WORKSPACE_FIRST..).find(|id| id.checked_rem(partitions) == Some(here)),
    }
}

/// The number behind the last one of a series, by the ranges of its sequence.
pub(super) fn next(
    model: &Model,
    sequence: seriatim_types::SequenceId,
    last: Option<u64>,
) -> Option<u64> {
    let defined = &model.definitions()?.sequences;
    let ranges = &defined.iter().find(|defined| defined.id == sequence)?.ranges;
    let Some(last) = last else { return ranges.first().map(|(first, _)| *first) };
    let within = ranges.iter().position(|(first, end)| (*first..=*end).contains(&last))?;
    match ranges.get(within) {
        Some((_, end)) if last < *end => last.checked_add(1),
        _ => ranges.get(within.checked_add(1)?).map(|(first, _)| *first),
    }
}
