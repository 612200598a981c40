//! Checks on sources, dependencies and documents that no compiler makes.
//!
//! Each check is a pure function from what was read ([`Tree`], [`Metadata`]) to findings, so its
//! tests show a bad sample failing beside a good one passing. All findings are printed before the
//! task fails: repairing one after the other would cost a run each.

mod decisions;
mod headers;
mod licences;
mod links;
mod markdown;
mod metadata;
mod planted;
mod purity;
mod rings;
mod rust;
mod seeds;
mod simulator;
mod sizes;
mod tree;
mod words;

use std::fmt;
use std::path::Path;

use anyhow::{Result, ensure};

use metadata::Metadata;
use tree::Tree;

/// One thing to repair, in the form that editors turn into a jump.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    sentence: String,
}

impl Finding {
    fn new(path: &str, line: usize, sentence: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, sentence: sentence.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.sentence)
    }
}

/// Reads the repository once, runs every check on it and prints what they found.
pub(crate) fn run(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    let metadata = Metadata::read(root)?;
    let mut findings = [
        rings::check(&tree, &metadata),
        planted::check(&tree, &metadata),
        purity::check(&tree),
        simulator::check(&tree),
        sizes::check(&tree),
        words::check(&tree),
        headers::check(&tree, &metadata),
        links::check(&tree),
        seeds::check(&tree),
        decisions::check(&tree),
        licences::check(&tree, &metadata),
    ]
    .concat();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "tidy found {} things to repair", findings.len());
    Ok(())
}

/// What the tests of the checks compare: the findings as they are printed.
#[cfg(test)]
fn printed(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
