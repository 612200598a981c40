//! The machine and the model, given the same random histories.
//!
//! `SERIATIM_SEEDS=2000` runs so many histories in each test instead of a few.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::slice;

use bytes::Bytes;
use seriatim_codec::{
    KeyBytes, PartitionPrefix, Stored, Table, decode_expiry_key, workspace_name_key,
    workspace_row_key,
};
use seriatim_core::{
    CommandOutcome, Effects, Machine, Outcome, ReadSet, RowChange, RowId, Rows, SYSTEM_APP, Write,
    receipt,
};
use seriatim_sequencer::{Row, RowKey, RowsRead, Settings};
use seriatim_testkit::core::{Answer, Applied, Dice, History, Model, Node, Shop, changes};
use seriatim_types::limits::TICK_ITEMS_MAX;
use seriatim_types::{
    Body, Change, Definition, DueEntity, DueKey, Entry, Event, Incarnation, PartitionRef,
    PartitionRow, Tick, Time,
};

/// Steps of one history.
const STEPS: usize = 250;
/// So many histories show everything that can come of an entry.
const HISTORIES: u64 = 70;

fn seeds(short: u64) -> Range<u64> {
    let asked = std::env::var("SERIATIM_SEEDS");
    0..asked.map_or(short, |count| count.parse().expect("SERIATIM_SEEDS is a count"))
}

fn prefix_of(partition: PartitionRef) -> PartitionPrefix {
    let PartitionRef { app, partition } = partition;
    PartitionPrefix { app, partition, incarnation: Incarnation(1) }
}

#[test]
fn random_histories_agree_with_the_model_entry_by_entry() {
    let mut seen = Seen::default();
    for seed in seeds(HISTORIES) {
        let history = History::random(seed, STEPS);
        for (partition, entries) in history.partitions() {
            let mut node = Node::new(prefix_of(partition), Settings::default());
            let mut model = Model::new(partition);
            for (entry, index) in entries.iter().zip(0..) {
                let expected = model.apply(entry);
                let effects = node.apply(slice::from_ref(entry)).remove(0);
                let found = Applied::of(&effects);
                assert_eq!(found, expected, "seed {seed}, entry {index}: {entry:#?}");
                check_repetition(&node, &model, &expected.answer);
                if index % 50 == 0 {
                    model.check_stored(&node);
                    assert_eq!(node.tick(entry.time, 3), model.tick(entry.time, 3));
                }
                seen.add(&expected);
            }
            model.check_stored(&node);
        }
    }
    if seeds(HISTORIES).end >= HISTORIES {
        seen.check();
    }
}

/// The receipt of a repeated command is made of its stored events, and is the same.
fn check_repetition(node: &Node, model: &Model, answer: &Answer) {
    let Answer::Duplicate { first, count } = answer else { return };
    let from = usize::try_from(first.get()).unwrap() - 1;
    let count = usize::try_from(*count).unwrap();
    assert_eq!(receipt(&node.events()[from..from + count]).as_ref(), model.receipt(*first));
}

#[test]
fn any_grouping_of_entries_gives_the_same_bytes() {
    let roomy = Settings { unflushed_rows_max: 10_000, ..Settings::default() };
    let tight = Settings { cached_rows_max: 1, ..roomy };
    for seed in seeds(12) {
        let history = History::random(seed, STEPS);
        for (partition, entries) in history.partitions() {
            let one_by_one = Run::new(partition, roomy, entries, |_| 1, |_| {});
            for settings in [roomy, tight] {
                let all_at_once = Run::new(partition, settings, entries, |left| left, |_| {});
                one_by_one.check_same(&all_at_once, seed);
                let (mut sizes, mut troubles) = (Dice::new(seed), Dice::new(seed + 1));
                let size = |left: usize| 1 + sizes.index_below(left.min(40));
                let trouble = |node: &mut Node| match troubles.below(4) {
                    0 => node.checkpoint(),
                    1 => node.restart(),
                    _ => {}
                };
                let troubled = Run::new(partition, settings, entries, size, trouble);
                one_by_one.check_same(&troubled, seed);
            }
        }
    }
}

/// A history that was applied in some manner.
struct Run {
    applied: Vec<Applied>,
    node: Node,
    numbers: BTreeMap<RowKey, Row>,
}

