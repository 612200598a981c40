//! Each row that should be there, beside the one that is.

use bytes::Bytes;
use seriatim_codec::{
    Stored, Table as RowTable, client_key, encode_number, encode_row, entity_key, expiry_key,
    idempotency_key, record_key, record_of_kind_key, tree_node_key, workspace_key,
    workspace_log_key, workspace_name_key, workspace_row_key,
};
use seriatim_core::{partition_of_id, partition_of_name};
use seriatim_merkle::NodeId;
use seriatim_sequencer::built_in;
use seriatim_storage::Row;
use seriatim_types::limits::NAMED_WORKSPACE_FIRST;
use seriatim_types::{
    EntityKey, EntityRow, Hash, Number, PartitionOffset, PartitionRow, RecordClass, RecordRow,
    Time, Unknown, WorkspaceId, WorkspaceRow,
};

use super::partition::Partition;
use super::rows::Join;
use super::totals::Totals;
use crate::describe;
use crate::difference::{Difference, Error, Kind};
use crate::expected::{Client, Node, Numbers, UsedKey, Visitor, Workspace, is_over};
use crate::sort::Sorter;

/// The rows of a partition, each table as far as it was compared.
pub(super) struct Compared<'a> {
    partition: &'a Partition<'a>,
    /// How far time has come, and how far keys were removed.
    time: Time,
    keys_through: Option<PartitionOffset>,
    places: Join<'a>,
    workspace_numbers: Join<'a>,
    client_numbers: Join<'a>,
    workspaces: Join<'a>,
    records: Join<'a>,
    entities: Join<'a>,
    keys: Join<'a>,
    /// Rows that come out in another order than their own.
    derived: Sorter,
    /// Workspaces that have a name.
    named: u64,
    totals: Totals,
    progress: &'a mut dyn FnMut(u64, u64),
}

impl<'a> Compared<'a> {
    pub(super) fn new(
        partition: &'a Partition<'a>,
        row: &PartitionRow,
        progress: &'a mut dyn FnMut(u64, u64),
    ) -> Self {
        let join = |table, tag| partition.join(table, tag, tag);
        Self {
            partition,
            time: row.time.unwrap_or(Time(0)),
            keys_through: row.keys_through,
            places: join(RowTable::WorkspaceLog, 0x06),
            workspace_numbers: join(RowTable::Numbers, 0x02),
            client_numbers: join(RowTable::Numbers, 0x03),
            workspaces: join(RowTable::Partition, 0x0e),
            records: join(RowTable::Records, 0x07),
            entities: join(RowTable::Entities, 0x09),
            keys: join(RowTable::Keys, 0x0b),
            derived: Sorter::new(partition.options.memory_bytes),
            named: 0,
            totals: Totals::default(),
            progress,
        }
    }

    /// Nothing else is there. Returns how much was compared, and how many workspaces have a name.
    pub(super) fn finish(mut self) -> Result<(Totals, u64), Error> {
        while let Some(row) = self.workspaces.next_below(None)? {
            self.declared(&row)?;
        }
        let mut derived = self.derived.finish()?;
        let mut joins = vec![
            self.places,
            self.workspace_numbers,
            self.client_numbers,
            self.workspaces,
            self.records,
            self.entities,
            self.keys,
        ];
        for (table, tag) in DERIVED {
            let range = super::rows::tags(self.partition.prefix, tag, tag);
            let mut join = self.partition.join(table, tag, tag);
            while derived.peek().is_some_and(|key| range.contains(key)) {
                if let Some(row) = derived.next()? {
                    join.expect(&row.key, &row.payload)?;
                }
            }
            joins.push(join);
        }
        for mut join in joins {
            join.end()?;
            self.totals.add(Totals { rows: join.rows, bytes: join.bytes, ..Totals::default() });
        }
        Ok((self.totals, self.named))
    }

