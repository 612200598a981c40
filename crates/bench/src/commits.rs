//! What a durable commit costs, against the disk alone and against the engine alone.

use anyhow::Result;
use fjall::PersistMode;
use seriatim_storage_fjall::Settings;
use seriatim_testkit::{CommandRows, command_schema};

use crate::Run;
use crate::contenders::{Contender, Engine, Floor, Timing, drive, ours};
use crate::report::Table;
use crate::rounds::Series;

pub(crate) fn measure(run: &Run<'_>) -> Result<Table> {
    let mut rows = Vec::new();
    for (commands, batches) in run.sizes().commits {
        rows.push((format!("batch of {commands}"), row(run, (commands, batches))?));
    }
    Ok(Table {
        title: "commit + sync",
        meaning: "One writer commits a batch of commands, 4 pairs each, and waits until it is \
                  durable. The floor appends the same bytes to one file and calls fdatasync \
                  once per batch; the engine is the same version with the same settings, without \
                  our contract around it. A ratio of 1 to the floor would mean that only the \
                  disk is waited for; it can be more, because the engine appends to a file that \
                  has its length from the start and the floor does not. CPU includes the \
                  engine's own threads; its share is processors in use, so up to the number of \
                  cores. Every round begins with an empty store.",
        columns: vec![
            "floor commands/s",
            "ours commands/s",
            "engine commands/s",
            "ours / floor",
            "ours / engine",
            "ours CPU µs/pair",
            "engine CPU µs/pair",
            "CPU ours / engine",
            "ours CPU share",
        ],
        rows,
    })
}

fn row(run: &Run<'_>, size: (u64, u64)) -> Result<Vec<f64>> {
    let (mut floor, mut own, mut engine) = <(Vec<_>, Vec<_>, Vec<_>)>::default();
    for number in 1..=run.sizes().rounds {
        run.progress(&format!("commit + sync, batches of {}, round {number}", size.0));
        // Closed before the next one begins: what the engine still does in the background
        // would be charged to the others.
        let folder = run.folder()?;
        floor.push(round(&Floor::create(folder.path())?, size)?);
        own.push(round(&ours(folder.path(), Settings::default())?, size)?);
        engine.push(round(&Engine::open(folder.path(), PersistMode::SyncData)?, size)?);
    }
    let series = |rounds: &[Timing], figure: fn(&Timing) -> f64| -> Series {
        rounds.iter().map(figure).collect()
    };
    let rates = [&floor, &own, &engine].map(|it| series(it, Timing::commands_per_second));
    let [own_cpu, engine_cpu] = [&own, &engine].map(|it| series(it, Timing::cpu_micros_per_pair));
    let [floor_rate, own_rate, engine_rate] = &rates;
    Ok(vec![
        floor_rate.median(),
        own_rate.median(),
        engine_rate.median(),
        own_rate.ratio(floor_rate),
        own_rate.ratio(engine_rate),
        own_cpu.median(),
        engine_cpu.median(),
        own_cpu.ratio(&engine_cpu),
        series(&own, Timing::cpu_share).median(),
    ])
}

fn round(contender: &impl Contender, size: (u64, u64)) -> Result<Timing> {
    drive(contender, &CommandRows::new(&command_schema(), 1), size, |_, _| {})
}
