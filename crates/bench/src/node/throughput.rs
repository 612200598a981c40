//! Commands per second against the same bytes without us.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use seriatim_storage::{Batch, Write};

use super::load::drive;
use super::recording::Recording;
use super::shop::{Sales, Shop, WORKSPACES, open_shop, open_store};
use super::{NodeSizes, progress_of};
use crate::Run;
use crate::report::Table;
use crate::rounds::{Series, percentile};

pub(crate) fn measure(run: &Run<'_>, sizes: &NodeSizes) -> Result<Table> {
    let mut rows = Vec::new();
    for partitions in [1, 2] {
        for submitters in [64, 256] {
            let shop = Shop { partitions, ..Shop::default() };
            let mut figures: [Series; 7] = Default::default();
            for round in 1..=sizes.rounds {
                let label = format!("{submitters} submitters, {partitions} partitions");
                progress_of(run, sizes, &label, round);
                for (series, figure) in figures.iter_mut().zip(one(run, sizes, shop, submitters)?) {
                    series.push(figure);
                }
            }
            let [ours, store, file, ..] = &figures;
            let mut values: Vec<f64> = figures.iter().map(Series::median).collect();
            values.extend([ours.ratio(store), ours.ratio(file)]);
            rows.push((format!("{submitters} submitters, {partitions} partition(s)"), values));
        }
    }
    Ok(Table {
        title: "throughput",
        meaning: "Each command has 256 bytes of arguments, creates a record and draws a number; \
                  1,000 workspaces, trust level 0. \"store\" writes the very pairs that the node \
                  commits for as many commands of the same round, in the same batches, straight \
                  into an empty store, one thread, a sync after each. \"file\" appends the same \
                  bytes to a file, with an fdatasync after each batch.",
        columns: vec![
            "node commands/s",
            "store commands/s",
            "file commands/s",
            "commands per batch",
            "pairs per command",
            "p50 ms",
            "p99 ms",
            "node / store",
            "node / file",
        ],
        rows,
    })
}

fn one(run: &Run<'_>, sizes: &NodeSizes, shop: Shop, submitters: u64) -> Result<[f64; 7]> {
    let folder = run.folder()?;
    let recording = Recording::default();
    let store = recording.of(open_store(&folder.path().join("node"))?);
    let node = open_shop(store, shop)?;
    let sales = Sales::new();
    // Every workspace exists before the clock starts.
    drive(&node, submitters, WORKSPACES, |number| sales.command(number, 1 + number))?;
    let commands = sizes.commands;
    let part = |part: u64| {
        let first = WORKSPACES + part * commands;
        drive(&node, submitters, commands, |number| {
            sales.command(first + number, 1 + number % WORKSPACES)
        })
    };
    let load = part(0)?;
    // The same once more, to see what is committed.
    recording.begin();
    part(1)?;
    drop(node);
    let batches = recording.take()?;
    let pairs: usize = batches.iter().map(Vec::len).sum();
    let count = batches.len() as f64;
    let raw = straight(&folder.path().join("store"), &batches)?;
    let file = appended(&folder.path().join("file"), &batches)?;
    let per_second = |seconds: f64| commands as f64 / seconds;
    let latency = |share| percentile(&load.latencies, share);
    Ok([
        load.per_second(),
        per_second(raw),
        per_second(file),
        commands as f64 / count,
        pairs as f64 / commands as f64,
        latency(0.5),
        latency(0.99),
    ])
}

/// Seconds that it takes to write the batches into a store, with a sync after each.
fn straight(folder: &Path, batches: &[Vec<Write>]) -> Result<f64> {
    let store = open_store(folder)?;
    let batch_of = |writes: &Vec<Write>| {
        let mut batch = Batch::new();
        for Write { table, key, value } in writes {
            match value {
                Some(value) => batch.put(*table, key.clone(), value.clone()),
                None => batch.delete(*table, key.clone()),
            }
        }
        batch
    };
    let prepared: Vec<Batch> = batches.iter().map(batch_of).collect();
    let started = Instant::now();
    for batch in prepared {
        store.commit(batch)?;
        store.sync()?;
    }
    Ok(started.elapsed().as_secs_f64())
}

/// Seconds that it takes to append the same bytes to a file, with a sync after each batch.
pub(crate) fn appended(path: &Path, batches: &[Vec<Write>]) -> Result<f64> {
    let bytes_of = |writes: &Vec<Write>| {
        let pairs = writes.iter().map(|write| (&write.key, write.value.as_ref()));
        pairs.flat_map(|(key, value)| [Some(key), value]).flatten().flatten().copied().collect()
    };
    let prepared: Vec<Vec<u8>> = batches.iter().map(bytes_of).collect();
    let mut file = File::create_new(path)?;
    let started = Instant::now();
    for bytes in prepared {
        file.write_all(&bytes)?;
        file.sync_data()?;
    }
    Ok(started.elapsed().as_secs_f64())
}
