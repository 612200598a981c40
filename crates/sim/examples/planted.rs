//! Looks for every planted bug, and writes the report.
//!
//! `cargo run -p seriatim-sim --features planted --example planted > docs/reports/planted.md`

use seriatim_sim::planted::{Bug, Found, find, steps, table};

/// Seeds that are tried at most for each bug.
const SEEDS_MAX: u64 = 400;

const HEAD: &str = "\
# Planted bugs

A simulator that finds nothing has shown nothing, unless it would have found something. So there are
[bugs on purpose](../../crates/planted/src/bugs.rs) in the code that it runs, at places where somebody
could have erred. A normal build has none of them; a build with the feature `planted` has them all, and
a run has the one that it was told to have.

Each is looked for from seed 0 on. *Seeds* is how many runs it took, each of so many *steps*; *caught
by* is the [invariant](../../crates/sim/src/invariants/mod.rs) that did not hold any more, where `model`
is the comparison of every entry with a second implementation, and `no_stop` that no partition stops by
itself.

Made by `cargo run -p seriatim-sim --features planted --example planted > docs/reports/planted.md`. The
test command looks for all of them too: first at the seed that the table has, then from seed 0 on.

";

fn main() {
    let look = |bug: &Bug| {
        let report = find(*bug, SEEDS_MAX, steps(*bug)).map(|(_, report)| report);
        eprintln!("{}: {}", bug.name(), if report.is_some() { "found" } else { "not found" });
        Found { bug: *bug, report }
    };
    let found: Vec<Found> = Bug::ALL.iter().map(look).collect();
    print!("{HEAD}{}", table(&found));
}
