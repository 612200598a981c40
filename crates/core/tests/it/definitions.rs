//! Definitions: made in the system app, one version after the other, the same in every partition.

use seriatim_codec::{OutboxPointer, PartitionPrefix, Stored, Table};
use seriatim_core::{
    DEFAULT_KIND, DefineOutcome, DeliveryOutcome, Effects, Fault, NoApp, Outcome, Outgoing,
    Refusal, RowChange, RowId, Rows, SYSTEM_APP, StepError,
};
use seriatim_sequencer::Settings;
use seriatim_testkit::core::{Node, Shop, changes, name};
use seriatim_types::limits::{
    DELIVERED_MAX, KEYS_MAX, PARTITIONS_MAX, RECORD_KINDS_MAX, RETENTION_MS_MAX, SEQUENCES_MAX,
};
use seriatim_types::{
    AppId, Body, Change, CommandLimits, Declare, Define, DefineRequest, Definition, Definitions,
    Delivered, Delivery, Entry, Incarnation, KindDefinition, KindId, Message, NUMBER_MAX,
    PartitionId, PartitionRef, RecordClass, RecordIdScheme, RecordMembers, Reset, Retention,
    SequenceDefinition, SequenceMembers, Time, TrustLevel, WorkspaceId, WorkspaceRef,
};

use crate::bare::Bare;
use crate::world::{APP, at, done, drawn, receipt, refusal, state};

const NOW: Time = Time(1_782_000_000_000);

const SYSTEM: PartitionPrefix =
    PartitionPrefix { app: SYSTEM_APP, partition: PartitionId(0), incarnation: Incarnation(1) };

/// The system app, and what it sends.
pub(crate) struct System {
    node: Node,
    sent: Vec<Outgoing>,
}

impl System {
    fn new() -> Self {
        Self { node: Node::new(SYSTEM, Settings::default()), sent: Vec::new() }
    }

    /// With an app `shop` of so many partitions.
    pub(crate) fn with_partitions(partitions: u16) -> Self {
        let mut system = Self::new();
        let request = with(|app| app.partitions = partitions);
        assert_eq!(system.define("shop", request), defined(1, 1));
        system
    }

    pub(crate) fn define(&mut self, app: &str, request: DefineRequest) -> Result<Outcome, Refusal> {
        let effects = self.node.apply(&[define(app, request)]).remove(0);
        self.sent.extend(effects.messages);
        effects.outcome
    }

    /// A partition of the first app that has received all that was sent to it.
    pub(crate) fn partition(&self, partition: u16) -> Node {
        let prefix = PartitionPrefix { partition: PartitionId(partition), ..APP };
        let mut node = Node::new(prefix, Settings::default());
        for delivery in self.sent_to(partition) {
            node.apply(&[deliver(delivery)]);
        }
        node
    }

    fn sent_to(&self, partition: u16) -> Vec<Delivery> {
        let target = target(partition);
        let sent = self.sent.iter().filter(|message| message.target == target);
        sent.map(|message| message.delivery.clone()).collect()
    }
}

fn target(partition: u16) -> PartitionRef {
    PartitionRef { app: AppId(1), partition: PartitionId(partition) }
}

fn define(app: &str, request: DefineRequest) -> Entry {
    at(NOW, Body::Define(Define { app: name(app), request }))
}

fn deliver(delivery: Delivery) -> Entry {
    at(NOW, Body::Delivery(delivery))
}

/// What an app is asked for, so that tests can say what is different.
struct App {
    partitions: u16,
    record_ids: RecordIdScheme,
    trust_level: TrustLevel,
    retention: Retention,
    keys_max: Option<u64>,
    limits: CommandLimits,
}

/// What is different.
type Different<'a> = &'a dyn Fn(&mut App);

fn with(change: impl Fn(&mut App)) -> DefineRequest {
    let mut app = App {
        partitions: 1,
        record_ids: RecordIdScheme::Single,
        trust_level: TrustLevel::Zero,
        retention: Retention::Milliseconds(1000),
        keys_max: Some(100),
        limits: CommandLimits::default(),
    };
    change(&mut app);
    let App { partitions, record_ids, trust_level, retention, keys_max, limits } = app;
    DefineRequest::App { partitions, record_ids, trust_level, retention, keys_max, limits }
}

fn kind(text: &str) -> DefineRequest {
    DefineRequest::Kind { name: name(text) }
}

fn record(text: &str, class: RecordClass, singleton: bool) -> DefineRequest {
    DefineRequest::Record { name: name(text), class, singleton }
}

/// A sequence, so that tests can say what is different.
#[derive(Clone)]
struct Sequence {
    kind: &'static str,
    ranges: Vec<(u64, u64)>,
    format: &'static str,
    reset: Reset,
    utc_offset_minutes: i16,
}

