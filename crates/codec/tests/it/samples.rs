//! Values of every stored type, once with everything in them and once with as little as can be.

use bytes::Bytes;
use seriatim_codec::{PartitionPrefix, Stored};
use seriatim_types::{
    AppId, AppSettings, Body, Change, ClientId, Command, CommandChange, CommandEvent,
    CommandLimits, Condition, Declare, Define, DefineRequest, Definition, Definitions, Delivered,
    Delivery, DueEntity, DueKey, EntityKey, EntityRow, Entry, Event, FieldName, Filler,
    Fingerprint, Hole, Incarnation, Key, KeyRow, KindDefinition, KindId, LogIndex, Message, Name,
    Number, NumberDrawn, Origin, PartitionId, PartitionOffset, PartitionRef, PartitionRow,
    Position, PositionRow, RecordClass, RecordDefinition, RecordIdScheme, RecordMembers, RecordRow,
    Reset, Retention, SequenceDefinition, SequenceId, SequenceMembers, Shown, Template, Tick, Time,
    TrustLevel, Unknown, WorkspaceId, WorkspaceRef, WorkspaceRow, Year,
};

/// A sample of some stored type that has forgotten which.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) bytes: Bytes,
    /// Decodes, and encodes again.
    pub(crate) recode: fn(&Bytes) -> Result<Bytes, seriatim_codec::DecodeError>,
}

fn sample<S: Stored>(name: &'static str, value: &S) -> Sample {
    let recode = |bytes: &Bytes| S::from_bytes(bytes).map(|value| value.to_bytes());
    Sample { name, bytes: value.to_bytes(), recode }
}

pub(crate) fn events() -> Vec<Sample> {
    vec![
        sample("minimal", &minimal_event()),
        sample("with every kind of change", &rich_event()),
        sample("of the system", &system_event()),
        sample("with a field 16 of a later version", &later_event()),
    ]
}

