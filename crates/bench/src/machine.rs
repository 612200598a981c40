//! What a run was made on. Figures without it cannot be compared with anything.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::Options;
use crate::sizes::Sizes;

pub(crate) fn facts(
    options: &Options,
    mode: String,
    took: Duration,
) -> Result<Vec<(&'static str, String)>> {
    let gib = field("/proc/meminfo", "MemTotal")?.trim_end_matches(" kB").parse::<f64>()?
        / (1024.0 * 1024.0);
    Ok(vec![
        ("date", jiff::Timestamp::now().strftime("%F").to_string()),
        ("cpu", field("/proc/cpuinfo", "model name")?),
        ("cores", std::thread::available_parallelism()?.to_string()),
        ("memory", format!("{gib:.1} GiB")),
        ("file system", file_system(&options.folder)?),
        ("kernel", fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned()),
        ("command line", options.command_line.clone()),
        ("mode", mode),
        ("took", format!("{} s", took.as_secs())),
    ])
}

pub(crate) fn mode(sizes: &Sizes) -> String {
    let Sizes { name, rounds, stall_passes, .. } = sizes;
    format!("{name}: {rounds} rounds; write stalls {stall_passes} ×, reopening as often as it says")
}

/// KiB of this process that are in memory.
pub(crate) fn resident_kib() -> Result<u64> {
    Ok(field("/proc/self/status", "VmRSS")?.trim_end_matches(" kB").parse()?)
}

/// The first value of a name in one of the system's files of names and values.
pub(crate) fn field(file: &str, name: &str) -> Result<String> {
    let text = fs::read_to_string(file)?;
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(known, _)| known.trim() == name);
    let (_, value) = values.next().with_context(|| format!("{file} has no {name}"))?;
    Ok(value.trim().to_owned())
}

fn file_system(folder: &Path) -> Result<String> {
    let folder = folder.canonicalize()?;
    let mounts = fs::read_to_string("/proc/mounts")?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let holding = mounts.filter(|(point, _)| folder.starts_with(point));
    let nearest = holding.max_by_key(|(point, _)| point.len()).context("no file system")?;
    Ok(nearest.1.to_owned())
}
