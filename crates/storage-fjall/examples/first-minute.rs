//! The promise of the storage layer, shown once: what was acknowledged survives a kill.
//!
//! Starts itself as a second process that writes, kills that process without warning, opens
//! the store again and looks at every row.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use seriatim_storage::Store;
use seriatim_storage::conformance::workload;
use seriatim_storage_fjall::{FjallStore, Settings};

const BATCHES: u64 = 1_000;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let folder = PathBuf::from("first-minute-data");
    let is_writer = std::env::args().nth(1).is_some_and(|argument| argument == "write");
    let result = if is_writer { write(&folder) } else { show(&folder) };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("first-minute: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn open(folder: &Path) -> Result<FjallStore, Failure> {
    Ok(FjallStore::open(folder, &workload::schema(), Settings::default())?)
}

fn write(folder: &Path) -> Result<(), Failure> {
    Ok(workload::write_until_killed(&open(folder)?, io::stdout())?)
}

fn show(folder: &Path) -> Result<(), Failure> {
    println!("The store is in {}.", folder.display());
    let before = lasts(&open(folder)?);
    let already: u64 = before.iter().sum();
    println!("It holds {already} batches from earlier runs.\n");

    println!("1. A second process writes, three writers at once, and syncs every batch.");
    let mut writer = Command::new(std::env::current_exe()?);
    let writer = writer.arg("write").stdout(Stdio::piped()).spawn()?;
    let acked = watch_and_kill(writer, before)?;
    let total: u64 = acked.iter().sum();
    println!("   {} batches were acknowledged as durable.", total.saturating_sub(already));
    println!("2. It was killed with SIGKILL in the middle of its work.");

    let start = Instant::now();
    let store = open(folder)?;
    let found = store.found_on_open().clone();
    println!("3. The store was opened again in {} ms.", start.elapsed().as_millis());
    println!("   {} bytes of a torn last write were cut off.", found.torn_bytes);

    let stats = store.stats()?;
    let begun: Vec<u64> = acked.iter().map(|acked| acked.saturating_add(1)).collect();
    let there: u64 = workload::check(Box::new(store), &acked, &begun).iter().sum();
    println!("4. Every row was read and compared, byte for byte.");
    println!("   {total} batches must be there, {there} are, none of them in part.");
    println!("   (A batch can be durable although its acknowledgement was cut off by the kill.)");
    println!("\nThe store takes {} KiB on disk. Run this again: it goes on.", stats.bytes() >> 10);
    Ok(())
}

fn lasts(store: &dyn Store) -> Vec<u64> {
    let last = |writer| workload::next_batch_of(store, writer).saturating_sub(1);
    (0..workload::WRITERS).map(last).collect()
}

/// Counts acknowledgements until there are enough, then kills the writer and reads the rest.
fn watch_and_kill(mut writer: Child, mut acked: Vec<u64>) -> Result<Vec<u64>, Failure> {
    let lines = BufReader::new(writer.stdout.take().expect("standard output is piped")).lines();
    let mut seen = 0_u64;
    for line in lines {
        let line = line?;
        let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [writer_number, batch] = numbers[..] else { break };
        if let Some(last) = acked.get_mut(usize::try_from(writer_number)?) {
            *last = batch;
        }
        seen = seen.saturating_add(1);
        if seen == BATCHES {
            writer.kill()?;
        }
    }
    let status = writer.wait()?;
    if seen < BATCHES {
        return Err(format!("the writer stopped by itself: {status}").into());
    }
    Ok(acked)
}
