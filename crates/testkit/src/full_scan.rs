//! The old way to know the numbers: read the whole log and keep every workspace in memory.
//!
//! It is slow, needs memory without bound and is hard to get wrong, which makes it the oracle
//! for everything that is faster.

use std::collections::BTreeMap;

use seriatim_sequencer::{LogEvent, Row, RowKey, Sequences, Series, built_in};
use seriatim_types::Number;

/// The last number of every series of every row, from the whole log.
///
/// A number counts when it lies in a range of its sequence, and the one that stands latest in
/// the order of the ranges is the last.
#[must_use]
pub fn full_scan<'a>(
    sequences: &Sequences,
    log: impl IntoIterator<Item = &'a LogEvent>,
) -> BTreeMap<RowKey, Row> {
    let mut seen: BTreeMap<(RowKey, Series), Vec<Number>> = BTreeMap::new();
    let mut keys = BTreeMap::new();
    let series = |sequence| Series { sequence, year: None };
    let client_series = series(built_in::CLIENT);
    let offset_series = series(built_in::CLIENT_OFFSETS);
    let workspace_series = series(built_in::WORKSPACE_OFFSETS);
    for event in log {
        let workspace = RowKey::Workspace(event.workspace);
        keys.insert(workspace.clone(), event.kind);
        for (series, number) in &event.values {
            seen.entry((workspace.clone(), *series)).or_default().push(*number);
        }
        if let Some((client, number)) = &event.client {
            let client = RowKey::Client(event.workspace, client.clone());
            keys.insert(client.clone(), event.kind);
            let offset = |(series, _): &&(Series, Number)| *series == workspace_series;
            let offsets = event.values.iter().filter(offset).map(|(_, offset)| *offset);
            seen.entry((client.clone(), offset_series)).or_default().extend(offsets);
            seen.entry((client, client_series)).or_default().push(*number);
        }
    }
    let mut rows: BTreeMap<RowKey, Vec<(Series, Number)>> =
        keys.keys().map(|key| (key.clone(), Vec::new())).collect();
    for ((key, series), numbers) in seen {
        let last = match &key {
            RowKey::Client(..) => numbers.into_iter().max(),
            RowKey::Workspace(_) => keys
                .get(&key)
                .and_then(|kind| sequences.get(*kind, series.sequence))
                .and_then(|sequence| {
                    let position = |number: &Number| {
                        sequence
                            .ranges
                            .iter()
                            .position(|(first, last)| (first..=last).contains(number))
                    };
                    let counting = numbers.into_iter().filter(|n| position(n).is_some());
                    counting.max_by_key(|number| (position(number), *number))
                }),
        };
        rows.entry(key).or_default().extend(last.map(|last| (series, last)));
    }
    rows.into_iter().map(|(key, numbers)| (key, Row::new(numbers))).collect()
}
