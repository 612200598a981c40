//! Arbitrary values of every stored type, within the rules of the types and beyond what core
//! makes of them. Larger ones are boxed: what proptest keeps of them outgrows a test's stack.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use seriatim_types::{
    AppId, AppSettings, Body, Change, ClientId, Command, CommandChange, CommandEvent,
    CommandLimits, Condition, Declare, Define, DefineRequest, Definition, Definitions, Delivered,
    Delivery, DueEntity, DueKey, EntityKey, EntityRow, Entry, Event, FieldName, Filler,
    Fingerprint, Hole, Key, KeyRow, KindDefinition, KindId, LogIndex, Message, NUMBER_MAX, Name,
    Number, NumberDrawn, Origin, PartitionId, PartitionOffset, PartitionRef, PartitionRow,
    Position, PositionRow, RecordClass, RecordDefinition, RecordIdScheme, RecordMembers, RecordRow,
    Reset, Retention, SequenceDefinition, SequenceId, SequenceMembers, Shown, Template, Tick, Time,
    TrustLevel, Unknown, WorkspaceId, WorkspaceRef, WorkspaceRow, Year,
};

pub(crate) fn event() -> BoxedStrategy<Event> {
    let place = (offset(), workspace_id(), kind_id(), number(), time(), option::of(name()));
    let command = (any::<u32>(), small(), small(), option::of(origin()));
    let content = (name(), value(), vec(change(), 0..6), vec(number_drawn(), 0..4), unknown());
    (place, command, content)
        .prop_map(|(place, command, content)| Event {
            partition_offset: place.0,
            workspace: place.1,
            kind: place.2,
            offset: place.3,
            time: place.4,
            workspace_name: place.5,
            receipt_version: command.0,
            index: command.1,
            count: command.2,
            origin: command.3,
            name: content.0,
            args: content.1,
            changes: content.2,
            numbers: content.3,
            unknown: content.4,
        })
        .boxed()
}

pub(crate) fn record_row() -> impl Strategy<Value = RecordRow> {
    (name(), class(), option::of(number()), integer(), number(), fields(value()), unknown())
        .prop_map(|(kind, class, parent, version, offset, fields, unknown)| RecordRow {
            kind,
            class,
            parent,
            version,
            offset,
            fields,
            unknown,
        })
}

pub(crate) fn entity_row() -> impl Strategy<Value = EntityRow> {
    (integer(), option::of(time()), number(), value(), unknown()).prop_map(
        |(version, expires_at, offset, value, unknown)| EntityRow {
            version,
            expires_at,
            offset,
            value,
            unknown,
        },
    )
}

pub(crate) fn key_row() -> impl Strategy<Value = KeyRow> {
    (offset(), small(), fingerprint(), time(), unknown()).prop_map(
        |(first, count, fingerprint, time, unknown)| KeyRow {
            first,
            count,
            fingerprint,
            time,
            unknown,
        },
    )
}

pub(crate) fn workspace_row() -> impl Strategy<Value = WorkspaceRow> {
    (kind_id(), option::of(name()), unknown()).prop_map(|(kind, name, unknown)| WorkspaceRow {
        kind,
        name,
        unknown,
    })
}

pub(crate) fn partition_row() -> impl Strategy<Value = PartitionRow> {
    let offsets = (option::of(offset()), option::of(offset()));
    (option::of(time()), offsets, integer(), integer(), unknown()).prop_map(
        |(time, (offset, keys_through), keys, names, unknown)| PartitionRow {
            time,
            offset,
            keys,
            keys_through,
            names,
            unknown,
        },
    )
}

pub(crate) fn position_row() -> impl Strategy<Value = PositionRow> {
    (integer(), any::<u32>(), unknown()).prop_map(|(index, entries, unknown)| PositionRow {
        position: Position { index: LogIndex(index), entries },
        unknown,
    })
}

