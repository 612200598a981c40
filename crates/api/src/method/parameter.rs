//! Parameters of methods: parts of paths, what stands behind them, headers.

use std::ops::RangeInclusive;

use seriatim_types::NUMBER_MAX;

/// The longest that a read can ask to wait.
pub const WAIT_MS_MAX: u64 = 60_000;

/// Rows or events of one list, unless the request says how many.
pub const LIMIT_DEFAULT: u64 = 100;

/// The most rows or events of one list.
pub const LIMIT_MAX: u64 = 1000;

/// A parameter.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name in the path, the query or the header.
    pub name: &'static str,
    /// What errors call it.
    pub field: &'static str,
    /// What it can be.
    pub takes: Takes,
    /// Whether it may not be left out.
    pub is_required: bool,
    /// What it is for.
    pub about: &'static str,
    /// One, as it is written.
    pub example: &'static str,
}

/// What a parameter can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A text of that many bytes without control characters, and neither `.` nor `..`.
    Text {
        /// How long it can be.
        bytes_max: usize,
    },
    /// The name of an app: such a text, but not of digits alone.
    App,
    /// A client: a text of at most 255 characters.
    Client,
    /// A workspace: its id in digits, or its name.
    Workspace,
    /// A whole number.
    Whole {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
        /// What it is unless it is given.
        default: Option<u64>,
    },
    /// A UUID that is not the nil one.
    Uuid,
    /// A moment as RFC 3339 writes it.
    Moment,
    /// `true` or `false`.
    Flag,
}

impl Parameter {
    /// Its range, if it is a whole number.
    #[must_use]
    pub fn range(&self) -> Option<RangeInclusive<u64>> {
        let Takes::Whole { min, max, .. } = self.takes else { return None };
        Some(min..=max)
    }

    /// What it is unless it is given.
    #[must_use]
    pub fn default(&self) -> Option<u64> {
        let Takes::Whole { default, .. } = self.takes else { return None };
        default
    }

    pub(super) const fn required(name: &'static str, takes: Takes) -> Self {
        Self { name, field: name, takes, is_required: true, about: "", example: "" }
    }

    pub(super) const fn optional(name: &'static str, takes: Takes) -> Self {
        Self { is_required: false, ..Self::required(name, takes) }
    }

    /// In errors it is called otherwise.
    pub(super) const fn called(self, field: &'static str) -> Self {
        Self { field, ..self }
    }

    pub(super) const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    pub(super) const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }
}

/// Any whole number of the contract from there on.
pub(super) const fn from(min: u64) -> Takes {
    Takes::Whole { min, max: NUMBER_MAX, default: None }
}

/// A whole number of a range, with what it is unless it is given.
pub(super) const fn whole(min: u64, max: u64, default: u64) -> Takes {
    Takes::Whole { min, max, default: Some(default) }
}
