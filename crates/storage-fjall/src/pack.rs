//! The rows of a commit, laid next to each other.
//!
//! The engine keeps keys and values where they are until their table is written out. Each on its own
//! piece of memory is a piece to be allocated, counted and freed one by one, and comparing neighbours
//! goes to another corner of the memory each time.
//!
//! ```text
//!  writes, by table and key ──► one buffer per table ──► key │ value │ key │ value │ …
//! ```
//!
//! A buffer per table and not per commit, because a buffer lives as long as any of its rows: rows of a
//! table that is seldom written out would keep those of all others in memory.

use bytes::Bytes;
use seriatim_storage::Write;

/// Values above this stay where they are: copying them would cost more than it saves.
const COPIED_BYTES_MAX: usize = 4096;

/// Moves the keys and the smaller values of each table into one buffer, also where there is only one
/// row: its key may be a piece of what all tables share. The writes are sorted by table.
pub(crate) fn pack(writes: &mut [Write]) {
    for rows in writes.chunk_by_mut(|row, next| row.table == next.table) {
        pack_table(rows);
    }
}

fn pack_table(rows: &mut [Write]) {
    let bytes = rows.iter().flat_map(pieces).map(<[u8]>::len).fold(0, usize::saturating_add);
    let mut buffer = Vec::with_capacity(bytes);
    rows.iter().flat_map(pieces).for_each(|piece| buffer.extend_from_slice(piece));
    let mut rest = Bytes::from(buffer);
    for row in rows {
        let value = copied_value(row).map(<[u8]>::len);
        row.key = rest.split_to(row.key.len());
        if let Some(length) = value {
            row.value = Some(rest.split_to(length));
        }
    }
    assert!(rest.is_empty(), "every piece of the buffer belongs to a row");
}

fn pieces(row: &Write) -> impl Iterator<Item = &[u8]> {
    [Some(row.key.as_ref()), copied_value(row)].into_iter().flatten()
}

fn copied_value(row: &Write) -> Option<&[u8]> {
    row.value.as_deref().filter(|value| value.len() <= COPIED_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use seriatim_storage::Schema;

    use super::*;

    /// Rows of two tables: new ones, one that is removed, an empty value, a long one.
    fn writes() -> Vec<Write> {
        let schema = Schema::new(["a", "b"]).unwrap();
        let [a, b] = ["a", "b"].map(|name| schema.table(name).unwrap());
        let row = |table, key: &'static str, value: Option<Vec<u8>>| Write {
            table,
            key: Bytes::from_static(key.as_bytes()),
            value: value.map(Bytes::from),
        };
        vec![
            row(a, "", Some(b"row with an empty key".to_vec())),
            row(a, "long", Some(vec![7; COPIED_BYTES_MAX + 1])),
            row(a, "longest that is copied", Some(vec![8; COPIED_BYTES_MAX])),
            row(a, "removed", None),
            row(a, "without a value", Some(Vec::new())),
            row(b, "alone", Some(b"one".to_vec())),
        ]
    }

    #[test]
    fn a_packed_row_is_the_row_that_it_was() {
        let mut packed = writes();
        pack(&mut packed);
        assert_eq!(packed, writes());
        pack(&mut []);
    }

    #[test]
    fn rows_of_a_table_lie_next_to_each_other_and_long_values_stay_where_they_are() {
        let mut packed = writes();
        let long = packed[1].value.as_ref().unwrap().as_ptr();
        pack(&mut packed);
        assert_eq!(packed[1].value.as_ref().unwrap().as_ptr(), long);
        let end_of = |bytes: &Bytes| bytes.as_ptr_range().end;
        assert_eq!(end_of(packed[0].value.as_ref().unwrap()), packed[1].key.as_ptr());
        assert_eq!(end_of(&packed[1].key), packed[2].key.as_ptr());
        assert_eq!(end_of(packed[2].value.as_ref().unwrap()), packed[3].key.as_ptr());
        assert_eq!(end_of(&packed[3].key), packed[4].key.as_ptr());
    }

    /// A key may be a piece of what all tables of a commit share, and would keep all of that in memory.
    #[test]
    fn a_row_that_is_alone_in_its_table_is_copied_too() {
        let mut packed = writes();
        let before = packed[5].key.as_ptr();
        pack(&mut packed);
        assert_ne!(packed[5].key.as_ptr(), before);
    }
}
