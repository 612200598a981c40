//! JSON with holes: what is known when a command is sent, and where its numbers go.
//!
//! ```text
//!  {"lines":[{"$ref":2}],"no":{"$next":"invoice"}}          as it was sent
//!  {"lines":[],"no":}                                       the text
//!            ▲      ▲  holes: Ref(2) at 10, Next(invoice) at 17
//! ```
//!
//! The text is canonical (RFC 8785) once the holes are filled. Whoever fills them only copies
//! bytes and writes digits, and never reads JSON.

use std::borrow::Cow;
use std::str::Chars;

use bytes::Bytes;

use crate::{Name, Number, Step};

/// Canonical JSON with holes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    text: Bytes,
    holes: Vec<Hole>,
}

/// A place where a number or its text is spliced in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hole {
    /// The byte of the text before which it stands.
    pub at: usize,
    /// Its turn among the holes of the same `args` or the same change, in the order in which the
    /// document was written. The members of a canonical object are sorted; draws follow this.
    pub order: u32,
    /// What fills it.
    pub filler: Filler,
}

/// What fills a hole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filler {
    /// A record's id: a raw id of the same command stands for the one that it is given.
    Ref(u64),
    /// The next number of a sequence.
    Next {
        /// The sequence.
        sequence: Name,
        /// How it is written.
        shown: Shown,
    },
    /// A number that the same command draws anywhere.
    Draw {
        /// Which of the command's draws, from 0.
        index: u32,
        /// How it is written.
        shown: Shown,
    },
}

/// How a number is written into a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// As its digits.
    Number,
    /// As a string, in the presentation of its sequence.
    Text,
}

impl Template {
    /// JSON without holes.
    #[must_use]
    pub fn plain(text: impl Into<Bytes>) -> Self {
        Self { text: text.into(), holes: Vec::new() }
    }

    /// A template, if the holes stand inside the text and one behind the other.
    #[must_use]
    pub fn new(text: Bytes, holes: Vec<Hole>) -> Option<Self> {
        let is_sorted = holes.iter().map(|hole| hole.at).is_sorted();
        let is_inside = holes.last().is_none_or(|hole| hole.at <= text.len());
        (is_sorted && is_inside).then_some(Self { text, holes })
    }

    /// What stands around the holes.
    #[must_use]
    pub fn text(&self) -> &Bytes {
        &self.text
    }

    /// About how many bytes of memory it takes beside itself.
    pub(crate) fn held_bytes(&self) -> usize {
        self.text.len().saturating_add(self.holes.len().saturating_mul(size_of::<Hole>()))
    }

    /// The holes, in the order of the text.
    #[must_use]
    pub fn holes(&self) -> &[Hole] {
        &self.holes
    }

    /// Where a hole stands in the text, such as `.lines[2]`; nothing for one in its place.
    #[must_use]
    pub fn path_of(&self, hole: &Hole) -> String {
        let before = self.text.get(..hole.at).and_then(|text| str::from_utf8(text).ok());
        let mut rest = before.unwrap_or_default().chars();
        let mut steps: Vec<Step<'_>> = Vec::new();
        while let Some(char) = rest.next() {
            match char {
                '{' => steps.push(Step::Member(Cow::default())),
                '[' => steps.push(Step::Item(0)),
                '}' | ']' => drop(steps.pop()),
                ',' => {
                    if let Some(Step::Item(index)) = steps.last_mut() {
                        *index = index.saturating_add(1);
                    }
                }
                '"' => {
                    let text = string(&mut rest);
                    // Only a member's name stands before a colon, and directly so.
                    if let Some(Step::Member(name)) = steps.last_mut()
                        && rest.as_str().starts_with(':')
                    {
                        *name = Cow::Owned(text);
                    }
                }
                _ => {}
            }
        }
        steps.iter().map(Step::to_string).collect()
    }
}

/// The rest of a string of canonical JSON, behind its opening quotation mark.
fn string(rest: &mut Chars<'_>) -> String {
    let mut text = String::new();
    while let Some(char) = rest.next() {
        match char {
            '"' => break,
            '\\' => text.push(match rest.next() {
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('u') => {
                    let digits: String = rest.take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
                }
                Some(char) => char,
                None => break,
            }),
            char => text.push(char),
        }
    }
    text
}

impl Filler {
    /// The sequence, of a filler that draws.
    #[must_use]
    pub fn draws(&self) -> Option<&Name> {
        match self {
            Self::Next { sequence, .. } => Some(sequence),
            Self::Ref(_) | Self::Draw { .. } => None,
        }
    }
}

/// A number that was drawn, with everything that a receipt says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberDrawn {
    /// The sequence's id.
    pub sequence: crate::SequenceId,
    /// Its name.
    pub name: Name,
    /// The year of its series, for a yearly one.
    pub year: Option<crate::Year>,
    /// The number.
    pub number: Number,
    /// Its presentation when it was drawn.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_stand_inside_the_text_and_in_order() {
        let hole = |at| Hole { at, order: 0, filler: Filler::Ref(1) };
        let new = |ats: &[usize]| {
            Template::new(Bytes::from_static(b"[,]"), ats.iter().map(|at| hole(*at)).collect())
        };
        assert!(new(&[1, 2, 3]).is_some());
        assert_eq!(new(&[2, 1]), None);
        assert_eq!(new(&[4]), None);
    }

    #[test]
    fn a_hole_knows_where_it_stands() {
        let path = |text: &'static str| {
            let hole = Hole { at: text.find('^').unwrap(), order: 0, filler: Filler::Ref(1) };
            let template = Template::new(text.replace('^', "").into(), vec![hole.clone()]);
            template.unwrap().path_of(&hole)
        };
        for (text, expected) in [
            ("^", ""),
            ("[^]", "[0]"),
            (r#"{"no":^}"#, ".no"),
            (r#"{"a":1,"b":["x",{"c":2},{"d":^,"e":3}]}"#, ".b[2].d"),
            (r#"{"a":{"b":[[1,2],[3,^]]},"c":0}"#, ".a.b[1][1]"),
            (r#"{"a,[{\"\\":[],"unit price":^}"#, r#"["unit price"]"#),
            (r#"{"\"\n\u001f":^}"#, r#"["\"\n\u{1f}"]"#),
            (r#"{"a":"b:{[","c":[":",^]}"#, ".c[1]"),
        ] {
            assert_eq!(path(text), expected, "{text}");
        }
    }
}
