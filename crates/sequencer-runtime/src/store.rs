//! Numbers and a log of numbers on our own storage.

use std::ops::ControlFlow;
use std::sync::Arc;

use seriatim_codec::{
    CheckpointHead, EventNumbers, PartitionPrefix, client_key, decode_row, encode_row,
    event_numbers_key, head_key, workspace_key,
};
use seriatim_sequencer::{Checkpoint, LogEvent, Row, RowKey, Series};
use seriatim_storage::{
    Batch, Cancel, CommitError, KeyRange, Scan, ScanEnd, ScanError, Store, Table,
};
use seriatim_types::{Epoch, PartitionOffset};

use crate::traits::{EventLog, LogError, NumberStorage, StorageError, WriteError};

/// The tables that [`StoreNumbers`] and [`StoreLog`] use.
pub mod tables {
    /// Rows of numbers and the head of the checkpoint.
    pub const NUMBERS: &str = "numbers";
    /// The numbers of events.
    pub const NUMBER_LOG: &str = "number_log";
}

/// The numbers of one partition in a store.
pub struct StoreNumbers {
    store: Arc<dyn Store>,
    table: Table,
    prefix: PartitionPrefix,
}

/// A log of one partition in a store that keeps nothing of events but their numbers.
pub struct StoreLog {
    store: Arc<dyn Store>,
    table: Table,
    prefix: PartitionPrefix,
}

fn failed(error: impl std::error::Error) -> StorageError {
    // The cause is printed where the error is handled; here it becomes data.
    let mut cause = error.to_string();
    let mut source = error.source();
    while let Some(deeper) = source {
        cause = format!("{cause}: {deeper}");
        source = deeper.source();
    }
    StorageError { cause }
}

impl StoreNumbers {
    /// The numbers of a partition; `None` when the store has no table for them.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, prefix: PartitionPrefix) -> Option<Self> {
        let table = store.schema().table(tables::NUMBERS)?;
        Some(Self { store, table, prefix })
    }

    fn key(&self, key: &RowKey) -> Vec<u8> {
        match key {
            RowKey::Workspace(workspace) => workspace_key(self.prefix, *workspace),
            RowKey::Client(workspace, client) => client_key(self.prefix, *workspace, client),
        }
    }

    /// The head as stored, and what it says.
    fn head(&self) -> Result<(Option<bytes::Bytes>, CheckpointHead), StorageError> {
        let stored = self.store.get(self.table, &head_key(self.prefix)).map_err(failed)?;
        let head = match &stored {
            None => CheckpointHead { epoch: Epoch(0), through: None },
            Some(bytes) => CheckpointHead::decode(bytes).map_err(failed)?,
        };
        Ok((stored, head))
    }

    /// Replaces the head, if it is still the one that was read.
    fn put_head(&self, batch: &mut Batch, old: Option<bytes::Bytes>, new: CheckpointHead) {
        let key = head_key(self.prefix);
        batch.compare_and_swap(self.table, key, old, Some(new.encode().into()));
    }
}

impl NumberStorage for StoreNumbers {
    fn claim(&self) -> Result<Epoch, StorageError> {
        let (stored, head) = self.head()?;
        let epoch = Epoch(head.epoch.0.saturating_add(1));
        let mut batch = Batch::new();
        self.put_head(&mut batch, stored, CheckpointHead { epoch, ..head });
        self.store.commit(batch).map_err(failed)?;
        self.store.sync().map_err(failed)?;
        Ok(epoch)
    }

    fn read_rows(&self, keys: &[RowKey]) -> Result<Vec<Option<Row>>, StorageError> {
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| self.key(key)).collect();
        let asked: Vec<(Table, &[u8])> =
            keys.iter().map(|key| (self.table, key.as_slice())).collect();
        let rows = self.store.get_many(&asked).map_err(failed)?;
        let decode = |row: Option<bytes::Bytes>| -> Result<Option<Row>, StorageError> {
            let Some(bytes) = row else { return Ok(None) };
            let (series, frontier) = decode_row(&bytes).map_err(failed)?;
            let series =
                series.into_iter().map(|(sequence, year, last)| (Series { sequence, year }, last));
            Ok(Some(Row::new(series).with_frontier(frontier)))
        };
        rows.into_iter().map(decode).collect()
    }

    fn checkpointed_through(&self) -> Result<Option<PartitionOffset>, StorageError> {
        Ok(self.head()?.1.through)
    }

    fn write(&self, epoch: Epoch, checkpoint: &Checkpoint) -> Result<(), WriteError> {
        let (stored, head) = self.head()?;
        if head.epoch != epoch {
            return Err(WriteError::Fenced { owner: head.epoch });
        }
        let mut batch = Batch::new();
        for (key, row) in &checkpoint.rows {
            let series = row.iter().map(|(Series { sequence, year }, last)| (sequence, year, last));
            batch.put(self.table, self.key(key), encode_row(series, row.frontier()));
        }
        let through = checkpoint.through;
        self.put_head(&mut batch, stored, CheckpointHead { epoch, through });
        // Not synced: a lost checkpoint costs a longer reading of the log, nothing else.
        match self.store.commit(batch) {
            Ok(()) => Ok(()),
            Err(CommitError::Condition(_)) => {
                Err(WriteError::Fenced { owner: self.head()?.1.epoch })
            }
            Err(error) => Err(failed(error).into()),
        }
    }
}

