//! The process that fills a store: to be killed, or to be looked at while it has done nothing
//! else.
//!
//! ```text
//!  parent                              child
//!    │ ── bench fill <folder> <pairs> kill ──►  commit, sync, commit, sync …
//!    │ ◄── "filled <commands> <commits> <KiB>"  all of that is acknowledged
//!    │ ── SIGKILL ──►                           … still writing
//! ```

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use seriatim_storage::Store;
use seriatim_storage_fjall::{FjallStore, Settings};
use seriatim_testkit::{CommandRows, PAIRS_PER_COMMAND, command_schema};

use crate::machine::resident_kib;

const COMMANDS_PER_BATCH: u64 = 256;

/// What the process does once it has written its pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Goes on until it is killed.
    Kill,
    /// Closes the store and opens it once more.
    Reopen,
}

impl Then {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Reopen => "reopen",
        }
    }
}

/// What the process has said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filled {
    pub(crate) commands: u64,
    pub(crate) commits: u64,
    pub(crate) resident_kib: u64,
}

/// The rows that the process writes.
pub(crate) fn rows() -> CommandRows {
    CommandRows::new(&command_schema(), 1)
}

/// Runs in the process of its own: commits batches of 256 commands with a sync each, and says
/// so when `pairs` are durable.
///
/// # Errors
///
/// When the store fails or nobody listens.
pub fn run(folder: &Path, pairs: u64, then: Then) -> Result<()> {
    let open = || FjallStore::open(folder, &command_schema(), Settings::default());
    let (store, rows) = (open()?, rows());
    let wanted = pairs.div_ceil(PAIRS_PER_COMMAND);
    let (mut commands, mut commits) = (0, 0);
    while commands < wanted || then == Then::Kill {
        let left = wanted.saturating_sub(commands);
        let count = if left == 0 { COMMANDS_PER_BATCH } else { left.min(COMMANDS_PER_BATCH) };
        store.commit(rows.batch(commands, count))?;
        store.sync()?;
        commands += count;
        commits += 1;
        if commands == wanted {
            say(&[commands, commits, resident_kib()?])?;
        }
    }
    drop(store);
    let store = open()?;
    say(&[commands, commits, resident_kib()?])?;
    drop(store);
    Ok(())
}

fn say(numbers: &[u64]) -> Result<()> {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let mut out = std::io::stdout().lock();
    writeln!(out, "filled {}", numbers.join(" "))?;
    Ok(out.flush()?)
}

/// Starts the process and kills it as soon as it says that it is done.
pub(crate) fn and_kill(filler: &Path, folder: &Path, pairs: u64) -> Result<Filled> {
    let (mut child, mut lines) = start(filler, folder, pairs, Then::Kill)?;
    let heard = hear(&mut lines);
    child.kill()?;
    child.wait()?;
    heard
}

/// Runs the process to its end. Returns what it said after writing and after reopening.
pub(crate) fn and_reopen(filler: &Path, folder: &Path, pairs: u64) -> Result<[Filled; 2]> {
    let (mut child, mut lines) = start(filler, folder, pairs, Then::Reopen)?;
    let heard = [hear(&mut lines), hear(&mut lines)];
    let status = child.wait()?;
    ensure!(status.success(), "the process that fills the store ended with {status}");
    let [written, reopened] = heard;
    Ok([written?, reopened?])
}

fn start(
    filler: &Path,
    folder: &Path,
    pairs: u64,
    then: Then,
) -> Result<(Child, impl Iterator<Item = std::io::Result<String>> + use<>)> {
    let mut command = Command::new(filler);
    command.arg("fill").arg(folder).args([&pairs.to_string(), then.name()]);
    let mut child = command.stdout(Stdio::piped()).spawn().context("the filler does not start")?;
    let output = child.stdout.take().expect("its output is a pipe");
    Ok((child, BufReader::new(output).lines()))
}

fn hear(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> Result<Filled> {
    let line = lines.next().context("the process that fills the store said nothing")??;
    let mut numbers = line.strip_prefix("filled ").context("not a line of the filler")?.split(' ');
    let mut next =
        || -> Result<u64> { Ok(numbers.next().context("a number is missing")?.parse()?) };
    Ok(Filled { commands: next()?, commits: next()?, resident_kib: next()? })
}
