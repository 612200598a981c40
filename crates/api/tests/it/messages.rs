//! Messages, compared byte by byte with what the HTTP contract shows, and read again.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use seriatim_api::message::{
    self, App, ClientState, CommandDocument, Consistency, Entity, Events, Head, InclusionProof,
    Record, SequenceState, Timestamp,
};
use seriatim_types::{
    AppId, AppSettings, Change, ClientId, CommandLimits, Definition, Definitions, EntityKey,
    EntityRow, Event, FieldName, Fields, Fingerprint, Hash, Key, KindDefinition, KindId, Name,
    Number, NumberDrawn, Origin, PartitionId, PartitionOffset, Receipt, RecordClass,
    RecordDefinition, RecordIdScheme, RecordRow, Reset, Retention, SequenceDefinition, SequenceId,
    Time, TrustLevel, Unknown, WorkspaceId, Year,
};

const NOON: Time = Time(1_794_744_000_000);

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn number(number: u64) -> Number {
    Number::new(number).unwrap()
}

fn offset(offset: u64) -> PartitionOffset {
    PartitionOffset::new(offset).unwrap()
}

fn key(text: &str) -> EntityKey {
    EntityKey::new(text).unwrap()
}

fn fields(fields: &[(&str, &'static str)]) -> Fields {
    let field = |(name, value): &(&str, &'static str)| {
        (FieldName::new(name).unwrap(), Bytes::from_static(value.as_bytes()))
    };
    fields.iter().map(field).collect()
}

/// The message as it travels. What reads it has the same.
fn text<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(message: &M) -> String {
    let text = serde_json::to_string(message).unwrap();
    let read: M = serde_json::from_str(&text).unwrap();
    assert_eq!(&read, message, "a message is read as it was written");
    text
}

fn invoice_number() -> NumberDrawn {
    NumberDrawn {
        sequence: SequenceId(300),
        name: name("invoice"),
        year: Year::new(2026),
        number: number(7),
        text: "INV-2026-000007".to_owned(),
    }
}

fn ticket_number() -> NumberDrawn {
    NumberDrawn {
        sequence: SequenceId(301),
        name: name("ticket"),
        year: None,
        number: number(31),
        text: "31".to_owned(),
    }
}

fn receipt() -> Receipt {
    Receipt {
        version: 1,
        workspace: WorkspaceId(1_099_511_627_778),
        first_offset: number(13),
        last_offset: number(13),
        first_partition_offset: offset(101),
        last_partition_offset: offset(101),
        client_sequence: number(5),
        ids: vec![(1, number(200_019)), (2, number(200_020))],
        numbers: vec![invoice_number(), ticket_number()],
        committed_at: NOON,
        proof: None,
    }
}

#[test]
fn receipts_of_the_first_version_never_change() {
    let bare = Receipt {
        workspace: WorkspaceId(5),
        first_offset: number(1),
        last_offset: number(3),
        first_partition_offset: offset(1),
        last_partition_offset: offset(3),
        client_sequence: number(1),
        ids: vec![],
        numbers: vec![],
        committed_at: Time(0),
        ..receipt()
    };
    let odd = Receipt { ids: vec![(2, number(65_536)), (10, number(200_021))], ..bare.clone() };
    let proof = seriatim_types::Inclusion {
        leaf: Hash([0x1e; 32]),
        path: vec![Hash([0xa1; 32]), Hash([0xb2; 32])],
        root: Hash([0xff; 32]),
    };
    let proven = Receipt { proof: Some(Box::new(proof)), ..receipt() };
    let (shop, partition) = (name("shop"), PartitionId(2));
    let receipts = [
        message::Receipt::new(&receipt(), &shop, "store-1".to_owned(), partition),
        message::Receipt::new(&proven, &shop, "store-1".to_owned(), partition),
        message::Receipt::new(&bare, &name("größe \"x\""), "5".to_owned(), PartitionId(0)),
        message::Receipt::new(&odd, &shop, "5".to_owned(), PartitionId(1023)),
    ];
    let now: String = receipts.map(|receipt| text(&receipt) + "\n").concat();
    assert_eq!(now, include_str!("../../golden/receipt_v1.txt"), "a frozen receipt changed");
}

#[test]
#[should_panic(expected = "a receipt is made of events by a version that is known")]
fn a_receipt_of_another_version_is_not_written_as_the_first() {
    let receipt = Receipt { version: 2, ..receipt() };
    let _ = message::Receipt::new(&receipt, &name("a"), "b".to_owned(), PartitionId(0));
}

fn event() -> Event {
    Event {
        partition_offset: offset(101),
        workspace: WorkspaceId(1_099_511_627_778),
        kind: KindId(0),
        offset: number(13),
        time: NOON,
        workspace_name: None,
        receipt_version: 1,
        index: 0,
        count: 1,
        origin: Some(Origin {
            client: ClientId::new(b"pos-4").unwrap(),
            client_sequence: number(5),
            key: Key(*b"\x0b\x0e\x8a\x4e\x5f\x0a\x4c\x3e\x9d\x6b\x7a\x1c\x2d\x3e\x4f\x50"),
            fingerprint: Fingerprint { version: 1, hash: [0; 16] },
            deadline: None,
        }),
        name: name("InvoiceIssued"),
        args: Bytes::from_static(br#"{"total":1250}"#),
        changes: vec![],
        numbers: vec![invoice_number(), ticket_number()],
        unknown: Unknown::default(),
    }
}

fn written(event: &Event) -> String {
    text(&message::Event::new(event, "store-1", PartitionId(2), &Hash([0xab; 32])))
}

#[test]
fn an_event_shows_what_the_contract_promises() {
    let expected = format!(
        "{{\"offset\":13,\"partition\":2,\"partition_offset\":101,\"workspace\":\"store-1\",\
         \"workspace_id\":1099511627778,\"name\":\"InvoiceIssued\",\"args\":{{\"total\":1250}},\
         \"changes\":[],\"client\":\"pos-4\",\"client_sequence\":5,\
         \"key\":\"0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50\",\
         \"committed_at\":\"2026-11-15T12:00:00.000Z\",\"hash\":\"{}\"}}",
        "ab".repeat(32)
    );
    assert_eq!(written(&event()), expected);
    let none = Events { events: vec![], next: 1, last: 0 };
    assert_eq!(text(&none), r#"{"events":[],"next":1,"last":0}"#);
}

/// Checks what an event shows of each change, and of all of them.
fn check_changes(changes: &[(Change, &str)]) {
    for (change, expected) in changes {
        let body = written(&Event { changes: vec![change.clone()], ..event() });
        assert!(body.contains(&format!("\"changes\":[{expected}],")), "{body}");
    }
    let (all, expected): (Vec<Change>, Vec<&str>) = changes.iter().cloned().unzip();
    let body = written(&Event { changes: all, ..event() });
    assert!(body.contains(&format!("\"changes\":[{}],", expected.join(","))), "{body}");
}

#[test]
fn changes_of_records_are_shown_in_the_shape_of_a_command() {
    check_changes(&[
        (
            Change::Create {
                raw: Some(1),
                id: number(200_019),
                kind: name("invoice"),
                class: RecordClass::C,
                parent: None,
                fields: fields(&[("lines", "[200020]"), ("number", "\"INV-2026-000007\"")]),
            },
            r#"{"create":{"id":200019,"kind":"invoice","fields":{"lines":[200020],"number":"INV-2026-000007"}}}"#,
        ),
        (
            Change::Create {
                raw: None,
                id: number(200_020),
                kind: name("line"),
                class: RecordClass::C,
                parent: Some(number(200_019)),
                fields: vec![],
            },
            r#"{"create":{"id":200020,"kind":"line","parent":200019,"fields":{}}}"#,
        ),
        (
            Change::Update {
                id: number(200_017),
                version: 4,
                fields: fields(&[("a \"b\"\n", "null"), ("open", "false")]),
            },
            r#"{"update":{"id":200017,"version":4,"fields":{"a \"b\"\n":null,"open":false}}}"#,
        ),
        (
            Change::Delete { id: number(200_018), version: 1 },
            r#"{"delete":{"id":200018,"version":1}}"#,
        ),
    ]);
}

#[test]
fn other_changes_are_shown_in_the_shape_of_a_command() {
    check_changes(&[
        (
            Change::Set {
                key: key("stock/A-7"),
                version: 8,
                value: Bytes::from_static(br#"{"left":4}"#),
                expires_at: Some(NOON),
            },
            r#"{"set":{"key":"stock/A-7","version":8,"value":{"left":4},"expires_at":"2026-11-15T12:00:00.000Z"}}"#,
        ),
        (
            Change::Set {
                key: key("a"),
                version: 1,
                value: Bytes::from_static(b"5"),
                expires_at: None,
            },
            r#"{"set":{"key":"a","version":1,"value":5}}"#,
        ),
        (
            Change::Unset { key: key("hold/9"), version: Some(2) },
            r#"{"unset":{"key":"hold/9","version":2}}"#,
        ),
        (Change::Unset { key: key("none"), version: None }, r#"{"unset":{"key":"none"}}"#),
        (Change::Draw { number: 1 }, r#"{"draw":{"sequence":"ticket","number":31,"text":"31"}}"#),
        (
            Change::Draw { number: 0 },
            r#"{"draw":{"sequence":"invoice","period":2026,"number":7,"text":"INV-2026-000007"}}"#,
        ),
    ]);
}

#[test]
fn an_event_of_the_system_has_no_client() {
    let body = written(&Event { origin: None, ..event() });
    for member in ["\"client\"", "\"client_sequence\"", "\"key\""] {
        assert!(!body.contains(member), "{body}");
    }
}

#[test]
fn a_client_that_is_no_text_is_still_shown() {
    let mut event = event();
    event.origin.as_mut().unwrap().client = ClientId::new(b"pos\xff\"4").unwrap();
    assert!(written(&event).contains("\"client\":\"pos\u{fffd}\\\"4\""));
}

#[test]
fn rows_are_shown_as_the_contract_has_them() {
    let record = RecordRow {
        kind: name("invoice"),
        class: RecordClass::C,
        parent: None,
        version: 1,
        offset: number(13),
        fields: fields(&[("total", "1250")]),
        unknown: Unknown::default(),
    };
    let line = RecordRow {
        class: RecordClass::W,
        parent: Some(number(200_019)),
        fields: vec![],
        ..record.clone()
    };
    let entity = EntityRow {
        version: 8,
        expires_at: None,
        offset: number(13),
        value: Bytes::from_static(br#"{"left":3}"#),
        unknown: Unknown::default(),
    };
    let expiring = EntityRow { expires_at: Some(NOON), ..entity.clone() };
    let invoice = SequenceState {
        name: "invoice".to_owned(),
        period: Some(2026),
        last: 7,
        next: Some(8),
        next_text: Some("INV-2026-000008".to_owned()),
    };
    let ticket = SequenceState {
        name: "ticket".to_owned(),
        period: None,
        last: 0,
        next: Some(1),
        next_text: Some("1".to_owned()),
    };
    let exhausted = SequenceState { last: 9, next: None, next_text: None, ..ticket.clone() };
    let client =
        ClientState { client: "pos-4".to_owned(), last_client_sequence: 5, last_offset: 13 };
    let bodies = [
        text(&Record::new(number(200_019), &record)),
        text(&Record::new(number(200_020), &line)),
        text(&Entity::new(&key("stock/A-7"), &entity)),
        text(&Entity::new(&key("stock/A-7"), &expiring)),
        text(&invoice),
        text(&ticket),
        text(&exhausted),
        text(&client),
    ];
    let expected = [
        r#"{"id":200019,"kind":"invoice","class":"c","parent":0,"version":1,"fields":{"total":1250},"offset":13}"#,
        r#"{"id":200020,"kind":"invoice","class":"w","parent":200019,"version":1,"fields":{},"offset":13}"#,
        r#"{"key":"stock/A-7","value":{"left":3},"version":8,"expires_at":null,"offset":13}"#,
        r#"{"key":"stock/A-7","value":{"left":3},"version":8,"expires_at":"2026-11-15T12:00:00.000Z","offset":13}"#,
        r#"{"name":"invoice","period":2026,"last":7,"next":8,"next_text":"INV-2026-000008"}"#,
        r#"{"name":"ticket","last":0,"next":1,"next_text":"1"}"#,
        r#"{"name":"ticket","last":9,"next":null,"next_text":null}"#,
        r#"{"client":"pos-4","last_client_sequence":5,"last_offset":13}"#,
    ];
    assert_eq!(bodies, expected);
}

#[test]
fn heads_and_proofs_are_shown_as_the_contract_has_them() {
    let [one, two, three] = [1, 2, 3].map(|byte| Hash([byte; 32]));
    let inclusion = seriatim_types::Inclusion { leaf: one, path: vec![two, three], root: three };
    let bare = seriatim_types::Inclusion { path: vec![], ..inclusion.clone() };
    let consistency = Consistency {
        from: 7,
        to: 13,
        path: vec![one.into()],
        from_root: two.into(),
        to_root: three.into(),
    };
    let bodies = [
        text(&Head { workspace: "store-1".to_owned(), size: 13, root: one.into() }),
        text(&InclusionProof::new(13, 14, &inclusion)),
        text(&InclusionProof::new(13, 14, &bare)),
        text(&consistency),
    ];
    let [one, two, three] = ["01", "02", "03"].map(|byte| byte.repeat(32));
    let expected = [
        format!(r#"{{"workspace":"store-1","size":13,"root":"{one}"}}"#),
        format!(
            r#"{{"offset":13,"size":14,"leaf":"{one}","path":["{two}","{three}"],"root":"{three}"}}"#
        ),
        format!(r#"{{"offset":13,"size":14,"leaf":"{one}","path":[],"root":"{three}"}}"#),
        format!(r#"{{"from":7,"to":13,"path":["{one}"],"from_root":"{two}","to_root":"{three}"}}"#),
    ];
    assert_eq!(bodies, expected);
}

fn settings() -> AppSettings {
    AppSettings {
        name: name("shop"),
        app: AppId(7),
        partitions: 4,
        record_ids: RecordIdScheme::Single,
        trust_level: TrustLevel::Zero,
        retention: Retention::Milliseconds(86_400_000),
        keys_max: Some(10_000_000),
        limits: CommandLimits::default(),
    }
}

fn invoice_sequence(kind: KindId) -> SequenceDefinition {
    SequenceDefinition {
        name: name("invoice"),
        id: SequenceId(300),
        kind,
        ranges: vec![(1, 999_999), (2_000_000, 2_000_001)],
        format: "INV-{yyyy}-{n:06}".to_owned(),
        reset: Reset::Yearly,
        utc_offset_minutes: -90,
    }
}

fn record(singleton: Option<Number>) -> RecordDefinition {
    RecordDefinition { name: name("invoice"), class: RecordClass::O, singleton }
}

#[test]
fn definitions_are_shown_as_they_are_asked_for() {
    let store = KindDefinition { name: name("store"), id: KindId(1) };
    let never = SequenceDefinition {
        ranges: vec![(1, 9)],
        format: "{n}".to_owned(),
        reset: Reset::Never,
        utc_offset_minutes: 840,
        ..invoice_sequence(KindId(0))
    };
    let definitions = Definitions {
        version: 7,
        app: settings(),
        kinds: vec![store],
        sequences: vec![invoice_sequence(KindId(1)), never],
        records: vec![record(None), record(Some(number(65_536)))],
        unknown: Unknown::default(),
    };
    let expected = "{\"version\":7,\"kinds\":[{\"name\":\"default\"},{\"name\":\"store\"}],\
        \"sequences\":[{\"name\":\"invoice\",\"kind\":\"store\",\
        \"ranges\":[[1,999999],[2000000,2000001]],\"format\":\"INV-{yyyy}-{n:06}\",\
        \"reset\":\"yearly\",\"utc_offset\":\"-01:30\"},\
        {\"name\":\"invoice\",\"kind\":\"default\",\"ranges\":[[1,9]],\"format\":\"{n}\",\
        \"reset\":\"never\",\"utc_offset\":\"+14:00\"}],\
        \"records\":[{\"name\":\"invoice\",\"class\":\"o\",\"singleton\":false},\
        {\"name\":\"invoice\",\"class\":\"o\",\"singleton\":true}]}";
    assert_eq!(text(&message::Definitions::from(&definitions)), expected);
}

#[test]
fn an_app_is_shown_as_it_can_be_asked_for() {
    let expected = r#"{"name":"shop","partitions":4,"record_ids":"single","trust_level":0,"idempotency_retention":"24h","idempotency_keys_max":10000000}"#;
    assert_eq!(text(&App::from(&settings())), expected);
    for (retention, shown) in [
        (Retention::Forever, "forever"),
        (Retention::Milliseconds(604_800_000), "168h"),
        (Retention::Milliseconds(5_400_000), "90m"),
        (Retention::Milliseconds(90_000), "90s"),
        (Retention::Milliseconds(1_500), "1500ms"),
    ] {
        let trust_level = TrustLevel::Two;
        let record_ids = RecordIdScheme::Split;
        let body =
            text(&App::from(&AppSettings { retention, trust_level, record_ids, ..settings() }));
        assert!(body.contains(&format!("\"idempotency_retention\":\"{shown}\"")), "{body}");
    }
}

#[test]
fn steps_of_the_definitions_are_changes_of_the_system_app() {
    for (definition, expected) in [
        (
            Definition::App(settings()),
            r#"{"app":{"name":"shop","partitions":4,"record_ids":"single","trust_level":0,"idempotency_retention":"24h","idempotency_keys_max":10000000}}"#,
        ),
        (
            Definition::Kind(KindDefinition { name: name("store"), id: KindId(1) }),
            r#"{"kind":{"name":"store","kind_id":1}}"#,
        ),
        (
            Definition::Sequence(invoice_sequence(KindId(1))),
            r#"{"sequence":{"name":"invoice","kind_id":1,"ranges":[[1,999999],[2000000,2000001]],"format":"INV-{yyyy}-{n:06}","reset":"yearly","utc_offset":"-01:30"}}"#,
        ),
        (Definition::KeyLimit(Some(7)), r#"{"key_limit":{"idempotency_keys_max":7}}"#),
        (Definition::KeyLimit(None), r#"{"key_limit":{"idempotency_keys_max":null}}"#),
        (
            Definition::Record(record(None)),
            r#"{"record":{"name":"invoice","class":"o","singleton":false}}"#,
        ),
    ] {
        let body =
            written(&Event { changes: vec![Change::Define(Box::new(definition))], ..event() });
        assert!(body.contains(&format!("\"changes\":[{{\"define\":{expected}}}],")), "{body}");
    }
}

#[test]
fn moments_are_written_with_milliseconds_and_read_with_any_offset() {
    for (ms, written) in [
        (0, "1970-01-01T00:00:00.000Z"),
        (951_782_400_007, "2000-02-29T00:00:00.007Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (u64::MAX, "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(Timestamp::from(Time(ms)).to_string(), written);
    }
    for written in ["2026-11-15T13:00:00+01:00", "2026-11-15t12:00:00.0000z"] {
        assert_eq!(written.parse::<Timestamp>().unwrap(), Timestamp::from(NOON), "{written}");
    }
    for wrong in ["", "noon", "2026-02-30T00:00:00Z", "2026-11-15T12:00:00"] {
        assert!(wrong.parse::<Timestamp>().is_err(), "{wrong}");
    }
}

#[test]
fn hashes_are_read_from_64_hexadecimal_digits_alone() {
    let hash = message::Hash([0xa5; 32]);
    assert_eq!(hash.to_string().parse(), Ok(hash));
    let digits = "a5".repeat(32);
    for wrong in ["", &digits[..63], &format!("{digits}a5"), &digits.replace("a5", "a+")] {
        assert_eq!(wrong.parse::<message::Hash>(), Err(message::NotAHash), "{wrong}");
    }
}

/// A store from another release may show more than this one knows.
#[test]
fn members_that_are_not_known_are_left() {
    let text = r#"{"name":"seriatim","version":"9.0.0","of":"tomorrow"}"#;
    let version: message::Version = serde_json::from_str(text).unwrap();
    assert_eq!(version.version, "9.0.0");
}

#[test]
fn a_command_is_written_as_the_contract_shows_it() {
    let document = concat!(
        r#"{"events":[{"name":"InvoiceIssued","args":{"total":1250.0},"changes":["#,
        r#"{"create":{"id":1,"kind":"invoice","fields":{"number":{"$next":"invoice","as":"text"}}}},"#,
        r#"{"create":{"id":200020,"import":true,"kind":"line","parent":1,"fields":{"sku":"A-7"}}},"#,
        r#"{"update":{"id":200017,"fields":{"open":false},"if_version":3}},"#,
        r#"{"delete":{"id":200018,"if_version":1}},"#,
        r#"{"set":{"key":"stock/A-7","value":{"left":4},"if":{"version":7},"expires_at":"2027-01-01T00:00:00.000Z"}},"#,
        r#"{"set":{"key":"a","value":null,"if":{"value":[1]}}},"#,
        r#"{"set":{"key":"b","value":1,"if":"absent"}},"#,
        r#"{"unset":{"key":"hold/9","if":"exists"}},"#,
        r#"{"draw":{"sequence":"ticket"}}]}],"#,
        r#""if_offset":12,"include_proof":true}"#,
    );
    let command: CommandDocument = serde_json::from_str(document).unwrap();
    assert_eq!(text(&command), document);
    let bare = r#"{"events":[{"name":"Opened"}]}"#;
    let command: CommandDocument = serde_json::from_str(bare).unwrap();
    assert_eq!(text(&command), bare);
}
