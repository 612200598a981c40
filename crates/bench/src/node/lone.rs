//! One submitter that waits for every answer, against what nobody can save it: one sync, and the
//! way to another thread and back.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc;
use std::time::Instant;

use anyhow::{Context, Result};

use super::NodeSizes;
use super::progress_of;
use super::shop::{Sales, Shop, open_shop, open_store, send};
use crate::Run;
use crate::report::Table;
use crate::rounds::{Series, percentile};

/// About what one command writes.
const BYTES: usize = 1_024;

pub(crate) fn measure(run: &Run<'_>, sizes: &NodeSizes) -> Result<Table> {
    let [mut node, mut sync, mut hops, mut p99, mut floor]: [Series; 5] = Default::default();
    for round in 1..=sizes.rounds {
        progress_of(run, sizes, "a lone submitter", round);
        let folder = run.folder()?;
        let syncs = syncs(&folder.path().join("file"), sizes.lone)?;
        let trips = round_trips(sizes.lone)?;
        let commands = commands(&folder.path().join("node"), sizes.lone)?;
        let p50 = |values: &[f64]| percentile(values, 0.5);
        sync.push(p50(&syncs));
        hops.push(p50(&trips));
        floor.push(p50(&syncs) + p50(&trips));
        node.push(p50(&commands));
        p99.push(percentile(&commands, 0.99));
    }
    let mut values: Vec<f64> = [&node, &p99, &sync, &hops].map(Series::median).to_vec();
    values.push(node.ratio(&floor));
    Ok(Table {
        title: "a lone submitter",
        meaning: "One command at a time, milliseconds. The floor is one append of 1 KiB with its \
                  fdatasync, plus one message to another thread and its answer: two hops. The \
                  three are measured right after each other.",
        columns: vec!["p50", "p99", "fdatasync p50", "two hops p50", "p50 / (fdatasync + hops)"],
        rows: vec![("1 submitter".to_owned(), values)],
    })
}

fn commands(folder: &Path, count: u64) -> Result<Vec<f64>> {
    let node = open_shop(open_store(folder)?, Shop::default())?;
    let sales = Sales::new();
    let one = |number| {
        let command = sales.command(number, 1 + number % 100);
        let started = Instant::now();
        send(&node, command)?;
        Ok(started.elapsed().as_secs_f64() * 1e3)
    };
    // The first ones make the workspaces.
    (0..100).map(one).collect::<Result<Vec<f64>>>()?;
    (100..100 + count).map(one).collect()
}

pub(crate) fn syncs(path: &Path, count: u64) -> Result<Vec<f64>> {
    let mut file = File::create_new(path)?;
    let one = |_| {
        let started = Instant::now();
        file.write_all(&[7; BYTES])?;
        file.sync_data()?;
        Ok(started.elapsed().as_secs_f64() * 1e3)
    };
    (0..count).map(one).collect()
}

fn round_trips(count: u64) -> Result<Vec<f64>> {
    let (there, asked) = mpsc::channel::<u64>();
    let (back, answers) = mpsc::channel::<u64>();
    std::thread::scope(|scope| {
        scope.spawn(move || asked.iter().try_for_each(|number| back.send(number)));
        let one = |number| {
            let started = Instant::now();
            there.send(number)?;
            answers.recv().context("the other thread has ended")?;
            Ok(started.elapsed().as_secs_f64() * 1e3)
        };
        let trips = (0..count).map(one).collect();
        drop(there);
        trips
    })
}
