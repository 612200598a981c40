//! What a run came to, as a line, and as a page of the repository.

use std::fmt::{self, Write as _};
use std::fs;
use std::time::Duration;

use anyhow::Result;

use crate::history::Counts;
use crate::run::Plan;

/// What a run came to. A run that found a broken fact has none: it is an error.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Which server, and what happened to it.
    pub title: &'static str,
    /// Where all choices came from.
    pub seed: u64,
    /// How often the server was killed.
    pub kills: u64,
    /// Of those, how often while it was starting.
    pub early_kills: u64,
    /// After how many kills something was taken away that no sync had covered.
    pub cuts: u64,
    /// The bytes of the journals that no sync had covered.
    pub lost_bytes: u64,
    /// What the clients met.
    pub counts: Counts,
    /// Definitions that were acknowledged while clients were at work.
    pub definitions: u64,
    /// Definitions that were not answered before a kill.
    pub unknown_definitions: u64,
    /// Workspaces and events at the end.
    pub workspaces: usize,
    /// Events in all logs at the end.
    pub events: usize,
    /// Events that followers saw, each once.
    pub followed: usize,
    /// Proofs that came with receipts and hold.
    pub proofs: u64,
    /// How long the server took to be ready after each kill, if that was waited for.
    pub ready: Vec<Duration>,
    /// How long it all took.
    pub took: Duration,
}

impl Summary {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            title: plan.program.title(),
            seed: plan.seed,
            kills: 0,
            early_kills: 0,
            cuts: 0,
            lost_bytes: 0,
            counts: Counts::default(),
            definitions: 0,
            unknown_definitions: 0,
            workspaces: 0,
            events: 0,
            followed: 0,
            proofs: 0,
            ready: Vec::new(),
            took: Duration::ZERO,
        }
    }

    /// Within which time so many percent of those starts were ready.
    #[must_use]
    pub fn ready(&self, percent: usize) -> Duration {
        let mut ready = self.ready.clone();
        ready.sort();
        let index = ready.len().saturating_sub(1) * percent / 100;
        ready.get(index).copied().unwrap_or_default()
    }

    /// The rows of the report.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let Counts { acknowledged, refused, unknown, repeated, busy, .. } = self.counts;
        let Counts { unknown_written, unknown_not_written, unknown_refused, .. } = self.counts;
        vec![
            ("seed", self.seed.to_string()),
            ("kills", self.kills.to_string()),
            ("of those, while the server was starting", self.early_kills.to_string()),
            ("kills after which unsynced bytes were taken away", self.cuts.to_string()),
            ("bytes that no sync had covered", self.lost_bytes.to_string()),
            ("commands acknowledged", acknowledged.to_string()),
            ("commands refused, without a trace", refused.to_string()),
            ("outcomes unknown at a kill", unknown.to_string()),
            ("of those, found written", unknown_written.to_string()),
            ("of those, written when sent again", unknown_not_written.to_string()),
            ("of those, refused when sent again", unknown_refused.to_string()),
            ("receipts given again, byte for byte", repeated.to_string()),
            ("answers *busy*, sent again", busy.to_string()),
            ("definitions acknowledged meanwhile", self.definitions.to_string()),
            ("definitions unknown at a kill", self.unknown_definitions.to_string()),
            ("workspaces", self.workspaces.to_string()),
            ("events", self.events.to_string()),
            ("events seen by followers, once each", self.followed.to_string()),
            ("proofs in receipts that hold", self.proofs.to_string()),
            ("holes, repeats, losses, traces", "0".to_owned()),
            ("ready after a kill, p50", format!("{} ms", self.ready(50).as_millis())),
            ("ready after a kill, max", format!("{} ms", self.ready(100).as_millis())),
            ("took", format!("{} s", self.took.as_secs())),
        ]
    }
}

/// The state of affairs in one line.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { acknowledged, unknown, .. } = self.counts;
        let (kills, resolved, lost) = (self.kills, self.counts.resolved(), self.lost_bytes);
        let seconds = self.took.as_secs();
        write!(
            f,
            "{}: {kills} kills, {acknowledged} acknowledged, {unknown} unknown, {resolved} \
             resolved, {lost} bytes lost, {seconds} s",
            self.title
        )
    }
}

const INTRODUCTION: &str = "\
A server process under concurrent clients, killed with SIGKILL at random moments and started again
on the same folder. Behind the last kill everything that clients were told is compared with what the
server says: every receipt byte for byte, every log, every number, every proof, and what followers
saw. A run that finds a broken fact ends there and is no report, so the figure for what was lost or
repeated can only be 0. All choices come from the seed; what a kill meets does not.

In the variant with lost data, bytes of the newest journal that no returned fdatasync had covered
are cut off, zeroed or garbled after each kill, as a power cut could leave them. Files that the
engine syncs by itself (tables, their lists, new journals) are not touched.
";

/// A page with a column for each run.
///
/// # Errors
///
/// When the machine does not tell what it is.
pub fn markdown(command_line: &str, runs: &[Summary]) -> Result<String> {
    let mut page = format!("# Torture\n\n{INTRODUCTION}\n");
    writeln!(page, "Made by `{command_line}` on {}.\n", machine()?)?;
    let titles: Vec<&str> = runs.iter().map(|run| run.title).collect();
    writeln!(page, "| | {} |", titles.join(" | "))?;
    writeln!(page, "|---|{}", "---:|".repeat(runs.len()))?;
    let mut columns: Vec<_> = runs.iter().map(|run| run.facts().into_iter()).collect();
    loop {
        let row: Vec<_> = columns.iter_mut().filter_map(Iterator::next).collect();
        let Some((name, _)) = row.first() else { return Ok(page) };
        let values: Vec<&str> = row.iter().map(|(_, value)| value.as_str()).collect();
        writeln!(page, "| {name} | {} |", values.join(" | "))?;
    }
}

fn machine() -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name"));
    let cpu = cpu.unwrap_or_default().trim_start_matches([' ', '\t', ':']);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let cores = std::thread::available_parallelism()?;
    Ok(format!("{cpu}, {cores} cores, kernel {}", kernel.trim()))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::process::Program;

    #[test]
    fn a_page_has_a_column_for_each_run() {
        let plan = Plan {
            program: Program::Dev(PathBuf::new()),
            kills: 1,
            seed: 42,
            clients: 1,
            acknowledged_max: 1,
            folder: PathBuf::new(),
        };
        let page = markdown("xtask", &[Summary::new(&plan), Summary::new(&plan)]).unwrap();
        assert!(page.contains("| seed | 42 | 42 |\n"), "{page}");
    }
}
