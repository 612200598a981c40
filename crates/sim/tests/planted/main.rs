//! What the simulator would find: every bug that is planted.
//!
//! A binary of its own, because the bugs are compiled into all crates that it is linked with.

use seriatim_sim::planted::{Bug, Found, find, run_planted, steps, table};
use seriatim_sim::{Verdict, run};

/// Seeds within which every bug must show. Most show within ten.
const SEEDS_MAX: u64 = 400;

#[test]
fn every_planted_bug_is_found() {
    let look = |bug: &Bug| {
        let report = find(*bug, SEEDS_MAX, steps(*bug)).map(|(_, report)| report);
        Found { bug: *bug, report }
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
    let report = include_str!("../../../../docs/reports/planted.md");
    for bug in Bug::ALL {
        let row = format!("\n| `{}` | {} |", bug.name(), bug.story());
        assert!(report.contains(&row), "write the report anew: {bug:?} is not in it");
    }
}
