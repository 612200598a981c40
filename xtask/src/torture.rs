//! The torture in its long form: hundreds of kills, in a release build.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::tasks::{cargo_command, run};

/// Builds the binary that users have and the harness, and lets the one kill the other. `words` are
/// for the harness: `--kills N --seed N --folder DIR --report FILE`.
pub(crate) fn torture(root: &Path, words: &[&str]) -> Result<()> {
    let packages = ["-p", "seriatim-cli", "-p", "seriatim-torture"];
    let build = [["build", "--release", "--locked"].as_slice(), &packages].concat();
    run(&mut cargo_command(root, &build))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
    let programs: PathBuf = root.join(target).join("release");
    let mut torture = Command::new(programs.join("seriatim-torture"));
    torture.args(["run", "--dev"]).arg(programs.join("seriatim")).args(words);
    run(torture.current_dir(root))
}
