//! How all of it is stored, and what the machine's answers mean: where the model and the machine
//! are compared.

use std::collections::BTreeMap;

use bytes::Bytes;
use seriatim_codec::{KeyBytes, OutboxPointer, PartitionPrefix, Stored, Table, encode_number};
use seriatim_core::{
    CommandOutcome, Current, CurrentValue, DeclareOutcome, DefineOutcome, DeliveryOutcome, Effects,
    Outcome, Refusal, RowId, Subject, TickOutcome,
};
use seriatim_merkle::{Frontier, empty_root, leaf_hash, node_hash};
use seriatim_sequencer::{Row, RowKey, Series};
use seriatim_types::{
    EntityRow, Hash, Incarnation, Inclusion, KeyRow, KindId, Number, PartitionOffset, PartitionRow,
    RecordClass, RecordRow, SequenceDefinition, SequenceId, Time, Unknown, WorkspaceId,
    WorkspaceRow, Year,
};

use super::numbers::{OFFSETS, show, year_of};
use super::{Answer, Applied, Model, Record, Refused, Workspace, refuse};
use crate::core::Node;

/// A client's count of its commands, and the place of its last event: the ids of their series.
const CLIENT_COMMANDS: SequenceId = SequenceId(5);
const CLIENT_OFFSETS: SequenceId = SequenceId(6);

impl Applied {
    /// The same, as the machine says it.
    #[must_use]
    pub fn of(effects: &Effects) -> Self {
        let messages = effects.messages.iter();
        Self {
            answer: answer_of(&effects.outcome),
            events: effects.events.clone(),
            messages: messages.map(|it| (it.target, it.delivery.clone())).collect(),
        }
    }
}

impl Model {
    /// Compares everything that a node has stored with what it should have.
    ///
    /// # Panics
    ///
    /// When something differs.
    pub fn check_stored(&self, node: &Node) {
        let expected = self.rows();
        for (row, value) in &expected {
            assert_eq!(node.rows().get(row), Some(value), "stored under {row:?}");
        }
        let unexpected = node.rows().keys().find(|row| !expected.contains_key(row));
        assert_eq!(unexpected, None, "nothing else is stored");
        for (id, held) in &self.state.workspaces {
            self.check_numbers(node, *id, held);
        }
    }

    fn check_numbers(&self, node: &Node, id: u64, held: &Workspace) {
        let workspace = WorkspaceId(id);
        let row = node.numbers(&RowKey::Workspace(workspace)).unwrap_or_default();
        let mut expected = held.last_numbers.clone();
        if held.offset > 0 {
            expected.insert((OFFSETS, None), held.offset);
        }
        assert_eq!(numbers_of(&row), expected, "the numbers of workspace {id}");
        for (client, counts) in &held.clients {
            let row = node.numbers(&RowKey::Client(workspace, client.clone()));
            let row = row.expect("a client that has sent something has numbers");
            let expected =
                [(CLIENT_COMMANDS, counts.commands), (CLIENT_OFFSETS, counts.last_offset)];
            let expected = expected.map(|(sequence, last)| ((sequence, None), last));
            assert_eq!(numbers_of(&row), expected.into(), "the numbers of {client:?} in {id}");
        }
        let leaves = self.leaves(workspace);
        let frontier = Frontier::new(held.offset, row.frontier().to_vec());
        let root = frontier.map(|frontier| frontier.root());
        assert_eq!(root, Some(naive_root(&leaves)), "the root of workspace {id}");
    }

    /// That the last event of a workspace is in its log.
    pub(super) fn proof(&self, workspace: WorkspaceId) -> Inclusion {
        let leaves = self.leaves(workspace);
        let leaf = *leaves.last().expect("it has an event");
        let path = naive_path(leaves.len() - 1, &leaves);
        Inclusion { leaf, path, root: naive_root(&leaves) }
    }

    fn leaves(&self, workspace: WorkspaceId) -> Vec<Hash> {
        let events = self.log.iter().filter(|event| event.workspace == workspace);
        events.map(|event| leaf_hash(&event.to_bytes())).collect()
    }