impl StoreLog {
    /// The log of a partition; `None` when the store has no table for it.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, prefix: PartitionPrefix) -> Option<Self> {
        let table = store.schema().table(tables::NUMBER_LOG)?;
        Some(Self { store, table, prefix })
    }

    /// Adds the events to a batch. The log must not have anything at or behind them.
    pub fn append(&self, batch: &mut Batch, events: &[LogEvent]) {
        let Some(first) = events.first() else { return };
        let end = KeyRange::prefix(&event_prefix(self.prefix));
        let start = event_numbers_key(self.prefix, first.offset);
        let range = KeyRange::new(std::ops::Bound::Included(&start), end.end());
        let rows = events.iter().map(|event| seriatim_storage::Row {
            key: event_numbers_key(self.prefix, event.offset).into(),
            value: encode_event(event).into(),
        });
        batch.insert_range_if_absent(self.table, range, rows);
    }
}

fn event_prefix(prefix: PartitionPrefix) -> Vec<u8> {
    let mut key = event_numbers_key(prefix, PartitionOffset::FIRST);
    key.truncate(key.len().saturating_sub(8));
    key
}

fn encode_event(event: &LogEvent) -> Vec<u8> {
    let values = event.values.iter();
    EventNumbers {
        workspace: event.workspace,
        kind: event.kind,
        values: values.map(|(series, number)| (series.sequence, series.year, *number)).collect(),
        client: event.client.clone(),
    }
    .encode()
}

fn decode_offset(key: &[u8]) -> Result<PartitionOffset, StorageError> {
    let offset = key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes));
    let offset = offset.and_then(PartitionOffset::new);
    offset.ok_or_else(|| StorageError { cause: "a key of the log cannot be read".to_owned() })
}

fn decode_event(key: &[u8], value: &[u8]) -> Result<LogEvent, StorageError> {
    let offset = decode_offset(key)?;
    let EventNumbers { workspace, kind, values, client } =
        EventNumbers::decode(value).map_err(failed)?;
    let values = values.into_iter();
    let values = values.map(|(sequence, year, number)| (Series { sequence, year }, number));
    Ok(LogEvent { offset, workspace, kind, values: values.collect(), client, frontier: None })
}

impl EventLog for StoreLog {
    fn last_offset(&self) -> Result<Option<PartitionOffset>, StorageError> {
        let range = KeyRange::prefix(&event_prefix(self.prefix));
        let mut last = None;
        let scan = Scan::new(self.table, range).backward().limit(1);
        let end = self.store.scan(&scan, &mut |row| {
            last = Some(decode_offset(&row.key));
            ControlFlow::Continue(())
        });
        match end {
            Ok(ScanEnd::Complete | ScanEnd::Limit | ScanEnd::Stopped) => last.transpose(),
            Err(error) => Err(failed(error)),
        }
    }

    fn read(
        &self,
        after: Option<PartitionOffset>,
        cancel: &Cancel,
        visit: &mut dyn FnMut(LogEvent) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        let all = KeyRange::prefix(&event_prefix(self.prefix));
        let range = match after {
            None => all,
            Some(after) => {
                let start = event_numbers_key(self.prefix, after);
                KeyRange::new(std::ops::Bound::Excluded(&start), all.end())
            }
        };
        let mut broken = None;
        let scan = Scan::new(self.table, range).cancel(cancel);
        let end = self.store.scan(&scan, &mut |row| match decode_event(&row.key, &row.value) {
            Ok(event) => visit(event),
            Err(error) => {
                broken = Some(error);
                ControlFlow::Break(())
            }
        });
        match (end, broken) {
            (_, Some(StorageError { cause })) => Err(LogError::Damaged { cause }),
            (Ok(ScanEnd::Complete | ScanEnd::Stopped), None) => Ok(()),
            (Ok(ScanEnd::Limit), None) => unreachable!("the scan has no limit"),
            (Err(ScanError::Cancelled { .. }), None) => Err(LogError::Cancelled),
            (Err(ScanError::Read(error)), None) => Err(failed(error).into()),
        }
    }
}