pub(crate) fn definitions() -> impl Strategy<Value = Definitions> {
    let lists = (
        btree_map(any::<u16>(), name(), 0..4),
        btree_map(any::<u16>(), sequence_definition(), 0..4),
        vec(record_definition(), 0..4),
    );
    (integer(), app_settings(), lists, unknown()).prop_map(
        |(version, app, (kinds, sequences, records), unknown)| Definitions {
            version,
            app,
            kinds: kinds
                .into_iter()
                .map(|(id, name)| KindDefinition { name, id: KindId(id) })
                .collect(),
            sequences: sequences
                .into_iter()
                .map(|(id, sequence)| SequenceDefinition { id: SequenceId(id), ..sequence })
                .collect(),
            records,
            unknown,
        },
    )
}

pub(crate) fn definition() -> BoxedStrategy<Definition> {
    prop_oneof![
        app_settings().prop_map(Definition::App),
        (name(), kind_id()).prop_map(|(name, id)| Definition::Kind(KindDefinition { name, id })),
        sequence_definition().prop_map(Definition::Sequence),
        record_definition().prop_map(Definition::Record),
        any::<Option<u64>>().prop_map(Definition::KeyLimit),
    ]
    .boxed()
}

pub(crate) fn entry() -> BoxedStrategy<Entry> {
    let body = prop_oneof![
        3 => command().prop_map(Body::Command),
        1 => (workspace_ref(), name())
            .prop_map(|(workspace, kind)| Body::Declare(Declare { workspace, kind })),
        1 => tick().prop_map(Body::Tick),
        1 => (neighbour(), integer(), message())
            .prop_map(|(source, number, message)| Body::Delivery(Delivery { source, number, message })),
        1 => (neighbour(), integer(), integer())
            .prop_map(|(target, first, through)| Body::Delivered(Delivered { target, first, through })),
        1 => (name(), define_request())
            .prop_map(|(app, request)| Body::Define(Define { app, request })),
    ];
    (time(), body).prop_map(|(time, body)| Entry { time, body }).boxed()
}

pub(crate) fn command_event() -> BoxedStrategy<CommandEvent> {
    (name(), template(), vec(command_change(), 0..4))
        .prop_map(|(name, args, changes)| CommandEvent { name, args, changes })
        .boxed()
}

pub(crate) fn command_change() -> BoxedStrategy<CommandChange> {
    let version = || option::of(integer());
    let condition = || option::of(condition());
    prop_oneof![
        (integer(), name(), version(), fields(template())).prop_map(
            |(id, kind, parent, fields)| CommandChange::Create { id, kind, parent, fields }
        ),
        (integer(), fields(template()), version())
            .prop_map(|(id, fields, if_version)| CommandChange::Update { id, fields, if_version }),
        (integer(), version())
            .prop_map(|(id, if_version)| CommandChange::Delete { id, if_version }),
        (entity_key(), template(), condition(), option::of(time())).prop_map(
            |(key, value, condition, expires_at)| CommandChange::Set {
                key,
                value,
                condition,
                expires_at,
            }
        ),
        (entity_key(), condition())
            .prop_map(|(key, condition)| CommandChange::Unset { key, condition }),
        name().prop_map(|sequence| CommandChange::Draw { sequence }),
    ]
    .boxed()
}

pub(crate) fn template() -> BoxedStrategy<Template> {
    let hole = (any::<prop::sample::Index>(), small(), filler());
    (value(), vec(hole, 0..3))
        .prop_map(|(text, holes)| {
            let place = |(at, order, filler): (prop::sample::Index, _, _)| Hole {
                at: at.index(text.len() + 1),
                order,
                filler,
            };
            let mut holes: Vec<Hole> = holes.into_iter().map(place).collect();
            holes.sort_by_key(|hole| hole.at);
            Template::new(text, holes).unwrap()
        })
        .boxed()
}

pub(crate) fn name() -> impl Strategy<Value = Name> {
    "\\PC{1,12}".prop_filter_map("dots are no name", |text| Name::new(&text))
}

pub(crate) fn entity_key() -> impl Strategy<Value = EntityKey> {
    "\\PC{1,60}".prop_filter_map("dots are no key", |text| EntityKey::new(&text))
}