impl Run {
    fn new(
        partition: PartitionRef,
        settings: Settings,
        mut entries: &[Entry],
        mut size: impl FnMut(usize) -> usize,
        mut between: impl FnMut(&mut Node),
    ) -> Self {
        let mut node = Node::new(prefix_of(partition), settings);
        let mut applied = Vec::new();
        while !entries.is_empty() {
            let (group, rest) = entries.split_at(size(entries.len()));
            applied.extend(node.apply(group).iter().map(Applied::of));
            between(&mut node);
            entries = rest;
        }
        let keys = node.events().into_iter().flat_map(|event| {
            let client = event.origin.map(|it| RowKey::Client(event.workspace, it.client));
            [RowKey::Workspace(event.workspace)].into_iter().chain(client)
        });
        let numbers = keys.map(|key| (key.clone(), node.numbers(&key).expect("of an event")));
        let numbers = numbers.collect();
        Self { applied, node, numbers }
    }

    fn check_same(&self, other: &Self, seed: u64) {
        assert_eq!(self.applied, other.applied, "seed {seed}");
        check_same_rows(self.node.rows(), other.node.rows(), seed);
        assert_eq!(self.node.tree(), other.node.tree(), "seed {seed}");
        assert_eq!(self.numbers, other.numbers, "seed {seed}");
    }
}

#[test]
fn the_same_history_twice_gives_the_same_bytes() {
    let run = |seed| {
        let history = History::random(seed, STEPS);
        let run = |(partition, entries): (PartitionRef, &[Entry])| {
            let mut node = Node::new(prefix_of(partition), Settings::default());
            let apply = |entry| node.apply(slice::from_ref(entry)).remove(0);
            let effects: Vec<Effects> = entries.iter().map(apply).collect();
            (format!("{entries:?} {effects:?}"), node.rows().clone(), node.tree().clone())
        };
        history.partitions().map(run)
    };
    for seed in seeds(6) {
        assert!(run(seed) == run(seed), "seed {seed}");
    }
}

/// The log, the records, the entities, the keys and the workspaces that have events follow from the
/// events. What does not: what was swept (it was absent already), what was declared and never
/// used, definitions that were received and how far, and which messages have arrived elsewhere.
#[test]
fn replaying_the_events_alone_gives_the_same_tables() {
    for seed in seeds(20) {
        let history = History::random(seed, STEPS);
        for (partition, entries) in history.partitions() {
            let prefix = prefix_of(partition);
            let mut node = Node::new(prefix, Settings::default());
            let mut apply = |entry| node.apply(slice::from_ref(entry)).remove(0);
            let effects: Vec<Effects> = entries.iter().map(&mut apply).collect();
            let mut replay = Replay::new(prefix, &node);
            for (entry, effects) in entries.iter().zip(&effects) {
                effects.events.iter().for_each(|event| replay.evolve(&event.to_bytes()));
                if let Body::Delivered(_) = entry.body {
                    replay.apply(entry);
                }
            }
            let end = node.machine().row().time.expect("something was applied");
            for tick in all_due(node.rows(), end) {
                node.apply(&[tick]);
            }
            for tick in all_due(&replay.stored, end) {
                replay.apply(&tick);
            }
            replay.check_same(&node, seed);
        }
    }
}

/// Tables that are made of events.
struct Replay {
    prefix: PartitionPrefix,
    machine: Machine,
    stored: BTreeMap<RowId, Bytes>,
}

impl Replay {
    /// Nothing but what is defined in the end.
    fn new(prefix: PartitionPrefix, node: &Node) -> Self {
        let definitions = node.stored(&Machine::definitions_row_id(prefix));
        let machine = Machine::open(prefix, None, definitions, Settings::default()).unwrap();
        Self { prefix, machine, stored: BTreeMap::new() }
    }

    fn evolve(&mut self, bytes: &Bytes) {
        let event = Event::from_bytes(bytes).unwrap();
        let mut rows = self.fetch(|machine, rows| machine.read_set_of_event(&event, rows));
        let writes = self.machine.evolve(&event, bytes.clone(), &mut rows).unwrap();
        self.write(writes);
    }

    fn apply(&mut self, entry: &Entry) {
        let mut rows = self.fetch(|machine, rows| machine.read_set(entry, rows));
        let numbers = RowsRead::new(self.machine.sequencer().stamp(), []);
        let effects = self.machine.apply(entry, &mut rows, &numbers).unwrap();
        self.write(effects.writes);
    }

