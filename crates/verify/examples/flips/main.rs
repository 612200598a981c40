//! Flips ten thousand bits, one at a time, and reports whether each was found.
//!
//! `cargo xtask flips [--flips 10000] [--seed 1] [--report FILE]`
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "what fails here fails the run, and says so by panicking"
)]

#[path = "../../tests/it/flips.rs"]
mod flips;
#[path = "../../tests/it/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use seriatim_node::schema;
use seriatim_storage::Store;
use seriatim_storage::faulty::Dice;
use seriatim_storage::memory::MemoryStore;
use seriatim_storage_fjall::{FjallStore, Settings};
use tempfile::TempDir;

use flips::{Ending, Flips, SMALL, all_rows, flip_files, flip_rows, on_disk};
use world::{Checkpoints, World};

const USAGE: &str = "usage: flips [--flips N] [--seed N] [--report FILE]";

struct Asked {
    flips: u64,
    seed: u64,
    report: Option<String>,
}

impl Asked {
    fn parse(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut asked = Self { flips: 10_000, seed: 1, report: None };
        while let Some(flag) = words.next() {
            let value = words.next()?;
            match flag.as_str() {
                "--flips" => asked.flips = value.parse().ok()?,
                "--seed" => asked.seed = value.parse().ok()?,
                "--report" => asked.report = Some(value),
                _ => return None,
            }
        }
        Some(asked)
    }
}

fn main() -> ExitCode {
    let Some(asked) = Asked::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut dice = Dice::new(asked.seed);
    let mut page = format!(
        "# Flipped bits\n\nOne bit is flipped, the check runs, the bit is flipped back. A flip that is \
         neither found nor\nexplained ends the run, so there is no report with one.\n\n\
         Made by `cargo xtask flips --flips {} --seed {}`.\n\n\
         | where | flips | found | lawful all the same | took |\n|---|---:|---:|---:|---:|\n",
        asked.flips, asked.seed
    );
    let mut free = BTreeMap::new();
    for (name, part, run) in RUNS {
        let start = Instant::now();
        let result = run(asked.flips * part / 100, &mut dice);
        let lawful = result.free.len();
        assert_eq!(result.found + u64::try_from(lawful).unwrap(), result.flips, "{name}");
        let (flips, found, took) = (result.flips, result.found, start.elapsed().as_secs());
        let line = format!("| {name} | {flips} | {found} | {lawful} | {took} s |");
        println!("{line}");
        writeln!(page, "{line}").unwrap();
        result.free.into_iter().for_each(|why| *free.entry(why).or_insert(0) += 1);
    }
    writeln!(page, "\nLawful all the same, because nothing else says it:\n").unwrap();
    free.iter().for_each(|(why, count)| writeln!(page, "- {count} × {why}").unwrap());
    print!("\n{page}");
    asked.report.iter().for_each(|file| std::fs::write(file, &page).unwrap());
    ExitCode::SUCCESS
}

/// Makes so many flips.
type Run = fn(u64, &mut Dice) -> Flips;

/// What is flipped, with its share in percent.
const RUNS: [(&str, u64, Run); 5] = [
    ("rows of a store that was closed", 40, |flips, dice| {
        flip_rows(&*rows(Ending::Closed), flips, dice)
    }),
    ("rows of a store that was killed", 10, |flips, dice| {
        flip_rows(&*rows(Ending::Killed), flips, dice)
    }),
    ("files of a store that was closed", 30, |flips, dice| {
        flip_files(on_disk(Ending::Closed, 30).path(), flips, dice)
    }),
    ("files of a store that was killed", 18, |flips, dice| {
        flip_files(on_disk(Ending::Killed, 30).path(), flips, dice)
    }),
    ("files of a store with several journals", 2, |flips, dice| {
        flip_files(with_journals().path(), flips, dice)
    }),
];

/// The rows of a store on disk, in memory.
fn rows(ending: Ending) -> Arc<dyn Store> {
    let folder = on_disk(ending, 12);
    let store = seriatim_verify::open(folder.path()).unwrap();
    let memory = MemoryStore::new(store.schema());
    let mut batch = seriatim_storage::Batch::new();
    all_rows(&store).into_iter().for_each(|(table, row)| batch.put(table, row.key, row.value));
    memory.commit(batch).unwrap();
    Arc::new(memory)
}

/// A store on disk with so much in it that its journal was begun anew, and the older one is kept.
fn with_journals() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { memtable_bytes: 16 << 20, journal_bytes_max: 1 << 30, ..SMALL };
    let store: Arc<dyn Store> =
        Arc::new(FjallStore::open(folder.path(), &schema(), settings).unwrap());
    let mut world = World::open(store, Checkpoints::Soon);
    world.define();
    let text = "x".repeat(400_000);
    let event = format!("{{'name': 'Written', 'args': {{'text': '{text}'}}}}");
    // Tables that are not written out yet keep the older journal.
    while !folder.path().join("fjall/1.jnl").exists() {
        (0..20).for_each(|round| drop(world.send("shop", "1", round, &event)));
    }
    world.work(4);
    world.end();
    folder
}
