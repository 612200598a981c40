//! What a server answers, as the HTTP contract writes it.
//!
//! **Invariant:** names and shapes of members are those of the contract. What the contract puts
//! elsewhere, such as whether a receipt is a repeated one, stands behind them.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use seriatim_client::{
    AppInfo, Change, ClientState, Consistency, Declared, Defined, Definitions, Entity, Event,
    Events, Hash, Head, NumberDrawn, Numbering, PartitionState, PartitionStatus, Proof, Receipt,
    Record, RecordClass, RecordIds, RecordKind, Records, Reset, Retention, SequenceState,
};
use seriatim_types::Time;

use crate::document::{Json, list, object, of};

pub(crate) fn app(app: &AppInfo) -> Json {
    let record_ids = match app.record_ids {
        RecordIds::Single => "single",
        RecordIds::Split => "split",
    };
    object([
        ("name", of(app.name.as_str())),
        ("partitions", of(app.partitions)),
        ("record_ids", of(record_ids)),
        ("trust_level", of(app.trust_level)),
        ("idempotency_retention", of(retention(app.retention))),
        // 0 is no limit.
        ("idempotency_keys_max", of(Some(app.keys_max).filter(|max| *max > 0))),
    ])
}

pub(crate) fn definitions(definitions: &Definitions) -> Json {
    let kinds = definitions.kinds.iter().map(|name| kind(name)).collect();
    let sequences = definitions.sequences.iter();
    let sequences = sequences.map(|(name, numbering)| sequence_definition(name, numbering));
    object([
        ("version", of(definitions.version)),
        ("kinds", Json::List(kinds)),
        ("sequences", Json::List(sequences.collect())),
        ("records", Json::List(definitions.records.iter().map(record_kind).collect())),
    ])
}

pub(crate) fn kind(name: &str) -> Json {
    object([("name", of(name))])
}

pub(crate) fn sequence_definition(name: &str, numbering: &Numbering) -> Json {
    let Numbering { format, reset, utc_offset_minutes, ranges, kind } = numbering;
    object([
        ("name", of(name)),
        ("kind", of(kind.as_str())),
        ("ranges", Json::List(ranges.iter().map(|(first, last)| list([*first, *last])).collect())),
        ("format", of(format.as_str())),
        (
            "reset",
            of(match reset {
                Reset::Never => "never",
                Reset::Yearly => "yearly",
            }),
        ),
        ("utc_offset", of(utc_offset(*utc_offset_minutes))),
    ])
}

pub(crate) fn record_kind(record: &RecordKind) -> Json {
    object([
        ("name", of(record.kind.as_str())),
        ("class", of(class(record.class))),
        ("singleton", of(record.is_singleton)),
    ])
}

/// A definition, and what came of it.
pub(crate) fn defined(definition: Json, defined: Defined) -> Json {
    definition.with("version", of(defined.version)).with("changed", of(defined.is_changed))
}

pub(crate) fn declared(declared: &Declared) -> Json {
    object([
        ("workspace", of(declared.workspace.as_str())),
        ("workspace_id", of(declared.workspace_id)),
        ("kind", of(declared.kind.as_str())),
        ("created", of(declared.is_new)),
    ])
}

pub(crate) fn receipt(receipt: &Receipt) -> Json {
    let ids = receipt.ids.iter().map(|(raw, id)| (raw.to_string(), of(*id))).collect();
    let members = object([
        ("app", of(receipt.app.as_str())),
        ("workspace", of(receipt.workspace.as_str())),
        ("workspace_id", of(receipt.workspace_id)),
        ("partition", of(receipt.partition)),
        ("first_offset", of(receipt.first_offset)),
        ("last_offset", of(receipt.last_offset)),
        ("first_partition_offset", of(receipt.first_partition_offset)),
        ("last_partition_offset", of(receipt.last_partition_offset)),
        ("client_sequence", of(receipt.client_sequence)),
        ("ids", Json::Object(ids)),
        ("numbers", Json::List(receipt.numbers.iter().map(number_drawn).collect())),
        ("committed_at", of(moment(receipt.committed_at))),
    ]);
    match &receipt.proof {
        None => members,
        Some(shown) => {
            let head = object([("size", of(shown.size)), ("root", hash(&shown.root))]);
            members.with("head", head).with("proof", proof(shown))
        }
    }
}

pub(crate) fn event(event: &Event) -> Json {
    let mut members = object([
        ("offset", of(event.offset)),
        ("partition", of(event.partition)),
        ("partition_offset", of(event.partition_offset)),
        ("workspace", of(event.workspace.as_str())),
        ("workspace_id", of(event.workspace_id)),
        ("name", of(event.name.as_str())),
        ("args", Json::Value(event.args.clone())),
        ("changes", Json::List(event.changes.iter().map(change).collect())),
    ]);
    if let Some(origin) = &event.origin {
        members = members
            .with("client", of(origin.client.as_str()))
            .with("client_sequence", of(origin.client_sequence))
            .with("key", of(origin.key.to_string()));
    }
    members.with("committed_at", of(moment(event.committed_at))).with("hash", hash(&event.hash))
}

pub(crate) fn events(events: &Events) -> Json {
    object([
        ("events", Json::List(events.events.iter().map(event).collect())),
        ("next", of(events.next)),
        ("last", of(events.last)),
    ])
}

