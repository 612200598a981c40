//! What a log says, told plainly: all its events, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use seriatim_codec::Stored;
use seriatim_core::receipt;
use seriatim_merkle::{empty_root, leaf_hash, node_hash};
use seriatim_node::{ClientState, Reader, Workspace};
use seriatim_sequencer::{Format, UtcOffset};
use seriatim_testkit::core::Dice;
use seriatim_types::{
    Change, ClientId, EntityKey, EntityRow, Event, Hash, Key, Name, Number, PartitionOffset,
    RecordClass, RecordRow, Reset, Retention, SequenceDefinition, SequenceId, Time, Unknown,
    WorkspaceId, WorkspaceRef, Year,
};

/// Everything that a log comes to.
#[derive(Default)]
pub(super) struct Fold {
    events: Vec<Event>,
    workspaces: BTreeMap<WorkspaceId, InWorkspace>,
}

/// Everything that the log of a workspace comes to. What is gone again is kept as `None`.
#[derive(Default)]
struct InWorkspace {
    events: Vec<Event>,
    name: Option<Name>,
    records: BTreeMap<Number, Option<RecordRow>>,
    entities: BTreeMap<EntityKey, Option<EntityRow>>,
    last_numbers: BTreeMap<(SequenceId, Option<Year>), Number>,
    clients: BTreeMap<ClientId, ClientState>,
    /// The events of the command that used a key last.
    keys: BTreeMap<(ClientId, Key), Vec<Event>>,
}

impl Fold {
    pub(super) fn of(events: Vec<Event>, through: Option<PartitionOffset>) -> Self {
        let is_shown = |event: &Event| Some(event.partition_offset) <= through;
        let mut fold = Self::default();
        for event in events.into_iter().filter(is_shown) {
            fold.workspaces.entry(event.workspace).or_default().add(&event);
            fold.events.push(event);
        }
        fold
    }

    pub(super) fn check(&self, reader: Reader<'_>, now: Time, dice: &mut Dice) {
        let shown = reader.partition_events(1, usize::MAX).unwrap();
        for committed in &shown {
            assert_eq!(committed.bytes, committed.event.to_bytes());
            assert_eq!(committed.leaf, leaf_hash(&committed.bytes));
        }
        let shown: Vec<Event> = shown.into_iter().map(|committed| committed.event).collect();
        assert_eq!(shown, self.events);
        for (id, held) in &self.workspaces {
            let kind = held.events[0].kind;
            let workspace = Workspace { id: *id, kind, name: held.name.clone() };
            held.check_log(reader, &workspace, dice);
            held.check_records(reader, *id, dice);
            held.check_entities(reader, *id, now);
            held.check_sequences(reader, &workspace, self.time());
            held.check_clients(reader, *id);
            held.check_receipts(reader, *id, now);
        }
    }

    fn time(&self) -> Time {
        self.events.iter().map(|event| event.time).max().unwrap_or(Time(0))
    }
}

impl InWorkspace {
    fn add(&mut self, event: &Event) {
        self.events.push(event.clone());
        if event.offset.get() == 1 {
            self.name.clone_from(&event.workspace_name);
        }
        event.changes.iter().for_each(|change| self.change(event.offset, change));
        for drawn in &event.numbers {
            self.last_numbers.insert((drawn.sequence, drawn.year), drawn.number);
        }
        if let Some(origin) = &event.origin {
            let (last_client_sequence, last_offset) = (origin.client_sequence, event.offset);
            let state = ClientState { last_client_sequence, last_offset };
            self.clients.insert(origin.client.clone(), state);
            let of_key = self.keys.entry((origin.client.clone(), origin.key)).or_default();
            if event.index == 0 {
                of_key.clear();
            }
            of_key.push(event.clone());
        }
    }

    fn change(&mut self, offset: Number, change: &Change) {
        let unknown = Unknown::default();
        match change.clone() {
            Change::Create { id, kind, class, parent, fields, .. } => {
                let row = RecordRow { kind, class, parent, version: 1, offset, fields, unknown };
                self.records.insert(id, Some(row));
            }
            Change::Update { id, version, fields } => {
                let row = self.records.get_mut(&id).unwrap().as_mut().unwrap();
                (row.version, row.offset) = (version, offset);
                let mut all: BTreeMap<_, _> = row.fields.drain(..).collect();
                all.extend(fields);
                row.fields = all.into_iter().collect();
            }
            Change::Delete { id, .. } => {
                self.records.insert(id, None);
            }
            Change::Set { key, version, value, expires_at } => {
                let row = EntityRow { version, expires_at, offset, value, unknown };
                self.entities.insert(key, Some(row));
            }
            Change::Unset { key, .. } => {
                self.entities.insert(key, None);
            }
            Change::Draw { .. } => {}
            Change::Define(_) => panic!("definitions are made in the system app"),
        }
    }

