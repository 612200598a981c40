//! What people call things by, and the keys they choose.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::limits::{ENTITY_KEY_BYTES_MAX, FIELD_NAME_BYTES_MAX, NAME_BYTES_MAX};

/// The name of an app, a workspace, a kind, a sequence or an event: 1 to
/// [`NAME_BYTES_MAX`] bytes without control characters, and no [dots](is_dots). Copies share their
/// text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// The name, if the text can be one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        is_text_of(text, NAME_BYTES_MAX).then(|| Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The key of an entity: 1 to [`ENTITY_KEY_BYTES_MAX`] bytes without control characters, and no
/// [dots](is_dots).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityKey(Arc<str>);

impl EntityKey {
    /// The key, if the text can be one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        is_text_of(text, ENTITY_KEY_BYTES_MAX).then(|| Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a record's field, of at most [`FIELD_NAME_BYTES_MAX`] bytes. Any text will do,
/// also an empty one.
///
/// **Invariant:** names are ordered by their UTF-16 units, as RFC 8785 orders the members of an
/// object. Fields in this order are canonical as they stand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FieldName(Arc<str>);

impl FieldName {
    /// The name, if the text can be one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (text.len() <= FIELD_NAME_BYTES_MAX).then(|| Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Ord for FieldName {
    fn cmp(&self, other: &Self) -> Ordering {
        utf16_order(&self.0, &other.0)
    }
}

impl PartialOrd for FieldName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of two texts by their UTF-16 units.
#[must_use]
pub fn utf16_order(one: &str, other: &str) -> Ordering {
    // The two orders differ only from U+D800 on, so bytes decide for nearly all names.
    if one.is_ascii() || other.is_ascii() {
        return one.cmp(other);
    }
    one.encode_utf16().cmp(other.encode_utf16())
}

/// Whether a text is one of the two that vanish from the path of a URL before it is sent.
#[must_use]
pub fn is_dots(text: &str) -> bool {
    matches!(text, "." | "..")
}

fn is_text_of(text: &str, bytes_max: usize) -> bool {
    let is_long = (1..=bytes_max).contains(&text.len());
    is_long && !text.chars().any(char::is_control) && !is_dots(text)
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for EntityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_their_limit_and_are_neither_dots_nor_control_characters() {
        assert!(Name::new(&"x".repeat(NAME_BYTES_MAX)).is_some());
        assert_eq!(Name::new(&"x".repeat(NAME_BYTES_MAX + 1)), None);
        for bad in ["", ".", "..", "a\nb", "a\u{0}", "\u{7f}", "\u{85}"] {
            assert_eq!(Name::new(bad), None, "{bad:?}");
            assert_eq!(EntityKey::new(bad), None, "{bad:?}");
        }
        assert!(Name::new("...").is_some());
        assert!(EntityKey::new(&"x".repeat(ENTITY_KEY_BYTES_MAX)).is_some());
        assert_eq!(EntityKey::new(&"x".repeat(ENTITY_KEY_BYTES_MAX + 1)), None);
        assert!(FieldName::new("").is_some(), "JSON has such members");
        assert_eq!(FieldName::new(&"x".repeat(FIELD_NAME_BYTES_MAX + 1)), None);
    }

    #[test]
    fn fields_are_ordered_by_utf16_units_and_not_by_bytes() {
        let field = |text| FieldName::new(text).unwrap();
        // The one is a surrogate pair from D83D on, the other the single unit FB33.
        assert!(field("\u{1f600}") < field("\u{fb33}"));
        assert!("\u{1f600}" > "\u{fb33}");
        // The sample of RFC 8785, section 3.2.3.
        let sorted = ["\r", "1", "\u{80}", "ö", "€", "\u{1f600}", "\u{fb33}"];
        assert!(sorted.iter().map(|text| field(text)).is_sorted());
    }
}
