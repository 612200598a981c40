//! Numbers: each series is 1, 2, 3 … over all events of its workspace.

use std::collections::BTreeMap;

use anyhow::Result;

use super::event::Event;
use super::logs::{Logs, check_offsets};
use crate::workload::RECORDS_FROM;

pub(crate) fn check(logs: &Logs) -> Result<()> {
    for (workspace, events) in &logs.workspaces {
        let mut series: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for event in events {
            for (name, number) in numbers_of(event) {
                series.entry(name).or_default().push(number);
            }
        }
        for (name, mut numbers) in series {
            // A command's client sequence stands in each of its events.
            if name.starts_with(CLIENT) {
                numbers.dedup();
            }
            check_offsets(&format!("workspace {workspace}, {name}"), numbers.into_iter())?;
        }
    }
    Ok(())
}

const CLIENT: &str = "client ";

/// What an event was given, by the name of the series, counted from 1.
fn numbers_of(event: &Event) -> impl Iterator<Item = (String, u64)> {
    let draws = event.draws.iter().map(|draw| {
        let period = draw.period.map_or(String::new(), |period| format!(" of {period}"));
        (format!("sequence {}{period}", draw.sequence), draw.number)
    });
    // Singletons have ids of their own, below.
    let created = event.created.iter().filter(|id| **id >= RECORDS_FROM);
    let records = created.map(|id| ("record ids".to_owned(), id - RECORDS_FROM + 1));
    let versions = event.set.iter().map(|(key, version)| (format!("entity {key}"), *version));
    let client = (format!("{CLIENT}{}", event.client), event.client_sequence);
    draws.chain(records).chain(versions).chain([client])
}

#[cfg(test)]
mod tests {
    use super::super::event::tests::event;
    use super::super::logs::tests::logs;
    use super::*;

    fn found(break_it: impl FnOnce(&mut Vec<Event>)) -> Option<String> {
        let mut events: Vec<Event> = (1..=4).map(event).collect();
        break_it(&mut events);
        check(&logs(events)).err().map(|error| error.to_string())
    }

    #[test]
    fn series_without_hole_and_repeat_pass() {
        assert_eq!(found(|_| {}), None);
        // Two events of one command.
        let of_one_command = |events: &mut Vec<Event>| {
            events[3].client_sequence = 3;
        };
        assert_eq!(found(of_one_command), None);
    }

    #[test]
    fn a_hole_or_a_repeat_in_any_series_is_found() {
        let at = |events: &mut Vec<Event>, draw: usize| events[2].draws[draw].number = 2;
        let expected = "workspace 7, sequence invoice: 2 where 3 belongs";
        assert_eq!(found(|events| at(events, 0)).as_deref(), Some(expected));
        let expected = "workspace 7, sequence ticket of 2026: 2 where 3 belongs";
        assert_eq!(found(|events| at(events, 1)).as_deref(), Some(expected));
        let expected = "workspace 7, record ids: 9 where 3 belongs";
        assert_eq!(found(|events| events[2].created[0] = 200_009).as_deref(), Some(expected));
        let expected = "workspace 7, entity stock: 1 where 3 belongs";
        assert_eq!(found(|events| events[2].set[0].1 = 1).as_deref(), Some(expected));
        let expected = "workspace 7, client till: 4 where 3 belongs";
        assert_eq!(found(|events| events[2].client_sequence = 4).as_deref(), Some(expected));
    }
}
