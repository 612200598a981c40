//! What does not follow: history beside code, with the offset in one and the line of the other.
//!
//! ```text
//!  determinism violation (field) at Task(1), history offset 4, src/order.rs:41:9
//!    task
//!      history: "charge"
//!      code:    "refund"
//! ```
//!
//! **Invariant:** both values are shown, never a hash of them. Of long values the part around the
//! first difference is shown, so the two texts differ.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;

use seriatim_types::limits::VIOLATION_VALUE_BYTES_MAX as VALUE_BYTES_MAX;

use crate::{CommandId, Offset, Orphan};

/// The finding that code does not follow its history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Violation {
    /// What kind of difference it is.
    pub class: Class,
    /// The command that differs.
    pub command: CommandId,
    /// What of it differs.
    pub field: &'static str,
    /// What history has.
    pub history: String,
    /// What code has.
    pub code: String,
    /// The history sequence number, if history has something there.
    pub offset: Option<Offset>,
    /// Where the code is.
    pub source_location: Source,
    /// What history has left, of [`Class::Orphaned`].
    pub orphans: Vec<Orphan>,
}

/// The kinds of differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The same type of command with another name, input, duration or value.
    Field,
    /// The same position with another event: a clear where history has a set.
    Type,
    /// Code created what history has, but in another order.
    Order,
    /// Code created what history does not have, before the last recorded output.
    Inserted,
    /// History has what code did not create when it was due.
    Missing,
    /// Code ended, and history has more.
    Orphaned,
    /// Code does what no replay can repeat, such as to await something foreign.
    Unreplayable,
}

/// A line in the code of a workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file.
    pub file: Cow<'static, str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// What code has instead of what history has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) field: &'static str,
    pub(crate) history: String,
    pub(crate) code: String,
}

impl Source {
    /// Where the caller is.
    #[must_use]
    #[track_caller]
    pub fn here() -> Self {
        Location::caller().into()
    }
}

impl From<&'static Location<'static>> for Source {
    fn from(at: &'static Location<'static>) -> Self {
        Self { file: Cow::Borrowed(at.file()), line: at.line(), column: at.column() }
    }
}

impl Difference {
    /// Two texts that differ, cut to the part around the first difference.
    pub(crate) fn new(field: &'static str, history: &str, code: &str) -> Self {
        let common = history.bytes().zip(code.bytes()).take_while(|(a, b)| a == b).count();
        Self { field, history: excerpt(history, common), code: excerpt(code, common) }
    }
}

/// The part of a text that begins a little before a byte.
fn excerpt(text: &str, around: usize) -> String {
    if text.len() <= VALUE_BYTES_MAX {
        return text.to_owned();
    }
    let first = text.floor_char_boundary(around.saturating_sub(VALUE_BYTES_MAX / 4));
    let last = text.floor_char_boundary(first.saturating_add(VALUE_BYTES_MAX).min(text.len()));
    let part = text.get(first..last).unwrap_or_default();
    let before = if first > 0 { "… " } else { "" };
    let after = if last < text.len() { " …" } else { "" };
    format!("{before}{part}{after}")
}

impl Class {
    /// The word of the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Type => "type",
            Self::Order => "order",
            Self::Inserted => "inserted",
            Self::Missing => "missing",
            Self::Orphaned => "orphaned",
            Self::Unreplayable => "unreplayable",
        }
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::Field | Self::Type | Self::Order | Self::Inserted | Self::Missing => {
                "restore the code that made this history, or guard the change with `version`"
            }
            Self::Orphaned => "restore what was removed, or start runs with orphans allowed",
            Self::Unreplayable => {
                "await only what the workflow's context gives, and do other work in a step or a task"
            }
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "determinism violation ({}) at {}", self.class.as_str(), self.command)?;
        if let Some(offset) = self.offset {
            write!(f, ", history offset {offset}")?;
        }
        writeln!(f, ", {}", self.source_location)?;
        writeln!(f, "  {}", self.field)?;
        writeln!(f, "    history: {}", self.history)?;
        writeln!(f, "    code:    {}", self.code)?;
        for orphan in &self.orphans {
            writeln!(f, "    left:    {} at offset {}", orphan.command, orphan.offset)?;
        }
        write!(f, "  {}", self.class.advice())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_that_differ_at_the_end_are_shown_where_they_differ() {
        let long = "ä".repeat(VALUE_BYTES_MAX * 3);
        let found = Difference::new("input", &format!("{long}1"), &format!("{long}2"));
        assert!(found.history.ends_with('1') && found.code.ends_with('2'), "{found:?}");
        assert!(found.history.starts_with("… ") && found.history.len() < VALUE_BYTES_MAX + 16);
        let found = Difference::new("input", &format!("1{long}"), &format!("2{long}"));
        assert!(found.history.starts_with('1') && found.history.ends_with(" …"), "{found:?}");
    }
}
