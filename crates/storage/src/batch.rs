//! A batch of operations, and what it comes to once its conditions hold.
//!
//! Operations happen in the order in which they were added, each seeing those before it, and
//! all of them or none. [`Batch::resolve`] works that out for every backend, so that none of
//! them has an opinion of its own about what a condition means:
//!
//! ```text
//! operations in order ──► sort by key ──► per key: condition, write, condition, write …
//!                                           │ first failure, in the order of the batch
//!                                           ▼
//!                              one write per key, sorted, or a refusal
//! ```
//!
//! **Invariant:** resolved writes are sorted by table and key, and no key occurs twice. An
//! engine that stamps all writes of a batch with one version cannot tell two of them apart.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;
use seriatim_types::limits::{
    BATCH_BYTES_MAX, BATCH_RANGES_MAX, BATCH_ROWS_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX,
};

use crate::{
    CommitError, ConditionFailed, Expected, KeyRange, Read, Row, Scan, ScanEnd, ScanError, Schema,
    Table, TooLarge,
};

/// Operations over any tables, to be committed together.
///
/// Keys and values are handed on as they are, without a copy. What a store keeps in memory of them
/// may be the same bytes: a slice of a large buffer then keeps all of it there.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    steps: Vec<Step>,
    ranges: Vec<RangeCheck>,
    bytes: usize,
    /// The first key or value that is over its limit.
    oversize: Option<TooLarge>,
}

/// What a batch does to one key in the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The table.
    pub table: Table,
    /// The key.
    pub key: Bytes,
    /// The new value; `None` deletes the row.
    pub value: Option<Bytes>,
}

#[derive(Debug, Clone)]
struct Step {
    table: Table,
    key: Bytes,
    condition: Option<Condition>,
    value: Option<Bytes>,
}

#[derive(Debug, Clone)]
enum Condition {
    Absent,
    Equals(Bytes),
}

/// Asks that a range be empty after the first `before` steps.
#[derive(Debug, Clone)]
struct RangeCheck {
    before: usize,
    table: Table,
    range: KeyRange,
}

impl Batch {
    /// An empty batch. Committing it does nothing and succeeds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for so many more operations.
    pub fn reserve(&mut self, count: usize) {
        self.steps.reserve(count);
    }

    /// Writes the row, whether or not there is one.
    pub fn put(&mut self, table: Table, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.push(table, key.into(), None, Some(value.into()));
    }

    /// Writes the row if there is none.
    pub fn insert_if_absent(
        &mut self,
        table: Table,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) {
        self.push(table, key.into(), Some(Condition::Absent), Some(value.into()));
    }

    /// Writes the rows if there is no row at all in the range. One check serves a whole run
    /// of new keys, such as the next part of a log.
    ///
    /// # Panics
    ///
    /// When a row lies outside the range: the check would not have covered it.
    pub fn insert_range_if_absent(
        &mut self,
        table: Table,
        range: KeyRange,
        rows: impl IntoIterator<Item = Row>,
    ) {
        self.ranges.push(RangeCheck { before: self.steps.len(), table, range: range.clone() });
        for row in rows {
            assert!(range.contains(&row.key), "a row to insert lies in the range that is checked");
            self.put(table, row.key, row.value);
        }
    }

    /// Replaces the row if it is as expected. `None` stands for no row, on both sides.
    pub fn compare_and_swap(
        &mut self,
        table: Table,
        key: impl Into<Bytes>,
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) {
        let condition = expected.map_or(Condition::Absent, Condition::Equals);
        self.push(table, key.into(), Some(condition), new);
    }

    /// Deletes the row if there is one.
    pub fn delete(&mut self, table: Table, key: impl Into<Bytes>) {
        self.push(table, key.into(), None, None);
    }

