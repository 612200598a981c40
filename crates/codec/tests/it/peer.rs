//! The same bytes read and written by somebody else's protobuf: the wire format is not ours alone.
//!
//! The messages are declared here a second time, by hand, from `docs/formats.md`.

use proptest::prelude::*;
use prost::Message;
use seriatim_codec::Stored;
use seriatim_types::{self as types, Number, Time, Unknown, Year};

use crate::{samples, strategies};

#[derive(Clone, PartialEq, Message)]
struct Event {
    #[prost(uint64, tag = "1")]
    partition_offset: u64,
    #[prost(uint64, tag = "2")]
    workspace: u64,
    #[prost(uint32, tag = "3")]
    kind: u32,
    #[prost(uint64, tag = "4")]
    offset: u64,
    #[prost(uint64, tag = "5")]
    time: u64,
    #[prost(string, tag = "6")]
    workspace_name: String,
    #[prost(uint32, tag = "7")]
    receipt_version: u32,
    #[prost(uint32, tag = "8")]
    index: u32,
    #[prost(uint32, tag = "9")]
    count: u32,
    #[prost(message, optional, tag = "10")]
    origin: Option<Origin>,
    #[prost(string, tag = "11")]
    name: String,
    #[prost(bytes = "vec", optional, tag = "12")]
    args: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "14")]
    changes: Vec<Change>,
    #[prost(message, repeated, tag = "15")]
    numbers: Vec<NumberDrawn>,
}

#[derive(Clone, PartialEq, Message)]
struct Origin {
    #[prost(bytes = "vec", tag = "1")]
    client: Vec<u8>,
    #[prost(uint64, tag = "2")]
    client_sequence: u64,
    #[prost(bytes = "vec", tag = "3")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    fingerprint: Vec<u8>,
    #[prost(uint64, optional, tag = "5")]
    deadline: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Change {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6, 7")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    #[prost(message, tag = "1")]
    Create(Create),
    #[prost(message, tag = "2")]
    Update(Update),
    #[prost(message, tag = "3")]
    Delete(Delete),
    #[prost(message, tag = "4")]
    Set(Set),
    #[prost(message, tag = "5")]
    Unset(Unset),
    #[prost(message, tag = "6")]
    Draw(Draw),
    // A Definition, left as it is written.
    #[prost(bytes = "vec", tag = "7")]
    Define(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
struct Create {
    #[prost(uint32, optional, tag = "1")]
    raw: Option<u32>,
    #[prost(uint64, tag = "2")]
    id: u64,
    #[prost(string, tag = "3")]
    kind: String,
    #[prost(uint32, tag = "4")]
    class: u32,
    #[prost(uint64, tag = "5")]
    parent: u64,
    #[prost(message, repeated, tag = "6")]
    fields: Vec<FieldValue>,
}

#[derive(Clone, PartialEq, Message)]
struct Update {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    version: u64,
    #[prost(message, repeated, tag = "3")]
    fields: Vec<FieldValue>,
}

#[derive(Clone, PartialEq, Message)]
struct Delete {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    version: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Set {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(uint64, tag = "2")]
    version: u64,
    #[prost(bytes = "vec", optional, tag = "3")]
    value: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "5")]
    expires_at: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Unset {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(uint64, optional, tag = "2")]
    version: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct Draw {
    #[prost(uint32, tag = "1")]
    number: u32,
}

#[derive(Clone, PartialEq, Message)]
struct FieldValue {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(bytes = "vec", optional, tag = "2")]
    value: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct NumberDrawn {
    #[prost(uint32, tag = "1")]
    sequence: u32,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(uint32, tag = "3")]
    year: u32,
    #[prost(uint64, tag = "4")]
    number: u64,
    #[prost(string, tag = "5")]
    text: String,
}

#[derive(Clone, PartialEq, Message)]
struct RecordRow {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(uint32, tag = "2")]
    class: u32,
    #[prost(uint64, tag = "3")]
    parent: u64,
    #[prost(uint64, tag = "4")]
    version: u64,
    #[prost(uint64, tag = "5")]
    offset: u64,
    #[prost(message, repeated, tag = "6")]
    fields: Vec<FieldValue>,
}

#[test]
fn a_peer_reads_and_writes_the_sample_events() {
    for event in [samples::minimal_event(), samples::rich_event(), samples::system_event()] {
        let peer = Event::decode(&event.to_bytes()[1..]).unwrap();
        assert_eq!(peer, Event::from(&event));
        assert_eq!(peer.encode_to_vec(), event.to_bytes()[1..]);
    }
}

