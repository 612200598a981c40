//! A store that was closed in good order knows how far it was.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;

use seriatim_storage::conformance::{Place, workload};
use seriatim_storage::{OpenError, Store};
use seriatim_storage_fjall::FjallStore;

use crate::on_disk::OnDisk;

const COMMITS: u64 = 40;

/// A store with forty acknowledged commits, and where each of them ends in its journal.
fn filled(place: &OnDisk) -> (Box<dyn Store>, PathBuf, Vec<u64>) {
    let store = place.open(&workload::schema()).unwrap();
    let mut ends = vec![place.journal_end().1];
    for commit in 1..=COMMITS {
        workload::commit(&*store, 0, commit).unwrap();
        store.sync().unwrap();
        ends.push(place.journal_end().1);
    }
    let (file, _) = place.journal_end();
    (store, file, ends)
}

fn damage_of(place: &OnDisk) -> [Option<String>; 2] {
    let damage = |error: Option<OpenError>| match error {
        Some(OpenError::Damaged { what, .. }) => Some(what),
        Some(other) => panic!("{other}"),
        None => None,
    };
    let checked = FjallStore::check_files(place.folder.path(), &mut |_| {});
    [damage(checked.err()), damage(place.open(&workload::schema()).err())]
}

/// Forty commits were acknowledged and the store was closed. Then its journal lost its second half,
/// at the end of a commit, so that nothing was torn: a start served twenty, and gave the next number
/// again.
#[test]
fn journal_that_lost_its_end_after_a_clean_end_is_damage() {
    let place = OnDisk::new();
    let (store, file, ends) = filled(&place);
    drop(store);
    let whole = fs::read(&file).unwrap();
    for kept in [0, 1, COMMITS / 2, COMMITS - 1] {
        // The marker's own table must not have it either, so the store is small.
        let end = ends[usize::try_from(kept).unwrap()];
        OpenOptions::new().write(true).open(&file).unwrap().set_len(end).unwrap();
        for damage in damage_of(&place) {
            let damage = damage.unwrap_or_else(|| panic!("taken for whole with {kept} commits"));
            let said = format!("ends with commit {}, and the store was closed after", kept + 1);
            assert!(damage.contains(&said), "{damage}");
        }
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(damage_of(&place), [None, None], "with its end it is whole");
}

/// After a kill nobody can tell: what is not there may never have been written. The note of the clean
/// end before still holds.
#[test]
fn note_of_a_clean_end_holds_across_kills() {
    let place = OnDisk::new();
    let (store, file, _) = filled(&place);
    drop(store);
    let (_, closed_at) = place.journal_end();
    let store = place.open(&workload::schema()).unwrap();
    workload::commit(&*store, 1, 1).unwrap();
    workload::commit(&*store, 1, 2).unwrap();
    place.kill(store);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..usize::try_from(closed_at).unwrap()]).unwrap();
    assert_eq!(damage_of(&place), [None, None], "what came after the clean end may be gone");
    fs::write(&file, &whole[..usize::try_from(closed_at).unwrap() - 1]).unwrap();
    assert!(damage_of(&place).iter().all(Option::is_some), "what it speaks of may not");
}

#[test]
fn note_that_cannot_be_read_is_damage_and_a_store_without_one_opens() {
    let place = OnDisk::new();
    let (store, ..) = filled(&place);
    drop(store);
    let note = place.folder.path().join("clean");
    let whole = fs::read(&note).unwrap();
    fs::write(&note, &whole[1..]).unwrap();
    for damage in damage_of(&place) {
        let damage = damage.expect("half of a note");
        assert!(damage.contains("clean is damaged") && damage.contains("remove it"), "{damage}");
    }
    // As a build before this one leaves it.
    fs::remove_file(&note).unwrap();
    assert_eq!(damage_of(&place), [None, None]);
}

#[test]
fn store_that_has_stopped_notes_no_clean_end() {
    let place = OnDisk::new();
    let (store, ..) = filled(&place);
    place.kill(store);
    assert!(!place.folder.path().join("clean").exists());
}

/// What a kill leaves of a note that is being replaced is no difference, and goes with the next one.
#[test]
fn half_written_note_is_a_leftover() {
    let place = OnDisk::new();
    let (store, ..) = filled(&place);
    drop(store);
    let half = place.folder.path().join("clean.new");
    fs::write(&half, [1]).unwrap();
    let report = FjallStore::check_files(place.folder.path(), &mut |_| {}).unwrap();
    assert!(report.leftovers.contains(&half));
    drop(place.open(&workload::schema()).unwrap());
    assert!(!half.exists());
}
