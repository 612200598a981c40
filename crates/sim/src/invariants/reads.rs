//! What is read is what was durable when the view was taken, and nobody sees less than somebody has
//! seen or written before.

use seriatim_codec::Stored as _;
use seriatim_merkle::leaf_hash;
use seriatim_node::{ClientState, Head, ReadFailed, View};
use seriatim_testkit::core::Model;
use seriatim_types::{
    Change, EntityKey, EntityRow, Event, Hash, PartitionOffset, PartitionRef, RecordClass, Time,
    Unknown, WorkspaceId,
};

use super::{Violation, gap_free, show_partition, trees};
use crate::world::reading::{Found, Query, Standing};

/// What is shown reaches as far as what is durable, and no further.
pub(crate) fn check_view(
    partition: PartitionRef,
    view: &View,
    model: &Model,
) -> Result<(), Violation> {
    let shown = view.offset.map_or(0, PartitionOffset::get);
    let durable = model.log().len();
    if usize::try_from(shown).ok() == Some(durable) {
        return Ok(());
    }
    let partition = show_partition(partition);
    wrong(format!("partition {partition} shows {shown} events, and {durable} are durable"))
}

/// What was found is what is there.
pub(crate) fn check(
    query: &Query,
    view: &View,
    found: &Found,
    expected: &Found,
) -> Result<(), Violation> {
    if found == expected {
        return Ok(());
    }
    let what = format!("{query:?} at {view:?} should find {expected:?}, and found {found:?}");
    let invariant = if matches!(query, Query::Head { .. } | Query::Consistency { .. }) {
        "trees"
    } else {
        "reads"
    };
    Err(Violation::new(invariant, what))
}

/// Who asks after something was acknowledged or read sees it, whoever that was.
pub(crate) fn check_order(query: &Query, known: u64, offset: u64) -> Result<(), Violation> {
    if offset >= known {
        return Ok(());
    }
    wrong(format!("{query:?} was asked when {known} events were known, and answered of {offset}"))
}

/// Nothing was wrong with the disk.
pub(crate) fn failed(query: &Query, failed: &ReadFailed) -> Violation {
    Violation::new("reads", format!("{query:?} has failed: {failed:?}"))
}

/// What is to be found now: taken from the log, as it says.
pub(crate) fn expected(model: &Model, query: &Query, now: Time) -> Found {
    let now = now.max(model.time());
    match query {
        Query::Entity { workspace, key } => Found::Entity(entity(model, *workspace, key, now)),
        Query::Receipt { workspace, client, key } => {
            let is_its = |event: &&Event| {
                event.index == 0
                    && event
                        .origin
                        .as_ref()
                        .is_some_and(|it| it.key == *key && it.client == *client)
            };
            let retention = model.definitions().map(|definitions| definitions.app.retention);
            let event = of(model, *workspace).rfind(is_its);
            let event = event.filter(|event| {
                retention.is_some_and(|retention| !retention.is_over(event.time, now))
            });
            Found::Receipt(event.and_then(|it| model.receipt(it.partition_offset)).cloned())
        }
        Query::Head { workspace } => {
            let leaves = leaves_of(model, *workspace);
            let size = u64::try_from(leaves.len()).unwrap_or(u64::MAX);
            Found::Head(Head { size, root: trees::root_of(&leaves) })
        }
        Query::Sequence { workspace, name, year } => {
            let definitions = model.definitions();
            let defined =
                definitions.and_then(|it| it.sequences.iter().find(|it| it.name == *name));
            let is_there = of(model, *workspace).next().is_some();
            Found::Sequence(defined.filter(|_| is_there).map(|defined| {
                let drawn = of(model, *workspace).rev().flat_map(|it| it.numbers.iter().rev());
                let mut drawn = drawn.filter(|it| it.sequence == defined.id && it.year == *year);
                let last = drawn.next().map(|drawn| drawn.number.get());
                let next = gap_free::next(model, defined.id, last);
                let next =
                    next.and_then(|next| Some((next, model.text_of(defined, next, *year, now)?)));
                Standing { last, next }
            }))
        }
        Query::Client { workspace, client } => {
            let is_its = |event: &&Event| {
                event.origin.as_ref().is_some_and(|origin| origin.client == *client)
            };
            let last = of(model, *workspace).rfind(is_its);
            Found::Client(last.and_then(|event| {
                let last_client_sequence = event.origin.as_ref()?.client_sequence;
                Some(ClientState { last_client_sequence, last_offset: event.offset })
            }))
        }
        Query::Record { workspace, id } => {
            let mut records = model.records(*workspace);
            Found::Record(records.find_map(|(of, row)| (of == *id).then_some(row)))
        }
        Query::Records { workspace, kind, from, limit } => {
            let listed = model.records(*workspace).filter(|(id, row)| {
                row.kind == *kind && row.class == RecordClass::C && id.get() >= *from
            });
            Found::Records(listed.take(*limit).collect())
        }
        Query::Consistency { workspace, from, to } => {
            let leaves = leaves_of(model, *workspace);
            let root = |size: u64| leaves.get(..usize::try_from(size).ok()?).map(trees::root_of);
            Found::Consistency(root(*from).zip(root(*to)).map(|(from, to)| (from, to, true)))
        }
    }
}

/// An entity, by the last event that has changed it.
fn entity(model: &Model, workspace: WorkspaceId, key: &EntityKey, now: Time) -> Option<EntityRow> {
    let mut changes = of(model, workspace)
        .rev()
        .flat_map(|event| event.changes.iter().rev().map(move |change| (event, change)));
    let row = changes.find_map(|(event, change)| match change {
        Change::Set { key: of, version, value, expires_at } if of == key => {
            let (version, expires_at, value) = (*version, *expires_at, value.clone());
            let (offset, unknown) = (event.offset, Unknown::default());
            Some(Some(EntityRow { version, expires_at, offset, value, unknown }))
        }
        Change::Unset { key: of, .. } if of == key => Some(None),
        Change::Set { .. }
        | Change::Unset { .. }
        | Change::Create { .. }
        | Change::Update { .. }
        | Change::Delete { .. }
        | Change::Draw { .. }
        | Change::Define(_) => None,
    });
    row.flatten().filter(|row| row.is_present_at(now))
}

fn leaves_of(model: &Model, workspace: WorkspaceId) -> Vec<Hash> {
    of(model, workspace).map(|event| leaf_hash(&event.to_bytes())).collect()
}

/// The events of a workspace.
fn of(model: &Model, workspace: WorkspaceId) -> impl DoubleEndedIterator<Item = &Event> {
    model.log().iter().filter(move |event| event.workspace == workspace)
}

fn wrong(what: String) -> Result<(), Violation> {
    Err(Violation::new("reads", what))
}
