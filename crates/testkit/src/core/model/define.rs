//! A definition that somebody asks for, in the system app.

use bytes::Bytes;
use seriatim_types::{
    AppId, AppSettings, Change, CommandLimits, Define, DefineRequest, Definition, Definitions,
    Delivery, Event, KindDefinition, KindId, Message, Name, Number, PartitionId, PartitionOffset,
    PartitionRef, RecordClass, RecordDefinition, Reset, Retention, SequenceDefinition, SequenceId,
    SequenceMembers, Unknown, WorkspaceId, WorkspaceRef, limits,
};

use super::command::RECEIPT_VERSION;
use super::numbers::{APP_FIRST, SINGLETON_FIRST, are_ranges, show, year_of};
use super::{
    Answer, Applied, NAMED_FIRST, Refused, State, kind_id, record_definition, refuse,
    sequence_definition, step,
};

impl State {
    pub(super) fn define(&mut self, define: &Define) -> Result<Applied, Refused> {
        if !self.is_system() || define.app.as_str() == "system" {
            return Err(refuse("PERMISSION_DENIED", ""));
        }
        let (workspace, _) = self.find(&WorkspaceRef::Name(define.app.clone()))?;
        // Apps are counted as they come into being, and their workspaces too.
        let app = u32::try_from(workspace - NAMED_FIRST + 1).expect("one of few");
        let mut definitions = self.apps.get(&workspace).cloned();
        let Some(definition) = definition_of(definitions.as_ref(), define, AppId(app))? else {
            let version = definitions.map_or(0, |definitions| definitions.version);
            return Ok(Applied::only(Answer::Defined { app, version, is_new: false }));
        };
        self.offset += 1;
        let held = self.workspaces.get_mut(&workspace).expect("it was just found");
        held.offset += 1;
        let version = held.offset;
        let event = Event {
            partition_offset: PartitionOffset::new(self.offset).expect("one of few"),
            workspace: WorkspaceId(workspace),
            kind: KindId(held.kind),
            offset: Number::new(version).expect("one of few"),
            time: self.time,
            workspace_name: held.name.clone().filter(|_| version == 1),
            receipt_version: RECEIPT_VERSION,
            index: 0,
            count: 1,
            origin: None,
            name: event_name(&definition),
            args: Bytes::from("{}"),
            changes: vec![Change::Define(Box::new(definition.clone()))],
            numbers: Vec::new(),
            unknown: Unknown::default(),
        };
        step(&mut definitions, version, &definition);
        let definitions = definitions.expect("a step was just taken");
        let messages = self.send(&definitions.app, version, &definition);
        self.apps.insert(workspace, definitions);
        let answer = Answer::Defined { app, version, is_new: true };
        Ok(Applied { answer, events: vec![event], messages })
    }

    /// Tells all partitions of an app.
    fn send(
        &mut self,
        app: &AppSettings,
        version: u64,
        definition: &Definition,
    ) -> Vec<(PartitionRef, Delivery)> {
        let mut messages = Vec::new();
        for partition in (0..app.partitions).map(PartitionId) {
            let target = PartitionRef { app: app.app, partition };
            let number = self.sent.entry(target).or_default();
            *number += 1;
            self.outbox.insert((target, *number), self.offset);
            let message = Message::Definition { version, definition: Box::new(definition.clone()) };
            let delivery = Delivery { source: self.partition, number: *number, message };
            messages.push((target, delivery));
        }
        messages
    }
}

fn event_name(definition: &Definition) -> Name {
    let name = match definition {
        Definition::App(_) => "AppCreated",
        Definition::Kind(_) => "KindDefined",
        Definition::Sequence(_) => "SequenceDefined",
        Definition::Record(_) => "RecordDefined",
        Definition::KeyLimit(_) => "KeyLimitChanged",
    };
    Name::new(name).expect("a good name")
}

