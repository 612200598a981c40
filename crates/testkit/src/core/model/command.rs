//! A client's command: everything that can be said against it, in the order in which it is said,
//! and then everything that it does.
//!
//! ```text
//!  workspace ─► key ─► deadline ─► window ─► limits ─► shape ─► place ─► numbers ─► changes
//! ```

use std::collections::BTreeMap;

use bytes::Bytes;
use seriatim_planted::{self as planted, Bug};
use seriatim_types::{
    Change, Command, CommandChange, Condition, Definitions, EntityKey, Event, FieldName,
    FieldTemplates, Fields, Filler, Hole, KindId, Name, Number, NumberDrawn, Origin,
    PartitionOffset, Receipt, Reset, Retention, Shown, Template, Time, Unknown, WorkspaceId,
};

use super::numbers::{is_raw, next, record_ids, show, year_of};
use super::shape::{at_most, check_limits, check_shape};
use super::{
    Answer, Applied, Entity, Kept, Record, Refused, State, Workspace, record_definition, refuse,
    sequence_definition,
};

/// The form of receipts.
pub(super) const RECEIPT_VERSION: u32 = 1;

impl State {
    pub(super) fn command(&mut self, command: &Command) -> Result<Applied, Refused> {
        if self.is_system() {
            return Err(refuse("PERMISSION_DENIED", ""));
        }
        let definitions = self.definitions.clone().ok_or(refuse("APP_NOT_FOUND", ""))?;
        let (id, _) = self.find(&command.workspace)?;
        let now = self.time;
        let name = (command.client.clone(), command.key);
        let kept = self.workspace(id).keys.get(&name).cloned();
        let is_same = |kept: &Kept| kept.fingerprint == command.fingerprint;
        let counts = |kept: &Kept| !planted::is(Bug::KeyForEachContent) || is_same(kept);
        let kept = kept.filter(counts);
        if let Some(kept) = kept.filter(|kept| !self.is_over(kept.time, now)) {
            let first = kept.receipt.first_partition_offset;
            if kept.fingerprint != command.fingerprint {
                return Err(refuse("IDEMPOTENCY_KEY_REUSED", first));
            }
            return Ok(Applied::only(Answer::Duplicate { first, count: kept.count }));
        }
        if let Some(deadline) = command.deadline.filter(|deadline| now > *deadline) {
            return Err(refuse("DEADLINE_EXCEEDED", format!("{} at {}", deadline.0, now.0)));
        }
        if let Some(max) = definitions.app.keys_max.filter(|max| self.keys() >= *max) {
            let expire = definitions.app.retention != Retention::Forever;
            return Err(refuse("KEY_WINDOW_FULL", format!("{max}, expire: {expire}")));
        }
        check_limits(command, &definitions.app.limits)?;
        check_shape(command, &definitions, self.workspace(id).kind)?;
        let offset = self.workspace(id).offset;
        if command.if_offset.is_some_and(|seen| seen != offset) {
            return Err(refuse("OFFSET_MISMATCH", offset));
        }
        let mut turn = Turn {
            id,
            now,
            partition_offset: &mut self.offset,
            workspace: self.workspaces.get_mut(&id).expect("it was just found"),
            definitions: &definitions,
            ids: BTreeMap::new(),
            drawn: Vec::new(),
            drawn_at: BTreeMap::new(),
        };
        turn.draw_all(command)?;
        let events = turn.carry_out(command)?;
        let receipt = turn.receipt(&events);
        let count = u32::try_from(events.len()).expect("few events");
        let fingerprint = command.fingerprint;
        let kept = Kept { fingerprint, time: now, count, receipt: receipt.clone() };
        turn.workspace.keys.insert(name, kept);
        Ok(Applied { answer: Answer::Committed(receipt), events, messages: Vec::new() })
    }
}

/// Where a draw stands: the event, its arguments (0) or one of its changes (from 1), and the turn
/// among the holes there.
type DrawnAt = (usize, usize, u32);

/// A command that nothing was said against so far.
struct Turn<'a> {
    id: u64,
    now: Time,
    /// The partition's last event.
    partition_offset: &'a mut u64,
    workspace: &'a mut Workspace,
    definitions: &'a Definitions,
    /// What the raw ids stand for.
    ids: BTreeMap<u64, u64>,
    drawn: Vec<NumberDrawn>,
    drawn_at: BTreeMap<DrawnAt, usize>,
}

