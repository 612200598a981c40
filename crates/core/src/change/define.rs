//! A step of an app's definitions, in the system app.
//!
//! An app is a workspace of the system app, and the versions of its definitions are the offsets of
//! that workspace's log. Every step goes to all partitions of the app through the outbox.

use seriatim_codec::{OutboxPointer, Stored, encode_number};
use seriatim_sequencer::{Format, Ranges, Sequences, Singletons, UtcOffset, built_in};
use seriatim_types::limits::{
    PARTITIONS_MAX, RECORD_KINDS_MAX, RETENTION_MS_MAX, SEQUENCES_MAX, SEQUENCES_PER_KIND_MAX,
    SINGLETONS_MAX, WORKSPACE_KINDS_MAX,
};
use seriatim_types::{
    AppId, AppSettings, CommandLimits, Define, DefineRequest, Definition, Definitions,
    KindDefinition, KindId, NUMBER_MAX, Name, PartitionId, PartitionRef, RecordClass,
    RecordDefinition, RecordMembers, Reset, Retention, SequenceDefinition, SequenceId,
    SequenceMembers,
};

use super::{At, key_limit};
use crate::defined::Defined;
use crate::effects::Fault;
use crate::home::Home;
use crate::refusal::{NoApp, Refusal};
use crate::rows::Draft;

/// The step that a request comes to; `None` when everything is so already. `new_app` is the id
/// that a new app is given.
pub(crate) fn definition_of(
    defined: Option<&Defined>,
    define: &Define,
    new_app: AppId,
) -> Result<Option<Definition>, Refusal> {
    if let DefineRequest::App { partitions, record_ids, trust_level, retention, keys_max, limits } =
        &define.request
    {
        let settings = AppSettings {
            name: define.app.clone(),
            app: defined.map_or(new_app, |defined| defined.app().app),
            partitions: *partitions,
            record_ids: *record_ids,
            trust_level: *trust_level,
            retention: *retention,
            keys_max: *keys_max,
            limits: *limits,
        };
        return app(defined, settings);
    }
    let no_app = || NoApp { name: define.app.clone(), similar: None };
    let defined = defined.ok_or_else(|| Refusal::AppNotFound(Some(no_app())))?;
    match &define.request {
        DefineRequest::App { .. } => unreachable!("an app was answered above"),
        DefineRequest::Kind { name } => kind(defined, name),
        DefineRequest::Sequence { name, kind, ranges, format, reset, utc_offset_minutes } => {
            let asked = SequenceDefinition {
                name: name.clone(),
                id: next_sequence_id(defined),
                kind: defined.kind(kind).ok_or_else(|| unknown_kind(kind))?,
                ranges: ranges.clone(),
                format: format.clone(),
                reset: *reset,
                utc_offset_minutes: *utc_offset_minutes,
            };
            sequence(defined, asked)
        }
        DefineRequest::Record { name, class, singleton } => {
            record(defined, name, *class, *singleton)
        }
        DefineRequest::KeyLimit { keys_max } => key_limit::decide(defined.app(), *keys_max),
        DefineRequest::SequenceMembers { name, members } => {
            sequence(defined, filled_sequence(defined, name, members)?)
        }
        DefineRequest::RecordMembers { name, members: RecordMembers { class, singleton } } => {
            let existing = defined.record(name);
            let class = class.or(existing.map(|it| it.class)).unwrap_or(RecordClass::C);
            let singleton = singleton.or(existing.map(|it| it.singleton.is_some()));
            record(defined, name, class, singleton.unwrap_or(false))
        }
    }
}

fn app(defined: Option<&Defined>, settings: AppSettings) -> Result<Option<Definition>, Refusal> {
    let Some(existing) = defined.map(Defined::app) else {
        check_settings(&settings)?;
        return Ok(Some(Definition::App(settings)));
    };
    // Limits cannot be asked for: an app keeps those of the release that made it.
    let asked = AppSettings { limits: existing.limits, ..settings };
    match differing(existing, &asked) {
        None => Ok(None),
        Some(setting) => Err(Refusal::AppExists { setting }),
    }
}

