//! What a scan is asked for, and the four ways in which it ends.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;

use crate::{KeyRange, ReadError, ScanError, Table};

/// A row of a table. Both halves are cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: Bytes,
    /// The value.
    pub value: Bytes,
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the lowest key up.
    Forward,
    /// From the highest key down.
    Backward,
}

/// A scan of a table: which rows, in which direction, how many at most.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The table.
    pub table: Table,
    /// The keys to visit.
    pub range: KeyRange,
    /// The order in which to visit them.
    pub direction: Direction,
    /// How many rows to visit at most.
    pub limit: usize,
    /// Ends the scan early, from any thread.
    pub cancel: Cancel,
}

impl Scan {
    /// Visits all rows of the range, lowest key first.
    #[must_use]
    pub fn new(table: Table, range: KeyRange) -> Self {
        Self {
            table,
            range,
            direction: Direction::Forward,
            limit: usize::MAX,
            cancel: Cancel::default(),
        }
    }

    /// Visits the highest key first.
    #[must_use]
    pub fn backward(mut self) -> Self {
        self.direction = Direction::Backward;
        self
    }

    /// Visits at most this many rows.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    /// Ends when the token is cancelled.
    #[must_use]
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }
}

/// How a scan ended that ran to one of its own ends. Cancellation and failure are errors,
/// so that neither can be taken for "there was nothing more".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a scan that stopped early has not seen every row"]
pub enum ScanEnd {
    /// Every row of the range was visited.
    Complete,
    /// The limit was reached; there may be more rows.
    Limit,
    /// The visitor asked to stop; there may be more rows.
    Stopped,
}

/// A token that cancels work from another thread. Clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Cancels everything that holds a clone of this token. Cannot be undone.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether [`Cancel::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Drives a visitor over the rows of a scan's range, in the scan's direction, and tells how
/// it ended. For backends that have an iterator.
///
/// # Errors
///
/// When the scan's token is cancelled, or when the iterator fails.
pub fn visit_rows(
    scan: &Scan,
    rows: impl Iterator<Item = Result<Row, ReadError>>,
    visit: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> Result<ScanEnd, ScanError> {
    let mut rows = rows;
    let mut visited = 0_usize;
    loop {
        if scan.cancel.is_cancelled() {
            return Err(ScanError::Cancelled { visited });
        }
        if visited == scan.limit {
            return Ok(ScanEnd::Limit);
        }
        let Some(row) = rows.next() else {
            return Ok(ScanEnd::Complete);
        };
        let flow = visit(row?);
        visited = visited.saturating_add(1);
        if flow.is_break() {
            return Ok(ScanEnd::Stopped);
        }
    }
}
