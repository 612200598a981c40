//! Every byte of the journal, torn or flipped: what was acknowledged is there, or the store
//! says that it is damaged. Never neither.

use std::fs;
use std::path::{Path, PathBuf};

use seriatim_storage::conformance::{Place, workload};
use seriatim_storage::{Batch, OpenError, Read, Store};
use seriatim_storage_fjall::{FjallStore, InspectError, Inspection, Settings};
use tempfile::TempDir;

use crate::on_disk::{OnDisk, flip};

/// A store that was killed after seven commits, of which the last two were never acknowledged, and
/// where each of them ends in the journal. The first one is the store's own.
struct Recorded {
    place: OnDisk,
    file: PathBuf,
    ends: Vec<u64>,
}

const ACKED: u64 = 5;
const COMMITS: u64 = 7;

fn record() -> Recorded {
    let place = OnDisk::new();
    let store = place.open(&workload::schema()).expect("the store opens");
    // The first batch of a new store names its tables.
    let (mut file, first) = place.journal_end();
    let mut ends = vec![first];
    for commit in 2..=COMMITS {
        workload::commit(&*store, 0, commit - 1).expect("commit");
        if commit <= ACKED {
            store.sync().expect("sync");
        }
        let (journal, end) = place.journal_end();
        file = journal;
        ends.push(end);
    }
    place.kill(store);
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

    /// Where a commit ends in the journal.
    fn end_of(&self, commit: usize) -> usize {
        usize::try_from(self.ends[commit - 1]).expect("a small journal")
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
        let expected = recorded.whole_until(cut) - 1;
        assert_eq!(workload::check(store, &[expected], &[expected]), [expected], "cut at {cut}");
    }
}

