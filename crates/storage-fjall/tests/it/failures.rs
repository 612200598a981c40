//! A disk that cannot be waited for.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use seriatim_storage::conformance::workload;
use seriatim_storage::{
    Batch, CommitError, KeyRange, Read, ReadError, Scan, ScanError, Schema, Store, SyncError,
};
use seriatim_storage_fjall::{Disk, FjallStore};

use crate::on_disk::SETTINGS;

/// A disk whose syncs can be made to fail, and are counted.
#[derive(Clone, Default)]
struct FailingDisk {
    fails: Arc<AtomicBool>,
    tried: Arc<AtomicU64>,
}

impl Disk for FailingDisk {
    fn sync_data(&self, file: &File) -> io::Result<()> {
        self.tried.fetch_add(1, Ordering::Relaxed);
        if self.fails.load(Ordering::Relaxed) {
            return Err(io::Error::other("the disk is gone"));
        }
        file.sync_data()
    }
}

impl FailingDisk {
    fn open(&self, folder: &Path, schema: &Schema) -> FjallStore {
        FjallStore::open_on(folder, schema, SETTINGS, Arc::new(self.clone())).unwrap()
    }
}

#[test]
fn a_failed_sync_stops_the_store_and_is_never_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let disk = FailingDisk::default();
    let FailingDisk { fails, tried } = disk.clone();
    let schema = workload::schema();
    let store = disk.open(folder.path(), &schema);
    let table = schema.table("a").unwrap();
    let snapshot = store.snapshot().unwrap();
    workload::commit(&store, 0, 1).unwrap();
    let before = tried.load(Ordering::Relaxed);
    store.sync().unwrap();
    assert_eq!(tried.load(Ordering::Relaxed), before + 1, "a sync reaches the disk");

    fails.store(true, Ordering::Relaxed);
    let Err(SyncError::Failed(first)) = store.sync() else { panic!("the disk is gone") };
    assert_eq!((first.operation, first.cause.as_str()), ("sync", "the disk is gone"));
    fails.store(false, Ordering::Relaxed);
    let tried_before = tried.load(Ordering::Relaxed);
    assert_eq!(store.sync(), Err(SyncError::Poisoned(first.clone())));
    assert_eq!(tried.load(Ordering::Relaxed), tried_before, "never tried again");

    assert_eq!(store.health(), Err(first.clone()));
    let mut batch = Batch::new();
    batch.put(table, b"k".to_vec(), b"v".to_vec());
    assert_eq!(store.commit(batch), Err(CommitError::Poisoned(first.clone())));
    let read = ReadError::Poisoned(first);
    for reader in [&store as &dyn Read, snapshot.as_ref()] {
        assert_eq!(reader.get(table, b"k"), Err(read.clone()));
        assert_eq!(reader.get_many(&[(table, b"k")]), Err(read.clone()));
        let scan = Scan::new(table, KeyRange::all());
        let end = reader.scan(&scan, &mut |_| ControlFlow::Continue(()));
        assert_eq!(end, Err(ScanError::Read(read.clone())));
    }
    assert_eq!(store.stats(), Err(read.clone()));
    assert_eq!(store.snapshot().err(), Some(read));
}

#[test]
fn tables_are_written_out_only_behind_a_synced_journal() {
    // The engine can put a table on disk that is ahead of its journal; after a power cut that
    // would be a part of a batch. Here the disk refuses all syncs: no table may be written out.
    let folder = tempfile::tempdir().unwrap();
    let disk = FailingDisk::default();
    let schema = workload::schema();
    let store = disk.open(folder.path(), &schema);
    disk.fails.store(true, Ordering::Relaxed);
    let table = schema.table("a").unwrap();
    let refused = (0..1_000_u32).find_map(|n| {
        let mut batch = Batch::new();
        batch.put(table, n.to_be_bytes().to_vec(), vec![7; 4_096]);
        store.commit(batch).err()
    });
    let Some(CommitError::Failed(poisoned)) = refused else { panic!("{refused:?}") };
    assert_eq!(poisoned.cause, "the disk is gone");
    drop(store);
    let files = fs_tables(folder.path());
    assert_eq!(files, 0, "a table was written out that the journal does not hold durably");
}

/// The files that hold rows, of all tables of the schema.
fn fs_tables(path: &Path) -> usize {
    // Folder 0 is the engine's own list of tables, 1 is ours.
    let folders = (2..=4).map(|id| path.join(format!("fjall/keyspaces/{id}/tables")));
    folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().count()
}
