//! A store on disk: every byte of its files, then every row.

use std::path::Path;

use seriatim_codec::Table as RowTable;
use seriatim_storage::{OpenError, Schema, Store};
use seriatim_storage_fjall::{FilesReport, FjallStore, Settings};

use crate::difference::Error;
use crate::offline::{Options, Progress, Step, Totals, verify};

/// What was checked of a store on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Its files.
    pub files: FilesReport,
    /// Its rows.
    pub totals: Totals,
}

/// Checks a store on disk that nobody has open: first every byte of its files, and nothing is
/// changed by that; then every row. Only then the engine opens the files, and does what it does at
/// every start: it removes what a crash left over and may write out rows that are in its journal.
///
/// With `accept_torn_tail`, bytes behind the last whole commit are taken for what a crash left.
///
/// # Errors
///
/// The first difference, or why there is no telling.
pub fn verify_files(
    path: &Path,
    options: &Options,
    accept_torn_tail: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Verified, Error> {
    let files = check_files(path, progress)?;
    if let Some((file, position)) = files.torn_at.as_ref().filter(|_| !accept_torn_tail) {
        let (file, bytes) = (file.display().to_string(), files.torn_bytes);
        return Err(Error::TornTail { file, position: *position, bytes });
    }
    let store = open(path).map_err(Error::Files)?;
    let snapshot = store.snapshot()?;
    let totals = verify(snapshot.as_ref(), store.schema(), options, progress)?;
    Ok(Verified { files, totals })
}

/// Opens a store on disk with the tables of a node. It must be there.
///
/// # Errors
///
/// When it cannot be opened.
pub fn open(path: &Path) -> Result<FjallStore, OpenError> {
    FjallStore::open(path, &schema(), Settings::default())
}

fn check_files(path: &Path, progress: &mut dyn FnMut(Progress)) -> Result<FilesReport, Error> {
    let report = &mut |done| progress(Progress { step: Step::Files, done, total: done });
    FjallStore::check_files(path, report).map_err(Error::Files)
}

fn schema() -> Schema {
    Schema::new(RowTable::ALL.map(RowTable::name)).expect("the tables have good names")
}
