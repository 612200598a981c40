//! Many seeds at the same time, and what they come to together.
//!
//! Seeds are handed out in their order, none behind one that failed, and what was begun is finished.
//!
//! **Invariant:** of the seeds that fail the lowest is among the reports, however many threads there
//! are. Each run is on one thread, so none depends on the others.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use crate::{Report, Verdict};

/// What many runs have come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// How many runs there were.
    pub seeds: u64,
    /// Events in all logs at the end of all runs.
    pub events: u64,
    /// How much time has passed in all of them, in milliseconds.
    pub virtual_ms: u64,
    /// What came of commands, and what went wrong how often.
    pub counts: BTreeMap<&'static str, u64>,
    /// The lowest seed that has failed.
    pub failed: Option<Report>,
}

impl Totals {
    /// Adds what came of a run.
    pub fn add(&mut self, report: Report) {
        self.seeds = self.seeds.saturating_add(1);
        self.events = self.events.saturating_add(report.events);
        self.virtual_ms = self.virtual_ms.saturating_add(report.virtual_ms);
        for (what, count) in &report.counts {
            let sum = self.counts.entry(what).or_default();
            *sum = sum.saturating_add(*count);
        }
        let is_lowest = self.failed.as_ref().is_none_or(|failed| report.seed < failed.seed);
        if report.verdict != Verdict::Held && is_lowest {
            self.failed = Some(report);
        }
    }

    /// How many hours have passed in all runs.
    #[must_use]
    pub fn virtual_hours(&self) -> f64 {
        Duration::from_millis(self.virtual_ms).as_secs_f64() / 3_600.0
    }

    /// How many of these hours a minute of the machine is worth.
    #[must_use]
    pub fn virtual_hours_per_minute(&self, took: Duration) -> f64 {
        self.virtual_hours() * 60.0 / took.as_secs_f64()
    }

    /// How many runs a second of the machine is worth.
    #[must_use]
    pub fn seeds_per_second(&self, took: Duration) -> f64 {
        let seeds = u32::try_from(self.seeds).unwrap_or(u32::MAX);
        f64::from(seeds) / took.as_secs_f64()
    }
}

/// Runs seeds on so many threads, up to the first that fails. `take` is given each report as it comes.
pub fn many(
    seeds: Range<u64>,
    threads: NonZeroUsize,
    run: impl Fn(u64) -> Report + Sync,
    take: impl FnMut(Report),
) {
    let (next, has_failed) = (AtomicU64::new(seeds.start), AtomicBool::new(false));
    let (sender, reports) = mpsc::channel();
    let work = |sender: mpsc::Sender<Report>| {
        while !has_failed.load(Ordering::Relaxed) {
            let behind = |seed: u64| seed.checked_add(1).filter(|next| *next <= seeds.end);
            let taken = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, behind);
            let Ok(seed) = taken else { return };
            let report = run(seed);
            if report.verdict != Verdict::Held {
                has_failed.store(true, Ordering::Relaxed);
            }
            sender.send(report).expect("reports are taken until all are there");
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.get() {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        reports.into_iter().for_each(take);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(seed: u64, fails: bool) -> Report {
        let (invariant, what) = ("gap_free", String::new());
        let violated = Verdict::Violated { invariant, what, timeline: Vec::new() };
        Report {
            seed,
            steps: 1,
            events: 2,
            virtual_ms: 3,
            trace_hash: String::new(),
            counts: BTreeMap::from([("kills", seed)]),
            verdict: if fails { violated } else { Verdict::Held },
        }
    }

    fn totals(seeds: Range<u64>, fails: impl Fn(u64) -> bool + Sync) -> Totals {
        let mut totals = Totals::default();
        let threads = NonZeroUsize::new(4).unwrap();
        many(seeds, threads, |seed| report(seed, fails(seed)), |report| totals.add(report));
        totals
    }

    #[test]
    fn every_seed_is_run_once() {
        let totals = totals(5..105, |_| false);
        let counts = BTreeMap::from([("kills", (5..105).sum())]);
        let expected = Totals { seeds: 100, events: 200, virtual_ms: 300, counts, failed: None };
        assert_eq!(totals, expected);
    }

    #[test]
    fn nothing_is_run_behind_the_last_seed() {
        assert_eq!(totals(u64::MAX - 2..u64::MAX, |_| false).seeds, 2);
        assert_eq!(totals(5..5, |_| false).seeds, 0);
    }

    #[test]
    fn of_many_that_fail_the_lowest_is_found() {
        for lowest in 0..40 {
            let totals = totals(0..1_000, |seed| seed >= lowest);
            assert_eq!(totals.failed.map(|failed| failed.seed), Some(lowest));
            assert!(totals.seeds <= lowest + 4, "no more is begun: {}", totals.seeds);
        }
    }
}
