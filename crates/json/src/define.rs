//! Requests for definitions. What a request leaves out of a new app is filled in here; what it leaves
//! out of a sequence or a kind of records is filled in where it is decided, because of one that is
//! there it stays as it is.
//!
//! **Deliberately absent:** whether ranges overlap, whether a format can be read, whether a kind
//! exists. That is decided where the definition is applied.

use seriatim_types::limits::{KEYS_MAX, PARTITIONS_MAX, RETENTION_MS_MAX};
use seriatim_types::{
    AppSettings, CommandLimits, Define, DefineRequest, NUMBER_MAX, Name, RecordClass,
    RecordIdScheme, RecordMembers, Reset, Retention, SequenceMembers, TrustLevel,
};

use crate::error::{Invalid, Problem, excerpt};
use crate::node::{Node, Slot};
use crate::read::{Value, read_request};
use crate::time;

/// What a new app gets where its request says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppDefaults {
    /// How many partitions it has.
    pub partitions: u16,
    /// How much its partitions trust their own numbers.
    pub trust_level: TrustLevel,
    /// How long idempotency keys are kept.
    pub retention: Retention,
    /// How many of them a partition keeps at most; `None` for no limit.
    pub keys_max: Option<u64>,
}

impl Default for AppDefaults {
    fn default() -> Self {
        Self {
            partitions: 4,
            trust_level: TrustLevel::Zero,
            retention: Retention::Milliseconds(24 * 60 * 60 * 1000),
            keys_max: None,
        }
    }
}

/// The kind of workspaces that always exists.
pub(crate) const DEFAULT_KIND: &str = "default";

/// The words for the schemes of record ids.
pub(crate) const RECORD_IDS: &[(&str, RecordIdScheme)] =
    &[("single", RecordIdScheme::Single), ("split", RecordIdScheme::Split)];

/// The words for the resets of a sequence.
pub(crate) const RESETS: &[(&str, Reset)] = &[("never", Reset::Never), ("yearly", Reset::Yearly)];

/// The words for the classes of records.
pub(crate) const CLASSES: &[(&str, RecordClass)] =
    &[("c", RecordClass::C), ("o", RecordClass::O), ("w", RecordClass::W)];

/// Reads `POST /v1/apps`.
///
/// # Errors
///
/// The body is not as the HTTP contract says.
pub fn app(body: &[u8]) -> Result<Define, Invalid> {
    app_or(body, &AppDefaults::default())
}

/// The same with other defaults.
///
/// # Errors
///
/// The body is not as the HTTP contract says.
pub fn app_or(body: &[u8], defaults: &AppDefaults) -> Result<Define, Invalid> {
    app_with(body, defaults, RecordIdScheme::Single)
}

/// The same for an app that is there: what is left out is as it is.
///
/// # Errors
///
/// The body is not as the HTTP contract says.
pub fn app_again(body: &[u8], app: &AppSettings) -> Result<Define, Invalid> {
    let &AppSettings { partitions, record_ids, trust_level, retention, keys_max, .. } = app;
    let as_it_is = AppDefaults { partitions, trust_level, retention, keys_max };
    app_with(body, &as_it_is, record_ids)
}

fn app_with(
    body: &[u8],
    defaults: &AppDefaults,
    scheme: RecordIdScheme,
) -> Result<Define, Invalid> {
    let document = read_request(body)?;
    let root = Node::root(&document);
    let [name, partitions, record_ids, trust_level, retention, keys_max] = root.members(&[
        "name",
        "partitions",
        "record_ids",
        "trust_level",
        "idempotency_retention",
        "idempotency_keys_max",
    ])?;
    let app = name.required()?.name()?;
    let request = DefineRequest::App {
        partitions: read_or(partitions, defaults.partitions, |node| {
            let count = node.whole(1..=u64::from(PARTITIONS_MAX))?;
            Ok(u16::try_from(count).expect("the limit is a u16"))
        })?,
        record_ids: read_or(record_ids, scheme, |node| node.word(RECORD_IDS))?,
        trust_level: read_or(trust_level, defaults.trust_level, trust_level_of)?,
        retention: read_or(retention, defaults.retention, retention_of)?,
        keys_max: read_or(keys_max, defaults.keys_max, keys_max_of)?,
        limits: CommandLimits::default(),
    };
    Ok(Define { app, request })
}

/// Reads `PATCH /v1/apps/{app}`: another limit of keys, or none any more.
///
/// # Errors
///
/// The body is not as the HTTP contract says.
pub fn app_change(body: &[u8]) -> Result<DefineRequest, Invalid> {
    let document = read_request(body)?;
    let root = Node::root(&document);
    let [keys_max] = root.members(&["idempotency_keys_max"])?;
    Ok(DefineRequest::KeyLimit { keys_max: keys_max_of(keys_max.required()?)? })
}

/// Reads `PUT …/kinds/{kind}`.
///
/// # Errors
///
/// The body is not as the HTTP contract says.
pub fn kind(name: Name, body: &[u8]) -> Result<DefineRequest, Invalid> {
    let document = read_request(body)?;
    let [] = Node::root(&document).members(&[])?;
    Ok(DefineRequest::Kind { name })
}