    fn fetch(&self, read_set: impl Fn(&Machine, &Rows) -> ReadSet) -> Rows {
        let mut rows = Rows::new();
        loop {
            let set = read_set(&self.machine, &rows);
            for row in set.rows {
                let value = self.stored.get(&row).cloned();
                rows.fetched(row, value);
            }
            if set.is_complete {
                return rows;
            }
        }
    }

    fn write(&mut self, writes: Vec<Write>) {
        for Write { row, change } in writes {
            match change {
                RowChange::Put(value) => drop(self.stored.insert(row, value)),
                RowChange::Insert(value) => {
                    let before = self.stored.insert(row, value);
                    assert_eq!(before, None, "what is inserted was not there");
                }
                RowChange::Delete => drop(self.stored.remove(&row)),
            }
        }
    }

    fn check_same(mut self, node: &Node, seed: u64) {
        let known = |row: &PartitionRow| (row.time, row.offset, row.keys);
        assert_eq!(known(self.machine.row()), known(node.machine().row()), "seed {seed}");
        // In the system app all of the partition's own rows follow from events.
        let is_system = self.prefix.app == SYSTEM_APP;
        if is_system {
            self.write(vec![self.machine.partition_write()]);
        }
        let events = node.events();
        let workspaces = events.iter().map(|it| workspace_row_key(self.prefix, it.workspace));
        let names = events.iter().filter_map(|event| event.workspace_name.as_ref());
        let names = names.map(|name| workspace_name_key(self.prefix, name));
        let born: BTreeSet<KeyBytes> = workspaces.chain(names).collect();
        let follows =
            |row: &RowId| row.table != Table::Partition || is_system || born.contains(&row.key);
        let expected = node.rows().iter().filter(|(row, _)| follows(row));
        let expected = expected.map(|(row, value)| (row.clone(), value.clone())).collect();
        check_same_rows(&self.stored, &expected, seed);
    }
}

fn check_same_rows(found: &BTreeMap<RowId, Bytes>, expected: &BTreeMap<RowId, Bytes>, seed: u64) {
    for row in found.keys().chain(expected.keys()) {
        assert_eq!(found.get(row), expected.get(row), "seed {seed}, {row:?}");
    }
}

/// Ticks that name everything that may be over, each of them not too much. The last one names
/// nothing: it only says what time it is.
fn all_due(rows: &BTreeMap<RowId, Bytes>, time: Time) -> Vec<Entry> {
    let of = |table| rows.iter().filter(move |(row, _)| row.table == table);
    let expiries = of(Table::Entities).filter_map(|(row, _)| decode_expiry_key(&row.key).ok());
    let entities: Vec<DueEntity> = expiries
        .map(|(expires_at, workspace, key)| DueEntity { workspace, key, expires_at })
        .collect();
    let events = of(Table::Log).map(|(_, bytes)| Event::from_bytes(bytes).unwrap());
    let keys: Vec<DueKey> = events
        .filter_map(|event| Some((event.workspace, event.origin?)))
        .map(|(workspace, it)| DueKey { workspace, client: it.client, key: it.key })
        .collect();
    let none = Tick::default;
    let entities = entities.chunks(TICK_ITEMS_MAX).map(<[_]>::to_vec);
    let entities = entities.map(|entities| Tick { entities, ..none() });
    let keys = keys.chunks(TICK_ITEMS_MAX).map(<[_]>::to_vec).map(|keys| Tick { keys, ..none() });
    let ticks = entities.chain(keys).chain([none()]);
    ticks.map(|tick| Entry { time, body: Body::Tick(tick) }).collect()
}

#[test]
fn sixty_four_commands_of_one_client_in_any_order_have_client_sequences_1_to_64() {
    for seed in seeds(10) {
        let mut dice = Dice::new(seed);
        let mut shop = Shop::default();
        let commands = (0..64).map(|_| Body::Command(shop.command("store-1", changes(""))));
        let bodies: Vec<Body> = commands.collect();
        let entry = |body| Entry { time: shop.now, body };
        // Each comes twice, and only the first time counts.
        let mut entries: Vec<Entry> =
            [bodies.clone(), bodies].concat().into_iter().map(entry).collect();
        entries.sort_by_cached_key(|_| dice.next_u64());
        let mut outcomes = Vec::new();
        let mut rest = entries.as_slice();
        while !rest.is_empty() {
            let (group, behind) = rest.split_at(1 + dice.index_below(rest.len()));
            outcomes.extend(shop.node.apply(group).into_iter().map(|effects| effects.outcome));
            rest = behind;
        }
        let sequences = outcomes.into_iter().filter_map(|outcome| match outcome {
            Ok(Outcome::Command(CommandOutcome::Committed(receipt))) => {
                Some(receipt.client_sequence.get())
            }
            _ => None,
        });
        assert!(sequences.eq(1..=64), "seed {seed}");
    }
}