    /// Whether the batch does and asks nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.ranges.is_empty()
    }

    /// Keys and values, added up.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Checks limits and conditions against what `read` shows and returns what to write.
    /// For backends; `read` must not change between this call and the write.
    ///
    /// # Errors
    ///
    /// When the batch is too large, a condition does not hold or a row cannot be read.
    pub fn resolve(self, read: &dyn Read, schema: &Schema) -> Result<Vec<Write>, CommitError> {
        self.check_limits()?;
        let sorted = self.sorted();
        let mut groups: Vec<&[Ordered<'_>]> = Vec::with_capacity(sorted.len());
        groups.extend(
            sorted.chunk_by(|a, b| (a.step.table, &a.step.key) == (b.step.table, &b.step.key)),
        );

        let current = read_conditional_keys(&groups, read)?;
        let mut failures = Vec::new();
        let mut current = current.into_iter();
        for group in &groups {
            let state = if needs_read(group) { current.next().flatten() } else { None };
            failures.extend(first_failure_of_key(group, state));
        }
        for check in &self.ranges {
            // They stand in the order of the batch: no later one can be the first to fail.
            let failure = check.failure(&sorted, read)?;
            let is_failed = failure.is_some();
            failures.extend(failure);
            if is_failed {
                break;
            }
        }
        if let Some(first) = failures.into_iter().min_by_key(|failure| failure.position) {
            let Failure { table, key, expected, .. } = first;
            let table = schema.name(table).to_owned();
            return Err(ConditionFailed { table, key, expected }.into());
        }

        let mut last_of_each = Vec::with_capacity(groups.len());
        last_of_each.extend(groups.iter().filter_map(|group| group.last()).map(|it| it.order));
        let mut steps = self.steps;
        let mut writes = Vec::with_capacity(last_of_each.len());
        writes.extend(last_of_each.into_iter().map(|order| {
            let Step { table, key, value, .. } =
                steps.get_mut(order).expect("a step is at its place in the batch");
            Write { table: *table, key: std::mem::take(key), value: value.take() }
        }));
        Ok(writes)
    }

    fn push(
        &mut self,
        table: Table,
        key: Bytes,
        condition: Option<Condition>,
        value: Option<Bytes>,
    ) {
        let value_bytes = value.as_ref().map_or(0, Bytes::len);
        if self.oversize.is_none() {
            if key.len() > KEY_BYTES_MAX {
                self.oversize = Some(TooLarge::Key { bytes: key.len() });
            } else if value_bytes > VALUE_BYTES_MAX {
                self.oversize = Some(TooLarge::Value { bytes: value_bytes });
            }
        }
        self.bytes = self.bytes.saturating_add(key.len()).saturating_add(value_bytes);
        self.steps.push(Step { table, key, condition, value });
    }

    fn check_limits(&self) -> Result<(), TooLarge> {
        if let Some(oversize) = &self.oversize {
            return Err(oversize.clone());
        }
        if self.bytes > BATCH_BYTES_MAX {
            return Err(TooLarge::BatchBytes { bytes: self.bytes });
        }
        if self.steps.len() > BATCH_ROWS_MAX {
            return Err(TooLarge::BatchRows { rows: self.steps.len() });
        }
        if self.ranges.len() > BATCH_RANGES_MAX {
            return Err(TooLarge::BatchRanges { ranges: self.ranges.len() });
        }
        Ok(())
    }

    fn sorted(&self) -> Vec<Ordered<'_>> {
        let mut sorted: Vec<_> =
            self.steps.iter().enumerate().map(|(order, step)| Ordered { order, step }).collect();
        // By table first: within one, steps often come in order already. Stable, so that the steps of
        // one key stay in the order of the batch.
        sorted.sort_by_key(|it| it.step.table);
        for rows in sorted.chunk_by_mut(|one, next| one.step.table == next.step.table) {
            rows.sort_by(|one, next| one.step.key.cmp(&next.step.key));
        }
        sorted
    }
}

/// A step and its place in the batch.
struct Ordered<'a> {
    order: usize,
    step: &'a Step,
}

