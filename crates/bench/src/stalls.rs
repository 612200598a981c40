//! How long the longest commits take, with several settings.

use anyhow::Result;
use seriatim_storage_fjall::Settings;
use seriatim_testkit::{CommandRows, command_schema};

use crate::Run;
use crate::contenders::{Contender, Floor, Timing, drive, ours};
use crate::report::Table;
use crate::rounds::{Series, percentile};

const COMMANDS_PER_BATCH: u64 = 16;
const MIB: u64 = 1024 * 1024;

pub(crate) fn measure(run: &Run<'_>) -> Result<Table> {
    let ours = Settings::default();
    let engine = Settings { memtable_bytes: 64 * MIB, journal_bytes_max: 512 * MIB, ..ours };
    let small = Settings { memtable_bytes: 4 * MIB, ..ours };
    let workers = |worker_threads| Settings { worker_threads, ..ours };
    let named = [("ours", ours), ("the engine's", engine), ("changed", small)];
    let changed = [1, 2, 4].map(workers).into_iter().filter(|it| *it != ours);
    let settings: Vec<(String, Settings)> = named
        .into_iter()
        .chain(changed.map(|settings| ("changed", settings)))
        .map(|(whose, settings)| (format!("{whose}: {}", name(settings)), settings))
        .collect();
    let mut figures: Vec<Figures> = settings.iter().map(|_| Figures::default()).collect();
    for pass in 1..=run.sizes().stall_passes {
        for ((name, settings), figures) in settings.iter().zip(&mut figures) {
            run.progress(&format!("write stalls, {name}, pass {pass}"));
            figures.pass(run, *settings)?;
        }
    }
    let rows = settings.into_iter().zip(&figures).map(|((name, _), it)| (name, it.row())).collect();
    Ok(Table {
        title: "write stalls",
        meaning: "One writer commits batches of 16 commands and waits until each is durable, \
                  into a store that begins empty and grows. The latencies are those of commit \
                  and sync together, as multiples of the floor: the p50 of appending the same \
                  bytes to a file with fdatasync, right before and after. What lies between the \
                  p50 and the worst is the engine writing out and merging tables: above all it \
                  frees a table that it has written out while it holds a lock that commits need, \
                  so the worst commit grows with the memtable. The worst in ms are those of all \
                  passes; a commit alone is without the wait for the disk.",
        columns: vec![
            "p50 × floor",
            "p99 × floor",
            "p99.9 × floor",
            "worst × floor",
            "floor p50 ms",
            "worst ms",
            "worst commit alone ms",
            "commands/s",
            "CPU µs/pair",
        ],
        rows,
    })
}

fn name(settings: Settings) -> String {
    let Settings { memtable_bytes, journal_bytes_max, worker_threads, .. } = settings;
    let (memtable, journal) = (memtable_bytes / MIB, journal_bytes_max / MIB);
    format!("memtable {memtable} MiB, journal {journal} MiB, workers {worker_threads}")
}

/// The figures of one setting, a value per pass.
#[derive(Default)]
struct Figures {
    multiples: [Series; 4],
    floors: Series,
    rates: Series,
    cpu: Series,
    /// In all passes.
    worst: f64,
    worst_commit: f64,
}

impl Figures {
    fn pass(&mut self, run: &Run<'_>, settings: Settings) -> Result<()> {
        let folder = run.folder()?;
        let before = floor_p50(run)?;
        let size = (COMMANDS_PER_BATCH, run.sizes().stall_batches);
        let mut latencies = Vec::new();
        let timing = timed(&ours(folder.path(), settings)?, size, |commit, both| {
            self.worst_commit = self.worst_commit.max(commit);
            latencies.push(both);
        })?;
        let floor = f64::midpoint(before, floor_p50(run)?);
        for (series, share) in self.multiples.iter_mut().zip([0.5, 0.99, 0.999, 1.0]) {
            series.push(percentile(&latencies, share) / floor);
        }
        self.worst = self.worst.max(percentile(&latencies, 1.0));
        self.floors.push(floor);
        self.rates.push(timing.commands_per_second());
        self.cpu.push(timing.cpu_micros_per_pair());
        Ok(())
    }

    fn row(&self) -> Vec<f64> {
        let mut row: Vec<f64> = self.multiples.iter().map(Series::median).collect();
        row.push(self.floors.median() * 1e3);
        row.extend([self.worst * 1e3, self.worst_commit * 1e3]);
        row.extend([self.rates.median(), self.cpu.median()]);
        row
    }
}

fn floor_p50(run: &Run<'_>) -> Result<f64> {
    let folder = run.folder()?;
    let mut latencies = Vec::new();
    let size = (COMMANDS_PER_BATCH, run.sizes().stall_floor_batches);
    timed(&Floor::create(folder.path())?, size, |_, both| latencies.push(both))?;
    Ok(percentile(&latencies, 0.5))
}

fn timed(
    contender: &impl Contender,
    size: (u64, u64),
    each: impl FnMut(f64, f64),
) -> Result<Timing> {
    drive(contender, &CommandRows::new(&command_schema(), 1), size, each)
}
