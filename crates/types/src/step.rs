//! Where something stands in a document, as a person writes it: `.lines[2]["unit price"]`.

use std::borrow::Cow;
use std::fmt;

/// How much of a name is shown, so that an answer stays small whatever was sent.
const SHOWN_CHARS_MAX: usize = 64;

/// One step further into a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<'s> {
    /// To a member of an object.
    Member(Cow<'s, str>),
    /// To an item of an array.
    Item(usize),
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) if is_plain(name) => write!(f, ".{name}"),
            Self::Member(name) => match name.char_indices().nth(SHOWN_CHARS_MAX) {
                Some((end, _)) => {
                    write!(f, "[{:?}]", format!("{}…", name.get(..end).unwrap_or_default()))
                }
                None => write!(f, "[{name:?}]"),
            },
            Self::Item(index) => write!(f, "[{index}]"),
        }
    }
}

/// Whether a name can stand behind a dot. Markers such as `$ref` can.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    name.len() <= SHOWN_CHARS_MAX
        && name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}
