//! A batch against the plainest reading of its contract: one operation after another.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::Store;
use crate::memory::MemoryStore;

#[derive(Debug, Clone)]
enum Plain {
    Put(usize, u8, u8),
    Insert(usize, u8, u8),
    InsertRange(usize, u8, u8, Vec<(u8, u8)>),
    Swap(usize, u8, Option<u8>, Option<u8>),
    Delete(usize, u8),
}

type Model = BTreeMap<(usize, u8), u8>;

fn schema() -> Schema {
    Schema::new(["a", "b"]).unwrap()
}

fn table(index: usize) -> Table {
    schema().tables().nth(index).unwrap()
}

fn bytes(byte: u8) -> Bytes {
    Bytes::copy_from_slice(&[byte])
}

fn operation() -> impl Strategy<Value = Plain> {
    let (table, key, value) = (0_usize..2, 0_u8..6, 0_u8..3);
    let maybe = || proptest::option::of(0_u8..3);
    prop_oneof![
        (table.clone(), key.clone(), value.clone()).prop_map(|(t, k, v)| Plain::Put(t, k, v)),
        (table.clone(), key.clone(), value.clone()).prop_map(|(t, k, v)| Plain::Insert(t, k, v)),
        (table.clone(), key.clone(), 0_u8..3, proptest::collection::vec((0_u8..3, value), 0..3))
            .prop_map(|(t, start, len, rows)| {
                let rows = rows.into_iter().filter(|(i, _)| *i < len);
                Plain::InsertRange(t, start, len, rows.map(|(i, v)| (start + i, v)).collect())
            }),
        (table.clone(), key.clone(), maybe(), maybe())
            .prop_map(|(t, k, old, new)| Plain::Swap(t, k, old, new)),
        (table, key).prop_map(|(t, k)| Plain::Delete(t, k)),
    ]
}

/// Runs the operations one after another; gives up at the first that does not hold.
fn serially(model: &Model, operations: &[Plain]) -> Result<Model, (usize, u8, Expected)> {
    let mut model = model.clone();
    for operation in operations {
        match operation.clone() {
            Plain::Put(t, k, v) => {
                model.insert((t, k), v);
            }
            Plain::Insert(t, k, v) => {
                if model.insert((t, k), v).is_some() {
                    return Err((t, k, Expected::Absent));
                }
            }
            Plain::InsertRange(t, start, len, rows) => {
                if let Some(((_, k), _)) = model.range((t, start)..(t, start + len)).next() {
                    return Err((t, *k, Expected::EmptyRange));
                }
                model.extend(rows.into_iter().map(|(k, v)| ((t, k), v)));
            }
            Plain::Swap(t, k, old, new) => {
                if model.get(&(t, k)).copied() != old {
                    let absent = old.is_none();
                    let expected = if absent { Expected::Absent } else { Expected::SameValue };
                    return Err((t, k, expected));
                }
                model.remove(&(t, k));
                model.extend(new.map(|v| ((t, k), v)));
            }
            Plain::Delete(t, k) => {
                model.remove(&(t, k));
            }
        }
    }
    Ok(model)
}

fn batch_of(operations: &[Plain]) -> Batch {
    let mut batch = Batch::new();
    for operation in operations {
        match operation.clone() {
            Plain::Put(t, k, v) => batch.put(table(t), bytes(k), bytes(v)),
            Plain::Insert(t, k, v) => batch.insert_if_absent(table(t), bytes(k), bytes(v)),
            Plain::InsertRange(t, start, len, rows) => batch.insert_range_if_absent(
                table(t),
                KeyRange::half_open(&[start], &[start + len]),
                rows.into_iter().map(|(k, v)| Row { key: bytes(k), value: bytes(v) }),
            ),
            Plain::Swap(t, k, old, new) => {
                batch.compare_and_swap(table(t), bytes(k), old.map(bytes), new.map(bytes));
            }
            Plain::Delete(t, k) => batch.delete(table(t), bytes(k)),
        }
    }
    batch
}

fn rows_of(store: &MemoryStore) -> Model {
    let mut rows = Model::new();
    for t in 0..2 {
        let end = store.scan(&Scan::new(table(t), KeyRange::all()), &mut |row| {
            rows.insert((t, row.key[0]), row.value[0]);
            ControlFlow::Continue(())
        });
        assert_eq!(end, Ok(ScanEnd::Complete));
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_batch_is_its_operations_one_after_another_or_nothing(
        batches in proptest::collection::vec(proptest::collection::vec(operation(), 0..12), 1..6),
    ) {
        let store = MemoryStore::new(&schema());
        let mut model = Model::new();
        for operations in &batches {
            let committed = store.commit(batch_of(operations));
            match serially(&model, operations) {
                Ok(after) => {
                    prop_assert_eq!(committed, Ok(()));
                    model = after;
                }
                Err((t, key, expected)) => {
                    let table = schema().name(table(t)).to_owned();
                    let failed = ConditionFailed { table, key: bytes(key), expected };
                    prop_assert_eq!(committed, Err(CommitError::Condition(failed)));
                }
            }
            prop_assert_eq!(rows_of(&store), model.clone());
        }
    }

    #[test]
    fn resolved_writes_are_sorted_and_name_each_key_once(
        operations in proptest::collection::vec(operation(), 0..20),
    ) {
        let store = MemoryStore::new(&schema());
        if let Ok(writes) = batch_of(&operations).resolve(&store, &schema()) {
            let keys: Vec<_> = writes.iter().map(|w| (w.table, w.key.clone())).collect();
            prop_assert!(keys.is_sorted_by(|a, b| a < b), "{:?}", keys);
        }
    }
}

#[test]
#[should_panic(expected = "lies in the range that is checked")]
fn a_row_outside_the_checked_range_is_a_bug() {
    let row = Row { key: bytes(9), value: bytes(0) };
    Batch::new().insert_range_if_absent(table(0), KeyRange::half_open(&[1], &[5]), [row]);
}
