//! A hundred seeds in a debug build. The long mode runs tens of thousands, in a release build.

use std::num::NonZeroUsize;

use seriatim_sim::{Totals, coverage, many, run_twice};

/// So many that it takes about half a minute on two cores, and a minute beside other tests.
const STEPS: u64 = 2_000;

#[test]
fn a_hundred_seeds_hold_and_are_the_same_twice() {
    let mut totals = Totals::default();
    let threads = NonZeroUsize::new(2).unwrap();
    let mut reports = Vec::new();
    many(
        0..100,
        threads,
        |seed| run_twice(seed, STEPS).0,
        |report| {
            reports.push(report.clone());
            totals.add(report);
        },
    );
    if let Some(failed) = &totals.failed {
        let seed = failed.seed;
        panic!("`seriatim sim --seed {seed} --steps {STEPS}` shows it: {:#?}", failed.verdict);
    }
    assert_eq!(totals.seeds, 100);
    assert!(totals.events > 1_000, "{totals:?}");
    assert_eq!(coverage(&reports), Vec::<&str>::new(), "none of these has happened");
}
