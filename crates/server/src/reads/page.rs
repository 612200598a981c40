//! Lists that are long get a limit in number and in bytes.

use crate::error::ApiError;

/// Rows that are read in one go, so that a list of large ones ends in time.
const AT_ONCE: usize = 32;

/// A part of a list.
pub(crate) struct Page<T> {
    pub(crate) rows: Vec<T>,
    /// Where the next part begins.
    pub(crate) next: u64,
    /// Whether there is nothing behind it now.
    pub(crate) is_last: bool,
}

/// A row of a list.
pub(super) struct Row<T> {
    /// The place behind it.
    pub(super) next: u64,
    pub(super) bytes: usize,
    pub(super) row: T,
}

/// Rows that were read in one go, in the form in which the store has them.
pub(super) struct Batch<R> {
    pub(super) rows: Vec<R>,
    /// Whether there was nothing behind them. Fewer rows than were asked for do not say so: they may
    /// be large.
    pub(super) is_last: bool,
}

/// Reads at most `limit` rows from a place on, and no more after the one with which they come to so
/// many bytes. `read` gives at most so many from a place, and `write` writes one of them: row by row,
/// so that those that do not fit any more are not written.
pub(super) fn page<R, T>(
    from: u64,
    limit: u64,
    bytes_max: usize,
    mut read: impl FnMut(u64, usize) -> Result<Batch<R>, ApiError>,
    mut write: impl FnMut(R) -> Result<Row<T>, ApiError>,
) -> Result<Page<T>, ApiError> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut page = Page { rows: Vec::new(), next: from, is_last: false };
    let mut bytes = 0_usize;
    while page.rows.len() < limit && bytes < bytes_max && !page.is_last {
        let wanted = limit.saturating_sub(page.rows.len()).min(AT_ONCE);
        let batch = read(page.next, wanted)?;
        page.is_last = batch.is_last;
        for row in batch.rows {
            // The rest was read in vain, and is read again.
            if bytes >= bytes_max {
                page.is_last = false;
                break;
            }
            let row = write(row)?;
            bytes = bytes.saturating_add(row.bytes);
            page.next = row.next;
            page.rows.push(row.row);
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES_MAX: usize = 4000;

    /// A page of a list of so many rows of so many bytes.
    fn page_of(count: u64, bytes: usize, from: u64, limit: u64) -> (usize, u64, bool) {
        let read = |from: u64, limit| {
            let rows: Vec<u64> = (from..=count).take(limit).collect();
            let is_last = rows.len() < limit;
            Ok(Batch { rows, is_last })
        };
        let write = |place: u64| Ok(Row { next: place.saturating_add(1), bytes, row: () });
        let page = page(from, limit, BYTES_MAX, read, write).unwrap();
        (page.rows.len(), page.next, page.is_last)
    }

    #[test]
    fn a_list_ends_at_its_limit_and_says_where_to_go_on() {
        assert_eq!(page_of(100, 1, 1, 40), (40, 41, false));
        assert_eq!(page_of(100, 1, 41, 1000), (60, 101, true));
        assert_eq!(page_of(100, 1, 101, 10), (0, 101, true));
    }

    #[test]
    fn a_list_of_large_rows_is_cut_short_and_never_empty() {
        assert_eq!(page_of(1000, 100, 1, 1000), (40, 41, false));
        assert_eq!(page_of(1, 2 * BYTES_MAX, 1, 1000), (1, 2, true));
        assert_eq!(page_of(2, 2 * BYTES_MAX, 1, 1000), (1, 2, false), "there is more behind it");
    }
}
