//! Flipped bits in the long form: ten thousand of them, in a release build.

use std::path::Path;

use anyhow::Result;

use crate::tasks::{cargo_command, run};

/// Builds and runs the example that flips bits. `words` are for it: `--flips N --seed N --report
/// FILE`.
pub(crate) fn flips(root: &Path, words: &[&str]) -> Result<()> {
    let example =
        ["run", "--release", "--locked", "-p", "seriatim-verify", "--example", "flips", "--"];
    run(&mut cargo_command(root, &[example.as_slice(), words].concat()))
}