pub(crate) fn rows() -> Vec<Sample> {
    vec![
        sample("record", &rich_record()),
        sample("record without parent and fields", &minimal_record()),
        sample("entity", &entity_row(Some(Time(1_798_761_600_000)), br#"{"left":4}"#)),
        sample("entity that does not expire", &entity_row(None, b"null")),
        sample("idempotency key", &key_row()),
        sample("workspace", &workspace_row(0, None)),
        sample("workspace with a name", &workspace_row(7, Some("store-1"))),
        sample("partition before its first entry", &PartitionRow::default()),
        sample("partition", &partition_row()),
        sample("position", &position_row()),
    ]
}

pub(crate) fn definitions() -> Vec<Sample> {
    let retention = Retention::Milliseconds(86_400_000);
    let settings = app_settings(RecordIdScheme::Single, TrustLevel::Zero, retention);
    vec![
        sample("app", &Definition::App(settings)),
        sample("kind", &Definition::Kind(kind())),
        sample("sequence", &Definition::Sequence(yearly())),
        sample("record", &Definition::Record(singleton())),
        sample("definitions", &all_definitions()),
    ]
}

pub(crate) fn entries() -> Vec<Sample> {
    let entry = |body| Entry { time: Time(1_763_208_000_000), body };
    let define = |request| entry(Body::Define(Define { app: name("shop"), request }));
    vec![
        sample("command with every kind of change", &entry(Body::Command(rich_command()))),
        sample("minimal command", &entry(Body::Command(minimal_command()))),
        sample(
            "command that asks for a proof",
            &entry(Body::Command(Command { include_proof: true, ..minimal_command() })),
        ),
        sample("declare", &entry(Body::Declare(declare()))),
        sample("tick without items", &entry(Body::Tick(Tick::default()))),
        sample("tick", &entry(Body::Tick(tick()))),
        sample("delivery of a definition", &entry(Body::Delivery(delivery()))),
        sample("delivered", &entry(Body::Delivered(delivered()))),
        sample("define an app", &define(define_app())),
        sample("define a kind", &define(DefineRequest::Kind { name: name("warehouse") })),
        sample("define a sequence", &define(define_sequence())),
        sample("define a record", &define(define_record())),
    ]
}

/// Limits of keys that can be changed, and apps that have none.
pub(crate) fn key_limits() -> Vec<Sample> {
    let forever = Retention::Forever;
    let settings = AppSettings {
        keys_max: None,
        ..app_settings(RecordIdScheme::Single, TrustLevel::Zero, forever)
    };
    let definitions = Definitions { app: settings.clone(), ..all_definitions() };
    let changes = vec![Change::Define(Box::new(Definition::KeyLimit(Some(1_000))))];
    let event = Event { name: name("KeyLimitChanged"), changes, ..system_event() };
    let define = |request| Entry {
        time: Time(1_763_208_000_000),
        body: Body::Define(Define { app: name("shop"), request }),
    };
    let DefineRequest::App { partitions, record_ids, trust_level, retention, limits, .. } =
        define_app()
    else {
        unreachable!("it makes an app")
    };
    let keys_max = None;
    let new_app =
        DefineRequest::App { partitions, record_ids, trust_level, retention, keys_max, limits };
    vec![
        sample("another limit", &Definition::KeyLimit(Some(1_000))),
        sample("no limit any more", &Definition::KeyLimit(None)),
        sample("app without a limit", &Definition::App(settings)),
        sample("definitions of an app without a limit", &definitions),
        sample("event of another limit", &event),
        sample("define an app without a limit", &define(new_app)),
        sample("define another limit", &define(DefineRequest::KeyLimit { keys_max: Some(1_000) })),
        sample("define no limit any more", &define(DefineRequest::KeyLimit { keys_max: None })),
    ]
}

/// Definitions that leave members out.
pub(crate) fn members() -> Vec<Sample> {
    let define = |request| Entry {
        time: Time(1_763_208_000_000),
        body: Body::Define(Define { app: name("shop"), request }),
    };
    let sequence =
        |members| define(DefineRequest::SequenceMembers { name: name("invoice"), members });
    let record = |members| define(DefineRequest::RecordMembers { name: name("settings"), members });
    let format = SequenceMembers { format: Some("R-{n}".to_owned()), ..Default::default() };
    let empty = SequenceMembers {
        ranges: Some(Vec::new()),
        format: Some(String::new()),
        utc_offset_minutes: Some(0),
        ..Default::default()
    };
    let whole = SequenceMembers {
        kind: Some(name("default")),
        ranges: Some(vec![(1, 999_999)]),
        format: Some("INV-{yyyy}-{n:06}".to_owned()),
        reset: Some(Reset::Yearly),
        utc_offset_minutes: Some(-60),
    };
    let singleton = RecordMembers { class: Some(RecordClass::O), singleton: Some(false) };
    vec![
        sample("nothing of a sequence", &sequence(SequenceMembers::default())),
        sample("the format of a sequence", &sequence(format)),
        sample("what is there and empty", &sequence(empty)),
        sample("everything of a sequence", &sequence(whole)),
        sample("nothing of a record", &record(RecordMembers::default())),
        sample("everything of a record", &record(singleton)),
    ]
}

pub(crate) fn all() -> Vec<Sample> {
    let all = [events(), rows(), definitions(), entries(), key_limits(), members()];
    all.into_iter().flatten().collect()
}

pub(crate) fn prefix() -> PartitionPrefix {
    PartitionPrefix { app: AppId(1), partition: PartitionId(2), incarnation: Incarnation(3) }
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub(crate) fn number(number: u64) -> Number {
    Number::new(number).unwrap()
}

pub(crate) fn offset(offset: u64) -> PartitionOffset {
    PartitionOffset::new(offset).unwrap()
}

pub(crate) fn entity(text: &str) -> EntityKey {
    EntityKey::new(text).unwrap()
}

pub(crate) fn field(text: &str) -> FieldName {
    FieldName::new(text).unwrap()
}

pub(crate) fn client() -> ClientId {
    ClientId::new(b"pos-4").unwrap()
}

pub(crate) fn key() -> Key {
    Key(std::array::from_fn(|at| 0xa0 + u8::try_from(at).unwrap()))
}

pub(crate) fn fingerprint() -> Fingerprint {
    Fingerprint { version: 1, hash: std::array::from_fn(|at| 0xf0 - u8::try_from(at).unwrap()) }
}

pub(crate) fn json(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

pub(crate) fn neighbour() -> PartitionRef {
    PartitionRef { app: AppId(9), partition: PartitionId(3) }
}

pub(crate) fn minimal_event() -> Event {
    Event {
        partition_offset: PartitionOffset::FIRST,
        workspace: WorkspaceId(0),
        kind: KindId(0),
        offset: number(1),
        time: Time(0),
        workspace_name: None,
        receipt_version: 0,
        index: 0,
        count: 0,
        origin: None,
        name: name("E"),
        args: json("{}"),
        changes: vec![],
        numbers: vec![],
        unknown: Unknown::default(),
    }
}

pub(crate) fn rich_event() -> Event {
    let origin = Origin {
        client: client(),
        client_sequence: number(5),
        key: key(),
        fingerprint: fingerprint(),
        deadline: Some(Time(1_763_208_030_000)),
    };
    Event {
        partition_offset: offset(101),
        workspace: WorkspaceId((1 << 40) + 2),
        kind: KindId(7),
        offset: number(13),
        time: Time(1_763_208_000_000),
        workspace_name: Some(name("store-1")),
        receipt_version: 1,
        index: 1,
        count: 2,
        origin: Some(origin),
        name: name("InvoiceIssued"),
        args: json(r#"{"total":1250}"#),
        changes: changes(),
        numbers: numbers(),
        unknown: Unknown::default(),
    }
}

fn changes() -> Vec<Change> {
    vec![
        Change::Create {
            raw: Some(1),
            id: number(200_019),
            kind: name("invoice"),
            class: RecordClass::C,
            parent: None,
            fields: vec![
                (field("lines"), json("[200020]")),
                (field("number"), json(r#""INV-2026-000007""#)),
            ],
        },
        Change::Create {
            raw: None,
            id: number(300_000),
            kind: name("line"),
            class: RecordClass::W,
            parent: Some(number(200_019)),
            fields: vec![],
        },
        Change::Update {
            id: number(200_017),
            version: 4,
            fields: vec![(field(""), json("0")), (field("open"), json("false"))],
        },
        Change::Delete { id: number(200_018), version: 1 },
        Change::Set {
            key: entity("stock/A-7"),
            version: 8,
            value: json(r#"{"left":4}"#),
            expires_at: Some(Time(1_798_761_600_000)),
        },
        Change::Set { key: entity("größe"), version: 1, value: json("null"), expires_at: None },
        Change::Unset { key: entity("hold/9"), version: Some(2) },
        Change::Unset { key: entity("hold/10"), version: None },
        Change::Draw { number: 1 },
        Change::Define(Box::new(Definition::Kind(kind()))),
    ]
}

fn numbers() -> Vec<NumberDrawn> {
    vec![
        NumberDrawn {
            sequence: SequenceId(256),
            name: name("invoice"),
            year: Year::new(2026),
            number: number(7),
            text: "INV-2026-000007".to_owned(),
        },
        NumberDrawn {
            sequence: SequenceId(257),
            name: name("ticket"),
            year: None,
            number: number(31),
            text: "31".to_owned(),
        },
    ]
}

pub(crate) fn system_event() -> Event {
    let settings = app_settings(RecordIdScheme::Split, TrustLevel::Two, Retention::Forever);
    Event {
        partition_offset: offset(2),
        time: Time(1_763_208_000_000),
        receipt_version: 1,
        count: 1,
        name: name("Defined"),
        changes: vec![Change::Define(Box::new(Definition::App(settings)))],
        ..minimal_event()
    }
}

fn later_event() -> Event {
    // Field 16 as a varint, 150.
    Event { unknown: Unknown(vec![0x80, 0x01, 0x96, 0x01]), ..minimal_event() }
}

pub(crate) fn rich_record() -> RecordRow {
    RecordRow {
        kind: name("invoice"),
        class: RecordClass::C,
        parent: Some(number(200_001)),
        version: 3,
        offset: number(13),
        fields: vec![(field("lines"), json("[200020]")), (field("open"), json("false"))],
        unknown: Unknown::default(),
    }
}

fn minimal_record() -> RecordRow {
    RecordRow {
        kind: name("line"),
        class: RecordClass::O,
        parent: None,
        version: 1,
        offset: number(1),
        fields: vec![],
        unknown: Unknown::default(),
    }
}

fn entity_row(expires_at: Option<Time>, value: &'static [u8]) -> EntityRow {
    EntityRow {
        version: 8,
        expires_at,
        offset: number(13),
        value: Bytes::from_static(value),
        unknown: Unknown::default(),
    }
}

fn key_row() -> KeyRow {
    KeyRow {
        first: offset(101),
        count: 2,
        fingerprint: fingerprint(),
        time: Time(1_763_208_000_000),
        unknown: Unknown::default(),
    }
}

fn workspace_row(kind: u16, text: Option<&str>) -> WorkspaceRow {
    WorkspaceRow { kind: KindId(kind), name: text.map(name), unknown: Unknown::default() }
}

fn partition_row() -> PartitionRow {
    PartitionRow {
        time: Some(Time(1_763_208_000_000)),
        offset: PartitionOffset::new(101),
        keys: 57,
        keys_through: PartitionOffset::new(44),
        names: 12,
        unknown: Unknown::default(),
    }
}

fn position_row() -> PositionRow {
    let position = Position { index: LogIndex(7_001), entries: 12 };
    PositionRow { position, unknown: Unknown::default() }
}

fn app_settings(
    record_ids: RecordIdScheme,
    trust_level: TrustLevel,
    retention: Retention,
) -> AppSettings {
    AppSettings {
        name: name("shop"),
        app: AppId(9),
        partitions: 4,
        record_ids,
        trust_level,
        retention,
        keys_max: Some(10_000_000),
        limits: CommandLimits::default(),
    }
}

fn kind() -> KindDefinition {
    KindDefinition { name: name("warehouse"), id: KindId(1) }
}

fn yearly() -> SequenceDefinition {
    SequenceDefinition {
        name: name("invoice"),
        id: SequenceId(256),
        kind: KindId(0),
        ranges: vec![(1, 999_999), (2_000_000, 2_999_999)],
        format: "INV-{yyyy}-{n:06}".to_owned(),
        reset: Reset::Yearly,
        utc_offset_minutes: -210,
    }
}

fn singleton() -> RecordDefinition {
    RecordDefinition {
        name: name("settings"),
        class: RecordClass::W,
        singleton: Some(number(65_536)),
    }
}

pub(crate) fn all_definitions() -> Definitions {
    let ticket = SequenceDefinition {
        name: name("ticket"),
        id: SequenceId(257),
        kind: KindId(1),
        ranges: vec![(1, (1 << 53) - 1)],
        format: "{n}".to_owned(),
        reset: Reset::Never,
        utc_offset_minutes: 0,
    };
    let invoice =
        RecordDefinition { name: name("invoice"), class: RecordClass::C, singleton: None };
    Definitions {
        version: 6,
        app: app_settings(RecordIdScheme::Split, TrustLevel::One, Retention::Milliseconds(0)),
        kinds: vec![kind()],
        sequences: vec![yearly(), ticket],
        records: vec![singleton(), invoice],
        unknown: Unknown::default(),
    }
}

pub(crate) fn minimal_command() -> Command {
    Command {
        workspace: WorkspaceRef::Id(WorkspaceId(0)),
        client: client(),
        key: key(),
        fingerprint: fingerprint(),
        deadline: None,
        if_offset: None,
        include_proof: false,
        events: vec![],
    }
}

pub(crate) fn rich_command() -> Command {
    let args = Template::new(
        json(r#"{"no":,"of":,"to":}"#),
        vec![
            hole(6, 2, Filler::Ref(1)),
            hole(12, 0, Filler::Next { sequence: name("invoice"), shown: Shown::Number }),
            hole(18, 1, Filler::Draw { index: 0, shown: Shown::Text }),
        ],
    );
    Command {
        workspace: WorkspaceRef::Name(name("store-1")),
        deadline: Some(Time(1_763_208_030_000)),
        if_offset: Some(12),
        events: vec![
            CommandEvent {
                name: name("InvoiceIssued"),
                args: args.unwrap(),
                changes: command_changes(),
            },
            CommandEvent { name: name("Größe 😀"), args: plain("{}"), changes: vec![] },
        ],
        ..minimal_command()
    }
}

fn command_changes() -> Vec<CommandChange> {
    let shown = hole(0, 0, Filler::Next { sequence: name("invoice"), shown: Shown::Text });
    let set = |key, condition, expires_at| CommandChange::Set {
        key: entity(key),
        value: plain(r#"{"left":4}"#),
        condition,
        expires_at,
    };
    vec![
        CommandChange::Create {
            id: 1,
            kind: name("invoice"),
            parent: None,
            fields: vec![
                (
                    field("lines"),
                    Template::new(json("[]"), vec![hole(1, 1, Filler::Ref(2))]).unwrap(),
                ),
                (field("number"), Template::new(Bytes::new(), vec![shown]).unwrap()),
            ],
        },
        CommandChange::Create { id: 2, kind: name("line"), parent: Some(1), fields: vec![] },
        CommandChange::Update {
            id: 200_017,
            fields: vec![(field("open"), plain("false"))],
            if_version: Some(3),
        },
        CommandChange::Update { id: 1, fields: vec![], if_version: None },
        CommandChange::Delete { id: 200_018, if_version: Some(1) },
        CommandChange::Delete { id: 2, if_version: None },
        set("stock/A-7", Some(Condition::Version(7)), Some(Time(1_798_761_600_000))),
        set("stock/A-8", Some(Condition::Absent), None),
        set("stock/A-9", Some(Condition::Value(json(r#"{"left":5}"#))), None),
        set("stock/A-10", None, None),
        CommandChange::Unset { key: entity("hold/9"), condition: Some(Condition::Exists) },
        CommandChange::Unset { key: entity("hold/10"), condition: None },
        CommandChange::Draw { sequence: name("ticket") },
    ]
}

pub(crate) fn plain(text: &'static str) -> Template {
    Template::plain(json(text))
}

pub(crate) fn hole(at: usize, order: u32, filler: Filler) -> Hole {
    Hole { at, order, filler }
}

fn declare() -> Declare {
    Declare { workspace: WorkspaceRef::Id(WorkspaceId(5)), kind: name("warehouse") }
}

fn tick() -> Tick {
    let due = DueEntity {
        workspace: WorkspaceId(5),
        key: entity("stock/A-7"),
        expires_at: Time(1_763_207_999_999),
    };
    let key = DueKey { workspace: WorkspaceId(5), client: client(), key: key() };
    Tick { entities: vec![due], keys: vec![key], keys_through: PartitionOffset::new(44) }
}

fn delivery() -> Delivery {
    let definition = Box::new(Definition::Sequence(yearly()));
    let source = PartitionRef { app: AppId(0), partition: PartitionId(0) };
    Delivery { source, number: 3, message: Message::Definition { version: 3, definition } }
}

fn delivered() -> Delivered {
    Delivered { target: neighbour(), first: 1, through: 3 }
}

fn define_app() -> DefineRequest {
    DefineRequest::App {
        partitions: 4,
        record_ids: RecordIdScheme::Single,
        trust_level: TrustLevel::Two,
        retention: Retention::Milliseconds(86_400_000),
        keys_max: Some(10_000_000),
        limits: CommandLimits::default(),
    }
}

fn define_sequence() -> DefineRequest {
    DefineRequest::Sequence {
        name: name("invoice"),
        kind: name("default"),
        ranges: vec![(1, 999_999)],
        format: "INV-{yyyy}-{n:06}".to_owned(),
        reset: Reset::Yearly,
        utc_offset_minutes: 60,
    }
}

fn define_record() -> DefineRequest {
    DefineRequest::Record { name: name("settings"), class: RecordClass::O, singleton: true }
}