    /// A workspace without events was declared: its row must be one that there can be.
    fn declared(&mut self, row: &Row) -> Result<(), Error> {
        let Partition { prefix, rules, .. } = self.partition;
        let id = row.key.last_chunk().map(|id| WorkspaceId(u64::from_be_bytes(*id)));
        let id = id.filter(|id| row.key == workspace_row_key(*prefix, *id));
        let read = WorkspaceRow::from_bytes(&row.value)
            .map_err(|error| self.partition.unreadable(RowTable::Partition, &row.key, &error))?;
        let here = rules.partition.partition;
        let is_possible = id.is_some_and(|id| {
            let is_named_here = |name| partition_of_name(name, rules.partitions) == here;
            !rules.is_system()
                && partition_of_id(id, rules.partitions) == here
                && rules.has_kind(read.kind)
                && read.unknown == Unknown::default()
                && read.name.is_some() == (id.0 >= NAMED_WORKSPACE_FIRST)
                && read.name.as_ref().is_none_or(is_named_here)
        });
        let Some(id) = id.filter(|_| is_possible) else { return Err(self.workspaces.extra(row)) };
        self.count_workspace(id, &read)
    }

    /// Names are given one after the other, and each leads to its workspace.
    fn count_workspace(&mut self, id: WorkspaceId, row: &WorkspaceRow) -> Result<(), Error> {
        self.totals.workspaces = self.totals.workspaces.saturating_add(1);
        let Some(name) = &row.name else { return Ok(()) };
        let Partition { prefix, rules, .. } = self.partition;
        let steps = u64::from(rules.partitions);
        let is_next = NAMED_WORKSPACE_FIRST
            .checked_add(self.named.saturating_mul(steps))
            .is_some_and(|least| (least..least.saturating_add(steps)).contains(&id.0));
        if !is_next {
            let place = self.partition.place();
            let place = place.row(RowTable::Partition, &workspace_row_key(*prefix, id));
            let expected = format!("the id of name {}, counted from 0", self.named);
            return Err(Difference::error(Kind::Workspace, place, expected, id.0));
        }
        self.named = self.named.saturating_add(1);
        let key = workspace_name_key(*prefix, name);
        Ok(self.derived.push(&key, &encode_number(id.0))?)
    }

    /// Numbers, and the tree that stands with them in one row.
    fn numbers(&mut self, workspace: WorkspaceId, numbers: &Numbers) -> Result<(), Error> {
        let key = workspace_key(self.partition.prefix, workspace);
        let row = encode_row(numbers.series.iter().copied(), numbers.tree.hashes());
        let compared = self.workspace_numbers.expect(&key, &row);
        let Err(Error::Different(mut difference)) = compared else { return compared };
        let stored = self.partition.tables.get(RowTable::Numbers, &key)?;
        let stored = stored.and_then(|bytes| seriatim_codec::decode_row(&bytes).ok());
        if let Some((_, found)) = stored.filter(|(series, _)| *series == numbers.series)
            && let Some((events, expected, found)) = first_changed(numbers, &found)
        {
            difference.kind = Kind::TreeDifferent;
            difference.place =
                difference.place.about(format!("workspace {}, {events}", workspace.0));
            (difference.expected, difference.found) = (expected.to_string(), found);
        }
        Err(Error::Different(difference))
    }
}

/// The first subtree of the frontier whose stored hash is another.
fn first_changed(numbers: &Numbers, found: &[Hash]) -> Option<(String, Hash, String)> {
    let mut first = 1_u64;
    let sizes = (0..u64::BITS).rev().map(|bit| 1_u64 << bit);
    let sizes = sizes.filter(|size| numbers.tree.size() & size != 0);
    for ((size, hash), at) in sizes.zip(numbers.tree.hashes()).zip(0_usize..) {
        let last = first.saturating_add(size).saturating_sub(1);
        if found.get(at) != Some(hash) {
            let found = found.get(at).map_or("none".to_owned(), Hash::to_string);
            return Some((format!("tree over its events {first} to {last}"), *hash, found));
        }
        first = last.saturating_add(1);
    }
    None
}

