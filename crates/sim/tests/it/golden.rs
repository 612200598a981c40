//! The same seed gives the same bytes in every build: the tests check it in a debug build, the long
//! mode in a release build, against the same file.

use std::fmt::Write as _;

/// What the runs came to when the file was last renewed.
pub(crate) const GOLDEN: &str = include_str!("../../golden/hashes.txt");

const HEAD: &str = "\
# Seed, steps, and the hash of all that happens. Whoever changes the simulator, or what it runs,
# changes these too. `cargo run -p seriatim-sim --example long -- --renew` writes them anew.
";

const STEPS: u64 = 1_000;

/// The file as it should be now.
pub(crate) fn hashes() -> String {
    let mut text = HEAD.to_owned();
    for seed in 0..10 {
        let hash = seriatim_sim::run(seed, STEPS).trace_hash;
        writeln!(text, "{seed} {STEPS} {hash}").expect("a string takes everything");
    }
    text
}

#[test]
fn seeds_give_the_bytes_of_the_golden_file() {
    assert_eq!(hashes(), GOLDEN, "the file says how it is renewed, if this was meant");
}
