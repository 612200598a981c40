//! The sequencer against the old way: a counter per workspace in memory, and the whole log read
//! at every start.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use seriatim_codec::PartitionPrefix;
use seriatim_sequencer::{
    Begin, LogEvent, RecordIds, RowKey, RowsRead, Sequencer, Sequences, Series as NumberSeries,
    Settings as SequencerSettings, built_in,
};
use seriatim_sequencer_runtime::{
    EventLog, NumberStorage, Runtime, RuntimeSettings, StoreLog, StoreNumbers, tables,
};
use seriatim_storage::faulty::Dice;
use seriatim_storage::{Batch, Cancel, Schema, Store};
use seriatim_storage_fjall::{FjallStore, Settings};
use seriatim_testkit::full_scan;
use seriatim_types::{AppId, Incarnation, Number, PartitionId, PartitionOffset, Time, WorkspaceId};

use crate::Run;
use crate::machine::resident_kib;
use crate::report::Table;
use crate::rounds::Series;

/// The sizes of the measurements of the sequencer.
#[derive(Debug, Clone)]
pub struct SequencerSizes {
    /// Numbers drawn per round.
    pub draws: u64,
    /// Events in the logs that are started on.
    pub logs: Vec<u64>,
    /// Workspaces that are touched.
    pub workspaces: Vec<u64>,
}

impl SequencerSizes {
    /// About a minute.
    #[must_use]
    pub fn short() -> Self {
        let (logs, workspaces) = (vec![10_000, 1_000_000], vec![100_000, 1_000_000]);
        Self { draws: 1_000_000, logs, workspaces }
    }

    /// A few minutes: what reports are made of.
    #[must_use]
    pub fn long() -> Self {
        let logs = vec![10_000, 1_000_000, 10_000_000];
        let workspaces = vec![100_000, 1_000_000, 10_000_000];
        Self { draws: 5_000_000, logs, workspaces }
    }
}

/// Events that no checkpoint covers when a start is timed: what a crash leaves.
const LAG_EVENTS: u64 = 1_000;

/// Events per batch while a log is made.
const FILL_EVENTS: u64 = 1_000;

fn sequences() -> Sequences {
    Sequences::new(RecordIds::single())
}

fn begin(workspace: u64) -> Begin<'static> {
    let kind = Sequences::DEFAULT_KIND;
    Begin { workspace: WorkspaceId(workspace), kind, client: None, time: Time(0) }
}

fn serving() -> Result<Sequencer> {
    let mut sequencer = Sequencer::new(sequences(), SequencerSettings::default())?;
    sequencer.resume(None, 0)?;
    sequencer.serve()?;
    Ok(sequencer)
}

/// What a draw costs, and a whole transaction.
pub(crate) fn draws(run: &Run<'_>, sizes: &SequencerSizes) -> Result<Table> {
    const WORKSPACES: u64 = 1_000;
    let (mut next, mut whole, mut old) = <(Series, Series, Series)>::default();
    for round in 1..=run.sizes().rounds {
        run.progress(&format!("draws, round {round}"));
        let mut sequencer = serving()?;
        let nothing = |sequencer: &Sequencer, workspace| {
            let key = RowKey::Workspace(WorkspaceId(workspace));
            RowsRead::new(sequencer.stamp(), [(key, None)])
        };
        let read = nothing(&sequencer, 0);
        let mut tx = sequencer.begin(begin(0), &read)?;
        tx.next(built_in::RECORD_IDS)?;
        let started = Instant::now();
        for _ in 0..sizes.draws {
            black_box(tx.next(built_in::RECORD_IDS)?);
        }
        next.push(started.elapsed().as_secs_f64() * 1e9 / sizes.draws as f64);
        drop(tx);

        let transactions = sizes.draws / 10;
        let started = Instant::now();
        for n in 0..transactions {
            let read = nothing(&sequencer, n % WORKSPACES);
            let mut tx = sequencer.begin(begin(n % WORKSPACES), &read)?;
            black_box(tx.next(built_in::RECORD_IDS)?);
            let ticket = tx.stage();
            sequencer.flush(ticket)?;
        }
        whole.push(started.elapsed().as_secs_f64() * 1e9 / transactions as f64);

        // Two numbers per command, as above: an offset and an id.
        let mut counters: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let started = Instant::now();
        for n in 0..transactions {
            let counter = counters.entry(n % WORKSPACES).or_default();
            *counter = black_box((counter.0 + 1, counter.1 + 1));
        }
        old.push(started.elapsed().as_secs_f64() * 1e9 / transactions as f64);
    }
    Ok(Table {
        title: "draws",
        meaning: "One draw from a sequence of a workspace whose row is in memory, while its \
                  transaction is open; it allocates nothing, which is a test of its own. A whole \
                  transaction looks the row up, draws a place in both logs and one id, and hands \
                  the row to the checkpoint, over 1,000 workspaces. The old way increments two \
                  counters in a map; it can neither be dropped, bounded nor checkpointed.",
        columns: vec!["ns", "against the old way's command"],
        rows: vec![
            ("one draw".to_owned(), vec![next.median(), next.ratio(&old)]),
            ("one transaction".to_owned(), vec![whole.median(), whole.ratio(&old)]),
            ("the old way's command".to_owned(), vec![old.median(), 1.0]),
        ],
    })
}