proptest! {
    #[test]
    fn a_peer_reads_and_writes_events(mut event in strategies::event()) {
        event.unknown = Unknown::default();
        let peer = Event::decode(&event.to_bytes()[1..]).unwrap();
        prop_assert_eq!(&peer, &Event::from(&event));
        prop_assert_eq!(&peer.encode_to_vec(), &event.to_bytes()[1..]);
    }

    #[test]
    fn a_peer_reads_and_writes_records(mut record in strategies::record_row()) {
        record.unknown = Unknown::default();
        let peer = RecordRow::decode(&record.to_bytes()[1..]).unwrap();
        prop_assert_eq!(&peer, &RecordRow::from(&record));
        prop_assert_eq!(&peer.encode_to_vec(), &record.to_bytes()[1..]);
    }

    #[test]
    fn a_peer_reads_around_fields_of_a_later_version(event in strategies::event()) {
        let peer = Event::decode(&event.to_bytes()[1..]).unwrap();
        prop_assert_eq!(&peer, &Event::from(&event));
    }
}

impl From<&types::Event> for Event {
    fn from(event: &types::Event) -> Self {
        Self {
            partition_offset: event.partition_offset.get(),
            workspace: event.workspace.0,
            kind: event.kind.0.into(),
            offset: event.offset.get(),
            time: event.time.0,
            workspace_name: event.workspace_name.as_ref().map_or("", types::Name::as_str).into(),
            receipt_version: event.receipt_version,
            index: event.index,
            count: event.count,
            origin: event.origin.as_ref().map(Origin::from),
            name: event.name.as_str().into(),
            args: Some(event.args.to_vec()),
            changes: event.changes.iter().map(Change::from).collect(),
            numbers: event.numbers.iter().map(NumberDrawn::from).collect(),
        }
    }
}

impl From<&types::Origin> for Origin {
    fn from(origin: &types::Origin) -> Self {
        let types::Fingerprint { version, hash } = origin.fingerprint;
        Self {
            client: origin.client.as_bytes().into(),
            client_sequence: origin.client_sequence.get(),
            key: origin.key.0.into(),
            fingerprint: [[version].as_slice(), &hash].concat(),
            deadline: origin.deadline.map(|Time(ms)| ms),
        }
    }
}

impl From<&types::Change> for Change {
    fn from(change: &types::Change) -> Self {
        let kind = match change {
            types::Change::Create { raw, id, kind, class, parent, fields } => {
                Kind::Create(Create {
                    raw: raw.map(u32::from),
                    id: id.get(),
                    kind: kind.as_str().into(),
                    class: class_number(*class),
                    parent: parent.map_or(0, Number::get),
                    fields: field_values(fields),
                })
            }
            types::Change::Update { id, version, fields } => Kind::Update(Update {
                id: id.get(),
                version: *version,
                fields: field_values(fields),
            }),
            types::Change::Delete { id, version } => {
                Kind::Delete(Delete { id: id.get(), version: *version })
            }
            types::Change::Set { key, version, value, expires_at } => Kind::Set(Set {
                key: key.as_str().into(),
                version: *version,
                value: Some(value.to_vec()),
                expires_at: expires_at.map(|Time(ms)| ms),
            }),
            types::Change::Unset { key, version } => {
                Kind::Unset(Unset { key: key.as_str().into(), version: *version })
            }
            types::Change::Draw { number } => Kind::Draw(Draw { number: *number }),
            types::Change::Define(definition) => Kind::Define(definition.to_bytes()[1..].to_vec()),
        };
        Self { kind: Some(kind) }
    }
}

impl From<&types::NumberDrawn> for NumberDrawn {
    fn from(drawn: &types::NumberDrawn) -> Self {
        Self {
            sequence: drawn.sequence.0.into(),
            name: drawn.name.as_str().into(),
            year: drawn.year.map_or(0, Year::get).into(),
            number: drawn.number.get(),
            text: drawn.text.clone(),
        }
    }
}

impl From<&types::RecordRow> for RecordRow {
    fn from(row: &types::RecordRow) -> Self {
        Self {
            kind: row.kind.as_str().into(),
            class: class_number(row.class),
            parent: row.parent.map_or(0, Number::get),
            version: row.version,
            offset: row.offset.get(),
            fields: field_values(&row.fields),
        }
    }
}

fn class_number(class: types::RecordClass) -> u32 {
    match class {
        types::RecordClass::C => 1,
        types::RecordClass::O => 2,
        types::RecordClass::W => 3,
    }
}

fn field_values(fields: &types::Fields) -> Vec<FieldValue> {
    let field = |(name, value): &(types::FieldName, bytes::Bytes)| FieldValue {
        name: name.as_str().into(),
        value: Some(value.to_vec()),
    };
    fields.iter().map(field).collect()
}