/// Reads the body of a request that says nothing: none, or an object without members.
///
/// # Errors
///
/// The body says something.
pub fn nothing(body: &[u8]) -> Result<(), Invalid> {
    if body.is_empty() {
        return Ok(());
    }
    let document = read_request(body)?;
    let [] = Node::root(&document).members(&[])?;
    Ok(())
}

/// Reads `PUT …/sequences/{name}`.
///
/// # Errors
///
/// The body is not as the HTTP contract says.
pub fn sequence(name: Name, body: &[u8]) -> Result<DefineRequest, Invalid> {
    let document = read_request(body)?;
    let root = Node::root(&document);
    let [kind, ranges, format, reset, utc_offset] =
        root.members(&["kind", "ranges", "format", "reset", "utc_offset"])?;
    let members = SequenceMembers {
        kind: read_if(kind, |node| node.name())?,
        ranges: read_if(ranges, |node| node.items()?.map(|range| range_of(&range)).collect())?,
        format: read_if(format, |node| Ok(node.text()?.to_owned()))?,
        reset: read_if(reset, |node| node.word(RESETS))?,
        utc_offset_minutes: read_if(utc_offset, utc_offset_of)?,
    };
    Ok(DefineRequest::SequenceMembers { name, members })
}

/// Reads `PUT …/records/{kind}`.
///
/// # Errors
///
/// The body is not as the HTTP contract says.
pub fn record(name: Name, body: &[u8]) -> Result<DefineRequest, Invalid> {
    let document = read_request(body)?;
    let root = Node::root(&document);
    let [class, singleton] = root.members(&["class", "singleton"])?;
    let members = RecordMembers {
        class: read_if(class, |node| node.word(CLASSES))?,
        singleton: read_if(singleton, |node| node.flag())?,
    };
    Ok(DefineRequest::RecordMembers { name, members })
}

/// Reads `PUT …/workspaces/{ws}`: the kind of the workspace.
///
/// # Errors
///
/// The body is not as the HTTP contract says.
pub fn workspace(body: &[u8]) -> Result<Name, Invalid> {
    let document = read_request(body)?;
    let root = Node::root(&document);
    let [kind] = root.members(&["kind"])?;
    kind_of(kind)
}

fn read_or<T>(
    slot: Slot<'_>,
    default: T,
    read: impl FnOnce(Node<'_>) -> Result<T, Invalid>,
) -> Result<T, Invalid> {
    slot.optional().map_or(Ok(default), read)
}

/// What a member says, if it is there.
fn read_if<T>(
    slot: Slot<'_>,
    read: impl FnOnce(Node<'_>) -> Result<T, Invalid>,
) -> Result<Option<T>, Invalid> {
    slot.optional().map(read).transpose()
}

fn kind_of(slot: Slot<'_>) -> Result<Name, Invalid> {
    let default = Name::new(DEFAULT_KIND).expect("a short word is a name");
    read_or(slot, default, |node| node.name())
}

fn trust_level_of(node: Node<'_>) -> Result<TrustLevel, Invalid> {
    Ok(match node.whole(0..=2)? {
        0 => TrustLevel::Zero,
        1 => TrustLevel::One,
        _ => TrustLevel::Two,
    })
}

/// A limit of keys; null is none.
fn keys_max_of(node: Node<'_>) -> Result<Option<u64>, Invalid> {
    if matches!(node.value, Value::Null) {
        return Ok(None);
    }
    node.whole(1..=KEYS_MAX).map(Some)
}

fn range_of(node: &Node<'_>) -> Result<(u64, u64), Invalid> {
    let mut ends = node.items()?;
    let (Some(first), Some(last), None) = (ends.next(), ends.next(), ends.next()) else {
        return Err(node.invalid(Problem::NotARange));
    };
    Ok((first.whole(1..=NUMBER_MAX)?, last.whole(1..=NUMBER_MAX)?))
}

fn utc_offset_of(node: Node<'_>) -> Result<i16, Invalid> {
    let text = node.text()?;
    time::utc_offset(text)
        .filter(|minutes| (-12 * 60..=14 * 60).contains(minutes))
        .ok_or_else(|| node.invalid(Problem::NotAUtcOffset { found: excerpt(text) }))
}

fn retention_of(node: Node<'_>) -> Result<Retention, Invalid> {
    let text = node.text()?;
    if text == "forever" {
        return Ok(Retention::Forever);
    }
    let ms = milliseconds(text).filter(|ms| (1..=RETENTION_MS_MAX).contains(ms));
    ms.map(Retention::Milliseconds)
        .ok_or_else(|| node.invalid(Problem::NotADuration { found: excerpt(text) }))
}

/// The milliseconds of each unit, the greatest first.
pub(crate) const UNITS: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

fn milliseconds(text: &str) -> Option<u64> {
    let (count, unit) = text.split_at(text.find(|char: char| !char.is_ascii_digit())?);
    let (_, unit_ms) = UNITS.into_iter().find(|(known, _)| *known == unit)?;
    count.parse::<u64>().ok()?.checked_mul(unit_ms)
}
