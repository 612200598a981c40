//! Lists that are long get a limit in number and in bytes.

use crate::error::ApiError;
use crate::settings::LIST_BYTES_MAX;

/// Rows that are read in one go, so that a list of large ones ends in time.
const AT_ONCE: usize = 32;

/// A part of a list.
pub(super) struct Page {
    pub(super) bodies: Vec<Vec<u8>>,
    /// Where the next part begins.
    pub(super) next: u64,
    /// Whether there is nothing behind it now.
    pub(super) is_last: bool,
}

/// Reads at most `limit` rows from a place on. `read` gives at most so many bodies from a place,
/// each with the place behind it.
pub(super) fn page(
    from: u64,
    limit: u64,
    mut read: impl FnMut(u64, usize) -> Result<Vec<(u64, Vec<u8>)>, ApiError>,
) -> Result<Page, ApiError> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut page = Page { bodies: Vec::new(), next: from, is_last: false };
    let mut bytes = 0_usize;
    while page.bodies.len() < limit && bytes < LIST_BYTES_MAX && !page.is_last {
        let wanted = limit.saturating_sub(page.bodies.len()).min(AT_ONCE);
        let rows = read(page.next, wanted)?;
        page.is_last = rows.len() < wanted;
        for (next, body) in rows {
            bytes = bytes.saturating_add(body.len());
            page.next = next;
            page.bodies.push(body);
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page of a list of so many rows of so many bytes.
    fn page_of(count: u64, bytes: usize, from: u64, limit: u64) -> (usize, u64, bool) {
        let read = |from: u64, limit| {
            let places = (from..=count).take(limit);
            Ok(places.map(|place| (place.saturating_add(1), vec![0; bytes])).collect())
        };
        let page = page(from, limit, read).unwrap();
        (page.bodies.len(), page.next, page.is_last)
    }

    #[test]
    fn a_list_ends_at_its_limit_and_says_where_to_go_on() {
        assert_eq!(page_of(100, 1, 1, 40), (40, 41, false));
        assert_eq!(page_of(100, 1, 41, 1000), (60, 101, true));
        assert_eq!(page_of(100, 1, 101, 10), (0, 101, true));
    }

    #[test]
    fn a_list_of_large_rows_is_cut_short_and_never_empty() {
        assert_eq!(page_of(1000, LIST_BYTES_MAX / 40, 1, 1000), (64, 65, false));
        assert_eq!(page_of(1, LIST_BYTES_MAX.saturating_mul(2), 1, 1000), (1, 2, true));
    }
}
