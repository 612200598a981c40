//! Instruction counts per command, as a ratchet.
//!
//! Times on a shared machine say little; the count of instructions under callgrind hardly moves.
//! It is recorded for the common shapes of commands, and a change that costs more than the margin
//! fails until somebody looks at it and records the new count in the same commit.
//!
//! ```text
//!  count of SHAPE = ( instructions of 600 commands - those of 200 ) / 400
//! ```
//!
//! Callgrind's processor has no instructions for SHA-256, so hashing weighs more than it does
//! anywhere else: about half of the count.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tasks::{cargo_command, run};

const SHAPES: &[&str] =
    &["event", "draw", "record", "tree", "update", "entity", "refusal", "repetition"];
const FUNCTIONS: [&str; 2] = ["read_set", "apply"];
const RECORD: &str = "docs/reports/core-instructions.txt";
const HEADER: &str = "# instructions per command: shape, read_set, apply\n";
/// How many percent a count may grow without anybody looking.
const MARGIN_PERCENT: u64 = 5;

type Count = (String, [u64; 2]);

/// Counts, and compares with what is recorded.
pub(crate) fn check(root: &Path) -> Result<()> {
    let recorded = std::fs::read_to_string(root.join(RECORD)).with_context(|| {
        format!("{RECORD} cannot be read: make it with `instructions --record`")
    })?;
    let findings = compare(&parse(&recorded)?, &count(root)?);
    if findings.is_empty() {
        return Ok(());
    }
    bail!(
        "{}\nif it is worth that, run `cargo xtask instructions --record` and say why in the commit",
        findings.join("\n")
    )
}

/// Counts, and records.
pub(crate) fn record(root: &Path) -> Result<()> {
    let mut text = HEADER.to_owned();
    for (shape, [read_set, apply]) in count(root)? {
        writeln!(text, "{shape} {read_set} {apply}")?;
    }
    print!("{text}");
    std::fs::write(root.join(RECORD), text).with_context(|| format!("{RECORD} cannot be written"))
}

fn count(root: &Path) -> Result<Vec<Count>> {
    let build = ["build", "--release", "--locked", "-p", "seriatim-core", "--example", "shapes"];
    // Where the whole program is optimised at once, the functions that are counted are no more to be
    // found.
    run(cargo_command(root, &build).env("CARGO_PROFILE_RELEASE_LTO", "thin"))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let program = target.join("release/examples/shapes");
    let count = |shape: &&str| -> Result<Count> {
        let mut counts = [0; 2];
        for (function, count) in FUNCTIONS.iter().zip(&mut counts) {
            let few = instructions(&program, shape, function, 200)?;
            let many = instructions(&program, shape, function, 600)?;
            *count = many.saturating_sub(few) / 400;
        }
        println!("instructions: {shape}: read_set {}, apply {}", counts[0], counts[1]);
        Ok(((*shape).to_owned(), counts))
    };
    SHAPES.iter().map(count).collect()
}

fn instructions(program: &Path, shape: &str, function: &str, count: u32) -> Result<u64> {
    let toggle = format!("--toggle-collect=seriatim_core::*Machine*::{function}");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", &toggle])
        .arg(program)
        .args([shape, &count.to_string()])
        .output()
        .context("cannot start valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    match collected.and_then(|(_, count)| count.trim().parse().ok()) {
        Some(count) if count > 0 && output.status.success() => Ok(count),
        _ => bail!("callgrind counted nothing in {function} for {shape}:\n{said}"),
    }
}

fn parse(text: &str) -> Result<Vec<Count>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let parse = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [shape, read_set, apply] = words.as_slice() else { return None };
        Some(((*shape).to_owned(), [read_set.parse().ok()?, apply.parse().ok()?]))
    };
    lines
        .map(|line| parse(line).with_context(|| format!("{RECORD} has a bad line: {line}")))
        .collect()
}

fn compare(recorded: &[Count], counted: &[Count]) -> Vec<String> {
    let mut findings = Vec::new();
    for (shape, now) in counted {
        let Some((_, before)) = recorded.iter().find(|(known, _)| known == shape) else {
            findings.push(format!("{shape} is not recorded"));
            continue;
        };
        for ((function, now), before) in FUNCTIONS.iter().zip(now).zip(before) {
            let most = before.saturating_add(before.saturating_mul(MARGIN_PERCENT) / 100);
            if *now > most {
                findings
                    .push(format!("{shape}: {function} takes {now} instructions, not {before}"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_margin_is_found_and_less_is_not() {
        let count = |apply| vec![("record".to_owned(), [100, apply])];
        assert_eq!(compare(&count(1000), &count(1050)), [""; 0]);
        assert_eq!(compare(&count(1000), &count(900)), [""; 0]);
        let found = compare(&count(1000), &count(1051));
        assert_eq!(found, ["record: apply takes 1051 instructions, not 1000"]);
        assert_eq!(compare(&[], &count(1)), ["record is not recorded"]);
    }

    #[test]
    fn a_damaged_record_is_an_error() {
        assert_eq!(parse("# a\nrecord 1 2\n").unwrap(), [("record".to_owned(), [1, 2])]);
        assert!(parse("record 1\n").is_err());
        assert!(parse("record 1 x\n").is_err());
    }
}
