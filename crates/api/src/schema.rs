//! What the texts and numbers of requests can be, in JSON Schema: exactly what the parser takes.
//!
//! Messages and parameters share what stands here, so that a name is the same thing everywhere. Patterns
//! keep to what all dialects of regular expressions have in common: no look-around.
//!
//! **Deliberately absent:** limits in bytes. JSON Schema counts characters, so a text of many bytes can
//! fit a schema and be refused all the same. What members have to do with each other is not here either.

use schemars::{Schema, SchemaGenerator, json_schema};
use seriatim_types::NUMBER_MAX;
use seriatim_types::limits::{
    CLIENT_ID_CHARS_MAX, ENTITY_KEY_BYTES_MAX, FORMAT_BYTES_MAX, KEYS_MAX, NAME_BYTES_MAX,
    NAMED_WORKSPACE_FIRST, RANGES_MAX, RETENTION_MS_MAX,
};

/// The two texts that vanish from paths.
const DOTS: &str = r"^\.{1,2}$";

/// Those, and what would be taken for an id.
const DOTS_OR_DIGITS: &str = r"^([0-9]+|\.{1,2})$";

const NO_CONTROL: &str = r"^[^\u0000-\u001f\u007f-\u009f]+$";

/// The years from 1970 to 9999.
const YEARS: &str = "^(19[7-9][0-9]|[2-9][0-9]{3})-";

fn text(chars_max: usize, not: &str) -> Schema {
    json_schema!({
        "type": "string",
        "minLength": 1,
        "maxLength": chars_max,
        "pattern": NO_CONTROL,
        "not": {"pattern": not},
    })
}

/// A text of a path, of at most so many characters.
pub(crate) fn any_text(chars_max: usize) -> Schema {
    text(chars_max, DOTS)
}

/// A name of a kind, a sequence or an event.
pub(crate) fn name(_: &mut SchemaGenerator) -> Schema {
    any_text(NAME_BYTES_MAX)
}

/// A name that is no id.
pub(crate) fn app_name(_: &mut SchemaGenerator) -> Schema {
    text(NAME_BYTES_MAX, DOTS_OR_DIGITS)
}

/// A name, or an id that callers choose.
pub(crate) fn workspace(generator: &mut SchemaGenerator) -> Schema {
    let ids = whole_up_to(NAMED_WORKSPACE_FIRST.saturating_sub(1));
    let id = json_schema!({"type": "string", "pattern": format!("^(0|{ids})$")});
    json_schema!({"anyOf": [app_name(generator), id]})
}

/// A client. Headers lose blanks at their ends.
pub(crate) fn client() -> Schema {
    any_text(CLIENT_ID_CHARS_MAX)
}

/// The key of an entity.
pub(crate) fn entity_key(_: &mut SchemaGenerator) -> Schema {
    any_text(ENTITY_KEY_BYTES_MAX)
}

/// How the numbers of a sequence are shown: exactly one `{n}`, and no brace that means nothing.
pub(crate) fn format(_: &mut SchemaGenerator) -> Schema {
    let other = r"([^{}\u0000-\u001f\u007f-\u009f]|\{\{|\}\}|\{yyyy\})*";
    let number = r"\{n(:0([1-9]|0[1-9]|1[0-9]|20))?\}";
    let pattern = format!("^{other}{number}{other}$");
    json_schema!({"type": "string", "maxLength": FORMAT_BYTES_MAX, "pattern": pattern})
}

/// An offset from UTC, from -12:00 to +14:00.
pub(crate) fn utc_offset(_: &mut SchemaGenerator) -> Schema {
    let pattern = r"^([Zz]|[+-](0[0-9]|1[01]):[0-5][0-9]|\+1[23]:[0-5][0-9]|-12:00|\+14:00)$";
    json_schema!({"type": "string", "pattern": pattern})
}

/// How long keys are kept: from a millisecond to ten years, or for ever.
pub(crate) fn retention(_: &mut SchemaGenerator) -> Schema {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
    let spans =
        units.map(|(unit, ms)| format!("0*{}{unit}", whole_up_to(RETENTION_MS_MAX.div_euclid(ms))));
    let pattern = format!("^(forever|{})$", spans.join("|"));
    json_schema!({"type": "string", "pattern": pattern})
}

/// A moment, from 1970 to 9999.
pub(crate) fn moment(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "date-time", "pattern": YEARS})
}

/// A moment, or null.
pub(crate) fn moment_or_none(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["string", "null"], "format": "date-time", "pattern": YEARS})
}

/// The ranges of a sequence, each with its first and last number.
pub(crate) fn ranges(_: &mut SchemaGenerator) -> Schema {
    let number = json_schema!({"type": "integer", "minimum": 1, "maximum": NUMBER_MAX});
    let range = json_schema!({"type": "array", "items": number, "minItems": 2, "maxItems": 2});
    json_schema!({"type": "array", "items": range, "minItems": 1, "maxItems": RANGES_MAX})
}

/// A limit of idempotency keys; null is none.
pub(crate) fn keys_max(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["integer", "null"], "minimum": 1, "maximum": KEYS_MAX})
}

/// An id or a version: a whole number from 1 on.
pub(crate) fn from_one(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 1, "maximum": NUMBER_MAX})
}

/// An offset: a whole number from 0 on.
pub(crate) fn from_zero(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 0, "maximum": NUMBER_MAX})
}

/// An id, where 0 and null are none.
pub(crate) fn id_or_none(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["integer", "null"], "minimum": 0, "maximum": NUMBER_MAX})
}

/// The id of a record that is created: raw, or of a user range.
pub(crate) fn created_id(_: &mut SchemaGenerator) -> Schema {
    let raw = json_schema!({"type": "integer", "minimum": 1, "maximum": 65_535});
    let import = json_schema!({"type": "integer", "minimum": 200_001, "maximum": NUMBER_MAX});
    json_schema!({"anyOf": [raw, import]})
}

/// The pattern, without anchors, of the whole numbers from 1 to a limit without zeros in front.
fn whole_up_to(max: u64) -> String {
    let max = max.to_string();
    // All numbers with fewer digits, then for each digit those that are below it there.
    let mut choices = match max.len() {
        1 => Vec::new(),
        digits => vec![format!("[1-9][0-9]{{0,{}}}", digits.saturating_sub(2))],
    };
    for (at, digit) in max.char_indices() {
        let (before, _) = max.split_at(at);
        let lowest = if at == 0 { '1' } else { '0' };
        let behind = max.len().saturating_sub(at).saturating_sub(1);
        if let Some(below) = (lowest..digit).next_back() {
            choices.push(format!("{before}[{lowest}-{below}][0-9]{{{behind}}}"));
        }
    }
    choices.push(max);
    format!("({})", choices.join("|"))
}
