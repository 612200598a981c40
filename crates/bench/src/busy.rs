//! Whether commits go on while somebody waits for the disk.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Result, anyhow};
use fjall::PersistMode;
use seriatim_storage_fjall::Settings;
use seriatim_testkit::{CommandRows, command_schema};

use crate::Run;
use crate::contenders::{Contender, Engine, ours};
use crate::report::Table;
use crate::rounds::{Series, percentile};

const COMMANDS_PER_BATCH: u64 = 16;

pub(crate) fn measure(run: &Run<'_>) -> Result<Table> {
    let (mut own, mut engine) = (Side::default(), Side::default());
    for number in 1..=run.sizes().rounds {
        run.progress(&format!("commits while the disk is busy, round {number}"));
        let folder = run.folder()?;
        own.round(run, &ours(folder.path(), Settings::default())?)?;
        engine.round(run, &Engine::open(folder.path(), PersistMode::Buffer)?)?;
    }
    let row =
        |own: &Series, engine: &Series| vec![own.median(), engine.median(), own.ratio(engine)];
    Ok(Table {
        title: "commits while the disk is busy",
        meaning: "One thread does nothing but sync, another nothing but commit batches of 16 \
                  commands. Our sync waits for the disk on a file handle of its own; the engine's \
                  `persist` holds the lock that every commit needs. The ratio of commands/s is \
                  what commits gain by that, the ratio of the latency is how much of the engine's \
                  wait is left.",
        columns: vec!["ours", "engine", "ours / engine"],
        rows: vec![
            ("commands/s".to_owned(), row(&own.rate, &engine.rate)),
            ("p99 of a commit, ms".to_owned(), row(&own.p99, &engine.p99)),
            ("syncs/s meanwhile".to_owned(), row(&own.syncs, &engine.syncs)),
        ],
    })
}

#[derive(Default)]
struct Side {
    rate: Series,
    p99: Series,
    syncs: Series,
}

impl Side {
    fn round<C: Contender + Sync>(&mut self, run: &Run<'_>, contender: &C) -> Result<()> {
        let rows = CommandRows::new(&command_schema(), 1);
        let firsts = (0..run.sizes().busy_batches).map(|number| number * COMMANDS_PER_BATCH);
        let prepared: Vec<C::Batch> =
            firsts.map(|first| contender.prepare(&rows, first, COMMANDS_PER_BATCH)).collect();
        let (start, is_over) = (Barrier::new(2), AtomicBool::new(false));
        let sync = || -> Result<u64> {
            start.wait();
            let mut syncs = 0;
            loop {
                contender.wait()?;
                syncs += 1;
                if is_over.load(Ordering::Relaxed) {
                    return Ok(syncs);
                }
            }
        };
        thread::scope(|scope| {
            let syncing = scope.spawn(sync);
            start.wait();
            let started = Instant::now();
            let mut latencies = Vec::new();
            for batch in prepared {
                let called = Instant::now();
                let written = contender.write(batch);
                if written.is_err() || started.elapsed() > run.sizes().busy_time_max {
                    is_over.store(true, Ordering::Relaxed);
                }
                written?;
                latencies.push(called.elapsed().as_secs_f64() * 1e3);
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
            }
            let seconds = started.elapsed().as_secs_f64();
            is_over.store(true, Ordering::Relaxed);
            let syncs = syncing.join().map_err(|_| anyhow!("the syncing thread panicked"))??;
            let commands = latencies.len() as u64 * COMMANDS_PER_BATCH;
            self.rate.push(commands as f64 / seconds);
            self.p99.push(percentile(&latencies, 0.99));
            self.syncs.push(syncs as f64 / seconds);
            Ok(())
        })
    }
}
