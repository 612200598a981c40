//! The machine of one partition.
//!
//! ```text
//!  entry ─► read_set ─► (fetched by the caller) ─► apply ─► effects
//!             what it will read, from the entry,      │
//!             the definitions and the names           └► the caller commits, syncs, then answers
//! ```
//!
//! **Invariants**
//! - The same state and the same entry give the same effects, however entries are grouped.
//! - A refusal changes nothing but the time.
//! - After a commit that failed, the machine is opened anew: it is ahead of what is stored.

use bytes::Bytes;
use seriatim_codec::{PartitionPrefix, Stored};
use seriatim_merkle::{Frontier, leaf_hash};
use seriatim_planted::{self as planted, Bug};
use seriatim_sequencer::{
    LogEvent, ObserveError, RecordIds, RowKey, RowsRead, Sequencer, Sequences, Series, Settings,
    SettingsError, built_in,
};
use seriatim_types::{
    AppSettings, Body, Change, CommandLimits, Definitions, Entry, Event, Name, PartitionRow,
    RecordIdScheme, Retention, TrustLevel, WorkspaceId,
};

use crate::apply;
use crate::decide::Stop;
use crate::defined::{Defined, StepError};
use crate::effects::{Effects, Fault, TreeNode};
use crate::evolve::evolve;
use crate::home::{Home, SYSTEM_APP, SYSTEM_NAME};
use crate::rows::{Draft, RowChange, RowId, Rows, Write};

/// One partition: see the [crate's page](crate).
#[derive(Debug)]
pub struct Machine {
    pub(crate) home: Home,
    pub(crate) row: PartitionRow,
    /// `None` until the app's first definition is delivered.
    pub(crate) defined: Option<Defined>,
    pub(crate) sequencer: Sequencer,
    pub(crate) settings: Settings,
}

