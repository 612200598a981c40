//! What the tests share: sending changes to a workspace, and looking at what became of them.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use seriatim_codec::{PartitionPrefix, Stored, Table};
use seriatim_core::{CommandOutcome, Outcome, Refusal, RowId};
use seriatim_sequencer::{Row, RowKey};
use seriatim_testkit::core::{Node, Shop, changes, name};
use seriatim_types::{
    AppId, Body, Command, CommandChange, CommandEvent, EntityKey, EntityRow, Entry, Fields,
    Incarnation, Number, PartitionId, PartitionRow, Receipt, RecordRow, Template, Time,
    WorkspaceId,
};

/// The app's one partition.
pub(crate) const APP: PartitionPrefix =
    PartitionPrefix { app: AppId(1), partition: PartitionId(0), incarnation: Incarnation(1) };

/// The workspace that most tests write to.
pub(crate) const WORKSPACE: WorkspaceId = WorkspaceId(1);

/// A new command of changes for [`WORKSPACE`].
pub(crate) fn ask(shop: &mut Shop, json: &str) -> Command {
    shop.command("1", changes(json))
}

/// Sends changes that are carried out.
pub(crate) fn done(shop: &mut Shop, json: &str) -> Receipt {
    let command = ask(shop, json);
    receipt(shop.outcome(command))
}

/// Sends changes that are refused.
pub(crate) fn refused(shop: &mut Shop, json: &str) -> Refusal {
    let command = ask(shop, json);
    refusal(shop.outcome(command))
}

pub(crate) fn receipt(outcome: Result<Outcome, Refusal>) -> Receipt {
    match outcome {
        Ok(Outcome::Command(CommandOutcome::Committed(receipt))) => receipt,
        other => panic!("it is carried out: {other:?}"),
    }
}

pub(crate) fn refusal(outcome: Result<Outcome, Refusal>) -> Refusal {
    match outcome {
        Err(refusal) => refusal,
        other => panic!("it is refused: {other:?}"),
    }
}

pub(crate) fn at(time: Time, body: Body) -> Entry {
    Entry { time, body }
}

pub(crate) fn number(number: u64) -> Number {
    Number::new(number).unwrap()
}

pub(crate) fn entity_key(text: &str) -> EntityKey {
    EntityKey::new(text).unwrap()
}

/// A record of [`WORKSPACE`].
pub(crate) fn record(shop: &Shop, id: u64) -> Option<RecordRow> {
    shop.node.stored(&record_id(id))
}

pub(crate) fn record_id(id: u64) -> RowId {
    let key = seriatim_codec::record_key(APP, WORKSPACE, number(id));
    RowId { table: Table::Records, key }
}

/// An entity of [`WORKSPACE`], whether or not its time is over.
pub(crate) fn entity(shop: &Shop, key: &str) -> Option<EntityRow> {
    shop.node.stored(&entity_id(key))
}

pub(crate) fn entity_id(key: &str) -> RowId {
    let key = seriatim_codec::entity_key(APP, WORKSPACE, &entity_key(key));
    RowId { table: Table::Entities, key }
}

/// Fields as one text: `a=1 b=2`.
pub(crate) fn shown(fields: &Fields) -> String {
    let field = |(name, value): &(_, Bytes)| format!("{name}={}", text(value));
    fields.iter().map(field).collect::<Vec<_>>().join(" ")
}

pub(crate) fn text(bytes: &Bytes) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// Numbers that a receipt lists, as `sequence number text`.
pub(crate) fn drawn(receipt: &Receipt) -> Vec<String> {
    let numbers = receipt.numbers.iter();
    numbers.map(|it| format!("{} {} {}", it.name, it.number, it.text)).collect()
}

/// Ids that a receipt lists.
pub(crate) fn ids(receipt: &Receipt) -> Vec<(u16, u64)> {
    receipt.ids.iter().map(|(raw, id)| (*raw, id.get())).collect()
}

/// Everything that a node knows but the time of its last entry: its rows, and its numbers.
pub(crate) type State = (BTreeMap<RowId, Bytes>, BTreeMap<RowKey, Option<Row>>);

pub(crate) fn state(node: &Node) -> State {
    let mut rows = node.rows().clone();
    let partition = PartitionRow { time: None, ..node.machine().row().clone() };
    rows.insert(node.machine().partition_write().row, partition.to_bytes());
    let keys = node.events().into_iter().flat_map(|event| {
        let client = event.origin.map(|it| RowKey::Client(event.workspace, it.client));
        [RowKey::Workspace(event.workspace)].into_iter().chain(client)
    });
    let keys: BTreeSet<RowKey> = keys.collect();
    let numbers = keys.into_iter().map(|key| (key.clone(), node.numbers(&key))).collect();
    (rows, numbers)
}

/// One event with changes that the JSON edge would not let through.
pub(crate) fn unchecked(changes: Vec<CommandChange>) -> Vec<CommandEvent> {
    let args = Template::plain("{}");
    vec![CommandEvent { name: name("Happened"), args, changes }]
}

/// A new record without fields.
pub(crate) fn create(id: u64, kind: &str, parent: Option<u64>) -> CommandChange {
    CommandChange::Create { id, kind: name(kind), parent, fields: Vec::new() }
}