    /// The records of a workspace, by their ids.
    pub fn records(
        &self,
        workspace: WorkspaceId,
    ) -> impl Iterator<Item = (Number, RecordRow)> + use<'_> {
        let held = self.state.workspaces.get(&workspace.0);
        let records = held.into_iter().flat_map(|held| &held.records);
        records.map(|(id, record)| (number(*id), record_row(record)))
    }

    /// The text of a number of a sequence, in a year or at a time.
    #[must_use]
    pub fn text_of(
        &self,
        defined: &SequenceDefinition,
        number: u64,
        year: Option<Year>,
        now: Time,
    ) -> Option<String> {
        let year = year.unwrap_or_else(|| year_of(now.0, defined.utc_offset_minutes));
        show(&defined.format, number, year)
    }

    /// All rows but those of numbers and trees, which are caches of the log.
    #[must_use]
    pub fn rows(&self) -> BTreeMap<RowId, Bytes> {
        let (app, partition) = (self.state.partition.app, self.state.partition.partition);
        let prefix = PartitionPrefix { app, partition, incarnation: Incarnation(1) };
        let mut rows = BTreeMap::new();
        let mut put = |table, key, value: Bytes| rows.insert(RowId { table, key }, value);
        for event in &self.log {
            let offset = event.partition_offset;
            put(Table::Log, seriatim_codec::event_key(prefix, offset), event.to_bytes());
            let key = seriatim_codec::workspace_log_key(prefix, event.workspace, event.offset);
            put(Table::WorkspaceLog, key, encode_number(offset.get()));
        }
        for (id, held) in &self.state.workspaces {
            put_workspace(&mut put, prefix, WorkspaceId(*id), held);
        }
        let state = &self.state;
        for (name, id) in &state.names {
            let key = seriatim_codec::workspace_name_key(prefix, name);
            put(Table::Partition, key, encode_number(*id));
        }
        for (source, last) in &state.received {
            put(Table::Partition, seriatim_codec::inbox_key(prefix, *source), encode_number(*last));
        }
        for (target, last) in &state.sent {
            let key = seriatim_codec::outbox_head_key(prefix, *target);
            put(Table::Partition, key, encode_number(*last));
        }
        for ((target, number), event) in &state.outbox {
            let event = PartitionOffset::new(*event).expect("an event of the log");
            let key = seriatim_codec::outbox_key(prefix, *target, *number);
            put(Table::Partition, key, OutboxPointer { event, change: 0 }.encode());
        }
        for (id, definitions) in &state.apps {
            let key = seriatim_codec::app_key(prefix, WorkspaceId(*id));
            put(Table::Partition, key, definitions.to_bytes());
        }
        if let Some(definitions) = &state.definitions {
            let key = seriatim_codec::definitions_key(prefix);
            put(Table::Partition, key, definitions.to_bytes());
        }
        let row = PartitionRow {
            time: Some(state.time),
            offset: PartitionOffset::new(state.offset),
            keys: state.keys(),
            keys_through: PartitionOffset::new(state.keys_through),
            names: state.names.len() as u64,
            unknown: Unknown::default(),
        };
        put(Table::Partition, seriatim_codec::partition_key(prefix), row.to_bytes());
        rows
    }
}

fn record_row(it: &Record) -> RecordRow {
    let fields = it.fields.iter().map(|(name, text)| (name.clone(), text.clone().into()));
    RecordRow {
        kind: it.kind.clone(),
        class: it.class,
        parent: it.parent.map(number),
        version: it.version,
        offset: number(it.offset),
        fields: fields.collect(),
        unknown: Unknown::default(),
    }
}

fn put_workspace<T>(
    put: &mut impl FnMut(Table, KeyBytes, Bytes) -> T,
    prefix: PartitionPrefix,
    id: WorkspaceId,
    held: &Workspace,
) {
    let unknown = Unknown::default;
    let row = WorkspaceRow { kind: KindId(held.kind), name: held.name.clone(), unknown: unknown() };
    put(Table::Partition, seriatim_codec::workspace_row_key(prefix, id), row.to_bytes());
    for (record, it) in &held.records {
        let record = number(*record);
        let row = record_row(it).to_bytes();
        put(Table::Records, seriatim_codec::record_key(prefix, id, record), row);
        if it.class == RecordClass::C {
            let key = seriatim_codec::record_of_kind_key(prefix, id, &it.kind, record);
            put(Table::Records, key, Bytes::new());
        }
    }
    for (key, it) in &held.entities {
        let row = EntityRow {
            version: it.version,
            expires_at: it.expires_at,
            offset: number(it.offset),
            value: it.value.clone().into(),
            unknown: unknown(),
        };
        put(Table::Entities, seriatim_codec::entity_key(prefix, id, key), row.to_bytes());
        if let Some(expires_at) = it.expires_at {
            let key = seriatim_codec::expiry_key(prefix, expires_at, id, key);
            put(Table::Entities, key, Bytes::new());
        }
    }
    for ((client, key), it) in &held.keys {
        let row = KeyRow {
            first: it.receipt.first_partition_offset,
            count: it.count,
            fingerprint: it.fingerprint,
            time: it.time,
            unknown: unknown(),
        };
        let key = seriatim_codec::idempotency_key(prefix, id, client, *key);
        put(Table::Keys, key, row.to_bytes());
    }
}