/// Why a machine cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A setting is out of its range.
    #[error("the sequencer's settings cannot be used")]
    Settings(#[from] SettingsError),
    /// The stored definitions cannot be used.
    #[error("the stored definitions cannot be used")]
    Definitions(#[from] StepError),
}

/// Why an event of the log cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum ActualizeError {
    /// Its numbers do not fit.
    #[error("the numbers of an event do not fit")]
    Numbers(#[from] ObserveError),
    /// The frontier in the workspace's row is not that of the log before the event.
    #[error("the stored frontier of workspace {} is not that of {size} events", workspace.0)]
    Frontier {
        /// The workspace.
        workspace: WorkspaceId,
        /// How many events come before.
        size: u64,
    },
}

impl Machine {
    /// A partition as it is stored. The sequencer still has to read the log.
    ///
    /// # Errors
    ///
    /// When settings or definitions cannot be used.
    pub fn open(
        prefix: PartitionPrefix,
        row: Option<PartitionRow>,
        definitions: Option<Definitions>,
        settings: Settings,
    ) -> Result<Self, OpenError> {
        let mut defined = definitions.map(Defined::restore);
        if prefix.app == SYSTEM_APP {
            defined = Some(Defined::new(system_settings()));
        }
        let sequences = match &defined {
            Some(defined) => defined.sequences()?,
            None => Sequences::new(RecordIds::single()),
        };
        let partitions = defined.as_ref().map_or(1, |defined| defined.app().partitions);
        Ok(Self {
            home: Home { prefix, partitions },
            row: row.unwrap_or_default(),
            defined,
            sequencer: Sequencer::new(sequences, settings)?,
            settings,
        })
    }

    /// No rows, to be fetched for entries that are applied together.
    #[must_use]
    pub fn no_rows(&self) -> Rows {
        Rows::seeded(self.settings.hash_seed)
    }

    /// Applies an entry. `rows` must know the entry's [read set](Machine::read_set), `numbers`
    /// the [rows of numbers](Machine::number_rows) that are not in memory. Later entries see
    /// what this one wrote.
    ///
    /// # Errors
    ///
    /// When the partition cannot go on. Nothing was changed.
    ///
    /// # Panics
    ///
    /// When something was not fetched, or the sequencer is not serving.
    pub fn apply(
        &mut self,
        entry: &Entry,
        rows: &mut Rows,
        numbers: &RowsRead,
    ) -> Result<Effects, Fault> {
        // A clock that was set back does not set the partition back.
        let last = self.row.time.filter(|_| !planted::is(Bug::TimeFromClock));
        let time = last.map_or(entry.time, |last| last.max(entry.time));
        let applied = match &entry.body {
            Body::Command(command) => apply::command(self, time, command, rows, numbers),
            Body::Declare(declare) => apply::declare(self, declare, rows),
            Body::Tick(tick) => apply::tick(self, time, tick, rows),
            Body::Delivery(delivery) => apply::delivery(self, delivery, rows),
            Body::Delivered(delivered) => Ok(apply::delivered(self, *delivered, rows)),
            Body::Define(define) => apply::define(self, time, define, rows, numbers),
        };
        let effects = match applied {
            Ok(effects) => effects,
            Err(Stop::Refused(refusal)) => Effects::refused(refusal),
            Err(Stop::Fault(fault)) => return Err(fault),
        };
        self.row.time = Some(time);
        Ok(effects)
    }

    /// Carries out a stored event, as recovery, verification and import do: `rows` must know its
    /// [read set](Machine::read_set_of_event). Numbers are left alone; they come from
    /// [`observe`](Machine::observe).
    ///
    /// # Errors
    ///
    /// When a row that it changes cannot be read. Nothing was changed.
    ///
    /// # Panics
    ///
    /// When it does not follow from the rows: a record is changed that is not there.
    pub fn evolve(
        &mut self,
        event: &Event,
        bytes: Bytes,
        rows: &mut Rows,
    ) -> Result<Vec<Write>, Fault> {
        let mut draft = Draft::new(rows);
        evolve(&mut draft, self.home, self.trust(), &mut self.row, event, bytes)?;
        let settled = draft.settle();
        settled.lay_over(rows);
        Ok(settled.writes)
    }

    /// The row of the partition itself. It goes into every commit, once for all its entries.
    #[must_use]
    pub fn partition_write(&self) -> Write {
        Write { row: self.home.partition(), change: RowChange::Put(self.row.to_bytes()) }
    }

    /// Where the row of the partition itself is stored.
    #[must_use]
    pub fn partition_row_id(prefix: PartitionPrefix) -> RowId {
        Home { prefix, partitions: 1 }.partition()
    }

    /// Where the definitions are stored.
    #[must_use]
    pub fn definitions_row_id(prefix: PartitionPrefix) -> RowId {
        Home { prefix, partitions: 1 }.definitions()
    }

    /// How many of these entries may be fetched together: what is read follows from the
    /// definitions, so those behind a delivery are fetched once it is applied.
    #[must_use]
    pub fn fetched_together(entries: &[Entry]) -> usize {
        let delivery = entries.iter().position(|entry| matches!(entry.body, Body::Delivery(_)));
        delivery.map_or(entries.len(), |at| at.saturating_add(1))
    }

    /// The whole log was read: entries can be applied.
    ///
    /// # Errors
    ///
    /// When the log does not end where the partition's row says: numbers would be given twice.
    ///
    /// # Panics
    ///
    /// When the log was not being read.
    pub fn serve(&mut self) -> Result<(), Fault> {
        let (committed, read) = (self.row.offset, self.sequencer.committed_through());
        if committed != read {
            return Err(Fault::Log { committed, read });
        }
        self.sequencer.serve().expect("the log was being read");
        Ok(())
    }

    /// What the partition knows of itself.
    #[must_use]
    pub fn row(&self) -> &PartitionRow {
        &self.row
    }

    pub(crate) fn trust(&self) -> TrustLevel {
        self.defined.as_ref().map_or(TrustLevel::Zero, |defined| defined.app().trust_level)
    }

    /// What is defined; `None` until the app's first definition is delivered.
    #[must_use]
    pub fn defined(&self) -> Option<&Defined> {
        self.defined.as_ref()
    }

    /// The numbers.
    #[must_use]
    pub fn sequencer(&self) -> &Sequencer {
        &self.sequencer
    }

    /// The numbers, for reading the log, flushing and checkpoints.
    pub fn sequencer_mut(&mut self) -> &mut Sequencer {
        &mut self.sequencer
    }

    /// Takes in a stored event while the log is read: its numbers and its leaf. `read` holds its
    /// rows of numbers that are not in memory.
    ///
    /// # Errors
    ///
    /// When it does not fit what is known.
    pub fn observe(
        &mut self,
        event: &Event,
        bytes: &[u8],
        read: &RowsRead,
    ) -> Result<Vec<TreeNode>, ActualizeError> {
        let mut nodes = Vec::new();
        let mut numbers = self.numbers_of(event);
        let row = self.sequencer.find(&RowKey::Workspace(event.workspace), read);
        let row = row.unwrap_or_default();
        let offsets = Series { sequence: built_in::WORKSPACE_OFFSETS, year: None };
        // A row that is ahead of the event has its leaf already.
        if row.last(offsets).is_none_or(|last| last < event.offset) {
            let size = event.offset.get().saturating_sub(1);
            let workspace = event.workspace;
            let frontier = Frontier::new(size, row.frontier().to_vec());
            let mut frontier = frontier.ok_or(ActualizeError::Frontier { workspace, size })?;
            frontier.push(leaf_hash(bytes), &mut |node, hash| {
                nodes.push(TreeNode { workspace, node, hash });
            });
            if !planted::is(Bug::FrontierNotCarried) {
                numbers.frontier = Some(frontier.into_hashes());
            }
        }
        self.sequencer.observe(&numbers, read)?;
        Ok(nodes)
    }

    /// The numbers that an event holds, as the sequencer takes them in.
    #[must_use]
    pub fn numbers_of(&self, event: &Event) -> LogEvent {
        let offsets = Series { sequence: built_in::WORKSPACE_OFFSETS, year: None };
        let mut values = vec![(offsets, event.offset)];
        let drawn = event
            .numbers
            .iter()
            .map(|drawn| (Series { sequence: drawn.sequence, year: drawn.year }, drawn.number));
        values.extend(drawn);
        for change in &event.changes {
            // Fixed ids lie outside of all ranges and move nothing.
            if let Change::Create { id, class, .. } = change {
                let sequence = self.sequencer.sequences().record_ids().sequence_of(*class);
                values.push((Series { sequence, year: None }, *id));
            }
        }
        let client = event.origin.as_ref();
        LogEvent {
            offset: event.partition_offset,
            workspace: event.workspace,
            kind: event.kind,
            values,
            client: client.map(|origin| (origin.client.clone(), origin.client_sequence)),
            frontier: None,
        }
    }
}

/// What holds for the system app itself.
#[must_use]
pub fn system_settings() -> AppSettings {
    AppSettings {
        name: Name::new(SYSTEM_NAME).expect("a plain word is a name"),
        app: SYSTEM_APP,
        partitions: 1,
        record_ids: RecordIdScheme::Single,
        trust_level: TrustLevel::Zero,
        retention: Retention::Forever,
        keys_max: None,
        limits: CommandLimits::default(),
    }
}