pub(crate) fn client() -> impl Strategy<Value = ClientId> {
    // Any bytes, and texts of up to 1020 bytes: many around the 255 where the stored form changes.
    let bytes = prop_oneof![vec(any::<u8>(), 1..=255), vec(any::<u8>(), 253..=255)];
    let texts = prop_oneof![
        "\\PC{1,255}",
        "[é-ü]{126,129}",
        ("x{0,3}", "😀{63,64}").prop_map(|(x, faces)| x + &faces),
        "😀{250,255}",
    ];
    let name = prop_oneof![bytes, texts.prop_map(String::into_bytes)];
    name.prop_map(|name| ClientId::new(&name).unwrap())
}

pub(crate) fn number() -> impl Strategy<Value = Number> {
    prop_oneof![1..300_u64, 1..=NUMBER_MAX].prop_map(|number| Number::new(number).unwrap())
}

pub(crate) fn offset() -> impl Strategy<Value = PartitionOffset> {
    number().prop_map(|number| PartitionOffset::new(number.get()).unwrap())
}

pub(crate) fn workspace_id() -> impl Strategy<Value = WorkspaceId> {
    integer().prop_map(WorkspaceId)
}

pub(crate) fn time() -> impl Strategy<Value = Time> {
    integer().prop_map(Time)
}

pub(crate) fn neighbour() -> impl Strategy<Value = PartitionRef> {
    any::<(u32, u16)>().prop_map(|(app, partition)| PartitionRef {
        app: AppId(app),
        partition: PartitionId(partition),
    })
}

fn origin() -> impl Strategy<Value = Origin> {
    (client(), number(), any::<[u8; 16]>(), fingerprint(), option::of(time())).prop_map(
        |(client, client_sequence, key, fingerprint, deadline)| Origin {
            client,
            client_sequence,
            key: Key(key),
            fingerprint,
            deadline,
        },
    )
}

fn change() -> BoxedStrategy<Change> {
    let raw = option::of(any::<u16>());
    let parent = option::of(number());
    prop_oneof![
        (raw, number(), name(), class(), parent, fields(value())).prop_map(
            |(raw, id, kind, class, parent, fields)| Change::Create {
                raw,
                id,
                kind,
                class,
                parent,
                fields,
            }
        ),
        (number(), integer(), fields(value())).prop_map(|(id, version, fields)| Change::Update {
            id,
            version,
            fields
        }),
        (number(), integer()).prop_map(|(id, version)| Change::Delete { id, version }),
        (entity_key(), integer(), value(), option::of(time())).prop_map(
            |(key, version, value, expires_at)| Change::Set { key, version, value, expires_at }
        ),
        (entity_key(), option::of(integer()))
            .prop_map(|(key, version)| Change::Unset { key, version }),
        small().prop_map(|number| Change::Draw { number }),
        definition().prop_map(|definition| Change::Define(Box::new(definition))),
    ]
    .boxed()
}

fn number_drawn() -> impl Strategy<Value = NumberDrawn> {
    let year = option::of((1..=9_999_u16).prop_map(|year| Year::new(year).unwrap()));
    (any::<u16>(), name(), year, number(), any::<String>()).prop_map(
        |(sequence, name, year, number, text)| NumberDrawn {
            sequence: SequenceId(sequence),
            name,
            year,
            number,
            text,
        },
    )
}

fn app_settings() -> BoxedStrategy<AppSettings> {
    (name(), any::<u32>(), app_choices())
        .prop_map(
            |(name, app, (partitions, record_ids, trust_level, retention, keys_max, limits))| {
                AppSettings {
                    name,
                    app: AppId(app),
                    partitions,
                    record_ids,
                    trust_level,
                    retention,
                    keys_max,
                    limits,
                }
            },
        )
        .boxed()
}

type AppChoices = (u16, RecordIdScheme, TrustLevel, Retention, Option<u64>, CommandLimits);

fn app_choices() -> impl Strategy<Value = AppChoices> {
    let record_ids = prop_oneof![Just(RecordIdScheme::Single), Just(RecordIdScheme::Split)];
    let trust = prop_oneof![Just(TrustLevel::Zero), Just(TrustLevel::One), Just(TrustLevel::Two)];
    let retention =
        prop_oneof![integer().prop_map(Retention::Milliseconds), Just(Retention::Forever)];
    let keys_max = proptest::option::of(integer());
    (any::<u16>(), record_ids, trust, retention, keys_max, command_limits())
}

