//! A live server, through what it answers.
//!
//! ```text
//!  events of every partition ─► laws: offsets, counts of clients, versions, times
//!                             └► trees, clients, records, entities ─► beside the server's answers
//! ```
//!
//! A server goes on while it is checked. Trees are compared at the size that was read; where the
//! rest differs, it counts only if the workspace has not moved on since.
//!
//! **Deliberately absent:** what a server does not show (checkpoints, keys, files), and bounded
//! memory: what the events of a partition come to is held. A folder is checked whole and in bounded
//! memory with `--data`.

mod expected;

use std::collections::BTreeMap;

use anyhow::Result;
use seriatim_client::{App, Event, Origin, Partition};

use self::expected::Walk;
use super::different;
use super::series::{self, Series};
use crate::document::{object, of};
use crate::exit::Failure;
use crate::progress::Progress;
use crate::remote::{Remote, not_found, not_read};

/// Events that are read in one go.
const PAGE: u32 = 1000;

/// Checks all apps.
pub(super) async fn run(remote: &Remote) -> Result<()> {
    let (mut partitions, mut events, mut compared, mut moved) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut progress = Progress::new();
    let apps = remote.client.apps().await.map_err(|error| not_read(&error))?;
    for info in &apps {
        let app = remote.client.app(&info.name);
        for number in 0..info.partitions {
            let log = Log::new(&app, number);
            let mut walk = Walk::default();
            let walked = log.read(async |event| {
                events = events.saturating_add(1);
                progress.say(|| format!("{events} events read, now of {}", log.name));
                Ok(walk.take(event).map_err(|what| log.broken(event, &what))?)
            });
            walked.await?;
            partitions = partitions.saturating_add(1);
            for (id, expected) in &walk.workspaces {
                progress.say(|| format!("{}: workspace {id} is compared", log.name));
                match expected.compare(&app.workspace(id.to_string())).await? {
                    true => compared = compared.saturating_add(1),
                    false => moved = moved.saturating_add(1),
                }
            }
        }
    }
    drop(progress);
    let document = object([
        ("apps", of(apps.len())),
        ("partitions", of(partitions)),
        ("events", of(events)),
        ("workspaces", of(compared)),
        ("workspaces_changed_meanwhile", of(moved)),
    ]);
    Ok(remote.output.print_as(&document, || format!("{}\nNothing differs.", document.table()))?)
}

/// Shows that each series of a sequence is complete, by the receipts of all commands.
pub(super) async fn sequence(remote: &Remote, app: &str, name: &str) -> Result<()> {
    let its = remote.client.app(app);
    let definitions = its.definitions().await.map_err(|error| not_read(&error))?;
    let sequences = &definitions.sequences;
    let ranges = sequences.iter().find(|(known, _)| known == name).map(|(_, it)| &it.ranges);
    let ranges = ranges.ok_or_else(|| not_found(format!("sequence {name} in {app}")))?;
    let info = its.info().await.map_err(|error| not_read(&error))?;
    let mut progress = Progress::new();
    let mut all: BTreeMap<(u64, Option<u32>), Series> = BTreeMap::new();
    for number in 0..info.map_or(0, |info| info.partitions) {
        let log = Log::new(&its, number);
        let mut last = None;
        let walked = log.read(async |event| {
            progress.say(|| format!("{}: event {}", log.name, event.partition_offset));
            let command = event.origin.clone().map(|origin| (event.workspace_id, origin));
            if last == command {
                return Ok(());
            }
            last.clone_from(&command);
            let Some((_, origin)) = command else { return Ok(()) };
            for (period, number) in log.numbers(&its, event, &origin, name).await? {
                let series = all.entry((event.workspace_id, period));
                let series = series.or_insert_with(|| Series::new(&event.workspace, period));
                series.take(number, ranges, || format!("event {}", event.offset));
            }
            Ok(())
        });
        walked.await?;
    }
    drop(progress);
    series::print(remote.output, name, &all.into_values().collect::<Vec<_>>())
}

/// The log of a partition.
struct Log {
    name: String,
    partition: Partition,
}

impl Log {
    fn new(app: &App, number: u32) -> Self {
        let name = format!("partition {number} of {}", app.name());
        Self { name, partition: app.partition(number) }
    }

    /// Reads the log up to where it ends now.
    async fn read(&self, mut take: impl AsyncFnMut(&Event) -> Result<()>) -> Result<()> {
        let (mut from, mut end) = (1_u64, None);
        loop {
            let page = self.partition.events(from, PAGE).await.map_err(|error| not_read(&error))?;
            let end = *end.get_or_insert(page.last);
            for event in page.events.iter().filter(|event| event.partition_offset <= end) {
                if event.partition_offset != from {
                    return Err(self.broken(event, &format!("event {from} should come")).into());
                }
                from = from.saturating_add(1);
                take(event).await?;
            }
            if from > end {
                return Ok(());
            }
            if page.events.is_empty() {
                let what = format!("event {from} of {} is missing", self.name);
                return Err(different("LOG_GAP", what).into());
            }
        }
    }

    /// The numbers that a command has drawn from a sequence, with their years.
    async fn numbers(
        &self,
        app: &App,
        event: &Event,
        origin: &Origin,
        sequence: &str,
    ) -> Result<Vec<(Option<u32>, u64)>> {
        let workspace = app.workspace(event.workspace_id.to_string());
        let receipt = workspace.receipt(&origin.client, origin.key).await;
        let receipt = receipt.map_err(|error| not_read(&error))?.ok_or_else(|| {
            let what = "its numbers cannot be asked for: the retention of its key is over";
            self.broken(event, what).advise("verify the folder itself, with --data")
        })?;
        let drawn = receipt.numbers.iter().filter(|drawn| drawn.sequence == sequence);
        Ok(drawn.map(|drawn| (drawn.period, drawn.number)).collect())
    }

    fn broken(&self, event: &Event, what: &str) -> Failure {
        let place = format!("event {} of {}", event.partition_offset, self.name);
        different("EVENT_DOES_NOT_FOLLOW", format!("at {place}: {what}"))
    }
}
