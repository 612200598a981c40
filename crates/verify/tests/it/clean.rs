//! Sound stores of every shape pass.

use std::sync::Arc;

use seriatim_node::schema;
use seriatim_storage::Store;
use seriatim_storage::memory::MemoryStore;
use seriatim_verify::{Options, Step, Totals, verify, verify_files};

use crate::flips::{Ending, on_disk};
use crate::world::{Checkpoints, World};

fn checked(store: &dyn Store) -> Totals {
    verify(store, store.schema(), &Options::default(), &mut |_| {}).unwrap()
}

#[test]
fn an_empty_store_passes() {
    let store = MemoryStore::new(&schema());
    let totals = checked(&store);
    assert_eq!(totals, Totals { partitions: 1, ..Totals::default() });
}

#[test]
fn a_store_with_every_kind_of_row_passes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    World::fill(&store, 40);
    let mut steps = Vec::new();
    let totals = verify(store.as_ref(), store.schema(), &Options::default(), &mut |progress| {
        assert!(progress.done <= progress.total);
        steps.push(progress.step);
    });
    let totals = totals.unwrap();
    assert_eq!((totals.apps, totals.partitions), (3, 7));
    assert!(totals.events > 300, "{totals:?}");
    assert!(totals.records > 100 && totals.entities > 5 && totals.keys > 50, "{totals:?}");
    assert!(steps.contains(&Step::Events) && steps.contains(&Step::Rows));
    let stats = store.stats().unwrap();
    let rows: u64 = stats.tables.iter().map(|table| table.rows_estimate).sum();
    assert_eq!(totals.rows, rows, "every row was compared, and none twice");
}

#[test]
fn little_memory_gives_the_same() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    World::fill(&store, 12);
    let options = Options { memory_bytes: 16 * 1024 };
    let totals = verify(store.as_ref(), store.schema(), &options, &mut |_| {}).unwrap();
    assert_eq!(totals, checked(store.as_ref()));
}

#[test]
fn a_store_whose_checkpoints_lag_passes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    let mut world = World::open(store.clone(), Checkpoints::Soon);
    world.define();
    world.work(5);
    world.end();
    let mut world = World::open(store.clone(), Checkpoints::Late);
    world.advance(3 * 86_400_000);
    world.work(5);
    // As a kill would leave it.
    checked(store.as_ref());
    world.end();
    checked(store.as_ref());
}

#[test]
fn a_store_on_disk_passes_also_when_it_was_killed() {
    for ending in [Ending::Closed, Ending::Killed] {
        let folder = on_disk(ending, 8);
        let verified = verify_files(folder.path(), &Options::default(), false, &mut |_| {});
        let verified = verified.unwrap();
        assert!(verified.files.files > 20 && verified.totals.events > 50, "{verified:?}");
        assert_eq!(verified.files.torn_bytes, 0);
    }
}