fn command_limits() -> impl Strategy<Value = CommandLimits> {
    let [a, b, c, d, e, f, g, h, i] = std::array::from_fn(|_| small());
    (a, b, c, d, e, f, g, h, i).prop_map(
        |(
            events,
            changes,
            draws,
            bytes,
            field_bytes,
            fields,
            record_bytes,
            holes,
            written_bytes,
        )| CommandLimits {
            events,
            changes,
            draws,
            bytes,
            field_bytes,
            fields,
            record_bytes,
            holes,
            written_bytes,
        },
    )
}

fn sequence_definition() -> BoxedStrategy<SequenceDefinition> {
    (any::<u16>(), kind_id(), sequence_choices())
        .prop_map(|(id, kind, (name, ranges, format, reset, utc_offset_minutes))| {
            SequenceDefinition {
                name,
                id: SequenceId(id),
                kind,
                ranges,
                format,
                reset,
                utc_offset_minutes,
            }
        })
        .boxed()
}

type SequenceChoices = (Name, Vec<(u64, u64)>, String, Reset, i16);

fn sequence_choices() -> impl Strategy<Value = SequenceChoices> {
    let reset = prop_oneof![Just(Reset::Never), Just(Reset::Yearly)];
    (name(), vec((integer(), integer()), 0..3), any::<String>(), reset, any::<i16>())
}

fn record_definition() -> impl Strategy<Value = RecordDefinition> {
    (name(), class(), option::of(number())).prop_map(|(name, class, singleton)| RecordDefinition {
        name,
        class,
        singleton,
    })
}

fn command() -> BoxedStrategy<Command> {
    let identity = (client(), any::<[u8; 16]>(), fingerprint());
    let conditions = (option::of(time()), option::of(integer()));
    let asked = (vec(command_event(), 0..3), any::<bool>());
    (workspace_ref(), identity, conditions, asked)
        .prop_map(|(workspace, identity, (deadline, if_offset), (events, include_proof))| {
            let (client, key, fingerprint) = identity;
            let key = Key(key);
            Command {
                workspace,
                client,
                key,
                fingerprint,
                deadline,
                if_offset,
                include_proof,
                events,
            }
        })
        .boxed()
}

fn workspace_ref() -> impl Strategy<Value = WorkspaceRef> {
    prop_oneof![workspace_id().prop_map(WorkspaceRef::Id), name().prop_map(WorkspaceRef::Name),]
}

fn condition() -> BoxedStrategy<Condition> {
    prop_oneof![
        Just(Condition::Exists),
        Just(Condition::Absent),
        integer().prop_map(Condition::Version),
        value().prop_map(Condition::Value),
    ]
    .boxed()
}

fn filler() -> BoxedStrategy<Filler> {
    let shown = || prop_oneof![Just(Shown::Number), Just(Shown::Text)];
    prop_oneof![
        integer().prop_map(Filler::Ref),
        (name(), shown()).prop_map(|(sequence, shown)| Filler::Next { sequence, shown }),
        (small(), shown()).prop_map(|(index, shown)| Filler::Draw { index, shown }),
    ]
    .boxed()
}

fn tick() -> BoxedStrategy<Tick> {
    let entity = (workspace_id(), entity_key(), time())
        .prop_map(|(workspace, key, expires_at)| DueEntity { workspace, key, expires_at });
    let key = (workspace_id(), client(), any::<[u8; 16]>())
        .prop_map(|(workspace, client, key)| DueKey { workspace, client, key: Key(key) });
    (vec(entity, 0..3), vec(key, 0..3), option::of(offset()))
        .prop_map(|(entities, keys, keys_through)| Tick { entities, keys, keys_through })
        .boxed()
}

fn message() -> impl Strategy<Value = Message> {
    (integer(), definition()).prop_map(|(version, definition)| Message::Definition {
        version,
        definition: Box::new(definition),
    })
}

