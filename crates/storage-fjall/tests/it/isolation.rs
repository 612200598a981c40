//! Readers while the engine writes out and merges tables.
//!
//! The engine's own snapshots show a batch in part while it is being applied, whenever a table is
//! written out at that moment: finding one took seconds with memtables of 16 MiB. With memtables
//! of 64 KiB tables are written out all the time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use seriatim_storage::conformance::{Place, workload};
use seriatim_storage::{Batch, Read, Table};

use crate::on_disk::OnDisk;

const ROWS_PER_TABLE: u16 = 100;

/// One number in every row of every table, all in one batch.
fn batch(tables: &[Table], number: u32) -> Batch {
    let mut batch = Batch::new();
    for table in tables {
        for row in 0..ROWS_PER_TABLE {
            let mut value = number.to_be_bytes().to_vec();
            value.resize(100, 7);
            batch.put(*table, row.to_be_bytes().to_vec(), value);
        }
    }
    batch
}

/// The numbers of the first and the last row of each table.
fn numbers(read: &dyn Read, tables: &[Table]) -> Vec<Vec<u8>> {
    let (first, last) = (0_u16.to_be_bytes(), (ROWS_PER_TABLE - 1).to_be_bytes());
    let keys: Vec<(Table, &[u8])> = tables
        .iter()
        .flat_map(|table| [(*table, first.as_slice()), (*table, last.as_slice())])
        .collect();
    let values = read.get_many(&keys).expect("many reads");
    values.into_iter().map(|value| value.expect("the row is there")[..4].to_vec()).collect()
}

#[test]
fn no_reader_sees_a_part_of_a_batch_while_tables_are_written_out() {
    let place = OnDisk::new();
    let store = place.open(&workload::schema()).expect("the store opens");
    let tables: Vec<Table> = store.schema().tables().collect();
    store.commit(batch(&tables, 0)).expect("commit");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let now = numbers(&*store, &tables);
                assert!(now.iter().all(|number| *number == now[0]), "half a batch: {now:?}");
                let snapshot = store.snapshot().expect("a snapshot");
                let then = numbers(&*snapshot, &tables);
                assert!(then.iter().all(|number| *number == then[0]), "half a batch: {then:?}");
                thread::yield_now();
                assert_eq!(numbers(&*snapshot, &tables), then, "a snapshot has changed");
            }
        });
        for number in 1..150 {
            store.commit(batch(&tables, number)).expect("commit");
        }
        done.store(true, Ordering::Relaxed);
    });
    let stats = store.stats().expect("stats");
    assert!(stats.tables.iter().all(|table| table.bytes > 0), "nothing was written out: {stats:?}");
}