fn numbers_of(row: &Row) -> BTreeMap<(SequenceId, Option<seriatim_types::Year>), u64> {
    let numbers = row.iter();
    numbers.map(|(Series { sequence, year }, last)| ((sequence, year), last.get())).collect()
}

/// What a leaf is hashed with, from below, by the words of RFC 6962, section 2.1.1.
fn naive_path(index: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
    let (mut path, sibling) = if index < left.len() {
        (naive_path(index, left), naive_root(right))
    } else {
        (naive_path(index - left.len(), right), naive_root(left))
    };
    path.push(sibling);
    path
}

/// The root of a tree, by the words of RFC 6962, section 2.1.
fn naive_root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => empty_root(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            node_hash(&naive_root(left), &naive_root(right))
        }
    }
}

fn answer_of(outcome: &Result<Outcome, Refusal>) -> Answer {
    match outcome.clone() {
        Err(refusal) => Answer::Refused(refused_of(&refusal)),
        Ok(Outcome::Command(CommandOutcome::Committed(receipt))) => Answer::Committed(receipt),
        Ok(Outcome::Command(CommandOutcome::Duplicate { first, count })) => {
            Answer::Duplicate { first, count }
        }
        Ok(Outcome::Declare(DeclareOutcome { workspace, is_new })) => {
            Answer::Declared { workspace, is_new }
        }
        Ok(Outcome::Tick(TickOutcome { entities, keys })) => Answer::Swept { entities, keys },
        Ok(Outcome::Delivery(DeliveryOutcome::Received { is_new })) => Answer::Received { is_new },
        Ok(Outcome::Delivery(DeliveryOutcome::OutOfOrder { expected })) => {
            Answer::OutOfOrder { expected }
        }
        Ok(Outcome::Delivered) => Answer::Removed,
        Ok(Outcome::Define(DefineOutcome { app, version, is_new })) => {
            Answer::Defined { app: app.0, version, is_new }
        }
    }
}

fn refused_of(refusal: &Refusal) -> Refused {
    let about = match refusal {
        Refusal::InvalidArgument { field, .. } => field.clone(),
        Refusal::UnknownSequence { name, field } | Refusal::UnknownKind { name, field } => {
            format!("{field} {name}")
        }
        Refusal::RecordNotFound { id } => id.to_string(),
        Refusal::DefinitionConflict { name, .. } | Refusal::KindConflict { current: name } => {
            name.to_string()
        }
        Refusal::RecordExists { id } | Refusal::SingletonExists { id, .. } => id.to_string(),
        Refusal::KeyExists { key, current }
        | Refusal::ValueMismatch { key, current }
        | Refusal::VersionMismatch { subject: Subject::Entity(key), current } => {
            current_of(key, current)
        }
        Refusal::KeyNotFound { key } => format!("{key} is absent"),
        Refusal::VersionMismatch { subject: Subject::Record(id), current } => {
            current_of(id, current)
        }
        Refusal::OffsetMismatch { current } => current.to_string(),
        Refusal::TooLarge { max, found, .. } => format!("{found} of {max}"),
        Refusal::KeyReused { first } => first.to_string(),
        Refusal::KeyWindowFull { max, keys_expire } => format!("{max}, expire: {keys_expire}"),
        Refusal::DeadlineExceeded { deadline, time } => format!("{} at {}", deadline.0, time.0),
        Refusal::PermissionDenied { .. }
        | Refusal::AppNotFound(_)
        | Refusal::AppExists { .. }
        | Refusal::SequenceExhausted { .. } => String::new(),
    };
    refuse(refusal.code(), about)
}

fn current_of(subject: &dyn std::fmt::Display, current: &Current) -> String {
    let Current { version, value } = current;
    match value {
        CurrentValue::Entity(value) => {
            let value = str::from_utf8(value).expect("JSON is text");
            format!("{subject} is {version} {value}")
        }
        CurrentValue::Record(fields) => format!("{subject} is {version} {fields:?}"),
    }
}

fn number(number: u64) -> Number {
    Number::new(number).expect("a number of a sequence")
}
