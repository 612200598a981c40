//! Bugs on purpose, one at a time: what a simulator is worth is what it finds.
//!
//! ```text
//!  a bug ─► seed 0, seed 1, … ─► the first run in which something does not hold ─► which, and how
//! ```
//!
//! **Invariant:** a bug is planted in its own run alone. The thread is free of it before and after.

use std::fmt::Write as _;
use std::num::NonZeroUsize;

use seriatim_planted::choose;
pub use seriatim_planted::{Bug, Law};

use crate::{Report, Totals, Verdict, many};

/// Seeds that are run at the same time.
const THREADS: NonZeroUsize = NonZeroUsize::new(2).expect("two are some");

/// A bug, and what came of looking for it.
#[derive(Debug, Clone)]
pub struct Found {
    /// The bug.
    pub bug: Bug,
    /// The run of the lowest seed that shows it, or `None` when none of those that were run does.
    pub report: Option<Report>,
}

/// All bugs: the name of each, and what it does.
#[must_use]
pub fn all() -> Vec<(&'static str, &'static str)> {
    Bug::ALL.iter().map(|bug| (bug.name(), bug.story())).collect()
}

/// Runs a seed with the bug of that name; `None` if there is none.
#[must_use]
pub fn run(name: &str, seed: u64, steps: u64) -> Option<Report> {
    Bug::from_name(name).map(|bug| run_planted(bug, seed, steps))
}

/// Runs a seed with a bug.
#[must_use]
pub fn run_planted(bug: Bug, seed: u64, steps: u64) -> Report {
    choose(Some(bug));
    let report = crate::run(seed, steps);
    choose(None);
    report
}

/// How many steps a run needs to show a bug. Most show soon, but a window of keys must be lived
/// through, and a queue must grow.
#[must_use]
pub const fn steps(bug: Bug) -> u64 {
    let is_slow =
        matches!(bug, Bug::RetentionCutShort | Bug::SweptKeysStillCount | Bug::QueueUnbounded);
    if is_slow { 10_000 } else { 2_000 }
}

/// Runs seeds from 0 on, at most so many. Returns the lowest that shows the bug.
#[must_use]
pub fn find(bug: Bug, seeds_max: u64, steps: u64) -> Option<(u64, Report)> {
    let mut totals = Totals::default();
    many(0..seeds_max, THREADS, |seed| run_planted(bug, seed, steps), |it| totals.add(it));
    totals.failed.map(|report| (report.seed, report))
}

/// What was found, as a table in markdown: the bug, how many seeds of how many steps it took, and
/// what caught it.
#[must_use]
pub fn table(all: &[Found]) -> String {
    let mut table = String::from(
        "| bug | what it does | the law that it breaks | seeds | steps | caught by |\n\
         |---|---|---|---:|---:|---|\n",
    );
    for Found { bug, report } in all {
        let (name, story, law) = (bug.name(), bug.story(), bug.law().words());
        let found = match report {
            Some(report) => {
                let (seeds, caught) = (report.seed.saturating_add(1), caught_by(&report.verdict));
                format!("{seeds} | {} | {caught}", report.steps)
            }
            None => "not found | | ".to_owned(),
        };
        writeln!(table, "| `{name}` | {story} | {law} | {found} |")
            .expect("a string takes everything");
    }
    table
}

fn caught_by(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "nothing",
        Verdict::Violated { invariant, .. } => invariant,
        Verdict::NotDeterministic { .. } => "a second run",
    }
}
