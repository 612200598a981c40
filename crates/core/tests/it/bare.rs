//! A machine without a node around it: it can be given any rows, and its faults can be seen.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use seriatim_codec::{PartitionPrefix, Stored};
use seriatim_core::{Effects, Fault, Machine, RowId, Rows};
use seriatim_sequencer::{RowKey, RowsRead, Settings};
use seriatim_testkit::core::Node;
use seriatim_types::Entry;

pub(crate) struct Bare {
    pub(crate) machine: Machine,
    /// What is fetched from. Nothing is written back.
    pub(crate) stored: BTreeMap<RowId, Bytes>,
}

impl Bare {
    /// What a node has stored, opened anew.
    pub(crate) fn of(node: &Node, prefix: PartitionPrefix) -> Self {
        let row = node.stored(&Machine::partition_row_id(prefix));
        let definitions = node.stored(&Machine::definitions_row_id(prefix));
        let mut machine = Machine::open(prefix, row, definitions, Settings::default()).unwrap();
        machine.sequencer_mut().resume(None, 0).unwrap();
        for event in node.events() {
            let keys = machine.numbers_of(&event).row_keys().collect();
            let read = absent(&machine, keys);
            machine.observe(&event, &event.to_bytes(), &read).unwrap();
        }
        machine.sequencer_mut().serve().unwrap();
        Self { machine, stored: node.rows().clone() }
    }

    /// Everything that an entry reads, of all rounds.
    pub(crate) fn read_set(&self, entry: &Entry) -> BTreeSet<RowId> {
        let mut all = BTreeSet::new();
        loop {
            let set = self.machine.read_set(entry, &self.fetched(&all));
            all.extend(set.rows);
            if set.is_complete {
                return all;
            }
        }
    }

    /// Rows as they are stored.
    pub(crate) fn fetched<'r>(&self, wanted: impl IntoIterator<Item = &'r RowId>) -> Rows {
        let mut rows = Rows::new();
        for row in wanted {
            rows.fetched(row.clone(), self.stored.get(row).cloned());
        }
        rows
    }

    pub(crate) fn apply(&mut self, entry: &Entry) -> Result<Effects, Fault> {
        let mut rows = self.fetched(&self.read_set(entry));
        self.apply_on(entry, &mut rows)
    }

    pub(crate) fn apply_on(&mut self, entry: &Entry, rows: &mut Rows) -> Result<Effects, Fault> {
        // The whole log was read, so what is not in memory is not there.
        let numbers = absent(&self.machine, self.machine.number_rows(entry, rows).collect());
        self.machine.apply(entry, rows, &numbers)
    }
}

fn absent(machine: &Machine, keys: Vec<RowKey>) -> RowsRead {
    RowsRead::new(machine.sequencer().stamp(), keys.into_iter().map(|key| (key, None)))
}
