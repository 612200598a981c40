//! The real code on virtual time, network and disk: everything from a seed.
//!
//! ```text
//!  clients: the real pipeline ─► network ─► server: real partitions ─► disk
//!     ▲                            │            │ all on one thread, in the order of the agenda
//!     └────────── answers ◄────────┘            └► followers
//!                                               └► oracle: the same once more, by the model
//! ```
//!
//! **Invariants**
//! - The same seed gives the same run, byte for byte, in every build.
//! - Whatever is found wrong names the invariant that does not hold, and the seed.
//!
//! **Deliberately absent:** the threads of the node and the engine on disk. Real processes that are
//! killed show those.

mod agenda;
mod answers;
mod client;
mod coverage;
mod disk;
mod follower;
mod invariants;
mod many;
mod network;
mod oracle;
#[cfg(feature = "planted")]
pub mod planted;
mod rates;
mod server;
mod trace;
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use crate::coverage::uncovered;
pub use crate::many::{Totals, many};

use crate::invariants::Violation;
use crate::trace::{TIMELINE_LINES, Trace};
use crate::world::World;

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// How many things happened while things went wrong.
    pub steps: u64,
    /// How many events are in all logs at the end.
    pub events: u64,
    /// How much time has passed, in milliseconds.
    pub virtual_ms: u64,
    /// The hash of all that has happened.
    pub trace_hash: String,
    /// What came of commands, and what went wrong how often.
    pub counts: BTreeMap<&'static str, u64>,
    /// What came of it.
    pub verdict: Verdict,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that must hold held.
    Held,
    /// Something did not.
    Violated {
        /// Which invariant, or `assertion` for one that the real code makes itself.
        invariant: &'static str,
        /// How.
        what: String,
        /// The last things that happened.
        timeline: Vec<String>,
    },
    /// Run once more, it was not the same.
    NotDeterministic {
        /// Where the two runs part.
        what: String,
        /// The last things that happened before.
        timeline: Vec<String>,
    },
}

/// Runs a seed.
#[must_use]
pub fn run(seed: u64, steps: u64) -> Report {
    run_and_keep(seed, steps, false).0
}

/// Runs a seed. Returns the last things that happened too, or all of them.
#[must_use]
pub fn run_and_keep(seed: u64, steps: u64, keeps_all: bool) -> (Report, Vec<String>) {
    let trace = Trace::begin(keeps_all);
    let mut world = World::new(seed, trace.clone());
    // What has happened before an assertion failed is still there, and is what one wants to read.
    let ran = catch_unwind(AssertUnwindSafe(|| world.run(steps)));
    let ran = ran.unwrap_or_else(|panic| Err(assertion(said(&*panic))));
    world.tell_how_far();
    report((seed, steps), &trace, ran)
}

/// What the run that this thread has begun last comes to, if it has ended by a panic: for whoever has
/// to report that where nobody can catch it. Returns the lines that were kept too.
#[must_use]
pub fn ended_by_panic(seed: u64, steps: u64, what: String) -> (Report, Vec<String>) {
    let trace = Trace::last().unwrap_or_default();
    report((seed, steps), &trace, Err(assertion(what)))
}

fn assertion(what: String) -> Violation {
    Violation::new("assertion", what)
}

fn report(
    (seed, steps): (u64, u64),
    trace: &Trace,
    ran: Result<(), Violation>,
) -> (Report, Vec<String>) {
    let lines = trace.timeline();
    let verdict = match ran {
        Ok(()) => Verdict::Held,
        Err(Violation { invariant, what }) => {
            Verdict::Violated { invariant, what, timeline: last(&lines) }
        }
    };
    let (now, events) = trace.standing();
    let report = Report {
        seed,
        steps,
        events: u64::try_from(events).unwrap_or(u64::MAX),
        virtual_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        trace_hash: trace.hash(),
        counts: trace.counts(),
        verdict,
    };
    (report, lines)
}

/// Runs a seed twice: what differs does not follow from the seed. Returns all that happened too.
#[must_use]
pub fn run_twice(seed: u64, steps: u64) -> (Report, Vec<String>) {
    let (first, second) = (run_and_keep(seed, steps, true), run_and_keep(seed, steps, true));
    compare(first, &second)
}

fn compare(
    (mut report, lines): (Report, Vec<String>),
    (again, lines_again): &(Report, Vec<String>),
) -> (Report, Vec<String>) {
    let same = lines.iter().zip(lines_again).take_while(|(line, again)| line == again).count();
    let what = match (lines.get(same), lines_again.get(same)) {
        (None, None) if report == *again => return (report, lines),
        (None, None) => format!("the same happened, and came to {again:?} the second time"),
        (line, again) => format!("{line:?} was {again:?} the second time"),
    };
    let timeline = last(lines.get(..same).unwrap_or_default());
    report.verdict = Verdict::NotDeterministic { what, timeline };
    (report, lines)
}

fn last(lines: &[String]) -> Vec<String> {
    lines.get(lines.len().saturating_sub(TIMELINE_LINES)..).unwrap_or_default().to_vec()
}

/// What a panic has said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build that ends at a panic showed neither the timeline nor anything else of it.
    #[test]
    fn what_has_happened_before_a_panic_can_be_told_without_catching_it() {
        let (report, lines) = run_and_keep(1, 300, true);
        let (told, told_lines) = ended_by_panic(1, 300, "why".to_owned());
        assert_eq!(told_lines, lines);
        let Verdict::Violated { invariant, what, timeline } = &told.verdict else {
            panic!("a panic is a violation")
        };
        assert_eq!((*invariant, what.as_str(), timeline.len()), ("assertion", "why", 60));
        assert!(told.events > 0 && told.virtual_ms > 0 && !told.counts.is_empty());
        assert_eq!(Report { verdict: Verdict::Held, ..told }, report);
    }

    #[test]
    fn what_differs_between_two_runs_is_found_and_shown() {
        let ran = run_and_keep(1, 300, true);
        assert_eq!(compare(ran.clone(), &ran), ran);
        let (report, lines) = ran.clone();

        let mut other = lines.clone();
        other[7].push('!');
        let (found, _) = compare(ran.clone(), &(report.clone(), other));
        let Verdict::NotDeterministic { what, timeline } = found.verdict else { panic!("missed") };
        assert!(what.contains(&lines[7]) && what.contains("!\""), "{what}");
        assert_eq!(timeline, lines[..7]);

        let shorter = (report.clone(), lines[..lines.len() - 1].to_vec());
        let (found, _) = compare(ran.clone(), &shorter);
        assert!(matches!(found.verdict, Verdict::NotDeterministic { .. }));

        let other = Report { events: report.events + 1, ..report };
        let (found, _) = compare(ran, &(other, lines));
        assert!(matches!(found.verdict, Verdict::NotDeterministic { .. }));
    }
}