/// The step that is asked for; `None` when everything is so already.
fn definition_of(
    known: Option<&Definitions>,
    Define { app: name, request }: &Define,
    app: AppId,
) -> Result<Option<Definition>, Refused> {
    match (request, known) {
        (
            DefineRequest::App { partitions, record_ids, trust_level, retention, keys_max, limits },
            known,
        ) => {
            let settings = AppSettings {
                name: name.clone(),
                app,
                partitions: *partitions,
                record_ids: *record_ids,
                trust_level: *trust_level,
                retention: *retention,
                keys_max: *keys_max,
                limits: *limits,
            };
            self::app(known, settings)
        }
        (_, None) => Err(refuse("APP_NOT_FOUND", "")),
        (DefineRequest::Kind { name }, Some(known)) => Ok(kind(known, name)),
        (
            DefineRequest::Sequence { name, kind, ranges, format, reset, utc_offset_minutes },
            Some(known),
        ) => {
            let unknown = || refuse("UNKNOWN_KIND", format!("kind {kind}"));
            let asked = SequenceDefinition {
                name: name.clone(),
                id: sequence_id(known, name),
                kind: kind_id(known, kind).ok_or_else(unknown)?,
                ranges: ranges.clone(),
                format: format.clone(),
                reset: *reset,
                utc_offset_minutes: *utc_offset_minutes,
            };
            sequence(known, asked)
        }
        (DefineRequest::Record { name, class, singleton }, Some(known)) => {
            record(known, name, *class, *singleton)
        }
        (DefineRequest::KeyLimit { keys_max }, Some(known)) => {
            if keys_max.is_some_and(|max| max == 0 || max > limits::KEYS_MAX) {
                return Err(refuse("INVALID_ARGUMENT", "idempotency_keys_max"));
            }
            let is_same = known.app.keys_max == *keys_max;
            Ok((!is_same).then_some(Definition::KeyLimit(*keys_max)))
        }
        (DefineRequest::SequenceMembers { name, members }, Some(known)) => {
            sequence(known, sequence_of_members(known, name, members.clone())?)
        }
        (DefineRequest::RecordMembers { name, members }, Some(known)) => {
            let before = record_definition(known, name);
            let class = before.map_or(RecordClass::C, |before| before.class);
            let is_singleton = before.is_some_and(|before| before.singleton.is_some());
            let class = members.class.unwrap_or(class);
            record(known, name, class, members.singleton.unwrap_or(is_singleton))
        }
    }
}

fn app(known: Option<&Definitions>, asked: AppSettings) -> Result<Option<Definition>, Refused> {
    let Some(Definitions { app: known, .. }) = known else {
        check_settings(&asked)?;
        return Ok(Some(Definition::App(asked)));
    };
    // Limits are those of the release that made the app: nobody can ask for others. How many keys are
    // kept may have changed since.
    let (limits, keys_max) = (known.limits, known.keys_max);
    let is_same = *known == AppSettings { limits, keys_max, ..asked };
    if is_same { Ok(None) } else { Err(refuse("APP_EXISTS", "")) }
}

fn kind(known: &Definitions, name: &Name) -> Option<Definition> {
    let others = u16::try_from(known.kinds.len()).expect("few kinds");
    let new = KindDefinition { name: name.clone(), id: KindId(others + 1) };
    kind_id(known, name).is_none().then_some(Definition::Kind(new))
}

fn sequence(known: &Definitions, asked: SequenceDefinition) -> Result<Option<Definition>, Refused> {
    let checks = [
        ("ranges", are_ranges(&asked.ranges)),
        ("format", show(&asked.format, 1, year_of(0, 0)).is_some()),
        ("utc_offset", (-720..=840).contains(&asked.utc_offset_minutes)),
    ];
    if let Some((field, _)) = checks.into_iter().find(|(_, is_good)| !is_good) {
        return Err(refuse("INVALID_ARGUMENT", field));
    }
    let Some(known) = sequence_definition(known, &asked.name) else {
        return Ok(Some(Definition::Sequence(asked)));
    };
    let shown_alike = SequenceDefinition { format: known.format.clone(), ..asked.clone() };
    if shown_alike != *known {
        return Err(refuse("DEFINITION_CONFLICT", asked.name));
    }
    Ok((asked != *known).then_some(Definition::Sequence(asked)))
}