fn open(folder: &Path) -> Result<Arc<dyn Store>> {
    let schema = Schema::new([tables::NUMBERS, tables::NUMBER_LOG])?;
    Ok(Arc::new(FjallStore::open(folder, &schema, Settings::default())?))
}

fn prefix() -> PartitionPrefix {
    PartitionPrefix { app: AppId(1), partition: PartitionId(0), incarnation: Incarnation(1) }
}

fn parts(store: &Arc<dyn Store>) -> Result<(StoreNumbers, StoreLog)> {
    let numbers = StoreNumbers::new(Arc::clone(store), prefix()).context("a table is missing")?;
    let log = StoreLog::new(Arc::clone(store), prefix()).context("a table is missing")?;
    Ok((numbers, log))
}

/// Writes a log with one event per command over a tenth as many workspaces.
fn fill(store: &Arc<dyn Store>, events: u64) -> Result<()> {
    let (_, log) = parts(store)?;
    let workspaces = (events / 10).max(1);
    let mut dice = Dice::new(events);
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let number = |n| Number::new(n).context("a number");
    let series = |sequence| NumberSeries { sequence, year: None };
    for first in (1..=events).step_by(usize::try_from(FILL_EVENTS)?) {
        let mut chunk = Vec::new();
        for offset in first..(first + FILL_EVENTS).min(events + 1) {
            let workspace = dice.below(workspaces);
            let count = counts.entry(workspace).or_default();
            *count += 1;
            chunk.push(LogEvent {
                offset: PartitionOffset::new(offset).context("an offset")?,
                workspace: WorkspaceId(workspace),
                kind: Sequences::DEFAULT_KIND,
                values: vec![
                    (series(built_in::WORKSPACE_OFFSETS), number(*count)?),
                    (series(built_in::RECORD_IDS), number(200_000 + *count)?),
                ],
                client: None,
                frontier: None,
            });
        }
        let mut batch = Batch::new();
        log.append(&mut batch, &chunk);
        store.commit(batch)?;
    }
    Ok(store.sync()?)
}

fn start(store: &Arc<dyn Store>) -> Result<(Runtime, f64)> {
    let (numbers, log) = parts(store)?;
    let started = Instant::now();
    let (numbers, log) = (Arc::new(numbers), Arc::new(log));
    let runtime = Runtime::new(numbers, log, sequences(), RuntimeSettings::default())?;
    runtime.wait_until_serving()?;
    Ok((runtime, started.elapsed().as_secs_f64()))
}

fn read_whole_log(store: &Arc<dyn Store>) -> Result<(usize, f64)> {
    let (_, log) = parts(store)?;
    let started = Instant::now();
    let mut events = Vec::new();
    log.read(None, &Cancel::default(), &mut |event| {
        events.push(event);
        ControlFlow::Continue(())
    })?;
    let rows = full_scan(&sequences(), &events);
    Ok((rows.len(), started.elapsed().as_secs_f64()))
}

