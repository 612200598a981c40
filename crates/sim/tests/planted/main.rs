//! What the simulator would find: every bug that is planted.
//!
//! A binary of its own, because the bugs are compiled into all crates that it is linked with.

use seriatim_sim::planted::{Bug, Found, find, run_planted, steps, table};
use seriatim_sim::{Verdict, run};

/// Seeds within which every bug must show. Most show within ten.
const SEEDS_MAX: u64 = 400;

/// What was found when the report was written.
const REPORT: &str = include_str!("../../../../docs/reports/planted.md");

/// The seed that has shown a bug then. Every change of the simulator makes others of its seeds, so it is
/// where to look first, and no more.
fn known(bug: Bug) -> Option<u64> {
    let row = REPORT.lines().find(|line| line.starts_with(&format!("| `{}` |", bug.name())))?;
    let seeds: u64 = row.split(" | ").nth(3)?.parse().ok()?;
    seeds.checked_sub(1)
}

#[test]
fn every_planted_bug_is_found() {
    let look = |bug: &Bug| {
        let known = known(*bug).map(|seed| run_planted(*bug, seed, steps(*bug)));
        let known = known.filter(|report| report.verdict != Verdict::Held);
        let from_the_first = || find(*bug, SEEDS_MAX, steps(*bug)).map(|(_, report)| report);
        Found { bug: *bug, report: known.or_else(from_the_first) }
    };
    let found: Vec<Found> = Bug::ALL.iter().map(look).collect();
    println!("{}", table(&found));
    let missed = found.iter().filter(|found| found.report.is_none()).map(|found| found.bug.name());
    assert_eq!(missed.collect::<Vec<_>>(), [""; 0], "not found within {SEEDS_MAX} seeds");
}

#[test]
fn a_bug_is_gone_when_its_run_is_over() {
    let (seed, steps) = (1, 2_000);
    let sound = run(seed, steps);
    let spoilt = run_planted(Bug::SubscriptionSeam, seed, steps);
    assert_eq!(sound.verdict, Verdict::Held);
    assert_ne!(spoilt.verdict, Verdict::Held);
    assert_eq!(run(seed, steps), sound);
}

#[test]
fn the_report_has_every_bug() {
    for bug in Bug::ALL {
        let row = format!("\n| `{}` | {} |", bug.name(), bug.story());
        assert!(REPORT.contains(&row), "write the report anew: {bug:?} is not in it");
    }
}
