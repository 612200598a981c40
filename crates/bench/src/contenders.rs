//! What is compared: a plain file, our store, and the bare engine below it.
//!
//! All three are given the same keys and values. The file is the floor: less than writing the
//! bytes and waiting for the disk cannot be done. The bare engine shows what our contract costs.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode, Slice};
use seriatim_storage::{Batch, Schema, Store};
use seriatim_storage_fjall::{FjallStore, Settings};
use seriatim_testkit::{CommandRows, PAIRS_PER_COMMAND, command_schema};

use crate::rounds::cpu_seconds;

/// Commands whose rows are made before the clock starts, at most: about 150 MB.
const PREPARED_COMMANDS_MAX: u64 = 1 << 17;

pub(crate) trait Contender {
    /// A batch, ready to be written.
    type Batch;

    fn prepare(&self, rows: &CommandRows, first: u64, commands: u64) -> Self::Batch;

    fn write(&self, batch: Self::Batch) -> Result<()>;

    /// Returns once everything that was written is durable.
    fn wait(&self) -> Result<()>;
}

/// A file that is only appended to.
pub(crate) struct Floor(File);

impl Floor {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        Ok(Self(File::create_new(folder.join("floor"))?))
    }
}

impl Contender for Floor {
    type Batch = Vec<u8>;

    fn prepare(&self, rows: &CommandRows, first: u64, commands: u64) -> Vec<u8> {
        let rows = (first..first + commands).flat_map(|number| rows.rows(number));
        rows.flat_map(|(_, key, value)| [key, value]).flatten().collect()
    }

    fn write(&self, batch: Vec<u8>) -> Result<()> {
        Ok((&self.0).write_all(&batch)?)
    }

    fn wait(&self) -> Result<()> {
        Ok(self.0.sync_data()?)
    }
}

/// Opens our store.
pub(crate) fn ours(folder: &Path, settings: Settings) -> Result<FjallStore> {
    Ok(FjallStore::open(&folder.join("ours"), &command_schema(), settings)?)
}

impl Contender for FjallStore {
    type Batch = Batch;

    fn prepare(&self, rows: &CommandRows, first: u64, commands: u64) -> Batch {
        rows.batch(first, commands)
    }

    fn write(&self, batch: Batch) -> Result<()> {
        Ok(self.commit(batch)?)
    }

    fn wait(&self) -> Result<()> {
        Ok(self.sync()?)
    }
}

/// The engine without us, with our settings.
pub(crate) struct Engine {
    db: Database,
    keyspaces: Vec<Keyspace>,
    durability: PersistMode,
}

impl Engine {
    /// With `SyncData` every batch is durable once it is written; with `Buffer` it is after
    /// [`Contender::wait`].
    pub(crate) fn open(folder: &Path, durability: PersistMode) -> Result<Self> {
        let settings = Settings::default();
        let db = Database::builder(folder.join("engine"))
            .max_journaling_size(settings.journal_bytes_max)
            .cache_size(settings.cache_bytes)
            .worker_threads(settings.worker_threads)
            .open()?;
        let options =
            || KeyspaceCreateOptions::default().max_memtable_size(settings.memtable_bytes);
        let schema: Schema = command_schema();
        let open = |table| db.keyspace(schema.name(table), options);
        let keyspaces = schema.tables().map(open).collect::<Result<_, _>>()?;
        Ok(Self { db, keyspaces, durability })
    }
}

impl Contender for Engine {
    type Batch = Vec<(usize, Slice, Slice)>;

    fn prepare(&self, rows: &CommandRows, first: u64, commands: u64) -> Self::Batch {
        let rows = (first..first + commands).flat_map(|number| rows.rows(number));
        rows.map(|(table, key, value)| (table.index(), key.into(), value.into())).collect()
    }

    fn write(&self, pairs: Self::Batch) -> Result<()> {
        let mut batch = OwnedWriteBatch::with_capacity(self.db.clone(), pairs.len())
            .durability(Some(self.durability));
        for (table, key, value) in pairs {
            let keyspace = self.keyspaces.get(table).expect("a keyspace per table");
            batch.insert(keyspace, key, value);
        }
        Ok(batch.commit()?)
    }

    fn wait(&self) -> Result<()> {
        match self.durability {
            PersistMode::SyncData | PersistMode::SyncAll => Ok(()),
            PersistMode::Buffer => Ok(self.db.persist(PersistMode::SyncData)?),
        }
    }
}

/// What a number of commands took.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Timing {
    commands: u64,
    wall_seconds: f64,
    cpu_seconds: f64,
}

impl Timing {
    pub(crate) fn commands_per_second(&self) -> f64 {
        self.commands as f64 / self.wall_seconds
    }

    pub(crate) fn cpu_micros_per_pair(&self) -> f64 {
        self.cpu_seconds * 1e6 / (self.commands * PAIRS_PER_COMMAND) as f64
    }

    /// Processors in use on average, those of the engine's own threads included.
    pub(crate) fn cpu_share(&self) -> f64 {
        self.cpu_seconds / self.wall_seconds
    }
}

/// Writes batches and waits after each. `each` is told the seconds of the write alone and of
/// both. The rows are made while no clock runs.
pub(crate) fn drive<C: Contender>(
    contender: &C,
    rows: &CommandRows,
    (commands_per_batch, batches): (u64, u64),
    mut each: impl FnMut(f64, f64),
) -> Result<Timing> {
    let mut timing = Timing::default();
    let end = commands_per_batch * batches;
    while timing.commands < end {
        let part = timing.commands..end.min(timing.commands + PREPARED_COMMANDS_MAX);
        let firsts = part.step_by(usize::try_from(commands_per_batch)?);
        let prepared: Vec<C::Batch> =
            firsts.map(|first| contender.prepare(rows, first, commands_per_batch)).collect();
        timing.commands += commands_per_batch * prepared.len() as u64;

        let (started, cpu_before) = (Instant::now(), cpu_seconds());
        for batch in prepared {
            let called = Instant::now();
            contender.write(batch)?;
            let written = called.elapsed();
            contender.wait()?;
            each(written.as_secs_f64(), called.elapsed().as_secs_f64());
        }
        timing.cpu_seconds += cpu_seconds() - cpu_before;
        timing.wall_seconds += started.elapsed().as_secs_f64();
    }
    Ok(timing)
}