/// How often something came of an entry.
#[derive(Debug, Default)]
struct Seen(BTreeMap<&'static str, usize>);

impl Seen {
    /// Everything that can come of an entry.
    const ALL: &[&str] = &[
        "committed",
        "duplicate",
        "declared anew",
        "declared again",
        "keys swept",
        "entities swept",
        "nothing swept",
        "received anew",
        "received again",
        "out of order",
        "removed",
        "defined anew",
        "defined again",
        // Refusals.
        "INVALID_ARGUMENT",
        "UNKNOWN_SEQUENCE",
        "UNKNOWN_KIND",
        "PERMISSION_DENIED",
        "APP_NOT_FOUND",
        "RECORD_NOT_FOUND",
        "APP_EXISTS",
        "DEFINITION_CONFLICT",
        "KIND_CONFLICT",
        "RECORD_EXISTS",
        "SINGLETON_EXISTS",
        "SEQUENCE_EXHAUSTED",
        "KEY_EXISTS",
        "KEY_NOT_FOUND",
        "VERSION_MISMATCH",
        "VALUE_MISMATCH",
        "OFFSET_MISMATCH",
        "TOO_LARGE",
        "IDEMPOTENCY_KEY_REUSED",
        "KEY_WINDOW_FULL",
        "DEADLINE_EXCEEDED",
        // Parts of events.
        "one of several events",
        "number",
        "number of a year",
        "record created",
        "record created below another",
        "singleton created",
        "record imported",
        "record updated",
        "record deleted",
        "entity set",
        "entity set for a while",
        "entity unset",
        "absent entity unset",
        "number drawn alone",
        "app defined",
        "kind defined",
        "sequence defined",
        "record kind defined",
        "key limit set",
        "key limit removed",
    ];

    fn add(&mut self, applied: &Applied) {
        self.count(match &applied.answer {
            Answer::Committed(_) => "committed",
            Answer::Duplicate { .. } => "duplicate",
            Answer::Refused(refused) => refused.code,
            Answer::Declared { is_new: true, .. } => "declared anew",
            Answer::Declared { is_new: false, .. } => "declared again",
            Answer::Swept { keys: 1.., .. } => "keys swept",
            Answer::Swept { entities: 1.., .. } => "entities swept",
            Answer::Swept { .. } => "nothing swept",
            Answer::Received { is_new: true } => "received anew",
            Answer::Received { is_new: false } => "received again",
            Answer::OutOfOrder { .. } => "out of order",
            Answer::Removed => "removed",
            Answer::Defined { is_new: true, .. } => "defined anew",
            Answer::Defined { is_new: false, .. } => "defined again",
        });
        for event in &applied.events {
            if event.count > 1 {
                self.count("one of several events");
            }
            for drawn in &event.numbers {
                self.count(if drawn.year.is_some() { "number of a year" } else { "number" });
            }
            event.changes.iter().for_each(|change| self.count(kind_of(change)));
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    fn check(&self) {
        for what in Self::ALL {
            let count = self.0.get(what).copied().unwrap_or(0);
            assert!(count >= 5, "{what:?} was seen {count} times: {self:#?}");
        }
    }
}

fn kind_of(change: &Change) -> &'static str {
    match change {
        Change::Create { raw: None, .. } => "record imported",
        Change::Create { id, .. } if id.get() < 200_000 => "singleton created",
        Change::Create { parent: Some(_), .. } => "record created below another",
        Change::Create { .. } => "record created",
        Change::Update { .. } => "record updated",
        Change::Delete { .. } => "record deleted",
        Change::Set { expires_at: Some(_), .. } => "entity set for a while",
        Change::Set { expires_at: None, .. } => "entity set",
        Change::Unset { version: Some(_), .. } => "entity unset",
        Change::Unset { version: None, .. } => "absent entity unset",
        Change::Draw { .. } => "number drawn alone",
        Change::Define(definition) => match **definition {
            Definition::App(_) => "app defined",
            Definition::Kind(_) => "kind defined",
            Definition::Sequence(_) => "sequence defined",
            Definition::Record(_) => "record kind defined",
            Definition::KeyLimit(Some(_)) => "key limit set",
            Definition::KeyLimit(None) => "key limit removed",
        },
    }
}
