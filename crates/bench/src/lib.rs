//! Measurements, each against a floor or a peer of the same run.
//!
//! ```text
//!  round 1   floor │ ours │ peer      ratio, ratio
//!  round 2   floor │ ours │ peer      ratio, ratio        median of the ratios ──► report
//!  round 3   floor │ ours │ peer      ratio, ratio
//! ```
//!
//! Machines are shared and disks are noisy: a rate of today says little about tomorrow's, while
//! two rates that were taken within a second of each other can be divided. So the ratio is the
//! figure, and the rates beside it are for orientation.
//!
//! **Invariant:** a read that finds something else than was written, and a reopened store that
//! lacks what was acknowledged, end the run. A broken store has no speed.
//!
//! **Deliberately absent:** thresholds. Whether a ratio is good enough is for a reader to say.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of rounds, rows and bytes that are far below any limit"
)]

mod busy;
mod commits;
mod conditions;
mod contenders;
pub mod fill;
mod filled;
mod machine;
pub mod network;
pub mod node;
mod reads;
mod redis;
mod reopen;
pub mod report;
pub mod rounds;
mod scans;
pub mod sequencer;
mod sharing;
pub mod sizes;
mod space;
mod stalls;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use tempfile::TempDir;

use crate::filled::Filled;
use crate::network::NetworkSizes;
use crate::node::NodeSizes;
use crate::report::{Report, Table};
use crate::sequencer::SequencerSizes;
use crate::sizes::Sizes;

/// What a run is about.
#[derive(Debug)]
pub struct Options {
    /// How much is measured.
    pub sizes: Sizes,
    /// Where the data goes. It is removed again.
    pub folder: PathBuf,
    /// The program whose subcommand `fill` is [`fill::run`]: this package's binary.
    pub filler: PathBuf,
    /// How the run was asked for, for the report.
    pub command_line: String,
}

/// Runs all measurements of the storage layer.
///
/// # Errors
///
/// When a store fails, or does not hold what it was given.
pub fn storage(options: &Options) -> Result<Report> {
    let run = Run { options, started: Instant::now() };
    let mut tables = vec![commits::measure(&run)?, sharing::measure(&run)?, busy::measure(&run)?];
    let filled = Filled::new(&run)?;
    tables.push(reads::measure(&run, &filled)?);
    tables.push(scans::measure(&run, &filled)?);
    tables.push(conditions::measure(&run, &filled)?);
    let space = space::measure(&filled)?;
    drop(filled);
    tables.extend([reopen::measure(&run)?, stalls::measure(&run)?, space]);
    Ok(Report {
        title: "Storage".to_owned(),
        facts: machine::facts(options, machine::mode(&options.sizes), run.started.elapsed())?,
        tables,
    })
}

/// Runs all measurements of the sequencer.
///
/// # Errors
///
/// When a store fails, or numbers are not what they must be.
pub fn sequencer(options: &Options, sizes: &SequencerSizes) -> Result<Report> {
    let run = Run { options, started: Instant::now() };
    let tables = vec![
        sequencer::draws(&run, sizes)?,
        sequencer::starts(&run, sizes)?,
        sequencer::memory(&run, sizes)?,
    ];
    let mode = format!("{}: {} rounds of draws", options.sizes.name, options.sizes.rounds);
    let facts = machine::facts(options, mode, run.started.elapsed())?;
    Ok(Report { title: "Sequencer".to_owned(), facts, tables })
}

/// Runs all measurements of the node.
///
/// # Errors
///
/// When the node fails, or does not do what it was asked for.
pub fn node(options: &Options, sizes: &NodeSizes) -> Result<Report> {
    let run = Run { options, started: Instant::now() };
    let tables = node::measure(&run, sizes)?;
    let mode = format!("{}: {} rounds", options.sizes.name, sizes.rounds);
    let facts = machine::facts(options, mode, run.started.elapsed())?;
    Ok(Report { title: "Node".to_owned(), facts, tables })
}

/// Runs all measurements through the network, with the binary `seriatim` that lies beside this one.
///
/// # Errors
///
/// When the server fails, or its log is not what it has acknowledged.
pub fn network(options: &Options, sizes: &NetworkSizes) -> Result<Report> {
    let run = Run { options, started: Instant::now() };
    let tables = network::measure(&run, sizes)?;
    let NetworkSizes { seconds, rounds, .. } = sizes;
    let mode = format!("{}: {rounds} rounds, {seconds} s for each load", options.sizes.name);
    let facts = machine::facts(options, mode, run.started.elapsed())?;
    Ok(Report { title: "Network".to_owned(), facts, tables })
}

/// A run that is under way.
struct Run<'a> {
    options: &'a Options,
    started: Instant,
}

impl Run<'_> {
    fn sizes(&self) -> &Sizes {
        &self.options.sizes
    }

    /// An empty folder that is removed with the value.
    fn folder(&self) -> Result<TempDir> {
        Ok(TempDir::with_prefix_in("seriatim-bench-", &self.options.folder)?)
    }

    /// Shows a table that the report will have.
    fn show(&self, table: &Table) {
        eprint!("{}", table.text());
    }

    fn progress(&self, what: &str) {
        eprintln!("{:>6.1} s  {what}", self.started.elapsed().as_secs_f64());
    }
}
