//! A hundred seeds in a debug build. The long mode runs tens of thousands, in a release build.

use std::num::NonZeroUsize;

use seriatim_sim::{Totals, many, run_twice, uncovered};

/// So many that it takes about half a minute on two cores, and a minute beside other tests.
const STEPS: u64 = 2_000;

#[test]
fn a_hundred_seeds_hold_and_are_the_same_twice() {
    let mut totals = Totals::default();
    let threads = NonZeroUsize::new(2).unwrap();
    many(0..100, threads, |seed| run_twice(seed, STEPS).0, |report| totals.add(report));
    if let Some(failed) = &totals.failed {
        let seed = failed.seed;
        panic!("`seriatim sim --seed {seed} --steps {STEPS}` shows it: {:#?}", failed.verdict);
    }
    assert_eq!(totals.seeds, 100);
    assert!(totals.events > 1_000, "{totals:?}");
    assert!(totals.virtual_hours() > 10.0, "{totals:?}");
    assert_eq!(uncovered(&totals.counts), Vec::<&str>::new(), "none of these has happened");
}
