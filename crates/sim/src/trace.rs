//! What has happened, as lines: all of them in one hash, the last ones to be read.

use std::collections::VecDeque;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::agenda::Moment;

/// How many lines are kept to be read.
pub(crate) const TIMELINE_LINES: usize = 60;

/// What has happened.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    hash: Sha256,
    lines: VecDeque<String>,
    /// Whether all lines are kept.
    pub(crate) keeps_all: bool,
}

impl Trace {
    pub(crate) fn line(&mut self, now: Moment, what: std::fmt::Arguments<'_>) {
        let mut line = match self.keeps_all || self.lines.len() < TIMELINE_LINES {
            true => String::new(),
            false => self.lines.pop_front().unwrap_or_default(),
        };
        line.clear();
        write!(line, "{:>12.6}  {what}", now.as_secs_f64()).expect("a string takes everything");
        self.hash.update(line.as_bytes());
        self.hash.update(b"\n");
        self.lines.push_back(line);
    }

    pub(crate) fn hash(&self) -> String {
        let hash = self.hash.clone().finalize();
        hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn timeline(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }
}
