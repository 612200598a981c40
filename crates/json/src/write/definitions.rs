//! Apps and their definitions, in the shape in which they are asked for.

use seriatim_types::{
    AppSettings, Definition, Definitions, KindDefinition, KindId, RecordDefinition, Retention,
    SequenceDefinition, TrustLevel,
};

use super::object::{Object, object, write_object};
use crate::define::{CLASSES, DEFAULT_KIND, RECORD_IDS, RESETS, UNITS, word_of};

/// The body of an app.
#[must_use]
pub fn app(settings: &AppSettings) -> Vec<u8> {
    object(|object| write_app(object, settings))
}

/// The body of all definitions of an app. Its kinds begin with the one that always exists.
#[must_use]
pub fn definitions(definitions: &Definitions) -> Vec<u8> {
    object(|object| {
        object.number("version", definitions.version);
        let kinds = definitions.kinds.iter().map(|kind| kind.name.as_str());
        object.list("kinds", [DEFAULT_KIND].into_iter().chain(kinds), |out, name| {
            write_object(out, |kind| kind.text("name", name));
        });
        object.list("sequences", &definitions.sequences, |out, sequence| {
            write_object(out, |object| {
                object.text("name", sequence.name.as_str());
                object.text("kind", kind_name(&definitions.kinds, sequence.kind));
                write_sequence(object, sequence);
            });
        });
        object.list("records", &definitions.records, |out, record| {
            write_object(out, |object| write_record(object, record));
        });
    })
}

/// One step of the definitions, as an event of the system app shows it. A kind of workspaces is
/// known there by its id alone.
pub(super) fn write_definition(object: &mut Object<'_>, definition: &Definition) {
    match definition {
        Definition::App(settings) => object.object("app", |app| write_app(app, settings)),
        Definition::Kind(kind) => object.object("kind", |object| {
            object.text("name", kind.name.as_str());
            object.number("kind_id", u64::from(kind.id.0));
        }),
        Definition::Sequence(sequence) => object.object("sequence", |object| {
            object.text("name", sequence.name.as_str());
            object.number("kind_id", u64::from(sequence.kind.0));
            write_sequence(object, sequence);
        }),
        Definition::Record(record) => {
            object.object("record", |object| write_record(object, record));
        }
        Definition::KeyLimit(keys_max) => {
            object.object("key_limit", |object| write_keys_max(object, *keys_max));
        }
    }
}

fn write_app(object: &mut Object<'_>, settings: &AppSettings) {
    object.text("name", settings.name.as_str());
    object.number("partitions", u64::from(settings.partitions));
    object.text("record_ids", word_of(RECORD_IDS, settings.record_ids));
    let trust_level = match settings.trust_level {
        TrustLevel::Zero => 0,
        TrustLevel::One => 1,
        TrustLevel::Two => 2,
    };
    object.number("trust_level", trust_level);
    object.text("idempotency_retention", &retention(settings.retention));
    write_keys_max(object, settings.keys_max);
}

fn write_keys_max(object: &mut Object<'_>, keys_max: Option<u64>) {
    match keys_max {
        Some(max) => object.number("idempotency_keys_max", max),
        None => object.null("idempotency_keys_max"),
    }
}

fn write_sequence(object: &mut Object<'_>, sequence: &SequenceDefinition) {
    object.list("ranges", &sequence.ranges, |out, (first, last)| {
        out.extend_from_slice(format!("[{first},{last}]").as_bytes());
    });
    object.text("format", &sequence.format);
    object.text("reset", word_of(RESETS, sequence.reset));
    object.text("utc_offset", &utc_offset(sequence.utc_offset_minutes));
}

fn write_record(object: &mut Object<'_>, record: &RecordDefinition) {
    object.text("name", record.name.as_str());
    object.text("class", word_of(CLASSES, record.class));
    object.flag("singleton", record.singleton.is_some());
}

fn kind_name(kinds: &[KindDefinition], id: KindId) -> &str {
    let kind = kinds.iter().find(|kind| kind.id == id);
    kind.map_or(DEFAULT_KIND, |kind| kind.name.as_str())
}

/// In the greatest unit without a rest, but not in days: a day is shown as `24h`.
/// A retention as requests write it: `24h`, or `forever`.
///
/// # Panics
///
/// Never: every time is a whole number of milliseconds.
#[must_use]
pub fn retention(retention: Retention) -> String {
    match retention {
        Retention::Forever => "forever".to_owned(),
        Retention::Milliseconds(ms) => {
            let mut units = UNITS.into_iter().skip(1);
            let text = units.find_map(|(unit, unit_ms)| {
                let count = ms.checked_div(unit_ms)?;
                ms.is_multiple_of(unit_ms).then(|| format!("{count}{unit}"))
            });
            text.expect("the last unit is a millisecond")
        }
    }
}

fn utc_offset(minutes: i16) -> String {
    let sign = if minutes < 0 { '-' } else { '+' };
    let size = minutes.unsigned_abs();
    format!("{sign}{:02}:{:02}", size / 60, size % 60)
}