/// The first setting of an app that two do not share, as it is called over HTTP. The limit of keys is
/// none of them: it may have been changed since the app was made.
fn differing(existing: &AppSettings, asked: &AppSettings) -> Option<&'static str> {
    let AppSettings { app, name, partitions, record_ids, trust_level, retention, limits, .. } =
        asked;
    let settings = [
        (existing.partitions == *partitions, "partitions"),
        (existing.record_ids == *record_ids, "record_ids"),
        (existing.trust_level == *trust_level, "trust_level"),
        (existing.retention == *retention, "idempotency_retention"),
    ];
    debug_assert_eq!((app, name, limits), (&existing.app, &existing.name, &existing.limits));
    settings.into_iter().find(|(is_same, _)| !is_same).map(|(_, setting)| setting)
}

pub(crate) fn check_settings(settings: &AppSettings) -> Result<(), Refusal> {
    between("partitions", u64::from(settings.partitions), u64::from(PARTITIONS_MAX))?;
    key_limit::check(settings.keys_max)?;
    if let Retention::Milliseconds(ms) = settings.retention {
        between("idempotency_retention", ms, RETENTION_MS_MAX)?;
    }
    let (asked, most) = (&settings.limits, CommandLimits::default());
    let limits = [
        ("limits.events", asked.events, most.events),
        ("limits.changes", asked.changes, most.changes),
        ("limits.draws", asked.draws, most.draws),
        ("limits.bytes", asked.bytes, most.bytes),
        ("limits.field_bytes", asked.field_bytes, most.field_bytes),
        ("limits.fields", asked.fields, most.fields),
        ("limits.record_bytes", asked.record_bytes, most.record_bytes),
        ("limits.holes", asked.holes, most.holes),
        ("limits.written_bytes", asked.written_bytes, most.written_bytes),
    ];
    limits
        .into_iter()
        .try_for_each(|(field, asked, most)| between(field, u64::from(asked), u64::from(most)))
}

/// A setting that is at least 1.
pub(super) fn between(field: &str, value: u64, max: u64) -> Result<(), Refusal> {
    let why = format!("{value} does not lie between 1 and {max}");
    let refusal = Refusal::InvalidArgument { field: field.to_owned(), why };
    if (1..=max).contains(&value) { Ok(()) } else { Err(refusal) }
}

fn kind(defined: &Defined, name: &Name) -> Result<Option<Definition>, Refusal> {
    if defined.kind(name).is_some() {
        return Ok(None);
    }
    let count = defined.plain().kinds.len().saturating_add(1);
    check_room("kinds of workspaces", count, WORKSPACE_KINDS_MAX)?;
    let id = KindId(u16::try_from(count).expect("at most the limit, which is a u16"));
    Ok(Some(Definition::Kind(KindDefinition { name: name.clone(), id })))
}

fn sequence(defined: &Defined, asked: SequenceDefinition) -> Result<Option<Definition>, Refusal> {
    let invalid = |field: &str, why: String| Refusal::InvalidArgument { field: field.into(), why };
    Ranges::new(&asked.ranges).map_err(|error| invalid("ranges", error.to_string()))?;
    Format::new(&asked.format).map_err(|error| invalid("format", error.to_string()))?;
    UtcOffset::from_minutes(asked.utc_offset_minutes).ok_or_else(|| {
        let why = format!("{} minutes are no UTC offset", asked.utc_offset_minutes);
        invalid("utc_offset", why)
    })?;
    let Some(existing) = defined.sequence(&asked.name) else {
        let all = &defined.plain().sequences;
        check_room("sequences of an app", all.len(), SEQUENCES_MAX)?;
        if !defined.has_room(asked.kind) {
            let (max, found) = (SEQUENCES_PER_KIND_MAX, SEQUENCES_PER_KIND_MAX.saturating_add(1));
            return Err(too_large("sequences of a kind", max, found));
        }
        return Ok(Some(Definition::Sequence(asked)));
    };
    let asked = SequenceDefinition { id: existing.id, ..asked };
    let shown_alike = SequenceDefinition { format: existing.format.clone(), ..asked.clone() };
    if shown_alike != *existing {
        let why = "only its format may change";
        return Err(Refusal::DefinitionConflict { name: asked.name, why });
    }
    Ok((asked != *existing).then_some(Definition::Sequence(asked)))
}

