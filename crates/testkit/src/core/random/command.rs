//! A command that fits what is there, or that is wrong in one place or another.

use std::collections::BTreeMap;

use seriatim_storage::faulty::Dice;
use seriatim_types::{
    ClientId, Command, CommandChange, CommandEvent, Condition, Definitions, EntityKey, FieldName,
    FieldTemplates, Filler, Hole, Key, NUMBER_MAX, Name, Number, RecordClass, RecordDefinition,
    Shown, Template, Time, WorkspaceRef,
};

use super::super::model::{State, Workspace, record_ids};
use super::super::name;
use super::{one_in, pick};

const FIELDS: [&str; 8] = ["", "a", "b", "c", "ü", "€", "\u{1f600}", "\u{fb33}"];
const ENTITIES: [&str; 7] = ["stock/1", "stock/2", "hold", "a", "ü", "lock", "rate"];
/// Ids that no record of any kind can be given.
const NO_IDS: [u64; 5] = [0, 66_047, 200_000, NUMBER_MAX + 1, u64::MAX];

/// Writes one command.
#[derive(Debug)]
pub(in crate::core) struct Writer<'a> {
    dice: Dice,
    /// The workspace as it is.
    held: Option<&'a Workspace>,
    definitions: Option<&'a Definitions>,
    /// When it will be carried out.
    time: Time,
    /// Whether it makes mistakes.
    is_careless: bool,
    /// The raw ids of all records that the command creates.
    raw_ids: Vec<u64>,
    /// How many of them stand before.
    created: usize,
    /// The versions that records and entities have once the changes so far are carried out.
    records: BTreeMap<u64, u64>,
    entities: BTreeMap<EntityKey, u64>,
    /// How many draws there are at least.
    draws: u32,
}

/// What a change is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Create,
    Import,
    Update,
    Delete,
    Set,
    Unset,
    Draw,
}

/// JSON with holes whose turns are not settled yet.
#[derive(Debug, Default)]
struct Blank {
    text: String,
    holes: Vec<(usize, Filler)>,
}

impl<'a> Writer<'a> {
    pub(in crate::core) fn new(
        mut dice: Dice,
        state: &'a State,
        workspace: &WorkspaceRef,
        time: Time,
    ) -> Self {
        let id = match workspace {
            WorkspaceRef::Id(id) => Some(&id.0),
            WorkspaceRef::Name(name) => state.names.get(name),
        };
        let held = id.and_then(|id| state.workspaces.get(id));
        let records = held.into_iter().flat_map(|held| &held.records);
        let records = records.map(|(id, record)| (*id, record.version)).collect();
        let keys = held.into_iter().flat_map(|held| held.entities.keys());
        let present = keys.filter_map(|key| Some((key.clone(), held?.entity(key, time)?.version)));
        Self {
            is_careless: one_in(&mut dice, 4),
            dice,
            held,
            definitions: state.definitions.as_ref(),
            time,
            raw_ids: Vec::new(),
            created: 0,
            records,
            entities: present.collect(),
            draws: 0,
        }
    }

    pub(in crate::core) fn command(
        mut self,
        workspace: WorkspaceRef,
        client: ClientId,
        key: Key,
    ) -> Command {
        let events = self.events();
        let last = self.held.map_or(0, |held| held.offset);
        let seen = if self.slips() { last + 1 } else { last };
        let if_offset = one_in(&mut self.dice, 5).then_some(seen);
        let late = if self.slips() { Time(self.time.0 - 1) } else { self.time };
        let deadline = pick(&mut self.dice, &[Time(self.time.0 + 1_000), late]);
        let deadline = one_in(&mut self.dice, 5).then_some(deadline);
        let fingerprint = seriatim_codec::fingerprint(&events, if_offset);
        let include_proof = one_in(&mut self.dice, 5);
        Command { workspace, client, key, fingerprint, deadline, if_offset, include_proof, events }
    }

    /// A mistake is made here.
    fn slips(&mut self) -> bool {
        self.is_careless && one_in(&mut self.dice, 10)
    }

