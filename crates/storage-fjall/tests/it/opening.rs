//! What opening does besides opening.

use std::fs;

use seriatim_storage::conformance::{Place, workload};
use seriatim_storage::{Batch, KeyRange, OpenError, Read, Store};
use seriatim_storage_fjall::{FjallStore, Settings};

use crate::on_disk::OnDisk;

#[test]
fn a_snapshot_keeps_the_store_open() {
    let place = OnDisk::new();
    let store = place.open(&workload::schema()).expect("the store opens");
    let snapshot = store.snapshot().expect("a snapshot");
    drop(store);
    let again = place.open(&workload::schema()).err();
    assert!(matches!(again, Some(OpenError::InUse { .. })), "{again:?}");
    drop(snapshot);
    place.open(&workload::schema()).expect("the store opens");
}

#[test]
fn no_store_is_made_beside_what_somebody_else_keeps() {
    let place = OnDisk::new();
    let folder = place.folder.path();
    fs::write(folder.join("letters.txt"), "Dear Sir").unwrap();
    let refused = place.open(&workload::schema()).err();
    let Some(OpenError::Occupied { found, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(found, folder.join("letters.txt").display().to_string());
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "nothing was made");
    let checked = FjallStore::check_files(folder, &mut |_| {}).err();
    assert!(matches!(checked, Some(OpenError::Missing { .. })), "{checked:?}");
    // A folder that happens to be called like the engine's is not cleared away.
    fs::create_dir(folder.join("fjall")).unwrap();
    fs::rename(folder.join("letters.txt"), folder.join("fjall/letters.txt")).unwrap();
    let refused = place.open(&workload::schema()).err();
    assert!(matches!(refused, Some(OpenError::Occupied { .. })), "{refused:?}");
    assert!(folder.join("fjall/letters.txt").exists());
}

#[test]
fn a_file_of_somebody_else_is_told_by_a_check_wherever_it_lies() {
    let place = OnDisk::new();
    let folder = place.folder.path();
    drop(place.open(&workload::schema()).expect("the store opens"));
    let check = || FjallStore::check_files(folder, &mut |_| {});
    for at in ["", "fjall", "fjall/keyspaces/1", "fjall/keyspaces/1/tables"] {
        for name in ["letters.txt", "vase"] {
            let file = folder.join(at).join(name);
            fs::write(&file, "Dear Sir").unwrap();
            let checked = check().unwrap_err().to_string();
            assert!(checked.contains(file.to_str().unwrap()), "{checked}");
            fs::remove_file(file).unwrap();
        }
    }
    // What a crash can leave is no difference, and is named.
    for name in ["fjall/keyspaces/1/v999", "fjall/keyspaces/1/tables/999"] {
        let file = folder.join(name);
        fs::write(&file, "half of a table").unwrap();
        assert!(check().expect("the store is sound").leftovers.contains(&file));
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_version_file_that_is_not_whole_is_what_a_kill_can_leave_of_a_new_store() {
    for bytes in [b"".as_slice(), b"F", b"FJL"] {
        let place = OnDisk::new();
        fs::create_dir_all(place.engine_folder().join("keyspaces")).unwrap();
        fs::write(place.engine_folder().join("0.jnl"), [0; 100]).unwrap();
        fs::write(place.engine_folder().join("version"), bytes).unwrap();
        place.open(&workload::schema()).expect("the store opens");
    }
}

#[test]
fn a_store_whose_creation_was_cut_short_is_created_anew() {
    // The engine makes its journal first and its version file last. Killed in between, it
    // would refuse its own journal for ever: "file exists".
    let place = OnDisk::new();
    fs::create_dir(place.engine_folder()).unwrap();
    fs::write(place.engine_folder().join("0.jnl"), [0; 100]).unwrap();
    let store = place.open(&workload::schema()).expect("the store opens");
    workload::commit(&*store, 0, 1).expect("commit");
}

#[test]
fn a_process_killed_at_any_step_of_creating_a_store_leaves_one_that_opens() {
    // In the order in which they appear.
    let steps = ["lock", "fjall", "fjall/0.jnl", "fjall/version", "fjall/keyspaces/0"]
        .into_iter()
        .chain(["fjall/keyspaces/0/current", "fjall/keyspaces/1", "fjall/keyspaces/4/current"]);
    for step in steps {
        for _ in 0..8 {
            let place = OnDisk::new();
            let mut writer = place.spawn_writer().expect("the writer starts");
            while !place.folder.path().join(step).exists() {
                assert_eq!(writer.try_wait().unwrap(), None, "the writer ended before {step}");
                std::thread::yield_now();
            }
            writer.kill().unwrap();
            writer.wait().unwrap();
            let store = place.open(&workload::schema());
            let store = store.unwrap_or_else(|error| panic!("killed at {step}: {error}"));
            let next = workload::next_batch_of(&*store, 0);
            workload::commit(&*store, 0, next).expect("commit");
            store.sync().expect("sync");
        }
    }
}

#[test]
fn settings_out_of_range_are_refused_before_anything_is_created() {
    let place = OnDisk::new();
    let folder = place.folder.path().join("new");
    let good = Settings::default();
    for (bad, named) in [
        (Settings { memtable_bytes: 0, ..good }, "memtable_bytes is 0"),
        (Settings { journal_bytes_max: 1, ..good }, "journal_bytes_max is 1"),
        (Settings { worker_threads: 0, ..good }, "worker_threads is 0"),
    ] {
        let error = FjallStore::open(&folder, &workload::schema(), bad).err().expect("refused");
        assert!(error.to_string().contains(named), "{error}");
        assert!(!folder.exists());
    }
}

#[test]
fn opening_tells_what_was_found_and_what_was_cut_off() {
    let place = OnDisk::new();
    let open =
        || FjallStore::open(place.folder.path(), &workload::schema(), Settings::default()).unwrap();
    let store = open();
    assert_eq!(store.found_on_open().last_commit, None, "a new store");
    for number in 1..=3 {
        workload::commit(&store, 0, number).unwrap();
        store.sync().unwrap();
    }
    drop(store);
    let store = open();
    let found = store.found_on_open().clone();
    assert_eq!((found.last_commit, found.durable_commit, found.torn_bytes), (Some(4), 4, 0));
    drop(store);
    // As if it had been killed.
    fs::remove_file(place.folder.path().join("clean")).unwrap();
    let (file, end) = found.end.unwrap();
    let torn = fs::read(&file).unwrap()[..usize::try_from(end).unwrap() - 1].to_vec();
    fs::write(&file, torn).unwrap();
    let store = open();
    assert_eq!(store.found_on_open().last_commit, Some(3));
    assert!(store.found_on_open().torn_bytes > 0);
    assert_eq!(workload::next_batch_of(&store, 0), 3);
}

#[test]
fn rows_move_from_the_journal_to_tables_and_old_journals_go_away() {
    // 300 MiB through memtables of 16 MiB: the journal is begun anew several times.
    const ROWS: u32 = 300;
    let place = OnDisk::new();
    let schema = workload::schema();
    let table = schema.tables().next().unwrap();
    let store = FjallStore::open(place.folder.path(), &schema, Settings::default()).unwrap();
    for n in 0..ROWS {
        let mut batch = Batch::new();
        batch.put(table, n.to_be_bytes().to_vec(), vec![n.to_le_bytes()[0]; 1 << 20]);
        store.commit(batch).unwrap();
    }
    store.sync().unwrap();
    drop(store);
    let store = FjallStore::open(place.folder.path(), &schema, Settings::default()).unwrap();
    assert_eq!(store.found_on_open().last_commit, Some(u64::from(ROWS) + 1));
    let stats = store.stats().unwrap();
    assert!(stats.tables[0].bytes > 100 << 20, "{stats:?}");
    assert!(stats.journal_bytes < 280 << 20, "{stats:?}");
    for n in 0..ROWS {
        let value = store.get(table, &n.to_be_bytes()).unwrap().unwrap();
        assert!(value.len() == 1 << 20 && value.iter().all(|byte| *byte == n.to_le_bytes()[0]));
    }
    assert_eq!(store.is_range_empty(table, &KeyRange::at_or_after(&ROWS.to_be_bytes())), Ok(true));
}
