//! The logs: no hole, no repeat, and the same events in both kinds.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use seriatim_testkit::ReconnectingClient;

use super::event::Event;
use super::get;
use crate::workload::{APP, PARTITIONS};

/// All events, twice: by partition and by workspace.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    pub(crate) partitions: BTreeMap<u64, Vec<Event>>,
    pub(crate) workspaces: BTreeMap<String, Vec<Event>>,
}

impl Logs {
    /// Reads the logs of all partitions, and of all workspaces that appear in them.
    pub(crate) fn read(http: &mut ReconnectingClient) -> Result<Self> {
        let mut logs = Self::default();
        let mut names = BTreeSet::new();
        for partition in 0..PARTITIONS {
            let events = read_log(http, &format!("{APP}/partitions/{partition}/events"))?;
            names.extend(events.iter().map(|event| event.workspace.clone()));
            logs.partitions.insert(partition, events);
        }
        for name in names {
            let events = read_log(http, &format!("{APP}/workspaces/{name}/events"))?;
            logs.workspaces.insert(name, events);
        }
        Ok(logs)
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (partition, events) in &self.partitions {
            let place = format!("partition {partition}");
            check_offsets(&place, events.iter().map(|event| event.partition_offset))?;
            let home = events.iter().find(|event| event.partition != *partition);
            ensure!(home.is_none(), "{place} has an event of another: {home:?}");
        }
        for (workspace, events) in &self.workspaces {
            let place = format!("workspace {workspace}");
            check_offsets(&place, events.iter().map(|event| event.offset))?;
            let home = events.iter().find(|event| event.workspace != *workspace);
            ensure!(home.is_none(), "{place} has an event of another: {home:?}");
        }
        self.check_agreement()
    }

    /// The partition logs, sorted into workspaces, are the workspace logs.
    fn check_agreement(&self) -> Result<()> {
        let mut sorted: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        for event in self.partitions.values().flatten() {
            sorted.entry(&event.workspace).or_default().push(event);
        }
        for (workspace, events) in &self.workspaces {
            let in_partition = sorted.remove(workspace.as_str()).unwrap_or_default();
            let (count, expected) = (events.len(), in_partition.len());
            ensure!(
                count == expected,
                "workspace {workspace} has {count} events, and {expected} in its partition's log"
            );
            let differs = events.iter().zip(in_partition).find(|(one, other)| *one != *other);
            ensure!(differs.is_none(), "workspace {workspace}: the two logs differ: {differs:?}");
        }
        ensure!(sorted.is_empty(), "no workspace log for {:?}", sorted.keys());
        Ok(())
    }
}

fn read_log(http: &mut ReconnectingClient, path: &str) -> Result<Vec<Event>> {
    let mut events = Vec::new();
    let mut from = 1;
    loop {
        let page = get(http, &format!("{path}?from={from}&limit=500"))?;
        let read = page["events"].as_array().into_iter().flatten().map(Event::read);
        events.extend(read.collect::<Result<Vec<_>>>()?);
        let (next, last) = (page["next"].as_u64(), page["last"].as_u64());
        match (next, last) {
            (Some(next), Some(last)) if next > last => return Ok(events),
            (Some(next), Some(_)) if next > from => from = next,
            _ => anyhow::bail!("{path}?from={from} goes nowhere: next {next:?}, last {last:?}"),
        }
    }
}

/// Offsets are 1, 2, 3 …
pub(super) fn check_offsets(place: &str, offsets: impl Iterator<Item = u64>) -> Result<()> {
    for (expected, found) in (1..).zip(offsets) {
        ensure!(expected == found, "{place}: {found} where {expected} belongs");
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::event::tests::event;
    use super::*;

    /// Logs of one partition with one workspace.
    pub(in crate::checks) fn logs(events: Vec<Event>) -> Logs {
        Logs {
            partitions: [(0, events.clone())].into(),
            workspaces: [("7".to_owned(), events)].into(),
        }
    }

    #[test]
    fn whole_logs_pass() {
        logs((1..=5).map(event).collect()).check().unwrap();
    }

    #[test]
    fn a_hole_a_repeat_and_a_wrong_order_are_found() {
        for offsets in [vec![1, 3], vec![1, 1, 2], vec![2, 1], vec![2]] {
            let found = logs(offsets.into_iter().map(event).collect()).check().unwrap_err();
            assert!(found.to_string().starts_with("partition 0: "), "{found}");
        }
    }

    #[test]
    fn logs_that_do_not_agree_are_found() {
        let mut short = logs(vec![event(1), event(2)]);
        short.workspaces.get_mut("7").unwrap().pop();
        assert!(short.check().unwrap_err().to_string().contains("has 1 events, and 2"));
        let mut other = logs(vec![event(1)]);
        other.workspaces.get_mut("7").unwrap()[0].hash = "0".to_owned();
        assert!(other.check().unwrap_err().to_string().contains("the two logs differ"));
        let mut lost = logs(vec![event(1)]);
        lost.workspaces.clear();
        assert!(lost.check().unwrap_err().to_string().starts_with("no workspace log for"));
    }
}