    fn events(&mut self) -> Vec<CommandEvent> {
        let counts: &[usize] = if self.slips() { &[0, 5] } else { &[1, 1, 1, 2, 3] };
        let count = pick(&mut self.dice, counts);
        let wishes: Vec<Vec<Wish>> = (0..count).map(|_| self.wishes()).collect();
        let of = |kind| wishes.iter().flatten().filter(|wish| **wish == kind).count();
        let mut raw_ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 65_535];
        raw_ids.sort_by_cached_key(|_| self.dice.next_u64());
        let distinct = if self.slips() { 2 } else { raw_ids.len() };
        let raw_ids = raw_ids.into_iter().take(distinct).cycle();
        self.raw_ids = raw_ids.take(of(Wish::Create)).collect();
        self.draws = u32::try_from(of(Wish::Draw)).expect("few draws");
        wishes.iter().map(|wishes| self.event(wishes)).collect()
    }

    fn wishes(&mut self) -> Vec<Wish> {
        if self.definitions.is_none() {
            return Vec::new();
        }
        if self.slips() {
            return vec![Wish::Unset; 13];
        }
        let often = [Wish::Create, Wish::Update, Wish::Set].repeat(4);
        let wishes = [often, vec![Wish::Draw, Wish::Import, Wish::Delete, Wish::Unset]].concat();
        (0..self.dice.below(4)).map(|_| pick(&mut self.dice, &wishes)).collect()
    }

    fn event(&mut self, wishes: &[Wish]) -> CommandEvent {
        let args = self.value();
        let changes = wishes.iter().map(|wish| self.change(*wish)).collect();
        CommandEvent { name: name(pick(&mut self.dice, &["Sold", "Moved", "Ü"])), args, changes }
    }

    fn change(&mut self, wish: Wish) -> CommandChange {
        match wish {
            Wish::Create => {
                let id = self.raw_ids[self.created];
                self.created += 1;
                let record = self.record_kind();
                self.records.insert(record.singleton.map_or(id, Number::get), 1);
                self.create(id, record.name)
            }
            Wish::Import => {
                let record = self.record_kind();
                let id = self.free_id(record.class);
                self.records.insert(id, 1);
                self.create(id, record.name)
            }
            Wish::Update | Wish::Delete if self.records.is_empty() => self.set(),
            Wish::Update => {
                let (id, version) = self.record();
                self.records.insert(id, version + 1);
                let if_version = self.if_version(version);
                CommandChange::Update { id, fields: self.fields(), if_version }
            }
            Wish::Delete => {
                let (id, version) = self.record();
                self.records.remove(&id);
                CommandChange::Delete { id, if_version: self.if_version(version) }
            }
            Wish::Set => self.set(),
            Wish::Unset => {
                let key = self.entity();
                let condition = self.condition(&key);
                self.entities.remove(&key);
                CommandChange::Unset { key, condition }
            }
            Wish::Draw => CommandChange::Draw { sequence: self.sequence() },
        }
    }

    fn create(&mut self, id: u64, kind: Name) -> CommandChange {
        let kind = if self.slips() { name("nothing") } else { kind };
        let parent = match self.dice.below(6) {
            0 if !self.raw_ids.is_empty() => Some(pick(&mut self.dice, &self.raw_ids)),
            1 => Some(self.record().0),
            2 if self.slips() => Some(pick(&mut self.dice, &[0, 40_000, 300_000])),
            _ => None,
        };
        CommandChange::Create { id, kind, parent, fields: self.fields() }
    }

    fn set(&mut self) -> CommandChange {
        let key = self.entity();
        let condition = self.condition(&key);
        let now = self.time.0;
        let expiries = [now + 1, now + 3_000, now + 600_000, now, now - 5_000];
        let expires_at = Time(pick(&mut self.dice, &expiries));
        let expires_at = one_in(&mut self.dice, 2).then_some(expires_at);
        let version = self.entities.get(&key).map_or(1, |version| version + 1);
        if expires_at.is_none_or(|at| at > self.time) {
            self.entities.insert(key.clone(), version);
        } else {
            self.entities.remove(&key);
        }
        CommandChange::Set { key, value: self.value(), condition, expires_at }
    }

    /// A kind of records, and mostly not a singleton that is there already.
    fn record_kind(&mut self) -> RecordDefinition {
        let all = &self.definitions.expect("changes are made of definitions").records;
        let is_there = |id: Number| self.records.contains_key(&id.get());
        let is_free = |record: &&RecordDefinition| !record.singleton.is_some_and(is_there);
        let free: Vec<&RecordDefinition> = all.iter().filter(is_free).collect();
        let is_any = self.slips();
        if is_any { pick(&mut self.dice, all) } else { pick(&mut self.dice, &free).clone() }
    }

    /// An id to import: above and below those that were drawn, and mostly free.
    fn free_id(&mut self, class: RecordClass) -> u64 {
        if self.slips() {
            return pick(&mut self.dice, &NO_IDS);
        }
        let scheme = self.definitions.expect("changes are made of definitions").app.record_ids;
        let (sequence, [(first, last)]) = record_ids(scheme, class);
        if self.slips() {
            return last;
        }
        let drawn = self.held.and_then(|held| held.last_numbers.get(&(sequence, None)));
        let end = drawn.map_or(first + 5, |drawn| drawn.saturating_add(5).min(last));
        let from = end.saturating_sub(20).max(first);
        let is_free = |id: &u64| !self.records.contains_key(id);
        let free: Vec<u64> = (from..end).filter(is_free).collect();
        if free.is_empty() || self.slips() { from } else { pick(&mut self.dice, &free) }
    }

    /// A record that is there, with its version.
    fn record(&mut self) -> (u64, u64) {
        let known: Vec<(u64, u64)> = self.records.iter().map(|(id, it)| (*id, *it)).collect();
        if known.is_empty() || self.slips() {
            let later = self.raw_ids.last().copied().unwrap_or(9);
            return (pick(&mut self.dice, &[later, later, later, 0, 300_000, NUMBER_MAX + 1]), 1);
        }
        pick(&mut self.dice, &known)
    }

    fn if_version(&mut self, version: u64) -> Option<u64> {
        let expected = if self.slips() { version + 1 } else { version };
        one_in(&mut self.dice, 3).then_some(expected)
    }

    fn entity(&mut self) -> EntityKey {
        EntityKey::new(pick(&mut self.dice, &ENTITIES)).expect("a good key")
    }

    fn condition(&mut self, key: &EntityKey) -> Option<Condition> {
        let other = format!("\"{}\"", "x".repeat(pick(&mut self.dice, &[1, 119])));
        let other = Condition::Value(other.into());
        let (mut right, wrong) = match self.entities.get(key) {
            Some(version) => (
                vec![Condition::Exists, Condition::Version(*version)],
                vec![Condition::Absent, Condition::Version(version + 1), other],
            ),
            None => {
                (vec![Condition::Absent], vec![Condition::Exists, Condition::Version(1), other])
            }
        };
        let stored = self.held.and_then(|held| held.entity(key, self.time));
        if let Some(stored) = stored.filter(|it| self.entities.get(key) == Some(&it.version)) {
            right.push(Condition::Value(stored.value.clone().into()));
        }
        let is_wrong = self.slips() || one_in(&mut self.dice, 15);
        let condition = pick(&mut self.dice, if is_wrong { &wrong } else { &right });
        one_in(&mut self.dice, 2).then_some(condition)
    }

    /// A sequence that the workspace has.
    fn sequence(&mut self) -> Name {
        if self.slips() {
            return name(pick(&mut self.dice, &["nothing", "pallet", "ticket"]));
        }
        let kind = self.held.map_or(0, |held| held.kind);
        let all = self.definitions.into_iter().flat_map(|it| &it.sequences);
        let of_kind: Vec<&Name> = all.filter(|it| it.kind.0 == kind).map(|it| &it.name).collect();
        if of_kind.is_empty() {
            return name("nothing");
        }
        pick(&mut self.dice, &of_kind).clone()
    }

    fn fields(&mut self) -> FieldTemplates {
        let count = if self.slips() { 6 } else { self.dice.index_below(4) };
        let mut names = FIELDS.map(|name| FieldName::new(name).expect("a good name")).to_vec();
        names.sort_by_cached_key(|_| self.dice.next_u64());
        names.truncate(count);
        names.sort();
        let blanks: Vec<Blank> = (0..count).map(|_| self.blank()).collect();
        names.into_iter().zip(self.settle(blanks)).collect()
    }

    fn blank(&mut self) -> Blank {
        let mut blank = Blank { text: "[".to_owned(), holes: Vec::new() };
        if self.slips() {
            // With its holes filled or without, it may be too long.
            let long = "x".repeat(pick(&mut self.dice, &[100, 110, 119]));
            blank.text.push_str(&format!("\"{long}\""));
        }
        for _ in 0..self.dice.below(4) {
            if blank.text.len() > 1 {
                blank.text.push(',');
            }
            match self.dice.below(5) {
                0 => blank.text.push_str("true"),
                1 => blank.text.push_str(&self.dice.below(1_000).to_string()),
                2 => blank.text.push_str("\"ü\""),
                _ => {
                    let filler = self.filler();
                    blank.holes.push((blank.text.len(), filler));
                }
            }
        }
        blank.text.push(']');
        blank
    }

    fn filler(&mut self) -> Filler {
        let shown = pick(&mut self.dice, &[Shown::Number, Shown::Text]);
        match self.dice.below(6) {
            0 | 5 if self.definitions.is_some() => {
                self.draws += 1;
                Filler::Next { sequence: self.sequence(), shown }
            }
            1 | 2 if self.draws > 0 => {
                let index = u32::try_from(self.dice.below(self.draws.into())).expect("few draws");
                Filler::Draw { index: if self.slips() { index + 50 } else { index }, shown }
            }
            3 | 4 if !self.raw_ids.is_empty() => Filler::Ref(pick(&mut self.dice, &self.raw_ids)),
            _ if self.slips() => Filler::Ref(pick(&mut self.dice, &[0, 40_000, NUMBER_MAX + 1])),
            _ => Filler::Ref(200_001 + self.dice.below(50)),
        }
    }

    fn value(&mut self) -> Template {
        let blank = self.blank();
        self.settle(vec![blank]).remove(0)
    }

    /// Settles the turns of the holes of one change. They may have stood in any order.
    fn settle(&mut self, blanks: Vec<Blank>) -> Vec<Template> {
        let count = blanks.iter().map(|blank| blank.holes.len()).sum::<usize>();
        let mut orders: Vec<u32> = (0..).take(count).collect();
        orders.sort_by_cached_key(|_| self.dice.next_u64());
        if self.slips() {
            orders.fill(0);
        }
        let settle = |Blank { text, holes }: Blank| {
            let hole = |(at, filler)| {
                let order = orders.pop().expect("as many as there are holes");
                Hole { at, order, filler }
            };
            let holes = holes.into_iter().map(hole).collect();
            Template::new(text.into(), holes).expect("holes stand inside, in order")
        };
        blanks.into_iter().map(settle).collect()
    }
}
