//! A node of one partition whose storage is a map.
//!
//! ```text
//!  entries ─► read sets, fetched ─► apply, one by one ─► one commit ─► flush ─► checkpoint, if asked
//! ```

use std::collections::BTreeMap;

use bytes::Bytes;
use seriatim_codec::{PartitionPrefix, Stored, Table};
use seriatim_core::{Effects, Machine, RowChange, RowId, Rows, Write};
use seriatim_merkle::NodeId;
use seriatim_sequencer::{Row, RowKey, RowsRead, Settings};
use seriatim_types::{
    Body, Definitions, DueEntity, DueKey, Entry, Event, Hash, PartitionOffset, PartitionRow,
    Retention, Tick, Time, WorkspaceId,
};

/// A partition and all that is stored of it.
#[derive(Debug)]
pub struct Node {
    prefix: PartitionPrefix,
    settings: Settings,
    machine: Machine,
    rows: BTreeMap<RowId, Bytes>,
    numbers: BTreeMap<RowKey, Row>,
    checkpointed_through: Option<PartitionOffset>,
    tree: BTreeMap<(WorkspaceId, NodeId), Hash>,
}

impl Node {
    /// A partition of which nothing is stored.
    ///
    /// # Panics
    ///
    /// When the settings cannot be used.
    #[must_use]
    pub fn new(prefix: PartitionPrefix, settings: Settings) -> Self {
        let machine = Machine::open(prefix, None, None, settings).expect("an empty partition");
        let mut node = Self {
            prefix,
            settings,
            machine,
            rows: BTreeMap::new(),
            numbers: BTreeMap::new(),
            checkpointed_through: None,
            tree: BTreeMap::new(),
        };
        node.restart();
        node
    }

    /// Applies entries as one batch: everything is fetched before, and written in one commit.
    ///
    /// # Panics
    ///
    /// When the partition would stop.
    pub fn apply(&mut self, entries: &[Entry]) -> Vec<Effects> {
        let mut effects = Vec::with_capacity(entries.len());
        let mut rest = entries;
        while !rest.is_empty() {
            let (together, behind) = rest.split_at(Machine::fetched_together(rest));
            effects.extend(self.apply_together(together));
            rest = behind;
        }
        effects
    }

    fn apply_together(&mut self, entries: &[Entry]) -> Vec<Effects> {
        let mut rows = Rows::new();
        for entry in entries {
            loop {
                let set = self.machine.read_set(entry, &rows);
                self.fetch(&mut rows, set.rows);
                if set.is_complete {
                    break;
                }
            }
        }
        let numbers = self.read_numbers(entries, &rows);
        let apply = |entry| self.machine.apply(entry, &mut rows, &numbers).expect("no fault");
        let mut effects: Vec<Effects> = entries.iter().map(apply).collect();
        for effect in &effects {
            effect.writes.iter().for_each(|write| commit(&mut self.rows, write));
            let nodes = effect.nodes.iter().map(|it| ((it.workspace, it.node), it.hash));
            self.tree.extend(nodes);
        }
        commit(&mut self.rows, &self.machine.partition_write());
        for effect in &mut effects {
            if let Some(ticket) = effect.ticket.take() {
                self.machine.sequencer_mut().flush(ticket).expect("flushed in order");
            }
        }
        effects
    }

    /// Writes a checkpoint of the numbers.
    pub fn checkpoint(&mut self) {
        if let Some(checkpoint) = self.machine.sequencer_mut().take_checkpoint() {
            self.numbers.extend(checkpoint.rows.iter().cloned());
            self.checkpointed_through = checkpoint.through;
            self.machine.sequencer_mut().written(checkpoint);
        }
    }

    /// Forgets all that is in memory, and opens what is stored.
    ///
    /// # Panics
    ///
    /// When what is stored cannot be read.
    pub fn restart(&mut self) {
        let row = self.stored::<PartitionRow>(&Machine::partition_row_id(self.prefix));
        let definitions = self.stored::<Definitions>(&Machine::definitions_row_id(self.prefix));
        let machine = Machine::open(self.prefix, row, definitions, self.settings);
        self.machine = machine.expect("what is stored can be opened");
        let log: Vec<_> = self.rows.iter().filter(|(row, _)| row.table == Table::Log).collect();
        let log: Vec<_> = log.into_iter().map(|(_, bytes)| bytes.clone()).collect();
        let resumed = self.machine.sequencer_mut().resume(self.checkpointed_through, 0);
        resumed.expect("a new sequencer has read nothing");
        for bytes in log {
            let event = Event::from_bytes(&bytes).expect("a stored event");
            if Some(event.partition_offset) <= self.checkpointed_through {
                continue;
            }
            let keys: Vec<RowKey> = self.machine.numbers_of(&event).row_keys().collect();
            let read = self.read_rows(keys);
            let nodes = self.machine.observe(&event, &bytes, &read).expect("the log can be read");
            self.tree.extend(nodes.iter().map(|it| ((it.workspace, it.node), it.hash)));
        }
        self.machine.serve().expect("the whole log was read");
    }

