//! No gap and no repetition in any sequence: the logs, the clients' counts, and what apps define.

use std::collections::BTreeMap;

use seriatim_testkit::core::Model;
use seriatim_types::PartitionRef;

use super::{Violation, show_partition};

pub(crate) fn check(partition: PartitionRef, model: &Model) -> Result<(), Violation> {
    let wrong = |what: String| {
        Err(Violation::new("gap_free", format!("partition {}: {what}", show_partition(partition))))
    };
    let mut last_of_workspace = BTreeMap::new();
    let mut last_of_client = BTreeMap::new();
    let mut last_of_series = BTreeMap::new();
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
    }
    Ok(())
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
