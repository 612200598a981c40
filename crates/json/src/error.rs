//! What is wrong with what somebody sent, where it stands, and in words that help to correct it.

use std::fmt::Write;

use seriatim_types::NUMBER_MAX;
use seriatim_types::limits::{
    CLIENT_ID_CHARS_MAX, FIELD_NAME_BYTES_MAX, JSON_DEPTH_MAX, NAMED_WORKSPACE_FIRST,
};

/// Something that cannot be taken as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", if .field.is_empty() { "the document" } else { .field })]
pub struct Invalid {
    /// Where the culprit stands, such as `events[0].changes[2].create.fields.total`; empty for the
    /// whole document.
    pub field: String,
    /// What is wrong with it.
    pub problem: Problem,
}

impl Invalid {
    /// The stable code that clients go by: `TOO_LARGE` or `INVALID_ARGUMENT`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        let is_size = matches!(self.problem, Problem::TooLarge { .. } | Problem::TooMany { .. });
        if is_size { "TOO_LARGE" } else { "INVALID_ARGUMENT" }
    }
}

/// What is wrong. Each sentence goes on from the name of the field. Byte positions count from 0;
/// long texts are shown by their beginning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the facts of a variant are named in its sentence")]
pub enum Problem {
    /// The bytes are no text.
    #[error("is not UTF-8 from byte {at} on")]
    NotUtf8 { at: usize },
    /// The text begins with U+FEFF.
    #[error("begins with a byte order mark, which JSON does not have: leave it out")]
    ByteOrderMark,
    /// Something else than JSON allows at this place; `None` is the end of the document.
    #[error("is broken at byte {at}: expected {expected}, {}", found_here(*.found))]
    Syntax { at: usize, expected: &'static str, found: Option<char> },
    /// Something stands behind the value.
    #[error("ends before byte {at}, and nothing may follow it")]
    TrailingText { at: usize },
    /// A control character that is not escaped.
    #[error("has a bare control character at byte {at}: write it as \\u{code:04x}")]
    ControlCharacter { at: usize, code: u8 },
    /// A backslash before something that JSON does not escape.
    #[error(
        "has an unknown escape at byte {at}: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t, and \\u with \
         four hexadecimal digits"
    )]
    UnknownEscape { at: usize },
    /// One half of a character beyond U+FFFF.
    #[error("has half a surrogate pair at byte {at}: such a character takes two \\u escapes")]
    LoneSurrogate { at: usize },
    /// A member that its object has already.
    #[error("is given more than once in the same object")]
    Repeated,
    /// Arrays and objects in each other beyond the limit.
    #[error("is nested too deep: at most {JSON_DEPTH_MAX} arrays and objects in each other")]
    TooDeep,
    /// Digits, but not as JSON writes them.
    #[error("is written {written}, which is not how JSON writes a number")]
    NotANumber { written: String },
    /// A number beyond the range of a double.
    #[error("is {written}, which is too great for a JSON number: as data it can be a string")]
    NumberTooGreat { written: String },
    /// A number beyond 2^53 that a double cannot hold exactly.
    #[error(
        "is {written} and would lose digits, becoming {kept}: whole numbers go up to {NUMBER_MAX}, \
         and as data it can be a string"
    )]
    LosesDigits { written: String, kept: String },

    /// More bytes than may be.
    #[error("has {bytes} bytes: at most {max} are allowed")]
    TooLarge { bytes: usize, max: u32 },
    /// More than may be, from there on or within.
    #[error("goes beyond a limit: at most {max} {what} are allowed")]
    TooMany { what: &'static str, max: u32 },

    /// Another type of JSON.
    #[error("must be {expected}, not {found}")]
    WrongType { expected: &'static str, found: &'static str },
    /// A member that has to be there.
    #[error("is required")]
    Missing,
    /// A member that means nothing here.
    #[error("is not known here: {}", known_here(.known))]
    UnknownMember { known: &'static [&'static str] },
    /// A number that is not whole or lies outside a range.
    #[error("must be a whole number from {min} to {max}, not {found}")]
    NotInRange { min: u64, max: u64, found: String },
    /// A text that is none of some words.
    #[error("must be {}, not {found:?}", choices(.words))]
    NotOneOf { words: Vec<&'static str>, found: String },
    /// A text that cannot be a name.
    #[error("must have 1 to {bytes_max} bytes and no control characters, and not be . or ..")]
    NotAName { bytes_max: usize },
    /// Digits that are no id which callers choose.
    #[error(
        "is of digits alone, so it must be an id below {NAMED_WORKSPACE_FIRST} (2^40) without zeros in \
         front, not {found}: a workspace that has a name is reached by its name"
    )]
    NotAWorkspaceId { found: String },
    /// A text that no client can be called.
    #[error(
        "must have 1 to {CLIENT_ID_CHARS_MAX} characters, none of them a control character, no \
         blank at its ends, and not be . or .."
    )]
    NotAClient,
    /// A text that is no moment.
    #[error("must be a time like \"2027-01-01T00:00:00Z\", from 1970 to 9999, not {found:?}")]
    NotATime { found: String },
    /// A text that is no time span.
    #[error(
        "must be a time from 1 millisecond to 3660 days, like \"500ms\", \"90s\", \"15m\", \
         \"24h\" or \"7d\", or else \"forever\", not {found:?}"
    )]
    NotADuration { found: String },
    /// A text that is no offset from UTC.
    #[error("must be \"Z\" or like \"+01:00\", from -12:00 to +14:00, not {found:?}")]
    NotAUtcOffset { found: String },
    /// A range that is no pair.
    #[error("must be a first and a last number, like [1, 999999]")]
    NotARange,
    /// A text that is no UUID, or the nil one.
    #[error(
        "must be a UUID other than the nil one, written like \
         0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50, not {found:?}"
    )]
    NotAUuid { found: String },

    /// A command without events.
    #[error("must have at least one event")]
    NoEvents,
    /// Arguments that would not be an object.
    #[error("must come out as an object: a marker may stand in its members, not in its place")]
    ArgsNotAnObject,
    /// A change that is none or several.
    #[error("must have exactly one member: create, update, delete, set, unset or draw")]
    NotOneChange,
    /// An id under which no record can be created.
    #[error(
        "must be a raw id from 1 to 65535, or an id to import from 200001 to {NUMBER_MAX}, \
         not {id}"
    )]
    NotACreateId { id: u64 },
    /// An id to import that would be raw, or that is reserved.
    #[error(
        "is {id}, and a record is imported under an id of a user range, 200001 or above: leave out \
         import if {id} is a raw id that names the record within this command"
    )]
    NotAnImportId { id: u64 },
    /// A raw id that is given a second time.
    #[error("is {id}, which an earlier create of this command already has")]
    RawIdTaken { id: u64 },
    /// A raw id that nothing has.
    #[error(
        "is {id}, but ids up to 65535 are raw: they name a record that the same command creates, \
         and none is created as {id}"
    )]
    RawIdUnknown { id: u64 },
    /// A raw id that nothing has yet.
    #[error(
        "is {id}, but ids up to 65535 are raw: they name a record that the same command creates, \
         and none is created as {id} before this change"
    )]
    RawIdNotYet { id: u64 },
    /// A field with a name that is too long.
    #[error("has a name of {bytes} bytes: at most {FIELD_NAME_BYTES_MAX} are allowed")]
    FieldNameTooLong { bytes: usize },
    /// A condition that is none of the four.
    #[error("must be \"exists\", \"absent\", {{\"version\": n}} or {{\"value\": …}}")]
    NotACondition,
    /// A marker in what is compared before any number is drawn.
    #[error(
        "has {marker}, but a condition is checked before anything is drawn: give the value \
         itself, or wrap what is meant as data: {{\"$lit\": …}}"
    )]
    MarkerInCondition { marker: &'static str },
    /// A marker in an object with other members.
    #[error(
        "has other members beside {marker}, which stands alone{}: wrap what is meant as data: \
         {{\"$lit\": …}}", if *.may_have_as { " or with \"as\"" } else { "" }
    )]
    BesideMarker { marker: &'static str, may_have_as: bool },
    /// An object that looks like a marker and is none.
    #[error(
        "has only {found}, and the markers are $ref, $next, $draw and $lit: wrap data that looks like \
         a marker: {{\"$lit\": …}}"
    )]
    UnknownMarker { found: String },
    /// A draw that the command does not make.
    #[error("is {index}, but the command draws {}", draws_counted(*.draws))]
    NoSuchDraw { index: u32, draws: u32 },
}

/// The beginning of a text, so that an answer stays small whatever was sent.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 64;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn found_here(found: Option<char>) -> String {
    match found {
        Some(char) => format!("found {char:?}"),
        None => "but the document ends there".to_owned(),
    }
}

fn known_here(known: &[&str]) -> String {
    match known {
        [] => "nothing is".to_owned(),
        [one] => format!("only {one} is"),
        [init @ .., last] => format!("{} and {last} are", init.join(", ")),
    }
}

fn choices(words: &[&str]) -> String {
    let mut text = String::new();
    for (index, word) in words.iter().enumerate() {
        let before = match index {
            0 => "",
            _ if index.saturating_add(1) == words.len() => " or ",
            _ => ", ",
        };
        let _ = write!(text, "{before}{word:?}");
    }
    text
}

fn draws_counted(draws: u32) -> String {
    match draws {
        0 => "no numbers".to_owned(),
        1 => "one number, and counting starts at 0".to_owned(),
        _ => format!("{draws} numbers, and counting starts at 0"),
    }
}
