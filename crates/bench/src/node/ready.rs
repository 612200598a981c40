//! A node that is killed, and how long it then takes until it serves; what it takes up in memory
//! and on disk.
//!
//! ```text
//!  parent                                      child
//!    │ ── bench work <folder> <events> <ws> ──►  commands, commands …
//!    │ ◄── "worked <KiB>"                        so many are acknowledged
//!    │ ── SIGKILL ──►                            … still at work
//!    │ open: ready?  close, open: ready?  without a checkpoint: ready?
//! ```

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use seriatim_codec::{PartitionPrefix, head_key};
use seriatim_node::Node;
use seriatim_storage::Batch;
use seriatim_types::PartitionRef;

use super::NodeSizes;
use super::load::drive;
use super::shop::{Sales, Shop, open, open_shop, open_store};
use crate::Run;
use crate::filled::{bytes_on_disk, is_journal};
use crate::machine::resident_kib;
use crate::report::Table;

const SUBMITTERS: u64 = 256;

/// What one node came to.
struct Killed {
    ready: f64,
    again: f64,
    scan: f64,
    memory_mib: f64,
    disk_bytes: f64,
    journal_mib: f64,
}

pub(crate) fn measure(run: &Run<'_>, sizes: &NodeSizes) -> Result<Vec<Table>> {
    let mut ready = Vec::new();
    let mut space = Vec::new();
    for (events, workspaces) in sizes.killed {
        let killed = kill_and_open(run, events, workspaces)?;
        let Killed { ready: first, again, scan, memory_mib, disk_bytes, journal_mib } = killed;
        let label = format!("{events} events, {workspaces} workspaces");
        ready.push((label.clone(), vec![first, again, scan, scan / first, journal_mib]));
        space.push((label, vec![memory_mib, disk_bytes / events as f64]));
    }
    if let [(_, small), (_, large)] = ready.as_slice() {
        let ratios = large.iter().zip(small).map(|(large, small)| large / small).collect();
        ready.push(("large / small".to_owned(), ratios));
    }
    Ok(vec![
        Table {
            title: "ready after SIGKILL",
            meaning: "Seconds from nothing to a node whose partitions all serve: after a kill in \
                      the middle of its work, after a clean end, and when all numbers must be \
                      read from the log because there is no checkpoint, which is the old way. \
                      The journal is what the killed process left to be read.",
            columns: vec![
                "after SIGKILL s",
                "after a clean end s",
                "full scan s",
                "full scan / after SIGKILL",
                "journal MiB",
            ],
            rows: ready,
        },
        Table {
            title: "memory and disk",
            meaning: "Resident memory of the process right before it was killed, and all bytes in \
                      its folder then, each event being one command with 256 bytes of arguments, \
                      a new record and a number.",
            columns: vec!["resident MiB", "bytes on disk per command"],
            rows: space,
        },
    ])
}

fn kill_and_open(run: &Run<'_>, events: u64, workspaces: u64) -> Result<Killed> {
    run.progress(&format!("a node with {events} events, to be killed"));
    let folder = run.folder()?;
    let memory_kib = work_and_kill(run, folder.path(), events, workspaces)?;
    let disk_bytes = bytes_on_disk(folder.path(), &|_| true)? as f64;
    let journal_mib = bytes_on_disk(folder.path(), &is_journal)? as f64 / 1_048_576.0;
    run.progress("after SIGKILL");
    let (node, ready) = open_node(folder.path())?;
    let found = events_of(&node)?;
    ensure!(found >= events, "{events} events were acknowledged, {found} are there");
    drop(node);
    run.progress("after a clean end");
    let (node, again) = open_node(folder.path())?;
    drop(node);
    run.progress("without a checkpoint");
    forget_checkpoints(folder.path())?;
    let (node, scan) = open_node(folder.path())?;
    drop(node);
    let memory_mib = memory_kib / 1_024.0;
    Ok(Killed { ready, again, scan, memory_mib, disk_bytes, journal_mib })
}

fn work_and_kill(run: &Run<'_>, folder: &Path, events: u64, workspaces: u64) -> Result<f64> {
    let mut process = Process::new(&run.options.filler);
    process.arg("work").arg(folder).args([events.to_string(), workspaces.to_string()]);
    let mut child = process.stdout(Stdio::piped()).spawn().context("the worker does not start")?;
    let output = child.stdout.take().expect("its output is a pipe");
    let line = BufReader::new(output).lines().next();
    child.kill()?;
    child.wait()?;
    let line = line.context("the worker said nothing")??;
    Ok(line.strip_prefix("worked ").context("not a line of the worker")?.parse()?)
}

/// Runs in the process of its own: sends commands, says how many KiB it takes up once so many are
/// carried out, and goes on.
///
/// # Errors
///
/// When the node fails or nobody listens.
pub fn work(folder: &Path, events: u64, workspaces: u64) -> Result<()> {
    let shop = Shop { partitions: 2, ..Shop::default() };
    let node = open_shop(open_store(folder)?, shop)?;
    let sales = Sales::new();
    let command = |number| sales.command_of("pos-1", number, 1 + number % workspaces);
    drive(&node, SUBMITTERS, events, command)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "worked {}", resident_kib()?)?;
    out.flush()?;
    drive(&node, SUBMITTERS, u64::MAX, |number| command(events + number))?;
    Ok(())
}

fn open_node(folder: &Path) -> Result<(Node, f64)> {
    let started = Instant::now();
    let node = open(open_store(folder)?)?;
    Ok((node, started.elapsed().as_secs_f64()))
}

/// The events of all partitions of the shop.
fn events_of(node: &Node) -> Result<u64> {
    let offset = |partition: PartitionRef| {
        let (view, _) = node.view(partition).context("the partition serves")?;
        Ok(view.offset.map_or(0, seriatim_types::PartitionOffset::get))
    };
    let partitions = node.partitions().into_iter().map(|(partition, _)| partition);
    let shop = partitions.filter(|partition| partition.app != seriatim_core::SYSTEM_APP);
    shop.map(offset).sum()
}

/// Removes the heads of all checkpoints, so that they cover nothing.
fn forget_checkpoints(folder: &Path) -> Result<()> {
    let store = open_store(folder)?;
    let node = open(store.clone())?;
    let numbers = node.schema().table("numbers").context("a node's store")?;
    let mut batch = Batch::new();
    for (partition, _) in node.partitions() {
        let (_, prefix): (_, PartitionPrefix) = node.view(partition).context("it serves")?;
        batch.delete(numbers, head_key(prefix));
    }
    drop(node);
    store.commit(batch)?;
    Ok(store.sync()?)
}