pub(crate) fn record(record: &Record) -> Json {
    object([
        ("id", of(record.id)),
        ("kind", of(record.kind.as_str())),
        ("class", of(class(record.class))),
        ("parent", of(record.parent.unwrap_or(0))),
        ("version", of(record.version)),
        ("fields", Json::Value(record.fields.clone())),
        ("offset", of(record.offset)),
    ])
}

pub(crate) fn records(records: &Records) -> Json {
    object([
        ("records", Json::List(records.records.iter().map(record).collect())),
        ("next", of(records.next)),
    ])
}

pub(crate) fn entity(entity: &Entity) -> Json {
    object([
        ("key", of(entity.key.as_str())),
        ("value", Json::Value(entity.value.clone())),
        ("version", of(entity.version)),
        ("expires_at", of(entity.expires_at.map(moment))),
        ("offset", of(entity.offset)),
    ])
}

pub(crate) fn sequence(sequence: &SequenceState) -> Json {
    let next = sequence.next.as_ref();
    object([("name", of(sequence.name.as_str()))])
        .with_some("period", sequence.period.map(of))
        .with("last", of(sequence.last.unwrap_or(0)))
        .with("next", of(next.map(|(number, _)| *number)))
        .with("next_text", of(next.map(|(_, text)| text.clone())))
}

pub(crate) fn client(client: &ClientState) -> Json {
    object([
        ("client", of(client.client.as_str())),
        ("last_client_sequence", of(client.last_client_sequence)),
        ("last_offset", of(client.last_offset)),
    ])
}

pub(crate) fn head(head: &Head) -> Json {
    object([
        ("workspace", of(head.workspace.as_str())),
        ("size", of(head.size)),
        ("root", hash(&head.root)),
    ])
}

pub(crate) fn proof(proof: &Proof) -> Json {
    object([
        ("offset", of(proof.offset)),
        ("size", of(proof.size)),
        ("leaf", hash(&proof.leaf)),
        ("path", Json::List(proof.path.iter().map(hash).collect())),
        ("root", hash(&proof.root)),
    ])
}

pub(crate) fn consistency(proof: &Consistency) -> Json {
    object([
        ("from", of(proof.from)),
        ("to", of(proof.to)),
        ("path", Json::List(proof.path.iter().map(hash).collect())),
        ("from_root", hash(&proof.from_root)),
        ("to_root", hash(&proof.to_root)),
    ])
}

pub(crate) fn partition(status: &PartitionStatus) -> Json {
    let (state, (done, total), reason) = match &status.state {
        PartitionState::Serving => ("serving", (0, 0), None),
        PartitionState::Actualizing { done, total } => ("actualizing", (*done, *total), None),
        PartitionState::Stopped { reason } => ("stopped", (0, 0), Some(reason.as_str())),
    };
    object([
        ("app", of(status.app.as_str())),
        ("partition", of(status.partition)),
        ("state", of(state)),
        ("done", of(done)),
        ("total", of(total)),
        ("reason", of(reason)),
    ])
}

/// A moment, as RFC 3339 writes it.
pub(crate) fn moment(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    seriatim_json::write::moment(Time(milliseconds(since)))
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn number_drawn(drawn: &NumberDrawn) -> Json {
    object([("sequence", of(drawn.sequence.as_str()))])
        .with_some("period", drawn.period.map(of))
        .with("number", of(drawn.number))
        .with("text", of(drawn.text.as_str()))
}

fn change(change: &Change) -> Json {
    let fields = |fields: &Value| Json::Value(fields.clone());
    match change {
        Change::Create { id, kind, parent, fields: its } => {
            let members = object([("id", of(*id)), ("kind", of(kind.as_str()))]);
            let members = members.with_some("parent", parent.map(of)).with("fields", fields(its));
            object([("create", members)])
        }
        Change::Update { id, version, fields: its } => {
            let members = [("id", of(*id)), ("version", of(*version)), ("fields", fields(its))];
            object([("update", object(members))])
        }
        Change::Delete { id, version } => {
            object([("delete", object([("id", of(*id)), ("version", of(*version))]))])
        }
        Change::Set { key, version, value, expires_at } => {
            let members = object([
                ("key", of(key.as_str())),
                ("version", of(*version)),
                ("value", fields(value)),
            ]);
            let expires_at = expires_at.map(|time| of(moment(time)));
            object([("set", members.with_some("expires_at", expires_at))])
        }
        Change::Unset { key, version } => {
            let members = object([("key", of(key.as_str()))]);
            object([("unset", members.with_some("version", version.map(of)))])
        }
        Change::Draw(drawn) => object([("draw", number_drawn(drawn))]),
        Change::Define(definition) => object([("define", Json::Value(definition.clone()))]),
    }
}

fn class(class: RecordClass) -> &'static str {
    match class {
        RecordClass::C => "c",
        RecordClass::O => "o",
        RecordClass::W => "w",
    }
}

fn retention(retention: Retention) -> String {
    seriatim_json::write::retention(match retention {
        Retention::Forever => seriatim_types::Retention::Forever,
        Retention::For(time) => seriatim_types::Retention::Milliseconds(milliseconds(time)),
    })
}

fn utc_offset(minutes: i32) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    let size = minutes.unsigned_abs();
    format!("{sign}{:02}:{:02}", size / 60, size % 60)
}

fn hash(hash: &Hash) -> Json {
    of(hash.to_string())
}