impl Turn<'_> {
    /// Draws everything in the order of the document: a number may be asked for further up.
    fn draw_all(&mut self, command: &Command) -> Result<(), Refused> {
        for (event, at) in command.events.iter().zip(0..) {
            self.draw_holes((at, 0), event.args.holes().iter())?;
            for (change, part) in event.changes.iter().zip(1..) {
                match change {
                    CommandChange::Create { id, kind, .. } => self.draw_record_id(*id, kind)?,
                    CommandChange::Draw { sequence } => self.draw((at, part, 0), sequence)?,
                    CommandChange::Update { .. }
                    | CommandChange::Delete { .. }
                    | CommandChange::Set { .. }
                    | CommandChange::Unset { .. } => {}
                }
                self.draw_holes((at, part), change.templates().flat_map(Template::holes))?;
            }
        }
        Ok(())
    }

    fn draw_record_id(&mut self, id: u64, kind: &Name) -> Result<(), Refused> {
        let definition = record_definition(self.definitions, kind).expect("the shape is good");
        let scheme = self.definitions.app.record_ids;
        let (sequence, ranges) = record_ids(scheme, definition.class);
        let last = self.workspace.last_numbers.get(&(sequence, None)).copied();
        let real = match definition.singleton {
            Some(fixed) => fixed.get(),
            None => {
                let real = if is_raw(id) { next(&ranges, last) } else { Some(id) };
                let real = real.ok_or(refuse("SEQUENCE_EXHAUSTED", ""))?;
                let highest = last.map_or(real, |last| last.max(real));
                self.workspace.last_numbers.insert((sequence, None), highest);
                real
            }
        };
        self.ids.insert(id, real);
        Ok(())
    }

    fn draw_holes<'h>(
        &mut self,
        (at, part): (usize, usize),
        holes: impl Iterator<Item = &'h Hole>,
    ) -> Result<(), Refused> {
        let mut holes: Vec<&Hole> = holes.collect();
        holes.sort_by_key(|hole| hole.order);
        for hole in holes {
            if let Some(sequence) = hole.filler.draws() {
                self.draw((at, part, hole.order), sequence)?;
            }
        }
        Ok(())
    }

    fn draw(&mut self, at: DrawnAt, name: &Name) -> Result<(), Refused> {
        let sequence = sequence_definition(self.definitions, name).expect("the shape is good");
        let shown_year = year_of(self.now.0, sequence.utc_offset_minutes);
        let year = (sequence.reset == Reset::Yearly).then_some(shown_year);
        let series = (sequence.id, year);
        let last = self.workspace.last_numbers.get(&series).copied();
        let number = next(&sequence.ranges, last).ok_or(refuse("SEQUENCE_EXHAUSTED", ""))?;
        self.workspace.last_numbers.insert(series, number);
        let text = show(&sequence.format, number, shown_year).expect("the format was checked");
        self.drawn_at.insert(at, self.drawn.len());
        let number = self::number(number);
        self.drawn.push(NumberDrawn {
            sequence: sequence.id,
            name: name.clone(),
            year,
            number,
            text,
        });
        Ok(())
    }

    fn carry_out(&mut self, command: &Command) -> Result<Vec<Event>, Refused> {
        let client = self.workspace.clients.entry(command.client.clone()).or_default();
        client.commands += 1;
        client.last_offset = self.workspace.offset + command.events.len() as u64;
        let origin = Origin {
            client: command.client.clone(),
            client_sequence: number(client.commands),
            key: command.key,
            fingerprint: command.fingerprint,
            deadline: command.deadline,
        };
        let mut events = Vec::new();
        for (asked, at) in command.events.iter().zip(0..) {
            *self.partition_offset += 1;
            self.workspace.offset += 1;
            let args = self.fill(&asked.args, (at, 0));
            at_most(args.len(), self.definitions.app.limits.field_bytes)?;
            let mut changes = Vec::new();
            for (change, part) in asked.changes.iter().zip(1..) {
                changes.push(self.change(change, (at, part))?);
            }
            let numbers = self.drawn_at.range((at, 0, 0)..(at + 1, 0, 0));
            events.push(Event {
                partition_offset: PartitionOffset::new(*self.partition_offset).expect("one of few"),
                workspace: WorkspaceId(self.id),
                kind: KindId(self.workspace.kind),
                offset: number(self.workspace.offset),
                time: self.now,
                workspace_name: self.workspace.name.clone().filter(|_| self.workspace.offset == 1),
                receipt_version: RECEIPT_VERSION,
                index: u32::try_from(at).expect("few events"),
                count: u32::try_from(command.events.len()).expect("few events"),
                origin: Some(origin.clone()),
                name: asked.name.clone(),
                args: args.into(),
                changes,
                numbers: numbers.map(|(_, index)| self.drawn[*index].clone()).collect(),
                unknown: Unknown::default(),
            });
        }
        Ok(events)
    }

    fn change(&mut self, change: &CommandChange, at: (usize, usize)) -> Result<Change, Refused> {
        match change {
            CommandChange::Create { id, kind, parent, fields } => {
                self.create(*id, kind, *parent, self.fill_fields(fields, at))
            }
            CommandChange::Update { id, fields, if_version } => {
                self.update(*id, self.fill_fields(fields, at), *if_version)
            }
            CommandChange::Delete { id, if_version } => {
                let (id, record) = self.existing(*id, *if_version)?;
                self.workspace.records.remove(&id);
                Ok(Change::Delete { id: number(id), version: record.version })
            }
            CommandChange::Set { key, value, condition, expires_at } => {
                let version = self.check_condition(key, condition.as_ref())?.unwrap_or(0) + 1;
                let (value, offset) = (self.fill(value, at), self.workspace.offset);
                at_most(value.len(), self.definitions.app.limits.field_bytes)?;
                let expires_at = *expires_at;
                let entity = Entity { version, value: value.clone(), expires_at, offset };
                self.workspace.entities.insert(key.clone(), entity);
                let (key, value) = (key.clone(), Bytes::from(value));
                Ok(Change::Set { key, version, value, expires_at })
            }
            CommandChange::Unset { key, condition } => {
                let version = self.check_condition(key, condition.as_ref())?;
                self.workspace.entities.remove(key);
                Ok(Change::Unset { key: key.clone(), version })
            }
            CommandChange::Draw { .. } => {
                let (event, part) = at;
                let of_event = self.drawn_at.range((event, 0, 0)..(event, part, 0));
                let number = u32::try_from(of_event.count()).expect("few draws");
                Ok(Change::Draw { number })
            }
        }
    }

    fn create(
        &mut self,
        asked: u64,
        kind: &Name,
        parent: Option<u64>,
        fields: BTreeMap<FieldName, String>,
    ) -> Result<Change, Refused> {
        let definition = record_definition(self.definitions, kind).expect("the shape is good");
        let (id, class) = (self.real(asked), definition.class);
        if self.workspace.records.contains_key(&id) {
            let is_singleton = definition.singleton.is_some();
            let code = if is_singleton { "SINGLETON_EXISTS" } else { "RECORD_EXISTS" };
            return Err(refuse(code, id));
        }
        let missing = |id: &u64| !is_raw(*id) && !self.workspace.records.contains_key(id);
        if let Some(missing) = parent.filter(missing) {
            return Err(refuse("RECORD_NOT_FOUND", missing));
        }
        self.check_size(&fields)?;
        let (parent, offset) = (parent.map(|parent| self.real(parent)), self.workspace.offset);
        let (kind, raw) = (kind.clone(), u16::try_from(asked).ok());
        let stored = as_fields(&fields);
        let record = Record { kind: kind.clone(), class, parent, version: 1, offset, fields };
        self.workspace.records.insert(id, record);
        let (id, parent) = (number(id), parent.map(number));
        Ok(Change::Create { raw, id, kind, class, parent, fields: stored })
    }

    fn update(
        &mut self,
        asked: u64,
        fields: BTreeMap<FieldName, String>,
        if_version: Option<u64>,
    ) -> Result<Change, Refused> {
        let (id, mut record) = self.existing(asked, if_version)?;
        record.fields.extend(fields.clone());
        self.check_size(&record.fields)?;
        record.version += 1;
        record.offset = self.workspace.offset;
        let version = record.version;
        self.workspace.records.insert(id, record);
        Ok(Change::Update { id: number(id), version, fields: as_fields(&fields) })
    }

    /// A record that must be there, in the version that was expected.
    fn existing(&self, asked: u64, if_version: Option<u64>) -> Result<(u64, Record), Refused> {
        let id = self.real(asked);
        let record = self.workspace.records.get(&id).ok_or(refuse("RECORD_NOT_FOUND", asked))?;
        if if_version.is_some_and(|expected| expected != record.version) {
            let fields = as_fields(&record.fields);
            let current = format!("{id} is {} {fields:?}", record.version);
            return Err(refuse("VERSION_MISMATCH", current));
        }
        Ok((id, record.clone()))
    }

    fn check_size(&self, fields: &BTreeMap<FieldName, String>) -> Result<(), Refused> {
        let limits = &self.definitions.app.limits;
        at_most(fields.len(), limits.fields)?;
        fields.values().try_for_each(|value| at_most(value.len(), limits.field_bytes))?;
        let bytes = fields.iter().map(|(name, value)| name.as_str().len() + value.len());
        at_most(bytes.sum(), limits.record_bytes)
    }

    /// Returns the version that the entity has.
    fn check_condition(
        &self,
        key: &EntityKey,
        condition: Option<&Condition>,
    ) -> Result<Option<u64>, Refused> {
        let entity = self.workspace.entity(key, self.now);
        let has = |version: &u64| entity.is_some_and(|entity| entity.version == *version);
        let is_same = |held: &[u8], value: &Bytes| match planted::is(Bug::ValueByLength) {
            true => held.len() == value.len(),
            false => held == value,
        };
        let holds =
            |value: &Bytes| entity.is_some_and(|entity| is_same(entity.value.as_bytes(), value));
        let (is_met, code) = match condition {
            None => (true, ""),
            Some(Condition::Exists) => (entity.is_some(), "KEY_NOT_FOUND"),
            Some(Condition::Absent) => (entity.is_none(), "KEY_EXISTS"),
            Some(Condition::Version(_) | Condition::Value(_)) if entity.is_none() => {
                (false, "KEY_NOT_FOUND")
            }
            Some(Condition::Version(version)) => (has(version), "VERSION_MISMATCH"),
            Some(Condition::Value(value)) => (holds(value), "VALUE_MISMATCH"),
        };
        let current = entity.map(|entity| format!("{key} is {} {}", entity.version, entity.value));
        let current = current.unwrap_or(format!("{key} is absent"));
        let version = entity.map(|entity| entity.version);
        if is_met { Ok(version) } else { Err(refuse(code, current)) }
    }

    fn fill_fields(
        &self,
        fields: &FieldTemplates,
        at: (usize, usize),
    ) -> BTreeMap<FieldName, String> {
        fields.iter().map(|(name, template)| (name.clone(), self.fill(template, at))).collect()
    }

    fn fill(&self, template: &Template, (event, part): (usize, usize)) -> String {
        let text = str::from_utf8(template.text()).expect("JSON is text");
        let (mut filled, mut from) = (String::new(), 0);
        for hole in template.holes() {
            filled += &text[from..hole.at];
            from = hole.at;
            let (index, shown) = match &hole.filler {
                Filler::Ref(id) => {
                    filled += &self.real(*id).to_string();
                    continue;
                }
                Filler::Next { shown, .. } => (self.drawn_at[&(event, part, hole.order)], shown),
                Filler::Draw { index, shown } => (*index as usize, shown),
            };
            let drawn = &self.drawn[index];
            filled += &match shown {
                Shown::Number => drawn.number.get().to_string(),
                Shown::Text => {
                    format!("\"{}\"", drawn.text.replace('\\', "\\\\").replace('"', "\\\""))
                }
            };
        }
        filled + &text[from..]
    }

    /// The id that is meant: a raw one stands for another.
    fn real(&self, id: u64) -> u64 {
        self.ids.get(&id).copied().unwrap_or(id)
    }

    fn receipt(&self, events: &[Event]) -> Receipt {
        let (first, last) = (&events[0], &events[events.len() - 1]);
        let raw = |(raw, id): (&u64, &u64)| Some((u16::try_from(*raw).ok()?, number(*id)));
        let origin = first.origin.as_ref().expect("a client sent it");
        Receipt {
            version: RECEIPT_VERSION,
            workspace: WorkspaceId(self.id),
            first_offset: first.offset,
            last_offset: last.offset,
            first_partition_offset: first.partition_offset,
            last_partition_offset: last.partition_offset,
            client_sequence: origin.client_sequence,
            ids: self.ids.iter().filter_map(raw).collect(),
            numbers: self.drawn.clone(),
            committed_at: self.now,
            proof: None,
        }
    }
}

fn as_fields(fields: &BTreeMap<FieldName, String>) -> Fields {
    fields.iter().map(|(name, value)| (name.clone(), Bytes::from(value.clone()))).collect()
}

fn number(number: u64) -> Number {
    Number::new(number).expect("a number of a sequence")
}
