//! A live server, through what it answers.
//!
//! ```text
//!  events of every partition ─► laws: offsets, counts of clients, versions, times
//!                             └► trees, clients, records, entities ─► beside the server's answers
//! ```
//!
//! A server goes on while it is checked. Trees are compared at the size that was read. What else differs
//! counts, unless an event behind what was read has made it, or may have removed it.
//!
//! **Deliberately absent:** what a server does not show (checkpoints, keys, files), and bounded
//! memory: what the events of a partition come to is held. A folder is checked whole and in bounded
//! memory with `--data`.

mod expected;

use std::collections::BTreeMap;

use anyhow::Result;
use seriatim_client::{App, Event, Key, Partition, Receipt};

use self::expected::Walk;
use super::different;
use super::series::{self, Series};
use crate::document::{object, of};
use crate::exit::{Exit, Failure};
use crate::output::Table;
use crate::progress::Progress;
use crate::remote::{Remote, missing, not_found, not_read};

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
            for (name, expected) in &walk.workspaces {
                progress.say(|| format!("{}: workspace {name} is compared", log.name));
                match expected.compare(&app.workspace(name.as_str())).await? {
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
    let end = match moved {
        0 => "Nothing differs.".to_owned(),
        moved => format!(
            "Nothing differs. {moved} of the workspaces were written to meanwhile: their logs and trees \
             were compared, and what had not changed."
        ),
    };
    Ok(remote.output.print_as(&document, || format!("{}\n{end}", Table::of(&document)))?)
}

/// Shows that each series of a sequence is complete, by the receipts of all commands.
pub(super) async fn sequence(remote: &Remote, app: &str, name: &str) -> Result<()> {
    let its = remote.client.app(app);
    let definitions = its.definitions().await.map_err(|error| not_read(&error))?;
    let sequences = &definitions.sequences;
    let sequence = sequences.iter().find(|it| it.name == name);
    let ranges = sequence.map(|it| it.ranges.iter().map(|[first, last]| (*first, *last)));
    let ranges: Vec<(u64, u64)> = ranges.map(Iterator::collect).ok_or_else(|| {
        let missing = not_found(format!("sequence {name} in {app}"));
        missing.advise("`seriatim sequence list APP` shows which there are")
    })?;
    let info = its.info().await.map_err(|error| not_read(&error))?;
    let info = info.ok_or_else(|| missing("APP_NOT_FOUND", format!("app {app}")))?;
    let mut progress = Progress::new();
    let mut all: BTreeMap<(u64, Option<u16>), Series> = BTreeMap::new();
    for number in 0..info.partitions {
        let log = Log::new(&its, number);
        let mut last = None;
        let walked = log.read(async |event| {
            progress.say(|| format!("{}: event {}", log.name, event.partition_offset));
            let command = event.client.clone().zip(event.key);
            let place = (event.workspace_id, command.clone());
            if last.as_ref() == Some(&place) {
                return Ok(());
            }
            last = Some(place);
            let Some((client, key)) = command else { return Ok(()) };
            let receipt = log.receipt(&its, event, &client, key.try_into()?).await?;
            let receipt = receipt.ok_or_else(|| match &*info.idempotency_retention {
                "forever" => log.broken(event, "its receipt is not there"),
                _ => log.cannot_tell(event, app, name),
            })?;
            for drawn in receipt.numbers.iter().filter(|drawn| drawn.sequence == name) {
                let (period, number) = (drawn.period, drawn.number);
                let series = all.entry((event.workspace_id, period));
                let series = series.or_insert_with(|| Series::new(&event.workspace, period));
                series.take(number, &ranges, || format!("event {}", event.offset));
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
    fn new(app: &App, number: u16) -> Self {
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

    /// The receipt of an event's command, if it is still kept. Its key may have been used again
    /// since.
    async fn receipt(
        &self,
        app: &App,
        event: &Event,
        client: &str,
        key: Key,
    ) -> Result<Option<Receipt>> {
        let receipt = app.workspace(&event.workspace).receipt(client, key).await;
        let is_its = |it: &Receipt| (it.first_offset..=it.last_offset).contains(&event.offset);
        Ok(receipt.map_err(|error| not_read(&error))?.filter(is_its))
    }

    /// That the retention of a key is over, and with it what its command has drawn.
    fn cannot_tell(&self, event: &Event, app: &str, sequence: &str) -> Failure {
        let place = format!("event {} of {}", event.partition_offset, self.name);
        let what = format!("the receipt of {place} is not kept any more");
        let what = format!("whether {sequence} is complete cannot be told here: {what}");
        let failure = Failure::new(Exit::CannotTell, what).code("CANNOT_TELL");
        failure.advise(format!(
            "stop the server and verify its folder: seriatim verify --data FOLDER --app {app} \
             --sequence {sequence}"
        ))
    }

    fn broken(&self, event: &Event, what: &str) -> Failure {
        let place = format!("event {} of {}", event.partition_offset, self.name);
        different("EVENT_DOES_NOT_FOLLOW", format!("at {place}: {what}"))
    }
}
