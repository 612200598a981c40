//! Rows of a store, read in order, and compared with what they should be.

use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};

use bytes::Bytes;
use seriatim_codec::{PartitionPrefix, Table as RowTable};
use seriatim_storage::{KeyRange, Read, ReadError, Row, Scan, ScanError, Schema, Table};

use crate::describe;
use crate::difference::{Difference, Error, Kind, Place};

/// Rows that are read in one go.
const PAGE_ROWS: usize = 512;

/// Bytes of rows at which a page takes no more.
const PAGE_BYTES: usize = 1024 * 1024;

/// A store to read from, with the handles of its tables.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a> {
    read: &'a dyn Read,
    schema: &'a Schema,
}

impl<'a> Tables<'a> {
    pub(crate) fn new(read: &'a dyn Read, schema: &'a Schema) -> Self {
        Self { read, schema }
    }

    pub(crate) fn get(self, table: RowTable, key: &[u8]) -> Result<Option<Bytes>, Error> {
        Ok(self.read.get(self.handle(table)?, key)?)
    }

    /// The lowest key of a range.
    pub(crate) fn first_key(
        self,
        table: RowTable,
        range: &KeyRange,
    ) -> Result<Option<Bytes>, Error> {
        Ok(self.read.first_key(self.handle(table)?, range)?)
    }

    fn handle(self, table: RowTable) -> Result<Table, ReadError> {
        let name = table.name();
        self.schema.table(name).ok_or_else(|| ReadError::Failed {
            table: name.to_owned(),
            cause: "the store has no such table".to_owned(),
        })
    }
}

/// The keys of a partition with tags from one up to another.
pub(crate) fn tags(prefix: PartitionPrefix, first: u8, last: u8) -> KeyRange {
    let prefix = prefix.encode();
    let key = |tag: u8| [prefix.as_slice(), &[tag]].concat();
    KeyRange::half_open(&key(first), &key(last.saturating_add(1)))
}

/// Rows of a range, one after the other.
pub(crate) struct Cursor<'a> {
    tables: Tables<'a>,
    pub(crate) table: RowTable,
    range: KeyRange,
    page: VecDeque<Row>,
    is_at_end: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(tables: Tables<'a>, table: RowTable, range: KeyRange) -> Self {
        Self { tables, table, range, page: VecDeque::new(), is_at_end: false }
    }

    pub(crate) fn peek(&mut self) -> Result<Option<&Row>, Error> {
        if self.page.is_empty() && !self.is_at_end {
            self.read_page()?;
        }
        Ok(self.page.front())
    }

    pub(crate) fn next(&mut self) -> Result<Option<Row>, Error> {
        self.peek()?;
        Ok(self.page.pop_front())
    }

    fn read_page(&mut self) -> Result<(), Error> {
        let scan = Scan::new(self.tables.handle(self.table)?, self.range.clone());
        let (page, mut bytes) = (&mut self.page, 0_usize);
        let scanned = self.tables.read.scan(&scan.limit(PAGE_ROWS), &mut |row| {
            bytes = bytes.saturating_add(row.value.len());
            page.push_back(row);
            if bytes < PAGE_BYTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        match scanned {
            Ok(_) => {}
            Err(ScanError::Read(error)) => return Err(error.into()),
            Err(ScanError::Cancelled { .. }) => unreachable!("nobody has this scan's token"),
        }
        match self.page.back() {
            Some(last) => {
                let start = Bound::Excluded(last.key.as_ref());
                self.range = KeyRange::new(start, self.range.end());
            }
            None => self.is_at_end = true,
        }
        Ok(())
    }
}

/// The rows of a range beside those that should be there. Both come in the order of their keys.
pub(crate) struct Join<'a> {
    cursor: Cursor<'a>,
    place: Place,
    /// Rows that were compared, and their bytes.
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl<'a> Join<'a> {
    pub(crate) fn new(cursor: Cursor<'a>, place: Place) -> Self {
        Self { cursor, place, rows: 0, bytes: 0 }
    }

    /// The row must be there, and be this one.
    pub(crate) fn expect(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        match self.find(key)? {
            Some(row) => self.compare(&row, value),
            None => Err(self.missing(key, value)),
        }
    }

    /// The row must be this one, if it is there. Returns whether it is.
    pub(crate) fn allow(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        let row = self.find(key)?;
        row.as_ref().map_or(Ok(()), |row| self.compare(row, value))?;
        Ok(row.is_some())
    }

    /// The next row, if its key is below this one; any next row without one.
    pub(crate) fn next_below(&mut self, key: Option<&[u8]>) -> Result<Option<Row>, Error> {
        let next = self.cursor.peek()?;
        let is_below = next.is_some_and(|row| key.is_none_or(|key| *row.key < *key));
        let row = if is_below { self.cursor.next()? } else { None };
        if let Some(row) = &row {
            self.count(row);
        }
        Ok(row)
    }

    /// There is no other row.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        self.next_below(None)?.map_or(Ok(()), |row| Err(self.extra(&row)))
    }

    /// The row with a key, if there is one. Those before it should not be there.
    fn find(&mut self, key: &[u8]) -> Result<Option<Row>, Error> {
        if let Some(row) = self.next_below(Some(key))? {
            return Err(self.extra(&row));
        }
        let is_it = self.cursor.peek()?.is_some_and(|row| row.key == key);
        let row = if is_it { self.cursor.next()? } else { None };
        if let Some(row) = &row {
            self.count(row);
        }
        Ok(row)
    }

    fn compare(&self, row: &Row, value: &[u8]) -> Result<(), Error> {
        if row.value == value {
            return Ok(());
        }
        let place = self.place.clone().row(self.cursor.table, &row.key);
        let (expected, found) = (describe::value(value), describe::value(&row.value));
        Err(Difference::error(Kind::RowDifferent, place, expected, found))
    }

    fn count(&mut self, row: &Row) {
        let bytes = row.key.len().saturating_add(row.value.len());
        self.rows = self.rows.saturating_add(1);
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    pub(crate) fn extra(&self, row: &Row) -> Error {
        let place = self.place.clone().row(self.cursor.table, &row.key);
        Difference::error(Kind::RowExtra, place, "no such row", describe::value(&row.value))
    }

    fn missing(&self, key: &[u8], value: &[u8]) -> Error {
        let place = self.place.clone().row(self.cursor.table, key);
        Difference::error(Kind::RowMissing, place, describe::value(value), "no row")
    }
}