fn define_request() -> BoxedStrategy<DefineRequest> {
    prop_oneof![
        app_choices().prop_map(
            |(partitions, record_ids, trust_level, retention, keys_max, limits)| {
                DefineRequest::App {
                    partitions,
                    record_ids,
                    trust_level,
                    retention,
                    keys_max,
                    limits,
                }
            }
        ),
        name().prop_map(|name| DefineRequest::Kind { name }),
        (name(), sequence_choices()).prop_map(
            |(kind, (name, ranges, format, reset, utc_offset_minutes))| DefineRequest::Sequence {
                name,
                kind,
                ranges,
                format,
                reset,
                utc_offset_minutes,
            }
        ),
        (name(), class(), any::<bool>())
            .prop_map(|(name, class, singleton)| DefineRequest::Record { name, class, singleton }),
        any::<Option<u64>>().prop_map(|keys_max| DefineRequest::KeyLimit { keys_max }),
        (name(), sequence_members())
            .prop_map(|(name, members)| DefineRequest::SequenceMembers { name, members }),
        (name(), option::of(class()), option::of(any::<bool>())).prop_map(
            |(name, class, singleton)| {
                let members = RecordMembers { class, singleton };
                DefineRequest::RecordMembers { name, members }
            }
        ),
    ]
    .boxed()
}

fn sequence_members() -> impl Strategy<Value = SequenceMembers> {
    let said = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (option::of(name()), sequence_choices(), said).prop_map(|(kind, choices, said)| {
        let (_, ranges, format, reset, utc_offset_minutes) = choices;
        let (has_ranges, has_format, has_reset, has_offset) = said;
        SequenceMembers {
            kind,
            ranges: has_ranges.then_some(ranges),
            format: has_format.then_some(format),
            reset: has_reset.then_some(reset),
            utc_offset_minutes: has_offset.then_some(utc_offset_minutes),
        }
    })
}

fn class() -> impl Strategy<Value = RecordClass> {
    prop_oneof![Just(RecordClass::C), Just(RecordClass::O), Just(RecordClass::W)]
}

fn fingerprint() -> impl Strategy<Value = Fingerprint> {
    any::<(u8, [u8; 16])>().prop_map(|(version, hash)| Fingerprint { version, hash })
}

fn fields<V: std::fmt::Debug>(
    value: impl Strategy<Value = V>,
) -> impl Strategy<Value = Vec<(FieldName, V)>> {
    let name = "(?s).{0,8}".prop_map(|text| FieldName::new(&text).unwrap());
    btree_map(name, value, 0..4).prop_map(|fields: BTreeMap<_, _>| fields.into_iter().collect())
}

/// Lengths on both sides of where a length takes one more byte.
fn value() -> impl Strategy<Value = Bytes> {
    prop_oneof![4 => vec(any::<u8>(), 0..20), 1 => vec(any::<u8>(), 100..300)].prop_map(Bytes::from)
}

/// Fields of a later version: ascending, above all that this version knows.
fn unknown() -> impl Strategy<Value = Unknown> {
    let payload = prop_oneof![
        (0..0x80_u8).prop_map(|byte| (0, vec![byte])),
        any::<[u8; 8]>().prop_map(|bytes| (1, bytes.to_vec())),
        vec(any::<u8>(), 0..3)
            .prop_map(|bytes| (2, [vec![u8::try_from(bytes.len()).unwrap()], bytes].concat())),
        any::<[u8; 4]>().prop_map(|bytes| (5, bytes.to_vec())),
    ];
    vec((0..9_u8, payload), 0..3).prop_map(|fields| {
        let mut number = 16;
        let mut bytes = vec![];
        for (step, (wire_type, payload)) in fields {
            number += step;
            let tag = u16::from(number) << 3 | wire_type;
            bytes.extend([
                u8::try_from(tag & 0x7f).unwrap() | 0x80,
                u8::try_from(tag >> 7).unwrap(),
            ]);
            bytes.extend(payload);
        }
        Unknown(bytes)
    })
}

fn kind_id() -> impl Strategy<Value = KindId> {
    any::<u16>().prop_map(KindId)
}

fn integer() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..300_u64, any::<u64>()]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 1..300_u32, any::<u32>()]
}
