//! How long it takes to open a store whose process was killed, and whether it is all there.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use seriatim_storage::Read;
use seriatim_storage::faulty::Dice;
use seriatim_storage_fjall::{FjallStore, Settings};
use seriatim_testkit::command_schema;

use crate::filled::{bytes_on_disk, is_journal};
use crate::report::Table;
use crate::rounds::Series;
use crate::{Run, fill};

/// Commands that are looked up after the kill, besides the last one.
const CHECKED_COMMANDS: u64 = 1_000;

pub(crate) fn measure(run: &Run<'_>) -> Result<Table> {
    let mut rows = Vec::new();
    for (pairs, times) in run.sizes().reopens {
        let mut figures: [Series; 5] = Default::default();
        for number in 1..=times {
            run.progress(&format!("reopen after SIGKILL at {pairs} pairs, time {number}"));
            for (series, figure) in figures.iter_mut().zip(kill_and_open(run, pairs)?) {
                series.push(figure);
            }
        }
        let label = format!("{pairs} pairs, {times} ×");
        rows.push((label, figures.map(|series| series.median()).to_vec()));
    }
    if let [(_, small), (_, large)] = rows.as_slice() {
        let ratios = large.iter().zip(small).map(|(large, small)| large / small).collect();
        rows.push(("large / small".to_owned(), ratios));
    }
    Ok(Table {
        title: "reopen after SIGKILL",
        meaning: "Another process commits batches of 256 commands with a sync each, says when \
                  the pairs are durable and is killed right then, while it goes on writing. The \
                  first open reads the journal that it left, the second one follows a clean \
                  close. Everything that was announced is looked up in between. The floor reads \
                  the same journal files once. The last row is what ten times the data costs: \
                  the journal is bounded, so it should stay far below 10.",
        columns: vec![
            "journal MiB",
            "first open s",
            "second open s",
            "first open / reading the journal",
            "second / first open",
        ],
        rows,
    })
}

fn kill_and_open(run: &Run<'_>, pairs: u64) -> Result<[f64; 5]> {
    let folder = run.folder()?;
    let announced = fill::and_kill(&run.options.filler, folder.path(), pairs)?;
    let journal_bytes = bytes_on_disk(folder.path(), &is_journal)?;

    let reading = Instant::now();
    read_journals(folder.path())?;
    let reading = reading.elapsed().as_secs_f64();
    let open = || -> Result<(FjallStore, f64)> {
        let started = Instant::now();
        let store = FjallStore::open(folder.path(), &command_schema(), Settings::default())?;
        Ok((store, started.elapsed().as_secs_f64()))
    };
    let (store, first) = open()?;
    check(&store, announced)?;
    drop(store);
    let (_store, second) = open()?;
    Ok([journal_bytes as f64 / 1_048_576.0, first, second, first / reading, second / first])
}

/// Everything that was announced was acknowledged before.
fn check(store: &FjallStore, announced: fill::Filled) -> Result<()> {
    let found = store.found_on_open().last_commit;
    ensure!(
        found.is_none_or(|last| last >= announced.commits),
        "the journal ends with commit {found:?}, {} was acknowledged",
        announced.commits
    );
    let (rows, mut dice) = (fill::rows(), Dice::new(7));
    let some = (0..CHECKED_COMMANDS).map(|_| dice.below(announced.commands));
    for number in some.chain([announced.commands - 1]) {
        for (table, key, value) in rows.rows(number) {
            let stored = store.get(table, &key)?;
            let is_whole = if table == command_schema().table("workspaces").expect("is there") {
                stored.is_some()
            } else {
                stored.as_deref() == Some(value.as_slice())
            };
            ensure!(is_whole, "command {number} was acknowledged and is not there");
        }
    }
    Ok(())
}

fn read_journals(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder.join("fjall"))? {
        let path = entry?.path();
        if is_journal(&path) {
            std::hint::black_box(fs::read(path)?);
        }
    }
    Ok(())
}