fn plain() -> Sequence {
    let (kind, ranges, format) = (DEFAULT_KIND, vec![(1, 9)], "{n}");
    Sequence { kind, ranges, format, reset: Reset::Never, utc_offset_minutes: 0 }
}

fn sequence(text: &str, sequence: Sequence) -> DefineRequest {
    let Sequence { kind, ranges, format, reset, utc_offset_minutes } = sequence;
    let (name, kind, format) = (name(text), name(kind), format.to_owned());
    DefineRequest::Sequence { name, kind, ranges, format, reset, utc_offset_minutes }
}

/// Something new.
fn defined(app: u32, version: u64) -> Result<Outcome, Refusal> {
    Ok(Outcome::Define(DefineOutcome { app: AppId(app), version, is_new: true }))
}

/// Nothing new.
fn same(app: u32, version: u64) -> Result<Outcome, Refusal> {
    Ok(Outcome::Define(DefineOutcome { app: AppId(app), version, is_new: false }))
}

fn invalid_field(outcome: Result<Outcome, Refusal>) -> String {
    match refusal(outcome) {
        Refusal::InvalidArgument { field, .. } => field,
        other => panic!("it cannot be meant: {other}"),
    }
}

#[test]
fn an_app_is_created_once_and_stays_as_it_is() {
    let mut system = System::new();
    assert_eq!(system.define("shop", with(|_| ())), defined(1, 1));
    let before = state(&system.node);
    assert_eq!(system.define("shop", with(|_| ())), same(1, 1));
    let others: [(Different<'_>, &str); 4] = [
        (&|app| app.partitions = 2, "partitions"),
        (&|app| app.record_ids = RecordIdScheme::Split, "record_ids"),
        (&|app| app.trust_level = TrustLevel::One, "trust_level"),
        (&|app| app.retention = Retention::Forever, "idempotency_retention"),
    ];
    for (other, setting) in others {
        let refused = refusal(system.define("shop", with(other)));
        assert_eq!(refused, Refusal::AppExists { setting });
    }
    // The limit of keys can be changed, so it says nothing about whether it is the same app.
    assert_eq!(system.define("shop", with(|app| app.keys_max = Some(101))), same(1, 1));
    assert_eq!(system.define("shop", with(|app| app.keys_max = None)), same(1, 1));
    // Limits cannot be asked for over HTTP. A release with others must still find the app the same.
    assert_eq!(system.define("shop", with(|app| app.limits.fields = 7)), same(1, 1));
    assert_eq!(state(&system.node), before);
    assert_eq!(system.sent.len(), 1);
}

#[test]
fn apps_are_counted_as_they_come_into_being() {
    let mut system = System::new();
    assert_eq!(system.define("one", with(|_| ())), defined(1, 1));
    assert_eq!(invalid_field(system.define("none", with(|app| app.partitions = 0))), "partitions");
    let no_app = refusal(system.define("none", kind("k")));
    assert_eq!(no_app, Refusal::AppNotFound(Some(NoApp { name: name("none"), similar: None })));
    assert_eq!(no_app.to_string(), "there is no app \"none\"");
    assert_eq!(system.define("two", with(|_| ())), defined(2, 1));
    assert_eq!(system.define("one", kind("k")), defined(1, 2));
    assert_eq!(system.define("two", kind("k")), defined(2, 2));
}

/// A format alone was a conflict: the members that were left out were taken for the defaults.
#[test]
fn what_is_left_out_is_the_default_of_a_new_sequence_and_stays_of_an_old_one() {
    let mut system = System::with_partitions(1);
    let members = |text, members| DefineRequest::SequenceMembers { name: name(text), members };
    let nothing = SequenceMembers::default;
    let format = |format: &str| SequenceMembers { format: Some(format.to_owned()), ..nothing() };

    assert_eq!(system.define("shop", members("ticket", nothing())), defined(1, 2));
    let all = vec![(1, NUMBER_MAX)];
    let whole = sequence("ticket", Sequence { ranges: all, ..plain() });
    assert_eq!(system.define("shop", whole), same(1, 2));
    let kind_alone = SequenceMembers { kind: Some(name(DEFAULT_KIND)), ..nothing() };
    assert_eq!(system.define("shop", members("ticket", kind_alone)), same(1, 2));

    let (reset, utc_offset_minutes) = (Reset::Yearly, 60);
    let yearly = Sequence { format: "INV-{n}", reset, utc_offset_minutes, ..plain() };
    assert_eq!(system.define("shop", sequence("invoice", yearly.clone())), defined(1, 3));
    assert_eq!(system.define("shop", members("invoice", nothing())), same(1, 3));
    assert_eq!(system.define("shop", members("invoice", format("R-{yyyy}-{n}"))), defined(1, 4));
    // Nothing but the format has changed, and who does not name it does not reset it.
    let renamed = sequence("invoice", Sequence { format: "R-{yyyy}-{n}", ..yearly });
    assert_eq!(system.define("shop", renamed), same(1, 4));
    let same_reset = SequenceMembers { reset: Some(Reset::Yearly), ..nothing() };
    assert_eq!(system.define("shop", members("invoice", same_reset)), same(1, 4));

    for changed in [
        SequenceMembers { reset: Some(Reset::Never), ..nothing() },
        SequenceMembers { utc_offset_minutes: Some(0), ..nothing() },
        SequenceMembers { ranges: Some(vec![(1, NUMBER_MAX)]), ..nothing() },
    ] {
        let refused = refusal(system.define("shop", members("invoice", changed)));
        assert_eq!(refused.code(), "DEFINITION_CONFLICT");
    }
    let unknown = SequenceMembers { kind: Some(name("none")), ..nothing() };
    assert_eq!(refusal(system.define("shop", members("x", unknown))).code(), "UNKNOWN_KIND");
    assert_eq!(invalid_field(system.define("shop", members("x", format("{yy}-{n}")))), "format");
    let empty = SequenceMembers { ranges: Some(Vec::new()), ..nothing() };
    assert_eq!(invalid_field(system.define("shop", members("x", empty))), "ranges");
}

#[test]
fn what_is_left_out_is_the_default_of_new_records_and_stays_of_old_ones() {
    let mut system = System::with_partitions(1);
    let members = |text, class, singleton| {
        let members = RecordMembers { class, singleton };
        DefineRequest::RecordMembers { name: name(text), members }
    };
    assert_eq!(system.define("shop", members("order", None, None)), defined(1, 2));
    assert_eq!(system.define("shop", record("order", RecordClass::C, false)), same(1, 2));
    assert_eq!(system.define("shop", record("settings", RecordClass::O, true)), defined(1, 3));
    for (class, singleton) in [(None, None), (Some(RecordClass::O), None), (None, Some(true))] {
        assert_eq!(system.define("shop", members("settings", class, singleton)), same(1, 3));
    }
    for (class, singleton) in [(Some(RecordClass::C), None), (None, Some(false))] {
        let refused = refusal(system.define("shop", members("settings", class, singleton)));
        assert_eq!(refused.code(), "DEFINITION_CONFLICT");
    }
}

#[test]
fn settings_lie_within_their_limits() {
    let most = CommandLimits::default();
    let bad: [(&str, Different<'_>); 17] = [
        ("partitions", &|app| app.partitions = 0),
        ("partitions", &|app| app.partitions = PARTITIONS_MAX + 1),
        ("idempotency_keys_max", &|app| app.keys_max = Some(0)),
        ("idempotency_keys_max", &|app| app.keys_max = Some(KEYS_MAX + 1)),
        ("idempotency_retention", &|app| app.retention = Retention::Milliseconds(0)),
        ("idempotency_retention", &|app| {
            app.retention = Retention::Milliseconds(RETENTION_MS_MAX + 1)
        }),
        ("limits.events", &|app| app.limits.events = 0),
        ("limits.events", &|app| app.limits.events = most.events + 1),
        ("limits.changes", &|app| app.limits.changes = most.changes + 1),
        ("limits.draws", &|app| app.limits.draws = most.draws + 1),
        ("limits.holes", &|app| app.limits.holes = most.holes + 1),
        ("limits.written_bytes", &|app| app.limits.written_bytes = most.written_bytes + 1),
        ("limits.bytes", &|app| app.limits.bytes = most.bytes + 1),
        ("limits.field_bytes", &|app| app.limits.field_bytes = most.field_bytes + 1),
        ("limits.fields", &|app| app.limits.fields = most.fields + 1),
        ("limits.record_bytes", &|app| app.limits.record_bytes = most.record_bytes + 1),
        ("limits.record_bytes", &|app| app.limits.record_bytes = 0),
    ];
    for (field, change) in bad {
        assert_eq!(invalid_field(System::new().define("shop", with(change))), field);
    }
    let edges: [Different<'_>; 5] = [
        &|app| app.partitions = PARTITIONS_MAX,
        &|app| app.keys_max = Some(KEYS_MAX),
        &|app| app.keys_max = None,
        &|app| app.retention = Retention::Milliseconds(RETENTION_MS_MAX),
        &|app| app.limits.events = 1,
    ];
    for change in edges {
        assert_eq!(System::new().define("shop", with(change)), defined(1, 1));
    }
}

fn limit(keys_max: Option<u64>) -> DefineRequest {
    DefineRequest::KeyLimit { keys_max }
}

#[test]
fn limit_of_keys_is_raised_lowered_and_removed_in_versions_like_all_definitions() {
    let mut system = System::with_partitions(2);
    let steps = [
        (limit(Some(100)), same(1, 1)),
        (limit(Some(101)), defined(1, 2)),
        (limit(Some(101)), same(1, 2)),
        (limit(Some(1)), defined(1, 3)),
        (limit(None), defined(1, 4)),
        (limit(None), same(1, 4)),
        (limit(Some(KEYS_MAX)), defined(1, 5)),
        (kind("depot"), defined(1, 6)),
    ];
    for (request, expected) in steps {
        assert_eq!(system.define("shop", request.clone()), expected, "{request:?}");
    }
    for partition in 0..2 {
        let node = system.partition(partition);
        let defined = node.machine().defined().unwrap();
        assert_eq!((defined.plain().version, defined.app().keys_max), (6, Some(KEYS_MAX)));
        assert!(defined.kind(&name("depot")).is_some());
    }
}

#[test]
fn limit_of_keys_is_an_event_of_the_system_app() {
    let mut system = System::with_partitions(1);
    let effects = system.node.apply(&[define("shop", limit(None))]).remove(0);
    let [event] = &effects.events[..] else { panic!("{effects:?}") };
    let changes = [Change::Define(Box::new(Definition::KeyLimit(None)))];
    assert_eq!((event.name.as_str(), &event.changes[..]), ("KeyLimitChanged", &changes[..]));
    assert_eq!((event.offset.get(), effects.messages.len()), (2, 1));
}

#[test]
fn limit_of_keys_that_no_app_can_have_is_refused() {
    let mut system = System::with_partitions(1);
    let before = state(&system.node);
    for keys_max in [Some(0), Some(KEYS_MAX + 1), Some(u64::MAX)] {
        assert_eq!(invalid_field(system.define("shop", limit(keys_max))), "idempotency_keys_max");
    }
    let no_app = Refusal::AppNotFound(Some(NoApp { name: name("none"), similar: None }));
    assert_eq!(refusal(system.define("none", limit(None))), no_app);
    let system_app = refusal(system.define("system", limit(None)));
    assert!(matches!(system_app, Refusal::PermissionDenied { .. }), "{system_app}");
    assert_eq!(state(&system.node), before);
}

#[test]
fn versions_count_what_changes_something() {
    let mut system = System::with_partitions(1);
    let steps = [
        (kind("depot"), defined(1, 2)),
        (kind("depot"), same(1, 2)),
        (kind(DEFAULT_KIND), same(1, 2)),
        (sequence("a", plain()), defined(1, 3)),
        (sequence("a", plain()), same(1, 3)),
        (sequence("a", Sequence { format: "A{n}", ..plain() }), defined(1, 4)),
        (sequence("a", Sequence { format: "A{n}", ..plain() }), same(1, 4)),
        (sequence("b", Sequence { kind: "depot", ..plain() }), defined(1, 5)),
        (record("order", RecordClass::C, false), defined(1, 6)),
        (record("order", RecordClass::C, false), same(1, 6)),
        (record("one", RecordClass::O, true), defined(1, 7)),
    ];
    for (request, expected) in steps {
        assert_eq!(system.define("shop", request), expected);
    }
    let offsets = system.node.events().into_iter().map(|event| event.offset.get());
    assert!(offsets.eq(1..=7), "a version is the offset of its event");
    let names = system.node.events().into_iter().map(|event| event.name.to_string());
    let expected = ["AppCreated", "KindDefined", "SequenceDefined", "SequenceDefined"];
    assert!(names.take(4).eq(expected.map(str::to_owned)));
    assert_eq!(seriatim_core::receipt(&system.node.events()[..1]), None, "no client sent it");
}

#[test]
fn only_the_format_of_a_sequence_may_change() {
    let mut system = System::with_partitions(1);
    drop(system.define("shop", kind("depot")));
    drop(system.define("shop", sequence("a", plain())));
    let before = state(&system.node);
    let others = [
        Sequence { kind: "depot", ..plain() },
        Sequence { ranges: vec![(1, 10)], ..plain() },
        Sequence { ranges: vec![(1, 5), (6, 9)], ..plain() },
        Sequence { reset: Reset::Yearly, ..plain() },
        Sequence { utc_offset_minutes: 60, ..plain() },
        Sequence { utc_offset_minutes: 60, format: "new {n}", ..plain() },
    ];
    for other in others {
        let refusal = refusal(system.define("shop", sequence("a", other)));
        assert_eq!(refusal.code(), "DEFINITION_CONFLICT");
    }
    assert_eq!(state(&system.node), before);
}

#[test]
fn a_record_kind_stays_as_it_is() {
    let mut system = System::with_partitions(1);
    drop(system.define("shop", record("order", RecordClass::C, false)));
    for other in [record("order", RecordClass::O, false), record("order", RecordClass::C, true)] {
        assert_eq!(refusal(system.define("shop", other)).code(), "DEFINITION_CONFLICT");
    }
}

#[test]
fn a_sequence_that_nobody_could_draw_from_is_refused() {
    let mut system = System::with_partitions(1);
    let bad = [
        ("ranges", Sequence { ranges: Vec::new(), ..plain() }),
        ("ranges", Sequence { ranges: vec![(0, 9)], ..plain() }),
        ("ranges", Sequence { ranges: vec![(1, 5), (5, 9)], ..plain() }),
        ("format", Sequence { format: "no number", ..plain() }),
        ("format", Sequence { format: "{n}\n", ..plain() }),
        ("utc_offset", Sequence { utc_offset_minutes: 841, ..plain() }),
        ("utc_offset", Sequence { utc_offset_minutes: -721, ..plain() }),
    ];
    for (field, bad) in bad {
        assert_eq!(invalid_field(system.define("shop", sequence("a", bad.clone()))), field);
    }
    let unknown = system.define("shop", sequence("a", Sequence { kind: "none", ..plain() }));
    let field = "kind".to_owned();
    assert_eq!(refusal(unknown), Refusal::UnknownKind { name: name("none"), field });
    assert_eq!(system.define("shop", sequence("a", plain())), defined(1, 2));
}

/// Defines things until there is no room, and returns how many there are then.
fn fill(system: &mut System, request: impl Fn(usize) -> DefineRequest) -> (usize, Refusal) {
    for count in 0..1000 {
        match system.define("shop", request(count)) {
            Err(refusal) => return (count, refusal),
            outcome => {
                assert!(matches!(outcome, Ok(Outcome::Define(DefineOutcome { is_new: true, .. }))))
            }
        }
    }
    panic!("there is a limit")
}

#[test]
fn an_app_has_so_many_kinds_and_a_kind_so_many_sequences() {
    let mut system = System::with_partitions(1);
    let (count, refusal) = fill(&mut system, |index| kind(&format!("k{index}")));
    let full = Refusal::TooLarge { what: "kinds of workspaces", max: 256, found: 257 };
    assert_eq!((count, refusal), (255, full), "with the default one");
    let (count, refusal) = fill(&mut system, |index| sequence(&format!("s{index}"), plain()));
    let full = Refusal::TooLarge { what: "sequences of a kind", max: 64, found: 65 };
    assert_eq!((count, refusal), (61, full), "with those that are built in");
    let elsewhere = Sequence { kind: "k254", ..plain() };
    assert_eq!(system.define("shop", sequence("more", elsewhere)), defined(1, 318));
    assert_eq!(system.define("shop", kind("k7")), same(1, 318), "what is there still is");
    let node = system.partition(0);
    assert_eq!(node.machine().defined().unwrap().plain().sequences.len(), 62);
}

/// The system app with other definitions of its first app than were made.
fn planted(change: impl Fn(&mut Definitions)) -> Bare {
    let system = System::with_partitions(1);
    let mut bare = Bare::of(&system.node, SYSTEM);
    let key = seriatim_codec::app_key(SYSTEM, WorkspaceId(1 << 40));
    let row = bare.stored.get_mut(&RowId { table: Table::Partition, key }).unwrap();
    let mut definitions = Definitions::from_bytes(row).unwrap();
    change(&mut definitions);
    *row = definitions.to_bytes();
    bare
}

#[test]
fn an_app_has_so_many_sequences_and_record_kinds() {
    let of_all = |count: usize| {
        let mut bare = planted(|definitions| {
            let kind = |id: u16| KindDefinition { name: name(&format!("k{id}")), id: KindId(id) };
            definitions.kinds = (1..=80).map(kind).collect();
            let sequence = |index: usize| SequenceDefinition {
                name: name(&format!("s{index}")),
                id: seriatim_types::SequenceId(256 + index as u16),
                kind: KindId((index / 60) as u16),
                ranges: vec![(1, 9)],
                format: "{n}".to_owned(),
                reset: Reset::Never,
                utc_offset_minutes: 0,
            };
            definitions.sequences = (0..count).map(sequence).collect();
        });
        let wanted = sequence("more", Sequence { kind: "k80", ..plain() });
        bare.apply(&define("shop", wanted)).unwrap().outcome
    };
    assert!(matches!(
        of_all(SEQUENCES_MAX - 1),
        Ok(Outcome::Define(DefineOutcome { is_new: true, .. }))
    ));
    let full = Refusal::TooLarge { what: "sequences of an app", max: 4096, found: 4097 };
    assert_eq!(refusal(of_all(SEQUENCES_MAX)), full);

    let of_all = |count: usize| {
        let mut bare = planted(|definitions| {
            let record = |index: usize| seriatim_types::RecordDefinition {
                name: name(&format!("r{index}")),
                class: RecordClass::C,
                singleton: None,
            };
            definitions.records = (0..count).map(record).collect();
        });
        let wanted = record("more", RecordClass::C, false);
        bare.apply(&define("shop", wanted)).unwrap().outcome
    };
    assert!(matches!(
        of_all(RECORD_KINDS_MAX - 1),
        Ok(Outcome::Define(DefineOutcome { is_new: true, .. }))
    ));
    let full = Refusal::TooLarge { what: "kinds of records", max: 4096, found: 4097 };
    assert_eq!(refusal(of_all(RECORD_KINDS_MAX)), full);
}

#[test]
fn every_partition_is_sent_every_step_in_one_order() {
    let mut system = System::with_partitions(3);
    drop(system.define("shop", kind("depot")));
    drop(system.define("shop", kind("depot")));
    drop(system.define("shop", sequence("a", plain())));
    for partition in 0..3 {
        let sent = system.sent_to(partition);
        let numbers = sent.iter().map(|delivery| {
            let Message::Definition { version, .. } = &delivery.message;
            assert_eq!(
                delivery.source,
                PartitionRef { app: SYSTEM_APP, partition: PartitionId(0) }
            );
            (delivery.number, *version)
        });
        assert!(numbers.eq([(1, 1), (2, 2), (3, 3)]));
    }
    let [one, other] = [0, 2].map(|partition| system.partition(partition));
    let plain = |node: &Node| node.machine().defined().unwrap().plain().clone();
    assert_eq!(plain(&one), plain(&other));
    assert_eq!(plain(&one).version, 3);
}

#[test]
fn definitions_hold_after_a_restart() {
    let mut system = System::with_partitions(1);
    drop(system.define("shop", sequence("a", Sequence { format: "A{n}", ..plain() })));
    let mut node = system.partition(0);
    let before = node.machine().defined().cloned();
    node.restart();
    system.node.restart();
    assert_eq!(node.machine().defined().cloned(), before);
    assert_eq!(system.define("shop", kind("depot")), defined(1, 3));
}

#[test]
fn a_repeated_delivery_has_no_effect() {
    let mut system = System::with_partitions(1);
    drop(system.define("shop", kind("depot")));
    let mut node = system.partition(0);
    let before = state(&node);
    for delivery in system.sent_to(0) {
        let effects = node.apply(&[deliver(delivery)]).remove(0);
        assert_eq!(
            effects.outcome,
            Ok(Outcome::Delivery(DeliveryOutcome::Received { is_new: false }))
        );
        assert!(effects.writes.is_empty());
    }
    assert_eq!(state(&node), before);
}

#[test]
fn a_delivery_that_comes_too_early_is_not_taken() {
    let mut system = System::with_partitions(1);
    drop(system.define("shop", kind("one")));
    drop(system.define("shop", kind("two")));
    let mut sent = system.sent_to(0).into_iter();
    let [first, second, third] = [(); 3].map(|()| sent.next().unwrap());
    let mut node = Node::new(APP, Settings::default());
    let mut take = |delivery: &Delivery| {
        let before = state(&node);
        let outcome = node.apply(&[deliver(delivery.clone())]).remove(0).outcome;
        if matches!(outcome, Ok(Outcome::Delivery(DeliveryOutcome::OutOfOrder { .. }))) {
            assert_eq!(state(&node), before);
        }
        outcome
    };
    assert_eq!(take(&third), Ok(Outcome::Delivery(DeliveryOutcome::OutOfOrder { expected: 1 })));
    assert_eq!(take(&first), Ok(Outcome::Delivery(DeliveryOutcome::Received { is_new: true })));
    assert_eq!(take(&third), Ok(Outcome::Delivery(DeliveryOutcome::OutOfOrder { expected: 2 })));
    assert_eq!(take(&second), Ok(Outcome::Delivery(DeliveryOutcome::Received { is_new: true })));
    assert_eq!(take(&third), Ok(Outcome::Delivery(DeliveryOutcome::Received { is_new: true })));
}

/// Delivers a step of the definitions as the next message to the app's partition, which cannot
/// go on: nothing has changed then.
pub(crate) fn fault(node: &Node, version: u64, definition: Definition) -> Fault {
    let mut bare = Bare::of(node, APP);
    let source = PartitionRef { app: SYSTEM_APP, partition: PartitionId(0) };
    let version_now = bare.machine.defined().map_or(0, |defined| defined.plain().version);
    let message = Message::Definition { version, definition: Box::new(definition) };
    let entry = deliver(Delivery { source, number: version_now + 1, message });
    let before = (bare.machine.defined().cloned(), bare.machine.row().clone());
    let mut rows = bare.fetched(&bare.read_set(&entry));
    let rows_before = format!("{rows:?}");
    let fault = bare.apply_on(&entry, &mut rows).unwrap_err();
    assert_eq!((bare.machine.defined().cloned(), bare.machine.row().clone()), before);
    assert_eq!(format!("{rows:?}"), rows_before);
    fault
}

#[test]
fn a_version_that_does_not_follow_stops_the_partition() {
    let node = System::with_partitions(1).partition(0);
    let depot = || Definition::Kind(KindDefinition { name: name("depot"), id: KindId(1) });
    for found in [0, 1, 3, 9] {
        let expected = Fault::Definitions(StepError::Version { expected: 2, found });
        assert_eq!(fault(&node, found, depot()), expected);
    }
    let empty = Node::new(APP, Settings::default());
    let app = || Definition::App(node.machine().defined().unwrap().app().clone());
    let expected = Fault::Definitions(StepError::Version { expected: 1, found: 2 });
    assert_eq!(fault(&empty, 2, app()), expected);
}

#[test]
fn an_app_that_is_not_the_first_step_or_comes_twice_stops_the_partition() {
    let node = System::with_partitions(1).partition(0);
    let app = Definition::App(node.machine().defined().unwrap().app().clone());
    let again = fault(&node, 2, app);
    assert!(
        matches!(again, Fault::Definitions(StepError::Unfounded { version: 2, .. })),
        "{again:?}"
    );
    let empty = Node::new(APP, Settings::default());
    let depot = Definition::Kind(KindDefinition { name: name("depot"), id: KindId(1) });
    let first = fault(&empty, 1, depot);
    assert!(
        matches!(first, Fault::Definitions(StepError::Unfounded { version: 1, .. })),
        "{first:?}"
    );
}

/// The messages to a partition that are in the outbox, with the events that they point to.
fn outbox(system: &System, partition: u16) -> Vec<(u64, u64)> {
    let rows = system.node.rows().iter().filter(|(row, _)| row.table == Table::Partition);
    let messages = rows.filter_map(|(row, value)| {
        let (to, number) = seriatim_codec::decode_outbox_key(&row.key).ok()?;
        (to == target(partition)).then(|| (number, OutboxPointer::decode(value).unwrap()))
    });
    messages.map(|(number, pointer)| (number, pointer.event.get())).collect()
}

fn delivered(system: &mut System, partition: u16, first: u64, through: u64) -> Effects {
    let body = Body::Delivered(Delivered { target: target(partition), first, through });
    system.node.apply(&[at(NOW, body)]).remove(0)
}

#[test]
fn a_message_stays_in_the_outbox_until_it_has_reached_its_partition() {
    let mut system = System::with_partitions(2);
    drop(system.define("other", with(|_| ())));
    drop(system.define("shop", kind("one")));
    drop(system.define("shop", kind("two")));
    assert_eq!(outbox(&system, 0), [(1, 1), (2, 3), (3, 4)]);
    assert_eq!(delivered(&mut system, 0, 1, 2).outcome, Ok(Outcome::Delivered));
    assert_eq!(outbox(&system, 0), [(3, 4)]);
    assert_eq!(outbox(&system, 1), [(1, 1), (2, 3), (3, 4)], "the other partition's stay");
    delivered(&mut system, 0, 1, 3);
    assert_eq!(outbox(&system, 0), []);
    system.node.restart();
    drop(system.define("shop", kind("three")));
    assert_eq!(outbox(&system, 0), [(4, 5)], "numbers go on");
    assert_eq!(system.sent_to(0).pop().unwrap().number, 4);
}

#[test]
fn a_message_points_to_its_change_within_its_event() {
    let system = System::with_partitions(1);
    let mut event = system.node.events().remove(0);
    event.changes.insert(0, Change::Draw { number: 0 });
    let mut bare = Bare::of(&System::new().node, SYSTEM);
    let mut rows = Rows::new();
    let wanted = bare.machine.read_set_of_event(&event, &rows).rows;
    wanted.into_iter().for_each(|row| rows.fetched(row, None));
    let writes = bare.machine.evolve(&event, event.to_bytes(), &mut rows).unwrap();
    let key = seriatim_codec::outbox_key(SYSTEM, target(0), 1);
    let message = writes.iter().find(|write| write.row.key == key).unwrap();
    let pointer = OutboxPointer { event: event.partition_offset, change: 1 };
    assert_eq!(message.change, RowChange::Put(pointer.encode()));
}

#[test]
fn one_entry_removes_a_bounded_number_of_messages() {
    let mut system = System::with_partitions(1);
    for (first, through, count) in
        [(1, u64::MAX, DELIVERED_MAX), (u64::MAX, u64::MAX, 1), (2, 1, 0)]
    {
        let writes = delivered(&mut system, 0, first, through).writes;
        assert_eq!(writes.len() as u64, count);
        assert!(writes.iter().all(|write| write.change == RowChange::Delete));
    }
}

#[test]
fn a_partition_without_definitions_knows_no_app() {
    let mut node = Node::new(APP, Settings::default());
    let command = seriatim_testkit::core::command(
        "pos-4",
        seriatim_types::Key([1; 16]),
        "1",
        changes("{'set': {'key': 'k', 'value': 1}}"),
    );
    let declare = Declare { workspace: WorkspaceRef::Id(WorkspaceId(1)), kind: name(DEFAULT_KIND) };
    let before = state(&node);
    for body in [Body::Command(command.clone()), Body::Declare(declare)] {
        let outcome = node.apply(&[at(NOW, body)]).remove(0).outcome;
        let refused = refusal(outcome);
        assert_eq!(refused, Refusal::AppNotFound(None));
        assert_eq!(refused.of_app(&name("shop")).to_string(), "there is no app \"shop\"");
    }
    assert_eq!(state(&node), before);
    let first = System::with_partitions(1).sent_to(0).remove(0);
    let outcome = |node: &mut Node| {
        let batch = [deliver(first.clone()), at(NOW, Body::Command(command.clone()))];
        node.apply(&batch).pop().unwrap().outcome
    };
    assert_eq!(receipt(outcome(&mut node)).first_partition_offset.get(), 1);
}

#[test]
fn the_system_app_takes_definitions_and_the_others_take_commands() {
    let mut shop = Shop::default();
    let command = shop.command("shop", changes("{'set': {'key': 'k', 'value': 1}}"));
    let workspace = WorkspaceRef::Name(name("shop"));
    let declare = Body::Declare(Declare { workspace, kind: name(DEFAULT_KIND) });
    let before = state(&shop.system);
    for body in [Body::Command(command), declare] {
        let outcome = shop.system.apply(&[at(NOW, body)]).remove(0).outcome;
        assert_eq!(refusal(outcome).code(), "PERMISSION_DENIED");
    }
    assert_eq!(state(&shop.system), before);
    let before = state(&shop.node);
    let outcome = shop.node.apply(&[define("shop", kind("k"))]).remove(0).outcome;
    assert_eq!(refusal(outcome).code(), "PERMISSION_DENIED");
    assert_eq!(state(&shop.node), before);
}

#[test]
fn what_is_defined_between_two_entries_of_a_batch_holds_for_the_second() {
    let mut shop = Shop::default();
    let request = sequence("late", plain());
    let late = "{'draw': {'sequence': 'late'}}";
    let entry = |shop: &mut Shop| at(NOW, Body::Command(shop.command("1", changes(late))));
    let [early, then] = [entry(&mut shop), entry(&mut shop)];
    let effects = shop.system.apply(&[define("shop", request)]).remove(0);
    let delivery = deliver(effects.messages[0].delivery.clone());
    let mut outcomes = shop.node.apply(&[early, delivery, then]).into_iter().map(|it| it.outcome);
    assert_eq!(refusal(outcomes.next().unwrap()).code(), "UNKNOWN_SEQUENCE");
    assert_eq!(
        outcomes.next(),
        Some(Ok(Outcome::Delivery(DeliveryOutcome::Received { is_new: true })))
    );
    assert_eq!(drawn(&receipt(outcomes.next().unwrap())), ["late 1 1"]);
    assert_eq!(drawn(&done(&mut shop, late)), ["late 2 2"]);
}

#[test]
fn an_app_and_its_definitions_can_come_in_one_batch() {
    let mut system = System::new();
    let batch = [
        define("shop", with(|_| ())),
        define("shop", kind("depot")),
        define("shop", kind("depot")),
        define("other", with(|_| ())),
        define("shop", sequence("a", Sequence { kind: "depot", ..plain() })),
    ];
    let outcomes = system.node.apply(&batch).into_iter().map(|effects| effects.outcome);
    let expected = [defined(1, 1), defined(1, 2), same(1, 2), defined(2, 1), defined(1, 3)];
    assert!(outcomes.eq(expected));
}
