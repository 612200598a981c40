//! Drawing numbers for one command.
//!
//! A transaction works on its own copy of the rows. Until it is staged, nobody else can see what
//! it drew; dropping it is nothing but that. It borrows the sequencer, so a second one cannot be
//! open at the same time, and staging or drawing without one does not compile.

use seriatim_planted::{self as planted, Bug};
use seriatim_types::{
    ClientId, Hash, KindId, Number, PartitionOffset, RecordClass, Reset, SequenceId, Time,
    WorkspaceId,
};

use crate::period::UtcOffset;
use crate::row::{Row, RowKey, Series};
use crate::sequencer::{Sequencer, Ticket};
use crate::sequences::{Sequence, Sequences, built_in};

/// What a transaction is about.
#[derive(Debug, Clone, Copy)]
pub struct Begin<'a> {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its kind.
    pub kind: KindId,
    /// The client, when a number of its own is to be drawn.
    pub client: Option<&'a ClientId>,
    /// The time of the entry: it decides the year of yearly sequences.
    pub time: Time,
}

impl Begin<'_> {
    /// The rows that the transaction works on.
    pub fn row_keys(&self) -> impl Iterator<Item = RowKey> + '_ {
        let client = self.client.map(|client| RowKey::Client(self.workspace, client.clone()));
        [RowKey::Workspace(self.workspace)].into_iter().chain(client)
    }
}

/// Why a transaction could not begin. Nothing was drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BeginError {
    /// Numbers are being read from the log.
    #[error("numbers are being read from the log")]
    Actualizing,
    /// A kind that is not defined.
    #[error("there is no workspace kind {}", kind.0)]
    UnknownKind {
        /// The kind.
        kind: KindId,
    },
    /// A row is not in memory, and was not read or read too early. Read it again.
    #[error("a row was not read since the last checkpoint: {key:?}")]
    NotRead {
        /// The row.
        key: RowKey,
    },
    /// The log can hold no more events.
    #[error("a log can hold no more events")]
    LogFull,
}

/// Why a number could not be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NextError {
    /// The workspace's kind has no such sequence.
    #[error("the workspace has no sequence {}", sequence.0)]
    Unknown {
        /// The sequence.
        sequence: SequenceId,
    },
    /// All numbers of its ranges are given.
    #[error("sequence {} has given all its numbers", sequence.0)]
    Exhausted {
        /// The sequence.
        sequence: SequenceId,
    },
    /// The log can hold no more events.
    #[error("a log can hold no more events")]
    LogFull,
}

/// Why a number could not be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The workspace's kind has no such sequence.
    #[error("the workspace has no sequence {}", sequence.0)]
    Unknown {
        /// The sequence.
        sequence: SequenceId,
    },
    /// The number is none of the sequence's.
    #[error("{number} lies outside the ranges of sequence {}", sequence.0)]
    Outside {
        /// The sequence.
        sequence: SequenceId,
        /// The number.
        number: Number,
    },
}

/// A number, with the year of its series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// The number.
    pub number: Number,
    /// The series that it belongs to.
    pub series: Series,
}

/// The places of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventOffsets {
    /// In the partition's log.
    pub partition: PartitionOffset,
    /// In the workspace's log.
    pub workspace: Number,
}

/// The draws of a transaction, apart from the sequencer that they are drawn from. For runtimes
/// that keep the sequencer behind a lock; everybody else has [`Transaction`].
#[derive(Debug)]
pub struct Draws {
    pub(crate) workspace: WorkspaceId,
    pub(crate) kind: KindId,
    pub(crate) time: Time,
    pub(crate) first: PartitionOffset,
    /// The reading of the log that these numbers go on from.
    pub(crate) reading: u64,
    pub(crate) row: Row,
    pub(crate) client: Option<(ClientId, Row)>,
    pub(crate) event: EventOffsets,
}

impl Draws {
    /// As [`Transaction::event`].
    #[must_use]
    pub fn event(&self) -> EventOffsets {
        self.event
    }

    /// The frontier of the tree over the workspace's log, to be brought up to date with the events
    /// of this command.
    pub fn frontier_mut(&mut self) -> &mut Vec<Hash> {
        self.row.frontier_mut()
    }

    /// The last number of a series, these draws included.
    #[must_use]
    pub fn last(&self, series: Series) -> Option<Number> {
        self.row.last(series)
    }

