//! From the core's writes to one batch of storage.
//!
//! Rows that must not be there yet come in runs: the next part of a log, the next ids of a
//! workspace. One look at the range of a run serves all its rows, and costs as much as three or
//! four looks at single rows.
//!
//! ```text
//!  Insert 7, 8, 9, 10 of one log ─► "no row in 7 ..= 10", asked before anything is written
//!  Insert 7 alone ─► "no row 7"
//!  Insert of a row that the same batch removes ─► asked in its turn
//! ```

use std::collections::BTreeSet;
use std::ops::Bound;

use bytes::BytesMut;
use seriatim_core::{RowChange, RowId, Write};
use seriatim_storage::{Batch, KeyRange};
use seriatim_types::limits::BATCH_RANGES_MAX;

use crate::tables::Tables;

/// The length of the number at the end of a key whose rows come in runs.
const NUMBER_BYTES: usize = 8;

/// Rows from which on a run is asked for as a range.
const RANGE_ROWS_MIN: usize = 4;

/// A batch that does what the writes say, in their order. They are taken, and their place is left to
/// be filled again.
pub(crate) fn batch_of(tables: &Tables, writes: &mut Vec<Write>) -> Batch {
    let mut batch = Batch::new();
    batch.reserve(writes.len());
    // A row that is removed may be there before the batch, so it is asked for in its turn.
    let mut removed = BTreeSet::new();
    let mut new: Vec<(&RowId, usize)> = Vec::with_capacity(writes.len());
    for (place, Write { row, change }) in writes.iter().enumerate() {
        match change {
            RowChange::Insert(_) if !removed.contains(row) => new.push((row, place)),
            RowChange::Delete => _ = removed.insert(row),
            RowChange::Put(_) | RowChange::Insert(_) => {}
        }
    }
    new.sort_unstable();
    // A row that is new twice is asked for the second time: the first one is there by then.
    new.dedup_by_key(|(row, _)| *row);
    let mut is_covered = vec![false; writes.len()];
    let mut ranges = 0_usize;
    for run in new.chunk_by(|(row, _), (next, _)| follows(row, next)) {
        if let [(first, _), .., (last, _)] = run
            && run.len() >= RANGE_ROWS_MIN
            && ranges < BATCH_RANGES_MAX
        {
            ranges = ranges.saturating_add(1);
            let range = KeyRange::new(Bound::Included(&first.key), Bound::Included(&last.key));
            batch.insert_range_if_absent(tables.handle(first.table), range, []);
            for (_, place) in run {
                is_covered.get_mut(*place).into_iter().for_each(|covered| *covered = true);
            }
        }
    }
    // All keys share one piece of memory.
    let bytes = writes.iter().map(|write| write.row.key.len()).fold(0, usize::saturating_add);
    let mut keys = BytesMut::with_capacity(bytes);
    for (Write { row, change }, is_covered) in writes.drain(..).zip(is_covered) {
        keys.extend_from_slice(&row.key);
        let (table, key) = (tables.handle(row.table), keys.split().freeze());
        match change {
            RowChange::Insert(value) if is_covered => batch.put(table, key, value),
            RowChange::Insert(value) => batch.insert_if_absent(table, key, value),
            RowChange::Put(value) => batch.put(table, key, value),
            RowChange::Delete => batch.delete(table, key),
        }
    }
    batch
}

/// Whether two keys differ only in the number at their end, and in that follow each other.
fn follows(row: &RowId, next: &RowId) -> bool {
    let (Some((before, number)), Some((rest, following))) =
        (row.key.split_last_chunk::<NUMBER_BYTES>(), next.key.split_last_chunk::<NUMBER_BYTES>())
    else {
        return false;
    };
    let number = u64::from_be_bytes(*number).checked_add(1);
    row.table == next.table && before == rest && number == Some(u64::from_be_bytes(*following))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use seriatim_codec::Table as RowTable;
    use seriatim_storage::CommitError;
    use seriatim_storage::memory::MemoryStore;

    use super::*;
    use crate::tables::schema;

    fn insert(number: u64) -> Write {
        let row = RowId { table: RowTable::Log, key: number.to_be_bytes().to_vec().into() };
        Write { row, change: RowChange::Insert(Bytes::from_static(b"event")) }
    }

    fn commit(numbers: &[u64]) -> Result<(), CommitError> {
        let tables = Tables::new(Arc::new(MemoryStore::new(&schema())));
        let mut writes = numbers.iter().copied().map(insert).collect();
        tables.store.commit(batch_of(&tables, &mut writes))
    }

    /// The range of the run was looked at once, before the batch, and then every row of it was written
    /// without a question: also the one that the batch itself had written already.
    #[test]
    fn a_number_that_is_given_twice_in_one_batch_is_noticed_in_a_long_run_too() {
        assert!(commit(&[7, 8, 9, 10]).is_ok());
        for twice in [[7, 8, 9, 10, 7], [7, 7, 8, 9, 10], [7, 8, 9, 10, 10], [7, 8, 8, 9, 10]] {
            let committed = commit(&twice);
            assert!(matches!(committed, Err(CommitError::Condition(_))), "{twice:?} {committed:?}");
        }
    }
}
