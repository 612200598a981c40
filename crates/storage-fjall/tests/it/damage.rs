//! Every byte of the journal, torn or flipped: what was acknowledged is there, or the store
//! says that it is damaged. Never neither.

use std::fs;
use std::path::{Path, PathBuf};

use seriatim_storage::conformance::{Place, workload};
use seriatim_storage::{OpenError, Store};
use seriatim_storage_fjall::journal::{self, InspectError, Inspection};
use seriatim_storage_fjall::{FjallStore, Settings};
use tempfile::TempDir;

use crate::on_disk::{OnDisk, flip};

/// A closed store with six batches, of which the last two were never acknowledged, and where
/// each of them ends in the journal.
struct Recorded {
    place: OnDisk,
    file: PathBuf,
    ends: Vec<u64>,
}

const ACKED: u64 = 4;
const BATCHES: u64 = 6;

fn record() -> Recorded {
    let place = OnDisk::new();
    let store = place.open(&workload::schema()).expect("the store opens");
    let mut ends = Vec::new();
    let mut file = PathBuf::new();
    for number in 1..=BATCHES {
        workload::commit(&*store, 0, number).expect("commit");
        if number <= ACKED {
            store.sync().expect("sync");
        }
        let found = journal::inspect(&place.engine_folder()).expect("an open store is sound");
        let (journal, end) = found.end.expect("there is a journal");
        file = journal;
        ends.push(end);
    }
    Recorded { place, file, ends }
}

impl Recorded {
    /// A copy of the store whose journal is `bytes`.
    fn with_journal(&self, bytes: &[u8]) -> TempDir {
        let copy = tempfile::tempdir().expect("a temporary folder");
        copy_folder(self.place.folder.path(), copy.path(), &self.file);
        let name = self.file.file_name().expect("the journal has a name");
        fs::write(copy.path().join("fjall").join(name), bytes).expect("the journal is written");
        copy
    }

    fn journal(&self) -> Vec<u8> {
        let end = usize::try_from(*self.ends.last().expect("batches")).expect("small");
        fs::read(&self.file).expect("the journal is read")[..end].to_vec()
    }

    /// Every byte around the edges of the batches, and some of what is between.
    fn positions(&self, from: u64) -> impl Iterator<Item = u64> {
        let end = *self.ends.last().expect("batches");
        let edges: Vec<u64> = [0].into_iter().chain(self.ends.clone()).collect();
        let is_near = move |at: u64| edges.iter().any(|edge| at.abs_diff(*edge) <= 64);
        (from..=end).filter(move |at| at % 211 == 0 || is_near(*at))
    }

    /// How many batches end at or before a position.
    fn whole_until(&self, position: u64) -> u64 {
        u64::try_from(self.ends.iter().filter(|end| **end <= position).count()).expect("few")
    }
}

fn copy_folder(from: &Path, to: &Path, except: &Path) {
    for entry in fs::read_dir(from).expect("the folder is read") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            fs::create_dir(&target).expect("a folder is made");
            copy_folder(&path, &target, except);
        } else if path != except {
            fs::copy(&path, &target).expect("a file is copied");
        }
    }
}

fn open(folder: &Path) -> Result<Box<dyn Store>, OpenError> {
    let store = FjallStore::open(folder, &workload::schema(), Settings::default())?;
    Ok(Box::new(store))
}

#[test]
fn a_journal_torn_behind_what_was_acknowledged_opens_with_whole_batches() {
    let recorded = record();
    let journal = recorded.journal();
    let acked_end = recorded.ends[usize::try_from(ACKED).unwrap() - 1];
    for cut in recorded.positions(acked_end).step_by(3) {
        let copy = recorded.with_journal(&journal[..usize::try_from(cut).unwrap()]);
        let store = open(copy.path()).expect("a torn tail is normal");
        let expected = recorded.whole_until(cut);
        assert_eq!(workload::check(store, &[expected], &[expected]), [expected], "cut at {cut}");
    }
}

#[test]
fn a_flipped_bit_is_a_torn_tail_or_damage_and_never_a_silent_loss() {
    let recorded = record();
    let folder = recorded.place.engine_folder();
    let (mut damaged, mut torn, mut harmless) = (0, 0, 0);
    let end = *recorded.ends.last().unwrap();
    for position in recorded.positions(0).filter(|position| *position < end) {
        let hit = recorded.whole_until(position) + 1;
        let bits = 1 << (position % 8);
        flip(&recorded.file, position, bits);
        match journal::inspect(&folder) {
            // Batch 5 is the first that says that batch 4 was acknowledged.
            Err(InspectError::Damaged { .. }) => damaged += 1,
            Ok(Inspection { last_commit: Some(BATCHES), torn_bytes: 0, .. }) => {
                // The engine's number of a batch, with no neighbour that it would pass by.
                harmless += 1;
            }
            Ok(Inspection { last_commit, torn_bytes, .. }) => {
                assert!(hit > ACKED, "byte {position} of the acknowledged batch {hit} is lost");
                assert_eq!(last_commit, Some(hit - 1), "byte {position}");
                assert!(torn_bytes > 0);
                torn += 1;
            }
            Err(other) => panic!("{other}"),
        }
        flip(&recorded.file, position, bits);
    }
    assert!(damaged > 300 && torn > 100, "{damaged} damaged, {torn} torn");
    assert!(harmless <= 16, "{harmless} flips went unnoticed");
    let sound = journal::inspect(&folder).expect("all flips were taken back");
    assert_eq!((sound.last_commit, sound.torn_bytes), (Some(BATCHES), 0));
}

#[test]
fn a_damaged_store_does_not_open_and_is_left_as_it_is() {
    // The engine alone cuts the journal here and opens with three acknowledged batches gone.
    let recorded = record();
    flip(&recorded.file, recorded.ends[0], 0xff);
    let before = fs::read(&recorded.file).unwrap();
    match recorded.place.open(&workload::schema()) {
        Err(OpenError::Damaged { what, .. }) => {
            assert!(what.contains("everything up to commit 4 was acknowledged"), "{what}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened without three acknowledged batches"),
    }
    assert!(fs::read(&recorded.file).unwrap() == before, "the evidence is still there");
}

#[test]
fn a_journal_that_went_missing_is_noticed() {
    let recorded = record();
    let journal = recorded.journal();
    let second = usize::try_from(recorded.ends[0]).unwrap();
    let third = usize::try_from(recorded.ends[1]).unwrap();
    let without_the_second = [&journal[..second], &journal[third..]].concat();
    let copy = recorded.with_journal(&without_the_second);
    match open(copy.path()) {
        Err(OpenError::Damaged { what, .. }) => {
            assert!(what.contains("commit 3 follows commit 1"), "{what}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened with a hole"),
    }
    let copy = recorded.with_journal(&[]);
    assert_eq!(
        open(copy.path()).map(|store| workload::check(store, &[0], &[0])).unwrap(),
        [0],
        "an empty journal alone cannot be told from a new one: nothing else says otherwise"
    );
}