    fn check_log(&self, reader: Reader<'_>, workspace: &Workspace, dice: &mut Dice) {
        let id = workspace.id;
        assert_eq!(reader.workspace(&WorkspaceRef::Id(id)), Ok(Some(workspace.clone())));
        if let Some(name) = &self.name {
            let by_name = reader.workspace(&WorkspaceRef::Name(name.clone()));
            assert_eq!(by_name, Ok(Some(workspace.clone())));
        }
        let last = u64::try_from(self.events.len()).unwrap();
        assert_eq!(reader.last_offset(id), Ok(last));
        let (from, limit) = (dice.index_below(self.events.len() + 1), dice.index_below(9));
        let shown = reader.events(id, u64::try_from(from).unwrap() + 1, limit).unwrap();
        let shown: Vec<Event> = shown.into_iter().map(|committed| committed.event).collect();
        let expected: Vec<Event> = self.events.iter().skip(from).take(limit).cloned().collect();
        assert_eq!(shown, expected);
        let leaves: Vec<Hash> =
            self.events.iter().map(|event| leaf_hash(&event.to_bytes())).collect();
        let head = reader.head(id).unwrap();
        assert_eq!((head.size, head.root), (last, root(&leaves)));
    }

    fn check_records(&self, reader: Reader<'_>, workspace: WorkspaceId, dice: &mut Dice) {
        for (id, row) in &self.records {
            assert_eq!(reader.record(workspace, *id).as_ref(), Ok(row));
        }
        let there = self.records.iter().filter_map(|(id, row)| Some((*id, row.clone()?)));
        let there: Vec<(Number, RecordRow)> = there.collect();
        let kinds: BTreeSet<Name> = there.iter().map(|(_, row)| row.kind.clone()).collect();
        for kind in kinds {
            let from = there[dice.index_below(there.len())].0;
            let is_listed = |(id, row): &&(Number, RecordRow)| {
                row.kind == kind && row.class == RecordClass::C && *id >= from
            };
            let expected: Vec<_> = there.iter().filter(is_listed).take(3).cloned().collect();
            assert_eq!(reader.records(workspace, &kind, from.get(), 3), Ok(expected));
        }
    }

    fn check_entities(&self, reader: Reader<'_>, workspace: WorkspaceId, now: Time) {
        for (key, row) in &self.entities {
            let expected = row.clone().filter(|row| row.expires_at.is_none_or(|end| now < end));
            assert_eq!(reader.entity(workspace, key, now), Ok(expected));
        }
    }

    fn check_sequences(&self, reader: Reader<'_>, workspace: &Workspace, time: Time) {
        let definitions = reader.definitions().unwrap().unwrap();
        let years: BTreeSet<Year> =
            self.last_numbers.keys().filter_map(|(_, year)| *year).collect();
        for definition in &definitions.sequences {
            if definition.kind != workspace.kind {
                assert_eq!(reader.sequence(workspace, &definition.name, None, Time(0)), Ok(None));
                continue;
            }
            let years = match definition.reset {
                Reset::Never => vec![None],
                Reset::Yearly => years.iter().copied().map(Some).collect(),
            };
            for period in years {
                let shown = reader.sequence(workspace, &definition.name, period, Time(0));
                let shown = shown.unwrap().unwrap();
                let last = self.last_numbers.get(&(definition.id, period)).copied();
                assert_eq!((shown.period, shown.last), (period, last));
                let next = shown.next.as_ref().map(|(next, _)| next.get());
                assert_eq!(next, next_of(definition, last));
                let Some((next, text)) = shown.next.filter(|_| period.is_some()) else { continue };
                let format = Format::new(&definition.format).unwrap();
                assert_eq!(text, format.show(next, period.unwrap()));
            }
            let offset = UtcOffset::from_minutes(definition.utc_offset_minutes).unwrap();
            if definition.reset == Reset::Yearly {
                let current =
                    reader.sequence(workspace, &definition.name, None, Time(0)).unwrap().unwrap();
                // The last entry may have come after the last event.
                assert!(current.period >= Some(offset.year_of(time)));
            }
        }
    }

    fn check_clients(&self, reader: Reader<'_>, workspace: WorkspaceId) {
        for (client, state) in &self.clients {
            assert_eq!(reader.client(workspace, client), Ok(Some(*state)));
        }
    }

    fn check_receipts(&self, reader: Reader<'_>, workspace: WorkspaceId, now: Time) {
        let retention = reader.definitions().unwrap().unwrap().app.retention;
        for ((client, key), events) in &self.keys {
            let is_kept = match retention {
                Retention::Milliseconds(ms) => now.0 < events[0].time.0 + ms,
                Retention::Forever => true,
            };
            let expected = receipt(events).filter(|_| is_kept);
            assert!(expected.is_some() || !is_kept, "the events of one command");
            assert_eq!(reader.receipt(workspace, client, *key, now), Ok(expected));
        }
    }
}

/// The number behind the last one, range by range.
fn next_of(definition: &SequenceDefinition, last: Option<Number>) -> Option<u64> {
    let Some(last) = last else { return Some(definition.ranges[0].0) };
    let at =
        definition.ranges.iter().position(|(first, end)| (*first..=*end).contains(&last.get()));
    let at = at.expect("a number of the sequence");
    if last.get() < definition.ranges[at].1 {
        return Some(last.get() + 1);
    }
    definition.ranges.get(at + 1).map(|(first, _)| *first)
}

/// The root of a tree, as RFC 6962 defines it.
pub(super) fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => empty_root(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(1 << (leaves.len() - 1).ilog2());
            node_hash(&root(left), &root(right))
        }
    }
}
