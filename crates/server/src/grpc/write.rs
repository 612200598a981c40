//! What answers say, in the messages of `seriatim.v1`.

use bytes::Bytes;
use seriatim_api as proto;
use seriatim_core::Committed;
use seriatim_json::write;
use seriatim_node::{ClientState, Head, SequenceState};
use seriatim_types::{
    AppSettings, Change, ClientId, Definitions, EntityKey, EntityRow, Event, Fields, Hash,
    Inclusion, KindId, Name, Number, NumberDrawn, PartitionId, Receipt, RecordClass,
    RecordIdScheme, RecordRow, Reset, Retention, TrustLevel,
};

use crate::commands::Carried;
use crate::reads::Proven;

pub(super) fn carried(carried: Carried) -> proto::SubmitResponse {
    let Carried { app, workspace, partition, receipt, is_replayed } = carried;
    let receipt = self::receipt(receipt, &app, workspace, partition);
    proto::SubmitResponse { receipt: Some(receipt), replayed: is_replayed }
}

fn receipt(
    receipt: Receipt,
    app: &Name,
    workspace: String,
    partition: PartitionId,
) -> proto::Receipt {
    let last_offset = receipt.last_offset;
    let ids = receipt.ids.into_iter();
    let ids = ids.map(|(raw, id)| proto::GivenId { raw: u32::from(raw), id: id.get() });
    proto::Receipt {
        app: app.as_str().to_owned(),
        workspace,
        workspace_id: receipt.workspace.0,
        partition: u32::from(partition.0),
        first_offset: receipt.first_offset.get(),
        last_offset: last_offset.get(),
        first_partition_offset: receipt.first_partition_offset.get(),
        last_partition_offset: receipt.last_partition_offset.get(),
        client_sequence: receipt.client_sequence.get(),
        ids: ids.collect(),
        numbers: receipt.numbers.iter().map(drawn).collect(),
        committed_at_ms: receipt.committed_at.0,
        proof: receipt.proof.map(|it| inclusion(&it, last_offset.get(), last_offset.get())),
    }
}

fn drawn(drawn: &NumberDrawn) -> proto::DrawnNumber {
    proto::DrawnNumber {
        sequence: drawn.name.as_str().to_owned(),
        period: drawn.year.map_or(0, |year| u32::from(year.get())),
        number: drawn.number.get(),
        text: drawn.text.clone(),
    }
}

pub(super) fn event(
    committed: &Committed,
    workspace: &str,
    partition: PartitionId,
) -> proto::Event {
    let Committed { event, leaf, .. } = committed;
    let origin = event.origin.as_ref();
    proto::Event {
        offset: event.offset.get(),
        partition: u32::from(partition.0),
        partition_offset: event.partition_offset.get(),
        workspace: workspace.to_owned(),
        workspace_id: event.workspace.0,
        name: event.name.as_str().to_owned(),
        args_json: event.args.clone(),
        changes: event.changes.iter().map(|it| change(it, event)).collect(),
        client: origin.map(|it| client_name(&it.client)).unwrap_or_default(),
        client_sequence: origin.map_or(0, |it| it.client_sequence.get()),
        key: origin.map(|it| Bytes::copy_from_slice(&it.key.0)).unwrap_or_default(),
        committed_at_ms: event.time.0,
        hash: hash(leaf),
    }
}

fn change(change: &Change, event: &Event) -> proto::Change {
    use proto::change::Change as Word;
    let word = match change {
        Change::Create { id, kind, parent, fields, raw: _, class: _ } => {
            Word::Create(proto::Create {
                id: id.get(),
                kind: kind.as_str().to_owned(),
                parent: parent.map_or(0, Number::get),
                fields_json: self::fields(fields),
            })
        }
        Change::Update { id, version, fields } => Word::Update(proto::Update {
            id: id.get(),
            fields_json: self::fields(fields),
            if_version: None,
            version: *version,
        }),
        Change::Delete { id, version } => {
            Word::Delete(proto::Delete { id: id.get(), if_version: None, version: *version })
        }
        Change::Set { key, version, value, expires_at } => Word::Set(proto::Set {
            key: key.as_str().to_owned(),
            value_json: value.clone(),
            condition: None,
            expires_at_ms: expires_at.map(|time| time.0),
            version: *version,
        }),
        Change::Unset { key, version } => Word::Unset(proto::Unset {
            key: key.as_str().to_owned(),
            condition: None,
            version: version.unwrap_or(0),
        }),
        Change::Draw { number } => {
            let number = event.numbers.get(*number as usize);
            let number = number.expect("a draw names one of its event's numbers");
            let sequence = number.name.as_str().to_owned();
            Word::Draw(proto::Draw { sequence, drawn: Some(drawn(number)) })
        }
        Change::Define(definition) => Word::DefineJson(write::definition(definition).into()),
    };
    proto::Change { change: Some(word) }
}