#[test]
fn a_flipped_bit_is_a_torn_tail_or_damage_and_never_a_silent_loss() {
    let recorded = record();
    let folder = recorded.place.folder.path();
    let (mut damaged, mut torn, mut harmless) = (0, 0, 0);
    let end = *recorded.ends.last().unwrap();
    for position in recorded.positions(0).filter(|position| *position < end) {
        let hit = recorded.whole_until(position) + 1;
        let bits = 1 << (position % 8);
        flip(&recorded.file, position, bits);
        match FjallStore::inspect(folder) {
            // The batch after the last acknowledged one says that it was.
            Err(InspectError::Damaged { .. }) => damaged += 1,
            Ok(Inspection { last_commit: Some(COMMITS), torn_bytes: 0, .. }) => {
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
    let sound = FjallStore::inspect(folder).expect("all flips were taken back");
    assert_eq!((sound.last_commit, sound.torn_bytes), (Some(COMMITS), 0));
}

#[test]
fn a_damaged_store_does_not_open_and_is_left_as_it_is() {
    // The engine alone cuts the journal here and opens with three acknowledged batches gone.
    let recorded = record();
    flip(&recorded.file, recorded.ends[1], 0xff);
    let before = fs::read(&recorded.file).unwrap();
    match recorded.place.open(&workload::schema()) {
        Err(OpenError::Damaged { what, .. }) => {
            assert!(what.contains("everything up to commit 5 was acknowledged"), "{what}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened without three acknowledged batches"),
    }
    assert!(fs::read(&recorded.file).unwrap() == before, "the evidence is still there");
}

fn damaged(opened: Result<Box<dyn Store>, OpenError>) -> String {
    match opened {
        Err(OpenError::Damaged { what, .. }) => what,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
}

#[test]
fn a_hole_in_the_numbers_of_commits_is_noticed() {
    let recorded = record();
    let journal = recorded.journal();
    let (second, third) = (recorded.end_of(2), recorded.end_of(3));
    let without_the_third = [&journal[..second], &journal[third..]].concat();
    let copy = recorded.with_journal(&without_the_third);
    let what = damaged(open(copy.path()));
    assert!(what.contains("commit 4 follows commit 2"), "{what}");
}

#[test]
fn missing_files_are_noticed() {
    let recorded = record();
    let whole = recorded.journal();
    let without = |name: &str| {
        let copy = recorded.with_journal(&whole);
        let (path, aside) = (copy.path().join(name), tempfile::tempdir().unwrap());
        let kept = aside.path().join("kept");
        fs::rename(&path, &kept).unwrap();
        let what = damaged(open(copy.path()));
        // Nothing was changed: with what was missing the store is whole.
        fs::rename(&kept, &path).unwrap();
        open(copy.path()).unwrap();
        what
    };
    assert!(without("fjall").contains("the folder `fjall` with its data is missing"));
    let journal = recorded.file.file_name().unwrap().to_str().unwrap();
    assert!(without(&format!("fjall/{journal}")).contains("there is no journal"));
    assert!(without("fjall/version").contains("version file is missing"));
    assert!(without("identity").contains("`identity` is missing"));
    assert!(without("journal").contains("`journal` is missing"));
    assert!(without("fjall/lock").contains("`lock` is missing"));
    assert!(without("fjall/keyspaces").contains("`keyspaces` is missing"));
    // The engine took such tables for unfinished ones, and deleted them.
    for id in 0..=3 {
        for name in [format!("fjall/keyspaces/{id}"), format!("fjall/keyspaces/{id}/current")] {
            let what = without(&name);
            assert!(what.ends_with(&format!("/keyspaces/{id}/current is missing")), "{what}");
        }
    }
}

/// One file of 25 bytes was missing, and the start deleted all tables, or the one with the events,
/// and then said that nothing was changed.
#[test]
fn any_file_that_is_missing_keeps_the_store_shut_and_whole() {
    let place = OnDisk::new();
    let folder = place.folder.path();
    let settings = Settings { memtable_bytes: 64 * 1024, ..Settings::default() };
    let open = || FjallStore::open(folder, &workload::schema(), settings);
    let store = open().unwrap();
    let tables: Vec<_> = store.schema().tables().collect();
    for commit in 0..200_u32 {
        let mut batch = Batch::new();
        for table in &tables {
            batch.put(*table, commit.to_be_bytes().to_vec(), vec![7; 2_000]);
        }
        store.commit(batch).unwrap();
    }
    store.sync().unwrap();
    drop(store);
    // What is written out at a start needs not be found again.
    drop(open().unwrap());
    let is_table = |file: &PathBuf| file.starts_with(folder.join("fjall/keyspaces"));
    let leftovers = FjallStore::check_files(folder, &mut |_| {}).unwrap().leftovers;
    let files: Vec<_> = files_below(folder).into_iter().filter(is_table).collect();
    let is_of_table = |file: &&PathBuf| file.parent().unwrap().ends_with("tables");
    assert!(files.iter().filter(is_of_table).count() > 1, "something was written out");
    for file in files.iter().filter(|file| !leftovers.contains(file)) {
        let kept = folder.with_extension("kept");
        fs::rename(file, &kept).unwrap();
        let what = damaged(open().map(|store| Box::new(store) as Box<dyn Store>));
        assert!(what.ends_with(&format!("{} is missing", file.display())), "{what}");
        fs::rename(&kept, file).unwrap();
    }
    let store = open().unwrap();
    let has = |commit: u32, table| store.get(table, &commit.to_be_bytes()).unwrap().is_some();
    assert!((0..200).all(|commit| tables.iter().all(|table| has(commit, *table))));
}

#[test]
fn a_foreign_folder_among_the_tables_is_an_error_and_no_panic() {
    let recorded = record();
    let copy = recorded.with_journal(&recorded.journal());
    fs::create_dir(copy.path().join("fjall/keyspaces/lost+found")).unwrap();
    assert!(damaged(open(copy.path())).contains("foreign"));
}

#[test]
fn the_loss_of_the_newest_or_the_oldest_journal_is_noticed() {
    let recorded = record();
    let journal = recorded.journal();
    let copy = recorded.with_journal(&journal[recorded.end_of(2)..]);
    let what = damaged(open(copy.path()));
    assert!(what.contains("begin with commit 3, 1 is missing"), "{what}");

    // A journal is begun anew at 64 MB.
    let place = OnDisk::new();
    let schema = workload::schema();
    let table = schema.tables().next().unwrap();
    // Nothing is written out, so that the older one is still needed.
    let settings =
        Settings { memtable_bytes: 1 << 30, journal_bytes_max: 1 << 30, ..Settings::default() };
    let store = FjallStore::open(place.folder.path(), &schema, settings).unwrap();
    let mut commits = 0_u32;
    while FjallStore::inspect(place.folder.path()).map_or(0, |found| found.newest_journal) < 1 {
        for _ in 0..40 {
            let mut batch = Batch::new();
            batch.put(table, commits.to_be_bytes().to_vec(), vec![7; 1 << 20]);
            store.commit(batch).unwrap();
            commits += 1;
        }
        assert!(commits < 2_000, "the journal is never begun anew");
    }
    store.sync().unwrap();
    drop(store);
    let newest = FjallStore::inspect(place.folder.path()).unwrap().newest_journal;
    let copy = tempfile::tempdir().unwrap();
    let lost = place.engine_folder().join(format!("{newest}.jnl"));
    copy_folder(place.folder.path(), copy.path(), &lost);
    let what = damaged(open(copy.path()));
    assert!(what.contains(&format!("journal {newest} is missing")), "{what}");
}

#[test]
fn damage_in_a_journal_that_is_no_longer_written_to_is_noticed() {
    let recorded = record();
    let journal = recorded.journal();
    let mut torn = journal[..recorded.end_of(7) - 1].to_vec();
    torn.resize(journal.len(), 0);
    let copy = recorded.with_journal(&torn);
    // With a newer journal beside it, it was synced whole: its tail cannot be torn.
    fs::write(copy.path().join("fjall/1.jnl"), [0; 100]).unwrap();
    let what = damaged(open(copy.path()));
    assert!(what.contains("no longer written to"), "{what}");
}

#[test]
fn a_value_that_looks_like_a_batch_is_not_taken_for_one() {
    // A client's value holds the bytes of a whole journal of another store, whose markers claim
    // that more was durable than ever was. It stands in a batch that is torn.
    let forged = record().journal();
    let place = OnDisk::new();
    let store = place.open(&workload::schema()).expect("the store opens");
    let table = store.schema().table("b").expect("the workload's schema");
    let (_, before) = place.journal_end();
    let mut batch = Batch::new();
    batch.put(table, b"k".to_vec(), forged);
    store.commit(batch).expect("commit");
    let (file, _) = place.journal_end();
    place.kill(store);
    flip(&file, before, 0xff);
    let store = place.open(&workload::schema()).expect("a torn tail is normal");
    assert_eq!(store.get(table, b"k").expect("read"), None);
}

/// All files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(below).collect()
}

#[test]
fn a_flipped_bit_of_any_file_is_found_before_the_engine_opens() {
    let place = OnDisk::new();
    let folder = place.folder.path();
    let store = place.open(&workload::schema()).expect("the store opens");
    for commit in 1..=40 {
        workload::commit(&*store, 0, commit).expect("commit");
        store.sync().expect("sync");
    }
    drop(store);
    let sound = FjallStore::check_files(folder, &mut |_| {}).expect("the store is sound");
    assert_eq!((sound.torn_bytes, sound.torn_at), (0, None));
    let (journal, end) = place.journal_end();
    let mut flips = 0;
    for file in files_below(folder).into_iter().filter(|file| !sound.leftovers.contains(file)) {
        let length = if file == journal { end } else { file.metadata().unwrap().len() };
        let step = usize::try_from(length / 40 + 1).unwrap();
        for position in (0..length).step_by(step) {
            flip(&file, position, 1 << (position % 8));
            let checked = FjallStore::check_files(folder, &mut |_| {});
            let is_found = checked.is_err() || checked.is_ok_and(|report| report.torn_bytes > 0);
            assert!(is_found, "{} at {position}", file.display());
            flip(&file, position, 1 << (position % 8));
            flips += 1;
        }
    }
    assert!(flips > 100, "{flips}");
    FjallStore::check_files(folder, &mut |_| {}).expect("all flips were taken back");
}

#[test]
fn another_identity_is_damage_and_not_a_torn_tail() {
    // Without its seals every batch looks torn, and all of them would be cut off.
    let recorded = record();
    let identity = recorded.place.folder.path().join("identity");
    flip(&identity, 4, 1);
    let before = fs::read(&recorded.file).unwrap();
    let what = damaged(recorded.place.open(&workload::schema()));
    assert!(what.contains("the file `identity`"), "{what}");
    assert!(fs::read(&recorded.file).unwrap() == before, "nothing was cut off");
}

#[test]
fn a_journal_whose_note_was_lost_is_noted_at_the_next_start() {
    let recorded = record();
    let copy = recorded.with_journal(&recorded.journal());
    fs::write(copy.path().join("fjall/1.jnl"), [0; 100]).unwrap();
    drop(open(copy.path()).unwrap());
    let noted = fs::read(copy.path().join("journal")).unwrap();
    assert_eq!(noted, [1, 0, 0, 0, 0, 0, 0, 0, 1]);
}
