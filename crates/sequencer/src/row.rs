//! The numbers of a workspace, all in one row.

use std::collections::BTreeMap;
use std::sync::Arc;

use seriatim_types::{ClientId, Hash, Number, SequenceId, WorkspaceId, Year};

use crate::ranges::Ranges;

/// Whose numbers a row holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey {
    /// All sequences of a workspace, read once when it is first touched.
    Workspace(WorkspaceId),
    /// The sequence of one client in a workspace. A row of its own: a workspace may have
    /// millions of clients.
    Client(WorkspaceId, ClientId),
}

/// When rows were read: what has become of the sequencer's checkpoints since then decides
/// whether they can still be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp(u64);

impl Stamp {
    /// What was read until now may no longer be what is stored.
    pub(crate) fn advance(&mut self) {
        self.0 = self.0.saturating_add(1);
    }
}

/// Rows that were read from storage because they were not in memory.
///
/// The stamp is taken *before* they are read. A row that was read, then written by a checkpoint
/// and then dropped from memory would otherwise be taken for the latest, and its numbers given
/// twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsRead {
    stamp: Stamp,
    rows: BTreeMap<RowKey, Option<Row>>,
}

impl RowsRead {
    /// Rows that are read from now on; `None` stands for one that storage does not have.
    #[must_use]
    pub fn new(stamp: Stamp, rows: impl IntoIterator<Item = (RowKey, Option<Row>)>) -> Self {
        Self { stamp, rows: rows.into_iter().collect() }
    }

    /// The row as storage has it, if it was read late enough.
    pub(crate) fn get(&self, key: &RowKey, now: Stamp) -> Option<Row> {
        if self.stamp != now {
            return None;
        }
        self.rows.get(key).map(|row| row.clone().unwrap_or_default())
    }
}

/// A sequence, or one year of it when it begins anew with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// The sequence.
    pub sequence: SequenceId,
    /// The year, for a yearly one.
    pub year: Option<Year>,
}

/// The last number that was given of each series. A series that is absent has given none.
///
/// The frontier of the tree over the workspace's log changes whenever the numbers do, and rides
/// along in their row. Nothing here looks into it.
///
/// Clones share what they hold until one is changed: a row that was just drawn from is in the
/// cache, staged and on its way to a checkpoint at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row(Arc<Content>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Content {
    numbers: Vec<(Series, Number)>,
    frontier: Vec<Hash>,
}

impl Row {
    /// A row with these last numbers. Of a series that occurs twice the later entry counts.
    #[must_use]
    pub fn new(numbers: impl IntoIterator<Item = (Series, Number)>) -> Self {
        let mut row = Self::default();
        for (series, number) in numbers {
            row.set(series, number);
        }
        row
    }

    /// The same numbers with another frontier.
    #[must_use]
    pub fn with_frontier(mut self, frontier: Vec<Hash>) -> Self {
        *self.frontier_mut() = frontier;
        self
    }

    /// The frontier of the tree over the workspace's log.
    #[must_use]
    pub fn frontier(&self) -> &[Hash] {
        &self.0.frontier
    }

    pub(crate) fn frontier_mut(&mut self) -> &mut Vec<Hash> {
        &mut Arc::make_mut(&mut self.0).frontier
    }

    /// The last number that was given.
    #[must_use]
    pub fn last(&self, series: Series) -> Option<Number> {
        let at = self.find(series).ok()?;
        self.0.numbers.get(at).map(|(_, number)| *number)
    }

    /// All series of the row with their last numbers, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Series, Number)> + '_ {
        self.0.numbers.iter().copied()
    }

    pub(crate) fn set(&mut self, series: Series, number: Number) {
        let found = self.find(series);
        let numbers = &mut Arc::make_mut(&mut self.0).numbers;
        match found {
            Ok(at) => {
                if let Some((_, last)) = numbers.get_mut(at) {
                    *last = number;
                }
            }
            Err(at) => numbers.insert(at, (series, number)),
        }
    }

    /// Takes in a number that was seen in the log.
    pub(crate) fn merge(&mut self, series: Series, ranges: &Ranges, seen: Number) {
        if let Some(last) = ranges.merge(self.last(series), seen) {
            self.set(series, last);
        }
    }

    fn find(&self, series: Series) -> Result<usize, usize> {
        self.0.numbers.binary_search_by_key(&series, |(series, _)| *series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_kept_in_order_and_apart() {
        let series = |sequence, year: Option<u16>| Series {
            sequence: SequenceId(sequence),
            year: year.and_then(Year::new),
        };
        let number = |n| Number::new(n).unwrap();
        let row = Row::new([
            (series(300, Some(2027)), number(1)),
            (series(1, None), number(9)),
            (series(300, Some(2026)), number(7)),
            (series(1, None), number(10)),
        ]);
        assert_eq!(row.last(series(1, None)), Some(number(10)));
        assert_eq!(row.last(series(300, Some(2026))), Some(number(7)));
        assert_eq!(row.last(series(300, None)), None);
        assert!(row.iter().map(|(series, _)| series).is_sorted());
        assert_eq!(row.iter().len(), 3);
    }
}
