//! How much was checked.

use seriatim_types::Time;

/// How much was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Apps, without the system app.
    pub apps: u64,
    /// Partitions, with that of the system app.
    pub partitions: u64,
    /// Workspaces, also those that have no event.
    pub workspaces: u64,
    /// Events.
    pub events: u64,
    /// Records that are there.
    pub records: u64,
    /// Entities that are there.
    pub entities: u64,
    /// Series of numbers: offsets, record ids and the apps' own.
    pub series: u64,
    /// Idempotency keys that are kept.
    pub keys: u64,
    /// Rows that were compared, events among them.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// The newest time of any partition. A clock that was wrong and believed puts it into the future,
    /// which is no damage.
    pub newest: Option<Time>,
}

impl Totals {
    pub(crate) fn add(&mut self, other: Self) {
        let pairs = [
            (&mut self.apps, other.apps),
            (&mut self.partitions, other.partitions),
            (&mut self.workspaces, other.workspaces),
            (&mut self.events, other.events),
            (&mut self.records, other.records),
            (&mut self.entities, other.entities),
            (&mut self.series, other.series),
            (&mut self.keys, other.keys),
            (&mut self.rows, other.rows),
            (&mut self.bytes, other.bytes),
        ];
        for (sum, part) in pairs {
            *sum = sum.saturating_add(part);
        }
        self.newest = self.newest.max(other.newest);
    }
}

/// How far a check has come. Steps come one after the other, and some come once for each partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub step: Step,
    /// How much of it is done.
    pub done: u64,
    /// How much of it there is, as far as is known.
    pub total: u64,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Bytes of files are read.
    Files,
    /// Events of all partitions are read.
    Events,
    /// What the events of a partition say is compared with its rows.
    Rows,
}