pub(super) fn record(id: Number, row: &RecordRow) -> proto::Record {
    proto::Record {
        id: id.get(),
        kind: row.kind.as_str().to_owned(),
        class: class(row.class).into(),
        parent: row.parent.map_or(0, Number::get),
        version: row.version,
        fields_json: fields(&row.fields),
        offset: row.offset.get(),
    }
}

pub(super) fn entity(key: &EntityKey, row: EntityRow) -> proto::Entity {
    proto::Entity {
        key: key.as_str().to_owned(),
        value_json: row.value,
        version: row.version,
        expires_at_ms: row.expires_at.map(|time| time.0),
        offset: row.offset.get(),
    }
}

pub(super) fn sequence(name: &Name, state: SequenceState) -> proto::Sequence {
    let (next, next_text) = state.next.map_or((0, String::new()), |it| (it.0.get(), it.1));
    proto::Sequence {
        name: name.as_str().to_owned(),
        period: state.period.map_or(0, |year| u32::from(year.get())),
        last: state.last.map_or(0, Number::get),
        next,
        next_text,
    }
}

pub(super) fn client(client: &ClientId, state: ClientState) -> proto::Client {
    proto::Client {
        client: client_name(client),
        last_client_sequence: state.last_client_sequence.get(),
        last_offset: state.last_offset.get(),
    }
}

pub(super) fn head(workspace: String, head: &Head) -> proto::Head {
    proto::Head { workspace, size: head.size, root: hash(&head.root) }
}

pub(super) fn inclusion(proof: &Inclusion, offset: u64, size: u64) -> proto::Proof {
    proto::Proof {
        offset,
        size,
        leaf: hash(&proof.leaf),
        path: proof.path.iter().map(hash).collect(),
        root: hash(&proof.root),
    }
}

pub(super) fn consistency(proven: &Proven<seriatim_node::Consistency>) -> proto::Consistency {
    let Proven { proof, from, to } = proven;
    proto::Consistency {
        from: *from,
        to: *to,
        path: proof.path.iter().map(hash).collect(),
        from_root: hash(&proof.from_root),
        to_root: hash(&proof.to_root),
    }
}

pub(super) fn app(settings: &AppSettings) -> proto::App {
    let record_ids = match settings.record_ids {
        RecordIdScheme::Single => proto::RecordIds::Single,
        RecordIdScheme::Split => proto::RecordIds::Split,
    };
    let trust_level = match settings.trust_level {
        TrustLevel::Zero => 0,
        TrustLevel::One => 1,
        TrustLevel::Two => 2,
    };
    let (retention_ms, is_forever) = match settings.retention {
        Retention::Milliseconds(ms) => (ms, false),
        Retention::Forever => (0, true),
    };
    proto::App {
        name: settings.name.as_str().to_owned(),
        partitions: u32::from(settings.partitions),
        record_ids: record_ids.into(),
        trust_level: Some(trust_level),
        idempotency_retention_ms: retention_ms,
        // 0 is no limit.
        idempotency_keys_max: settings.keys_max.unwrap_or_default(),
        idempotency_retention_forever: is_forever,
    }
}

/// All definitions of an app. Its kinds begin with the one that always exists.
pub(super) fn definitions(definitions: &Definitions) -> proto::Definitions {
    let kind = |id: KindId| {
        let found = definitions.kinds.iter().find(|kind| kind.id == id);
        found.map_or(DEFAULT_KIND, |kind| kind.name.as_str()).to_owned()
    };
    let kinds = definitions.kinds.iter().map(|kind| kind.name.as_str());
    let sequences = definitions.sequences.iter().map(|it| proto::SequenceDefinition {
        name: it.name.as_str().to_owned(),
        kind: kind(it.kind),
        ranges: it.ranges.iter().map(|(first, last)| range(*first, *last)).collect(),
        format: it.format.clone(),
        reset: match it.reset {
            Reset::Never => proto::Reset::Never,
            Reset::Yearly => proto::Reset::Yearly,
        }
        .into(),
        utc_offset_minutes: i32::from(it.utc_offset_minutes),
    });
    let records = definitions.records.iter().map(|it| proto::RecordDefinition {
        kind: it.name.as_str().to_owned(),
        class: class(it.class).into(),
        singleton: it.singleton.is_some(),
    });
    proto::Definitions {
        version: definitions.version,
        kinds: [DEFAULT_KIND].into_iter().chain(kinds).map(str::to_owned).collect(),
        sequences: sequences.collect(),
        records: records.collect(),
    }
}

const DEFAULT_KIND: &str = "default";

fn range(first: u64, last: u64) -> proto::Range {
    proto::Range { first, last }
}

fn class(class: RecordClass) -> proto::RecordClass {
    match class {
        RecordClass::C => proto::RecordClass::C,
        RecordClass::O => proto::RecordClass::O,
        RecordClass::W => proto::RecordClass::W,
    }
}

fn client_name(client: &ClientId) -> String {
    String::from_utf8_lossy(client.as_bytes()).into_owned()
}

fn fields(fields: &Fields) -> Bytes {
    write::fields(fields).into()
}

fn hash(hash: &Hash) -> Bytes {
    Bytes::copy_from_slice(&hash.0)
}
