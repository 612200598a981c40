//! From the core's writes to one batch of storage.
//!
//! Rows that must not be there yet come in runs: the next part of a log, the next ids of a
//! workspace. One look at the range of a run serves all its rows.
//!
//! ```text
//!  Insert 7, 8, 9 of one log ─► "no row in 7 ..= 9", asked before anything is written
//!  Insert of a row that the same batch removes ─► asked in its turn
//! ```

use std::collections::BTreeSet;
use std::ops::Bound;

use bytes::Bytes;
use seriatim_core::{RowChange, RowId, Write};
use seriatim_storage::{Batch, KeyRange};

use crate::tables::Tables;

/// The length of the number at the end of a key whose rows come in runs.
const NUMBER_BYTES: usize = 8;

/// A batch that does what the writes say, in their order.
pub(crate) fn batch_of(tables: &Tables, writes: impl IntoIterator<Item = Write>) -> Batch {
    let mut batch = Batch::new();
    let mut rest = Vec::new();
    let mut new = Vec::new();
    let mut touched = BTreeSet::new();
    for write in writes {
        match &write.change {
            RowChange::Insert(_) if !touched.contains(&write.row) => new.push(write.row.clone()),
            // A row that is removed, or written without asking, may be there before the batch.
            RowChange::Put(_) | RowChange::Delete | RowChange::Insert(_) => {
                if matches!(write.change, RowChange::Delete) {
                    touched.insert(write.row.clone());
                }
            }
        }
        rest.push(write);
    }
    for run in runs(&mut new) {
        let range = KeyRange::new(Bound::Included(&run.first), Bound::Included(&run.last));
        batch.insert_range_if_absent(tables.handle(run.table), range, []);
    }
    for Write { row, change } in rest {
        let table = tables.handle(row.table);
        match change {
            RowChange::Insert(value) if touched.contains(&row) => {
                batch.insert_if_absent(table, row.key, value);
            }
            RowChange::Insert(value) | RowChange::Put(value) => batch.put(table, row.key, value),
            RowChange::Delete => batch.delete(table, row.key),
        }
    }
    batch
}

struct Run {
    table: seriatim_codec::Table,
    first: Bytes,
    last: Bytes,
}

/// Keys that differ only in the number at their end, and in that follow each other, are one run.
fn runs(rows: &mut [RowId]) -> Vec<Run> {
    rows.sort_unstable();
    let mut runs: Vec<Run> = Vec::new();
    for row in rows {
        match runs.last_mut() {
            Some(run) if run.table == row.table && follows(&run.last, &row.key) => {
                run.last = row.key.clone();
            }
            Some(_) | None => {
                let (first, last) = (row.key.clone(), row.key.clone());
                runs.push(Run { table: row.table, first, last });
            }
        }
    }
    runs
}

fn follows(last: &[u8], key: &[u8]) -> bool {
    let (Some((last, number)), Some((key, next))) =
        (last.split_last_chunk::<NUMBER_BYTES>(), key.split_last_chunk::<NUMBER_BYTES>())
    else {
        return false;
    };
    last == key && u64::from_be_bytes(*number).checked_add(1) == Some(u64::from_be_bytes(*next))
}
