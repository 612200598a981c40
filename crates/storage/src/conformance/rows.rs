//! What the cases share: a schema, ways to fill a store and to read it whole.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;

use super::Place;
use crate::{Batch, KeyRange, Read, Scan, ScanEnd, Schema, Store, Table};

pub(super) type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Three tables, and the store of a place with them.
pub(super) struct Fixture {
    pub(super) store: Box<dyn Store>,
    pub(super) a: Table,
    pub(super) b: Table,
    pub(super) c: Table,
}

pub(super) fn schema() -> Schema {
    Schema::new(["a", "b", "c"]).expect("three good names")
}

pub(super) fn open(place: &dyn Place) -> Fixture {
    fixture(place.open(&schema()).expect("the store opens"))
}

pub(super) fn fixture(store: Box<dyn Store>) -> Fixture {
    let table = |name| store.schema().table(name).expect("a table of the schema");
    let (a, b, c) = (table("a"), table("b"), table("c"));
    Fixture { store, a, b, c }
}

pub(super) fn bytes(value: impl AsRef<[u8]>) -> Bytes {
    Bytes::copy_from_slice(value.as_ref())
}

pub(super) fn put(store: &dyn Store, table: Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
    let mut batch = Batch::new();
    batch.put(table, bytes(key), bytes(value));
    store.commit(batch).expect("a put succeeds");
}

pub(super) fn get(read: &(impl Read + ?Sized), table: Table, key: &[u8]) -> Option<Vec<u8>> {
    read.get(table, key).expect("a read succeeds").map(|value| value.to_vec())
}

/// All rows of a table.
pub(super) fn rows(read: &(impl Read + ?Sized), table: Table) -> Model {
    let mut rows = Model::new();
    let end = read.scan(&Scan::new(table, KeyRange::all()), &mut |row| {
        let again = rows.insert(row.key.to_vec(), row.value.to_vec());
        assert_eq!(again, None, "a scan shows each key once");
        ControlFlow::Continue(())
    });
    assert_eq!(end, Ok(ScanEnd::Complete), "a scan of everything ends complete");
    rows
}