struct Failure {
    /// Twice the number of steps before it, and one more for a step itself, so that a range
    /// check sorts between the steps it stands between.
    position: usize,
    table: Table,
    key: Bytes,
    expected: Expected,
}

/// Only the first step of a key can be about what is stored; later ones see the earlier.
fn needs_read(group: &[Ordered<'_>]) -> bool {
    group.first().is_some_and(|first| first.step.condition.is_some())
}

fn read_conditional_keys(
    groups: &[&[Ordered<'_>]],
    read: &dyn Read,
) -> Result<Vec<Option<Bytes>>, CommitError> {
    let keys: Vec<(Table, &[u8])> = groups
        .iter()
        .filter(|group| needs_read(group))
        .filter_map(|group| group.first())
        .map(|first| (first.step.table, first.step.key.as_ref()))
        .collect();
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    read.get_many(&keys).map_err(CommitError::Unchecked)
}

fn first_failure_of_key(group: &[Ordered<'_>], stored: Option<Bytes>) -> Option<Failure> {
    let mut state = stored.as_ref();
    for Ordered { order, step } in group {
        let (holds, expected) = match &step.condition {
            None => (true, Expected::Absent),
            Some(Condition::Absent) => (state.is_none(), Expected::Absent),
            Some(Condition::Equals(value)) => (state == Some(value), Expected::SameValue),
        };
        if !holds {
            let position = order.saturating_mul(2).saturating_add(1);
            return Some(Failure { position, table: step.table, key: step.key.clone(), expected });
        }
        state = step.value.as_ref();
    }
    None
}

impl RangeCheck {
    fn failure(
        &self,
        sorted: &[Ordered<'_>],
        read: &dyn Read,
    ) -> Result<Option<Failure>, CommitError> {
        let touched = self.touched_before(sorted);
        let written = touched.iter().find(|(_, is_there)| **is_there).map(|(key, _)| *key);
        let stored = self.first_stored_besides(&touched, read)?;
        let lowest = [written.cloned(), stored].into_iter().flatten().min();
        Ok(lowest.map(|key| Failure {
            position: self.before.saturating_mul(2),
            table: self.table,
            key,
            expected: Expected::EmptyRange,
        }))
    }

    /// The keys of the range that earlier steps wrote (true) or deleted (false).
    fn touched_before<'a>(&self, sorted: &[Ordered<'a>]) -> BTreeMap<&'a Bytes, bool> {
        // A batch may hold a check per workspace, so each looks at its own stretch only.
        let from = sorted.partition_point(|o| {
            o.step.table < self.table
                || o.step.table == self.table && self.range.starts_after(&o.step.key)
        });
        let in_range =
            |o: &&Ordered<'_>| o.step.table == self.table && self.range.contains(&o.step.key);
        sorted
            .iter()
            .skip(from)
            .take_while(in_range)
            .filter(|o| o.order < self.before)
            .map(|o| (&o.step.key, o.step.value.is_some()))
            .collect()
    }

    fn first_stored_besides(
        &self,
        touched: &BTreeMap<&Bytes, bool>,
        read: &dyn Read,
    ) -> Result<Option<Bytes>, CommitError> {
        if touched.is_empty() {
            return read.first_key(self.table, &self.range).map_err(CommitError::Unchecked);
        }
        let mut first = None;
        let end = read.scan(&Scan::new(self.table, self.range.clone()), &mut |row| {
            if touched.contains_key(&row.key) {
                return ControlFlow::Continue(());
            }
            first = Some(row.key);
            ControlFlow::Break(())
        });
        match end {
            Ok(ScanEnd::Complete | ScanEnd::Stopped | ScanEnd::Limit) => Ok(first),
            Err(ScanError::Read(error)) => Err(CommitError::Unchecked(error)),
            Err(ScanError::Cancelled { .. }) => unreachable!("nobody else has this scan's token"),
        }
    }
}

#[cfg(test)]
#[path = "batch_tests.rs"]
#[expect(clippy::arithmetic_side_effects, reason = "tests over single digits")]
mod tests;