/// What is left out is as it was, or as it is at first.
fn sequence_of_members(
    known: &Definitions,
    name: &Name,
    members: SequenceMembers,
) -> Result<SequenceDefinition, Refused> {
    let mut asked = match sequence_definition(known, name) {
        Some(before) => before.clone(),
        None => SequenceDefinition {
            name: name.clone(),
            id: sequence_id(known, name),
            kind: KindId(0),
            ranges: vec![(1, 9_007_199_254_740_991)],
            format: "{n}".to_owned(),
            reset: Reset::Never,
            utc_offset_minutes: 0,
        },
    };
    if let Some(kind) = members.kind {
        let id = kind_id(known, &kind);
        asked.kind = id.ok_or_else(|| refuse("UNKNOWN_KIND", format!("kind {kind}")))?;
    }
    asked.ranges = members.ranges.unwrap_or(asked.ranges);
    asked.format = members.format.unwrap_or(asked.format);
    asked.reset = members.reset.unwrap_or(asked.reset);
    asked.utc_offset_minutes = members.utc_offset_minutes.unwrap_or(asked.utc_offset_minutes);
    Ok(asked)
}

fn sequence_id(known: &Definitions, name: &Name) -> SequenceId {
    let others = u16::try_from(known.sequences.len()).expect("few sequences");
    sequence_definition(known, name).map_or(SequenceId(APP_FIRST + others), |known| known.id)
}

fn record(
    known: &Definitions,
    name: &Name,
    class: RecordClass,
    is_singleton: bool,
) -> Result<Option<Definition>, Refused> {
    if let Some(known) = record_definition(known, name) {
        let is_same = known.class == class && known.singleton.is_some() == is_singleton;
        return if is_same { Ok(None) } else { Err(refuse("DEFINITION_CONFLICT", name)) };
    }
    let others = known.records.iter().filter_map(|record| record.singleton).count();
    let fixed = Number::new(SINGLETON_FIRST + others as u64);
    let singleton = fixed.filter(|_| is_singleton);
    Ok(Some(Definition::Record(RecordDefinition { name: name.clone(), class, singleton })))
}

fn check_settings(settings: &AppSettings) -> Result<(), Refused> {
    let retention = match settings.retention {
        Retention::Milliseconds(ms) => ms,
        Retention::Forever => 1,
    };
    let (asked, most) = (&settings.limits, CommandLimits::default());
    let checks: [(&str, u64, u64); 12] = [
        ("partitions", settings.partitions.into(), limits::PARTITIONS_MAX.into()),
        ("idempotency_keys_max", settings.keys_max.unwrap_or(1), limits::KEYS_MAX),
        ("idempotency_retention", retention, limits::RETENTION_MS_MAX),
        ("limits.events", asked.events.into(), most.events.into()),
        ("limits.changes", asked.changes.into(), most.changes.into()),
        ("limits.draws", asked.draws.into(), most.draws.into()),
        ("limits.bytes", asked.bytes.into(), most.bytes.into()),
        ("limits.field_bytes", asked.field_bytes.into(), most.field_bytes.into()),
        ("limits.fields", asked.fields.into(), most.fields.into()),
        ("limits.record_bytes", asked.record_bytes.into(), most.record_bytes.into()),
        ("limits.holes", asked.holes.into(), most.holes.into()),
        ("limits.written_bytes", asked.written_bytes.into(), most.written_bytes.into()),
    ];
    match checks.into_iter().find(|(_, asked, most)| !(1..=*most).contains(asked)) {
        Some((field, ..)) => Err(refuse("INVALID_ARGUMENT", field)),
        None => Ok(()),
    }
}
