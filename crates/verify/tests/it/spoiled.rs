//! Random flips, a bounded number of them. `cargo xtask flips` makes ten thousand.

use std::sync::Arc;

use seriatim_node::schema;
use seriatim_storage::Store;
use seriatim_storage::faulty::Dice;
use seriatim_storage::memory::MemoryStore;
use seriatim_storage_fjall::FjallStore;

use crate::flips::{Ending, Flips, flip, flip_files, flip_rows, on_disk};
use crate::world::World;

#[test]
fn a_flipped_bit_of_any_row_is_found() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&schema()));
    World::fill(&store, 4);
    let Flips { flips, found, free } = flip_rows(store.as_ref(), 300, &mut Dice::new(1));
    assert_eq!(found + u64::try_from(free.len()).unwrap(), flips);
    assert!(free.len() <= 6, "{free:?}");
}

#[test]
fn a_flipped_bit_of_any_file_is_found() {
    for ending in [Ending::Closed, Ending::Killed] {
        let folder = on_disk(ending, 4);
        let Flips { flips, found, free } = flip_files(folder.path(), 60, &mut Dice::new(2));
        assert_eq!((found, free.len()), (flips, 0), "{free:?}");
    }
}

#[test]
fn every_bit_of_the_files_that_lead_to_the_others_is_found() {
    let folder = on_disk(Ending::Closed, 2);
    let path = folder.path();
    for name in ["identity", "journal", "clean", "fjall/version", "fjall/keyspaces/1/current"] {
        let file = path.join(name);
        for position in 0..file.metadata().unwrap().len() {
            for bit in [1, 0x80] {
                flip(&file, position, bit);
                let found = FjallStore::check_files(path, &mut |_| {});
                assert!(found.is_err(), "{name} at {position}");
                flip(&file, position, bit);
            }
        }
    }
    FjallStore::check_files(path, &mut |_| {}).unwrap();
}

#[test]
fn a_damaged_identity_does_not_cut_the_journal_off() {
    let folder = on_disk(Ending::Killed, 2);
    let (identity, journal) = (folder.path().join("identity"), folder.path().join("fjall/0.jnl"));
    let before = std::fs::read(&journal).unwrap();
    flip(&identity, 3, 4);
    let opened = seriatim_verify::open(folder.path());
    let error = opened.err().expect("it is damaged").to_string();
    assert!(error.contains("identity"), "{error}");
    assert!(std::fs::read(&journal).unwrap() == before, "the evidence is still there");
}