    /// A tick that names what is due at a time, at most so many items of each kind.
    ///
    /// # Panics
    ///
    /// When what is stored cannot be read.
    #[must_use]
    pub fn tick(&self, time: Time, count_max: usize) -> Entry {
        let expiries = self.rows.keys().filter(|row| row.table == Table::Entities);
        let expiries = expiries.filter_map(|row| seriatim_codec::decode_expiry_key(&row.key).ok());
        let due = expiries.filter(|(expires_at, ..)| *expires_at <= time).take(count_max);
        let due = due.map(|(expires_at, workspace, key)| DueEntity { workspace, key, expires_at });
        let mut tick = Tick { entities: due.collect(), ..Tick::default() };
        for event in self.events() {
            let Some(origin) = event.origin.filter(|_| event.index == 0) else { continue };
            if Some(event.partition_offset) <= self.machine.row().keys_through {
                continue;
            }
            if tick.keys.len() == count_max || !self.is_over(event.time, time) {
                break;
            }
            let (workspace, client, key) = (event.workspace, origin.client, origin.key);
            tick.keys.push(DueKey { workspace, client, key });
            let last = event.partition_offset.get().saturating_add(u64::from(event.count));
            tick.keys_through = PartitionOffset::new(last.saturating_sub(1));
        }
        Entry { time, body: Body::Tick(tick) }
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// All rows but those of numbers and trees, which are caches of the log.
    #[must_use]
    pub fn rows(&self) -> &BTreeMap<RowId, Bytes> {
        &self.rows
    }

    /// The stored nodes of all trees.
    #[must_use]
    pub fn tree(&self) -> &BTreeMap<(WorkspaceId, NodeId), Hash> {
        &self.tree
    }

    /// A row of numbers, from memory or as it is stored.
    #[must_use]
    pub fn numbers(&self, key: &RowKey) -> Option<Row> {
        self.machine.sequencer().row(key).cloned().or_else(|| self.numbers.get(key).cloned())
    }

    /// The partition's log.
    ///
    /// # Panics
    ///
    /// When what is stored cannot be read.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        let log = self.rows.iter().filter(|(row, _)| row.table == Table::Log);
        log.map(|(_, bytes)| Event::from_bytes(bytes).expect("a stored event")).collect()
    }

    /// A stored row.
    ///
    /// # Panics
    ///
    /// When it cannot be read.
    #[must_use]
    pub fn stored<T: Stored>(&self, row: &RowId) -> Option<T> {
        self.rows.get(row).map(|bytes| T::from_bytes(bytes).expect("a stored row"))
    }

    fn is_over(&self, made: Time, now: Time) -> bool {
        let retention = self.machine.defined().map(|defined| defined.app().retention);
        match retention {
            Some(Retention::Milliseconds(ms)) => now.0 >= made.0.saturating_add(ms),
            Some(Retention::Forever) | None => false,
        }
    }

    fn fetch(&self, rows: &mut Rows, wanted: Vec<RowId>) {
        for row in wanted.into_iter().filter(|row| !rows.knows(row)).collect::<Vec<_>>() {
            let value = self.rows.get(&row).cloned();
            rows.fetched(row, value);
        }
    }

    /// All rows of numbers that a batch goes on from. Those in memory are taken along: making
    /// room for one row may drop another before its entry's turn.
    fn read_numbers(&self, entries: &[Entry], rows: &Rows) -> RowsRead {
        self.read_rows(entries.iter().flat_map(|entry| self.machine.number_rows(entry, rows)))
    }

    fn read_rows(&self, keys: impl IntoIterator<Item = RowKey>) -> RowsRead {
        let read = |key: RowKey| {
            let row = self.numbers(&key);
            (key, row)
        };
        RowsRead::new(self.machine.sequencer().stamp(), keys.into_iter().map(read))
    }
}

fn commit(rows: &mut BTreeMap<RowId, Bytes>, write: &Write) {
    match &write.change {
        RowChange::Put(value) => rows.insert(write.row.clone(), value.clone()),
        RowChange::Insert(value) => {
            let before = rows.insert(write.row.clone(), value.clone());
            assert_eq!(before, None, "a row that must not be there: {:?}", write.row);
            None
        }
        RowChange::Delete => rows.remove(&write.row),
    };
}
