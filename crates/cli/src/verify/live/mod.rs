//! A live server, through what it answers.
//!
//! ```text
//!  events of every partition ─► the laws and the fold of `seriatim-verify`
//!                             └► trees, clients, records, entities ─► beside the server's answers
//! ```
//!
//! A server goes on while it is checked. Trees are compared at the size that was read. What else differs
//! counts, unless an event behind what was read has made it, or may have removed it.
//!
//! **Invariant:** memory does not grow with events, records and entities. It does with the workspaces of
//! a partition, by a name for each.
//!
//! **Deliberately absent:** what a server does not show (checkpoints, files). A folder is checked whole
//! with `--data`.

mod compare;

use std::collections::BTreeMap;

use anyhow::Result;
use seriatim_client::{App, Event, Key, Partition, Receipt};
use seriatim_types::{AppId, PartitionId, PartitionRef};
use seriatim_verify::{Error, LiveWalk, Place};

use self::compare::compare;
use super::different;
use super::series::{self, Series};
use crate::config::retention;
use crate::document::{object, of};
use crate::exit::{Exit, Failure};
use crate::output::Table;
use crate::progress::Progress;
use crate::remote::{Remote, missing, not_found, not_read};

/// Events that are read in one go.
const PAGE: u32 = 1000;

/// For facts about a partition before they are put aside in temporary files.
const MEMORY_BYTES: usize = 64 * 1024 * 1024;

/// Checks all apps.
pub(super) async fn run(remote: &Remote) -> Result<()> {
    let (mut partitions, mut events, mut compared, mut moved) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut progress = Progress::new();
    let apps = remote.client.apps().await.map_err(|error| not_read(&error))?;
    for info in &apps {
        let app = remote.client.app(&info.name);
        for number in 0..info.partitions {
            let log = Log::new(&app, number);
            let end = log.end().await?;
            // Newer than the end, so that whatever an event up to there uses is among them.
            let definitions = app.definitions().await.map_err(|error| not_read(&error))?;
            // Which id the app has is not shown.
            let partition = PartitionRef { app: AppId(1), partition: PartitionId(number) };
            let retention = retention(&info.idempotency_retention)
                .map_err(|what| Failure::new(Exit::Failure, what).code("BAD_ANSWER"))?;
            let failed = |error| failure(error, &log.name);
            let walk = LiveWalk::new(partition, (info, retention), &definitions, MEMORY_BYTES);
            let mut walk = walk.map_err(failed)?;
            let walked = log.read(end, async |event| {
                events = events.saturating_add(1);
                progress.say(|| format!("{events} events read, now of {}", log.name));
                Ok(walk.event(event).map_err(failed)?)
            });
            walked.await?;
            partitions = partitions.saturating_add(1);
            let expected = walk.finish().map_err(failed)?;
            let found = compare(&app, expected, (&mut progress, &log.name)).await?;
            compared = compared.saturating_add(found.whole);
            moved = moved.saturating_add(found.moved);
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
        let end = log.end().await?;
        let walked = log.read(end, async |event| {
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

    /// Where the log ends now.
    async fn end(&self) -> Result<u64> {
        let page = self.partition.events(1, 1).await.map_err(|error| not_read(&error))?;
        Ok(page.last)
    }

    /// Reads the log up to an event.
    async fn read(&self, end: u64, mut take: impl AsyncFnMut(&Event) -> Result<()>) -> Result<()> {
        let mut from = 1_u64;
        while from <= end {
            let page = self.partition.events(from, PAGE).await.map_err(|error| not_read(&error))?;
            for event in page.events.iter().filter(|event| event.partition_offset <= end) {
                if event.partition_offset != from {
                    return Err(self.broken(event, &format!("event {from} should come")).into());
                }
                from = from.saturating_add(1);
                take(event).await?;
            }
            if page.events.is_empty() {
                let what = format!("event {from} of {} is missing", self.name);
                return Err(different("LOG_GAP", what).into());
            }
        }
        Ok(())
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

/// Why the events of a log cannot be, or could not be looked at.
fn failure(error: Error, log: &str) -> Failure {
    let code = error.code();
    let Error::Different(difference) = error else {
        return Failure::new(Exit::Failure, format!("{:#}", anyhow::Error::new(error))).code(code);
    };
    let Place { offset, row, .. } = difference.place;
    let parts = [Some(log.to_owned()), offset.map(|offset| format!("event {offset}")), row];
    let place = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    different("EVENT_DOES_NOT_FOLLOW", format!("the first difference is at {place}"))
        .fact("finding", code)
        .fact("expected", difference.expected)
        .fact("found", difference.found)
        .fact("place", place)
}

#[cfg(test)]
mod tests {
    use std::io;

    use seriatim_api::message::{App, Definitions, RecordIds};

    use super::{
        AppId, Exit, LiveWalk, MEMORY_BYTES, PartitionId, PartitionRef, failure, retention,
    };

    #[test]
    fn event_that_does_not_follow_is_told_with_its_place_and_the_finding() {
        let app = App {
            name: "shop".to_owned(),
            partitions: 1,
            record_ids: RecordIds::Single,
            trust_level: 0,
            idempotency_retention: "24h".to_owned(),
            idempotency_keys_max: None,
        };
        let (kinds, sequences, records) = (Vec::new(), Vec::new(), Vec::new());
        let definitions = Definitions { version: 1, kinds, sequences, records };
        let partition = PartitionRef { app: AppId(1), partition: PartitionId(0) };
        let retention = retention(&app.idempotency_retention).unwrap();
        let walk = LiveWalk::new(partition, (&app, retention), &definitions, MEMORY_BYTES);
        let mut walk = walk.unwrap();
        let event = r#"{"offset":1,"partition":0,"partition_offset":2,"workspace":"7","workspace_id":7,
            "name":"X","args":{},"changes":[],"client":"me","client_sequence":1,
            "key":"0b0e8a4e-5f0a-4c3e-9d6b-000000000001","committed_at":"2026-11-20T00:00:00Z",
            "hash":"0000000000000000000000000000000000000000000000000000000000000000"}"#;
        walk.event(&serde_json::from_str(event).unwrap()).unwrap();
        let failed = failure(walk.finish().unwrap_err(), "partition 0 of shop");
        assert_eq!((&*failed.code, failed.exit), ("EVENT_DOES_NOT_FOLLOW", Exit::Difference));
        assert_eq!(failed.message, "the first difference is at partition 0 of shop, event 2");
        assert_eq!(
            (&failed.facts["finding"], &failed.facts["expected"]),
            (&"LOG_GAP".into(), &"event 1".into())
        );
        let scratch = failure(io::Error::from(io::ErrorKind::StorageFull).into(), "it");
        assert_eq!((&*scratch.code, scratch.exit), ("SCRATCH_FAILED", Exit::Failure));
    }
}
