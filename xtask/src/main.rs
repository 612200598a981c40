//! The project's own tasks, started as `cargo xtask <task>`.
//!
//! What continuous integration runs is what a person runs: `verify`, then `test`. `verify` only
//! reads; `fix` is the one task that writes to the sources.

mod flips;
mod instructions;
mod needs;
mod schemathesis;
mod sim;
mod tasks;
mod tidy;
mod torture;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;

const USAGE: &str = "\
usage: cargo xtask <task>

  verify   read-only checks: format, clippy, docs, tidy; stops at the first that fails
  test     install what the tests need, then run every test
  fix      apply clippy's suggestions and format; writes to the sources
  tidy     the checks on sources, dependencies and documents alone
  instructions [--record]   instructions per command under callgrind, against the record
  torture [--kills 200] [--seed N] [--report FILE]   kill a server that is at work, many times
  sim [--planted] [--seeds 20000] [--steps 3000] [--report FILE]   many simulated runs
  flips [--flips 10000] [--seed N] [--report FILE]   flip bits of a store, and find every one
  schemathesis [--examples 1000] [--seconds 300] [--seed N] [--report FILE]   fuzz /openapi.json";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let task: &dyn Fn(&Path) -> Result<()> = match words.as_slice() {
        ["verify"] => &tasks::verify,
        ["test"] => &tasks::test,
        ["fix"] => &tasks::fix,
        ["tidy"] => &tidy::run,
        ["instructions"] => &instructions::check,
        ["instructions", "--record"] => &instructions::record,
        ["torture", words @ ..] => &|root: &Path| torture::torture(root, words),
        ["sim", words @ ..] => &|root: &Path| sim::sim(root, words),
        ["flips", words @ ..] => &|root: &Path| flips::flips(root, words),
        ["schemathesis", words @ ..] => &|root: &Path| schemathesis::schemathesis(root, words),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match task(&root()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository, so that tasks do the same from every directory below it. Cargo says
/// where it started us; the path at build time can be that of another checkout with which this one
/// shares its target directory.
fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR");
    let directory = manifest.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&directory)
        .parent()
        .expect("xtask lies in a directory of the workspace")
        .to_path_buf()
}