/// How long it takes until numbers are given.
pub(crate) fn starts(run: &Run<'_>, sizes: &SequencerSizes) -> Result<Table> {
    let mut rows = Vec::new();
    for events in sizes.logs.iter().copied() {
        run.progress(&format!("time to ready with {events} events"));
        let folder = run.folder()?;
        let store = open(folder.path())?;
        let before = events.saturating_sub(LAG_EVENTS);
        fill(&store, before)?;
        let (runtime, reading) = start(&store)?;
        ensure!(runtime.health().counters.events_read == before, "the whole log was read");
        runtime.wait_until_checkpointed();
        drop(runtime);
        append_lag(&store, before, events)?;
        let (runtime, ready) = start(&store)?;
        let read = runtime.health().counters.events_read;
        ensure!(read == events - before, "only what the checkpoint lacks was read: {read}");
        drop(runtime);
        let (found, scan) = read_whole_log(&store)?;
        ensure!(found > 0, "the old way found the workspaces");
        let (numbers, _) = parts(&store)?;
        ensure!(numbers.checkpointed_through()?.is_some(), "a checkpoint is there");
        rows.push((
            format!("{events} events"),
            vec![ready * 1e3, scan * 1e3, scan / ready, before as f64 / reading],
        ));
    }
    Ok(Table {
        title: "time to ready",
        meaning: "From nothing to the first number, on a log on disk with a tenth as many \
                  workspaces as events. Ours reads the 1,000 events that the checkpoint lacks; \
                  the old way reads the whole log into memory and then all is known. The last \
                  column is how fast ours reads a log that has no checkpoint at all, writing \
                  checkpoints as it goes.",
        columns: vec![
            "ours ms",
            "full scan ms",
            "full scan / ours",
            "without a checkpoint events/s",
        ],
        rows,
    })
}

/// The events behind the checkpoint: as many as a crash leaves, in workspaces of their own.
fn append_lag(store: &Arc<dyn Store>, before: u64, events: u64) -> Result<()> {
    let (_, log) = parts(store)?;
    let series = NumberSeries { sequence: built_in::WORKSPACE_OFFSETS, year: None };
    let lag: Vec<LogEvent> = (before + 1..=events)
        .map(|offset| {
            Ok(LogEvent {
                offset: PartitionOffset::new(offset).context("an offset")?,
                workspace: WorkspaceId((1 << 32) + offset),
                kind: Sequences::DEFAULT_KIND,
                values: vec![(series, Number::new(1).context("one")?)],
                client: None,
                frontier: None,
            })
        })
        .collect::<Result<_>>()?;
    let mut batch = Batch::new();
    log.append(&mut batch, &lag);
    store.commit(batch)?;
    Ok(store.sync()?)
}

/// What workspaces take up in memory.
pub(crate) fn memory(run: &Run<'_>, sizes: &SequencerSizes) -> Result<Table> {
    let mut rows = Vec::new();
    for workspaces in sizes.workspaces.iter().copied() {
        run.progress(&format!("memory with {workspaces} workspaces"));
        let [ours, old] = ["ours", "old"].map(|way| touch_in_a_process(run, way, workspaces));
        let (ours, old) = (ours? / 1024.0, old? / 1024.0);
        rows.push((format!("{workspaces} workspaces"), vec![ours, old, old / ours]));
    }
    Ok(Table {
        title: "memory",
        meaning: "Resident memory of a process that has given one number in each of so many \
                  workspaces and does nothing else. Ours keeps 100,000 rows and forgets the \
                  others once they are in a checkpoint; the old way keeps all.",
        columns: vec!["ours MiB", "old way MiB", "old way / ours"],
        rows,
    })
}

fn touch_in_a_process(run: &Run<'_>, way: &str, workspaces: u64) -> Result<f64> {
    let mut command = Command::new(&run.options.filler);
    let output = command.args(["touch", way, &workspaces.to_string()]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().parse()?)
}

/// Runs in a process of its own: touches workspaces and prints how many KiB it then takes up.
///
/// # Errors
///
/// When the way is unknown, or memory cannot be told.
pub fn touch(way: &str, workspaces: u64) -> Result<()> {
    match way {
        "ours" => {
            let mut sequencer = serving()?;
            for workspace in 0..workspaces {
                let key = RowKey::Workspace(WorkspaceId(workspace));
                let read = RowsRead::new(sequencer.stamp(), [(key, None)]);
                let mut tx = sequencer.begin(begin(workspace), &read)?;
                black_box(tx.next(built_in::RECORD_IDS)?);
                let ticket = tx.stage();
                sequencer.flush(ticket)?;
                if sequencer.admit().is_err() {
                    let checkpoint = sequencer.take_checkpoint().context("rows wait")?;
                    sequencer.written(checkpoint);
                }
            }
            println!("{}", resident_kib()?);
        }
        "old" => {
            let mut counters: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
            for workspace in 0..workspaces {
                let counter = counters.entry(workspace).or_insert((0, 200_000));
                *counter = black_box((counter.0 + 1, counter.1 + 1));
            }
            println!("{}", resident_kib()?);
            drop(black_box(counters));
        }
        _ => anyhow::bail!("{way} is neither ours nor old"),
    }
    Ok(())
}