    /// As [`Transaction::next_event`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn next_event(&mut self, sequences: &Sequences) -> Result<EventOffsets, NextError> {
        let partition = self.event.partition.next().ok_or(NextError::LogFull)?;
        let workspace = self.draw(sequences, built_in::WORKSPACE_OFFSETS);
        let workspace = workspace.map_err(|_| NextError::LogFull)?.number;
        self.event = EventOffsets { partition, workspace };
        Ok(self.event)
    }

    /// As [`Transaction::next`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn next(
        &mut self,
        sequences: &Sequences,
        sequence: SequenceId,
    ) -> Result<Drawn, NextError> {
        if sequence == built_in::WORKSPACE_OFFSETS {
            // Only events take places in the log.
            return Err(NextError::Unknown { sequence });
        }
        self.draw(sequences, sequence)
    }

    pub(crate) fn draw(
        &mut self,
        sequences: &Sequences,
        sequence: SequenceId,
    ) -> Result<Drawn, NextError> {
        let definition = sequences.get(self.kind, sequence);
        let definition = definition.ok_or(NextError::Unknown { sequence })?;
        let series = series_at(sequence, definition, self.time);
        let next = definition.ranges.after(self.row.last(series));
        let number = next.ok_or(NextError::Exhausted { sequence })?;
        self.row.set(series, number);
        Ok(Drawn { number, series })
    }

    /// As [`Transaction::next_of_client`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn next_of_client(&mut self, sequences: &Sequences) -> Result<Number, NextError> {
        let sequence = built_in::CLIENT;
        let series = Series { sequence, year: None };
        let Some((_, row)) = &mut self.client else {
            return Err(NextError::Unknown { sequence });
        };
        let next = sequences.client().ranges.after(row.last(series));
        let number = next.ok_or(NextError::Exhausted { sequence })?;
        row.set(series, number);
        Ok(number)
    }

    /// As [`Transaction::import`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn import(
        &mut self,
        sequences: &Sequences,
        sequence: SequenceId,
        number: Number,
    ) -> Result<(), ImportError> {
        let definition = sequences.get(self.kind, sequence);
        let definition = definition.filter(|_| sequence != built_in::WORKSPACE_OFFSETS);
        let definition = definition.ok_or(ImportError::Unknown { sequence })?;
        if !definition.ranges.contains(number) {
            return Err(ImportError::Outside { sequence, number });
        }
        let series = series_at(sequence, definition, self.time);
        if !planted::is(Bug::ImportDoesNotRaise) {
            self.row.merge(series, &definition.ranges, number);
        }
        Ok(())
    }
}

/// An open transaction: the numbers of one command and of its events.
#[derive(Debug)]
#[must_use = "dropping a transaction forgets its numbers"]
pub struct Transaction<'a> {
    pub(crate) sequencer: &'a mut Sequencer,
    pub(crate) draws: Draws,
}

impl Transaction<'_> {
    /// The places of the current event. A transaction begins with its first.
    #[must_use]
    pub fn event(&self) -> EventOffsets {
        self.draws.event()
    }

    /// Goes on to the next event of the command.
    ///
    /// # Errors
    ///
    /// When a log can hold no more.
    pub fn next_event(&mut self) -> Result<EventOffsets, NextError> {
        self.draws.next_event(self.sequencer.sequences())
    }

    /// Draws the next number of a sequence.
    ///
    /// # Errors
    ///
    /// When the workspace has no such sequence, or it has given all its numbers. The other
    /// draws of the transaction stand.
    pub fn next(&mut self, sequence: SequenceId) -> Result<Drawn, NextError> {
        self.draws.next(self.sequencer.sequences(), sequence)
    }

    /// Draws the id of a new record.
    ///
    /// # Errors
    ///
    /// When all ids of its class are given.
    pub fn next_record_id(&mut self, class: RecordClass) -> Result<Number, NextError> {
        let sequence = self.sequencer.sequences().record_ids().sequence_of(class);
        self.next(sequence).map(|drawn| drawn.number)
    }

    /// Draws the next number of the transaction's client.
    ///
    /// # Errors
    ///
    /// When the transaction has no client, or the client has sent more than can be counted.
    pub fn next_of_client(&mut self) -> Result<Number, NextError> {
        self.draws.next_of_client(self.sequencer.sequences())
    }

    /// Raises a sequence past a number that comes from outside. Whether the number is free is
    /// for the caller to know.
    ///
    /// # Errors
    ///
    /// When the number is none that the sequence could give.
    pub fn import(&mut self, sequence: SequenceId, number: Number) -> Result<(), ImportError> {
        self.draws.import(self.sequencer.sequences(), sequence, number)
    }

    /// How a number of a sequence is shown in this transaction's year.
    #[must_use]
    pub fn text(&self, sequence: SequenceId, number: Number) -> Option<String> {
        let definition = self.sequencer.sequences().get(self.draws.kind, sequence)?;
        let year = definition.utc_offset.year_of(self.draws.time);
        Some(definition.format.show(number, year))
    }

    /// Lets later transactions go on from these numbers. The ticket is for
    /// [`Sequencer::flush`] once the events are committed. If they never are, call
    /// [`Sequencer::actualize`]: later transactions may have built on them.
    pub fn stage(self) -> Ticket {
        self.sequencer.stage(self.draws).expect("nothing was staged while it was borrowed")
    }
}

/// The series that a sequence draws from at a time.
pub(crate) fn series_at(sequence: SequenceId, definition: &Sequence, time: Time) -> Series {
    let year = match definition.reset {
        Reset::Never => None,
        Reset::Yearly if planted::is(Bug::YearAtUtc) => Some(UtcOffset::default().year_of(time)),
        Reset::Yearly => Some(definition.utc_offset.year_of(time)),
    };
    Series { sequence, year }
}
