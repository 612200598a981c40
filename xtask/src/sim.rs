//! The simulator in its long form: tens of thousands of seeds, in a release build.

use std::path::Path;

use anyhow::Result;

use crate::tasks::{cargo_command, run};

/// Builds and runs the long mode. `words` are for it: `--seeds N --steps N --report FILE`. With
/// `--planted` before them, the build has bugs on purpose, and the report says what finds them.
pub(crate) fn sim(root: &Path, words: &[&str]) -> Result<()> {
    let (features, words): (&[&str], _) = match words {
        ["--planted", words @ ..] => (&["--features", "planted"], words),
        words => (&[], words),
    };
    let build = ["run", "--release", "--locked", "-p", "seriatim-sim", "--example", "long"];
    let mut long = cargo_command(root, &[&build, features, &["--"], words].concat());
    // An assertion that fails is what a seed has come to, and not the end of all others.
    run(long.env("CARGO_PROFILE_RELEASE_PANIC", "unwind"))
}