impl Visitor for Compared<'_> {
    fn place(
        &mut self,
        workspace: WorkspaceId,
        offset: Number,
        event: PartitionOffset,
    ) -> Result<(), Error> {
        let key = workspace_log_key(self.partition.prefix, workspace, offset);
        self.places.expect(&key, &encode_number(event.get()))
    }

    fn node(&mut self, node: &Node) -> Result<(), Error> {
        if !node.is_covered {
            return Ok(());
        }
        let NodeId { level, index } = node.node;
        let key = tree_node_key(self.partition.prefix, node.workspace, level, index);
        // Looked at now, because it tells best where an event was changed.
        if let Some(found) = self.partition.tables.get(RowTable::Tree, &key)?
            && *found != node.hash.0
        {
            let place = self.partition.place().row(RowTable::Tree, &key);
            let found = describe::value(&found);
            return Err(Difference::error(Kind::TreeDifferent, place, node.hash, found));
        }
        Ok(self.derived.push(&key, &node.hash.0)?)
    }

    fn workspace(&mut self, workspace: &Workspace) -> Result<(), Error> {
        let series = u64::try_from(workspace.now.series.len()).unwrap_or(u64::MAX);
        self.totals.series = self.totals.series.saturating_add(series);
        if let Some(covered) = &workspace.covered {
            self.numbers(workspace.id, covered)?;
        }
        let key = workspace_row_key(self.partition.prefix, workspace.id);
        while let Some(row) = self.workspaces.next_below(Some(&key))? {
            self.declared(&row)?;
        }
        let Workspace { kind, name, .. } = workspace.clone();
        let row = WorkspaceRow { kind, name, unknown: Unknown::default() };
        self.workspaces.expect(&key, &row.to_bytes())?;
        self.count_workspace(workspace.id, &row)
    }

    fn client(&mut self, client: &Client) -> Result<(), Error> {
        let Some((sequence, offset)) = client.covered else { return Ok(()) };
        let key = client_key(self.partition.prefix, client.workspace, &client.client);
        let series = [(built_in::CLIENT, None, sequence), (built_in::CLIENT_OFFSETS, None, offset)];
        self.client_numbers.expect(&key, &encode_row(series.into_iter(), &[]))
    }

    fn record(
        &mut self,
        workspace: WorkspaceId,
        id: Number,
        row: Option<&RecordRow>,
    ) -> Result<(), Error> {
        let Some(row) = row else { return Ok(()) };
        let prefix = self.partition.prefix;
        self.totals.records = self.totals.records.saturating_add(1);
        self.records.expect(&record_key(prefix, workspace, id), &row.to_bytes())?;
        if row.class == RecordClass::C {
            self.derived.push(&record_of_kind_key(prefix, workspace, &row.kind, id), &[])?;
        }
        Ok(())
    }

    fn entity(
        &mut self,
        workspace: WorkspaceId,
        key: &EntityKey,
        row: Option<&EntityRow>,
    ) -> Result<(), Error> {
        let Some(row) = row else { return Ok(()) };
        let prefix = self.partition.prefix;
        let (stored, value) = (entity_key(prefix, workspace, key), row.to_bytes());
        // One whose time is over is removed at some time, or not yet.
        let is_over = row.expires_at.is_some_and(|expires_at| expires_at <= self.time);
        if is_over {
            if !self.entities.allow(&stored, &value)? {
                return Ok(());
            }
        } else {
            self.entities.expect(&stored, &value)?;
        }
        self.totals.entities = self.totals.entities.saturating_add(1);
        if let Some(expires_at) = row.expires_at {
            self.derived.push(&expiry_key(prefix, expires_at, workspace, key), &[])?;
        }
        Ok(())
    }

    fn key(&mut self, key: &UsedKey) -> Result<(), Error> {
        let UsedKey { workspace, client, key, row, first_use } = key;
        if Some(row.first) <= self.keys_through {
            return Ok(());
        }
        let stored = idempotency_key(self.partition.prefix, *workspace, client, *key);
        let value: Bytes = row.to_bytes();
        // A tick that names an earlier use removes a later one too, if that is over as well.
        let may_be_removed = Some(*first_use) <= self.keys_through
            && is_over(self.partition.rules.retention, row.time, self.time);
        let is_there = if may_be_removed {
            self.keys.allow(&stored, &value)?
        } else {
            self.keys.expect(&stored, &value).map(|()| true)?
        };
        self.totals.keys = self.totals.keys.saturating_add(u64::from(is_there));
        Ok(())
    }

    fn progress(&mut self, done: u64, total: u64) {
        (self.progress)(done, total);
    }
}

/// Tables and tags of rows that come out in another order than their own, ascending by tag.
const DERIVED: [(RowTable, u8); 4] = [
    (RowTable::Records, 0x08),
    (RowTable::Entities, 0x0a),
    (RowTable::Partition, 0x0f),
    (RowTable::Tree, 0x14),
];
