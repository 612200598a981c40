//! The store that is read: written by a process of its own, then reopened, beside the same rows
//! in memory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use seriatim_storage::faulty::Dice;
use seriatim_storage::memory::MemoryStore;
use seriatim_storage::{Store, Table};
use seriatim_storage_fjall::{FjallStore, Settings};
use seriatim_testkit::{CommandRows, PAIRS_PER_COMMAND, command_schema};
use tempfile::TempDir;

use crate::{Run, fill};

const COMMANDS_PER_BATCH: u64 = 256;

pub(crate) struct Filled {
    pub(crate) store: FjallStore,
    pub(crate) memory: MemoryStore,
    pub(crate) rows: CommandRows,
    pub(crate) commands: u64,
    /// What the process that wrote the store said after writing and after reopening it.
    pub(crate) said: [fill::Filled; 2],
    /// Bytes on disk before the store was opened here, all of them and the journal's.
    pub(crate) disk_bytes: u64,
    pub(crate) journal_bytes: u64,
    _folder: TempDir,
}

impl Filled {
    pub(crate) fn new(run: &Run<'_>) -> Result<Self> {
        let commands = run.sizes().filled_commands;
        run.progress(&format!("filling a store with {commands} commands"));
        let folder = run.folder()?;
        let pairs = commands * PAIRS_PER_COMMAND;
        let said = fill::and_reopen(&run.options.filler, folder.path(), pairs)?;
        let disk_bytes = bytes_on_disk(folder.path(), &|_| true)?;
        let journal_bytes = bytes_on_disk(folder.path(), &is_journal)?;

        run.progress("the same rows in memory");
        let (schema, rows) = (command_schema(), fill::rows());
        let memory = MemoryStore::new(&schema);
        let mut first = 0;
        while first < commands {
            let count = COMMANDS_PER_BATCH.min(commands - first);
            memory.commit(rows.batch(first, count))?;
            first += count;
        }
        let store = FjallStore::open(folder.path(), &schema, Settings::default())?;
        Ok(Self { store, memory, rows, commands, said, disk_bytes, journal_bytes, _folder: folder })
    }

    pub(crate) fn table(&self, name: &str) -> Table {
        self.store.schema().table(name).expect("the schema of commands")
    }

    /// The keys that commands have in a table, commands chosen at random from the `first` on.
    pub(crate) fn keys(
        &self,
        table: Table,
        dice: &mut Dice,
        first: u64,
        count: u64,
    ) -> Vec<Vec<u8>> {
        let key = |_| {
            let mut rows = self.rows.rows(first + dice.below(self.commands)).into_iter();
            rows.find(|row| row.0 == table).expect("a command has a row in every table").1
        };
        (0..count).map(key).collect()
    }
}

pub(crate) fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "jnl")
}

/// Bytes that the files below a folder occupy. Journals are longer than that: most of a new
/// one is zeroes that take no room.
pub(crate) fn bytes_on_disk(folder: &Path, counts: &dyn Fn(&Path) -> bool) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let (path, metadata) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
        if metadata.is_dir() {
            bytes += bytes_on_disk(&path, counts)?;
        } else if counts(&path) {
            bytes += metadata.blocks() * 512;
        }
    }
    Ok(bytes)
}