/// What is left out is as it is, or the default where there is no such sequence. This is the one place
/// where both are known: a request that was filled in before it got here could overwrite what another
/// has changed meanwhile.
fn filled_sequence(
    defined: &Defined,
    name: &Name,
    members: &SequenceMembers,
) -> Result<SequenceDefinition, Refusal> {
    let existing = defined.sequence(name).cloned();
    let base = existing.unwrap_or_else(|| SequenceDefinition {
        name: name.clone(),
        id: next_sequence_id(defined),
        kind: Sequences::DEFAULT_KIND,
        ranges: vec![(1, NUMBER_MAX)],
        format: Format::default().source().to_owned(),
        reset: Reset::Never,
        utc_offset_minutes: 0,
    });
    let SequenceMembers { kind, ranges, format, reset, utc_offset_minutes } = members;
    let kind = match kind {
        Some(kind) => defined.kind(kind).ok_or_else(|| unknown_kind(kind))?,
        None => base.kind,
    };
    Ok(SequenceDefinition {
        kind,
        ranges: ranges.clone().unwrap_or(base.ranges),
        format: format.clone().unwrap_or(base.format),
        reset: reset.unwrap_or(base.reset),
        utc_offset_minutes: utc_offset_minutes.unwrap_or(base.utc_offset_minutes),
        ..base
    })
}

fn unknown_kind(name: &Name) -> Refusal {
    Refusal::UnknownKind { name: name.clone(), field: "kind".to_owned() }
}

fn next_sequence_id(defined: &Defined) -> SequenceId {
    let count = u16::try_from(defined.plain().sequences.len()).expect("below the limit, a u16");
    SequenceId(built_in::FIRST_OF_APP.0.saturating_add(count))
}

fn record(
    defined: &Defined,
    name: &Name,
    class: RecordClass,
    is_singleton: bool,
) -> Result<Option<Definition>, Refusal> {
    if let Some(existing) = defined.record(name) {
        if existing.class == class && existing.singleton.is_some() == is_singleton {
            return Ok(None);
        }
        let why = "its class and whether it is a singleton cannot change";
        return Err(Refusal::DefinitionConflict { name: name.clone(), why });
    }
    check_room("kinds of records", defined.plain().records.len(), RECORD_KINDS_MAX)?;
    let singleton = if is_singleton { Some(next_singleton(defined)?) } else { None };
    Ok(Some(Definition::Record(RecordDefinition { name: name.clone(), class, singleton })))
}

/// Fixed ids are given in the order in which singleton kinds are defined.
fn next_singleton(defined: &Defined) -> Result<seriatim_types::Number, Refusal> {
    let mut singletons = Singletons::default();
    let full = |_| too_large("singleton kinds", SINGLETONS_MAX, SINGLETONS_MAX.saturating_add(1));
    for _ in defined.plain().records.iter().filter(|record| record.singleton.is_some()) {
        singletons.define().map_err(full)?;
    }
    singletons.define().map_err(full)
}

/// Whether one more fits to the `count` that there are.
fn check_room(what: &'static str, count: usize, max: usize) -> Result<(), Refusal> {
    if count < max { Ok(()) } else { Err(too_large(what, max, count.saturating_add(1))) }
}

fn too_large(what: &'static str, max: usize, found: usize) -> Refusal {
    let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
    Refusal::TooLarge { what, max: number(max), found: number(found) }
}

pub(super) fn evolve(
    draft: &mut Draft<'_>,
    home: Home,
    at: At,
    definition: &Definition,
) -> Result<(), Fault> {
    let row = home.app(at.workspace);
    let defined = match definition {
        Definition::App(settings) => Defined::new(settings.clone()),
        Definition::Kind(_)
        | Definition::Sequence(_)
        | Definition::Record(_)
        | Definition::KeyLimit(_) => {
            let plain: Option<Definitions> = draft.read(Some(at.workspace), &row)?;
            let plain = plain.ok_or_else(|| at.unfounded("it defines something of no app"))?;
            let mut defined = Defined::restore(plain);
            defined.step(at.offset.get(), definition)?;
            defined
        }
    };
    draft.put(row, defined.plain().to_bytes());
    let pointer = OutboxPointer { event: at.partition_offset, change: at.index };
    for target in outbox_targets(defined.app()) {
        let head = home.outbox_head(target);
        let last = draft.read_number(Some(at.workspace), &head)?.unwrap_or(0);
        let number = last.checked_add(1).expect("fewer messages than events");
        draft.put(home.outbox(target, number), pointer.encode());
        draft.put(head, encode_number(number));
    }
    Ok(())
}

/// All partitions of an app.
pub(crate) fn outbox_targets(app: &AppSettings) -> impl Iterator<Item = PartitionRef> {
    let id = app.app;
    (0..app.partitions).map(PartitionId).map(move |partition| PartitionRef { app: id, partition })
}
