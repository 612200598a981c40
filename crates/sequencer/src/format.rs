//! How a number is shown: `INV-{yyyy}-{n:06}` gives `INV-2026-000007`.
//!
//! `{n}` is the number, `{n:06}` the same with zeroes in front up to six digits, `{yyyy}` the
//! year, `{{` and `}}` are braces. A longer number is never cut.

use std::fmt::Write;

use seriatim_types::limits::FORMAT_BYTES_MAX;
use seriatim_types::{Number, Year};

/// A presentation, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    source: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Number { digits_min: usize },
    Year,
}

/// Why a text is no presentation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Too long.
    #[error("a format has at most {FORMAT_BYTES_MAX} bytes, this one has {bytes}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// A character that no text should have.
    #[error("a format has no control characters")]
    Control,
    /// Not exactly one number: texts could not be told apart, or not be read back.
    #[error("a format shows the number once, as {{n}} or {{n:06}}; this one does so {count} times")]
    Numbers {
        /// How often it does.
        count: usize,
    },
    /// Braces with something else between them, or a single one.
    #[error("{found} is not known in a format: use {{n}}, {{n:06}}, {{yyyy}}, {{{{ or }}}}")]
    Unknown {
        /// What was found.
        found: String,
    },
}

impl Format {
    /// Reads a presentation.
    ///
    /// # Errors
    ///
    /// When it is too long, shows the number not exactly once, or has a brace that means nothing.
    pub fn new(source: &str) -> Result<Self, FormatError> {
        if source.len() > FORMAT_BYTES_MAX {
            return Err(FormatError::TooLong { bytes: source.len() });
        }
        if source.chars().any(char::is_control) {
            return Err(FormatError::Control);
        }
        let mut pieces = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            text.push_str(before);
            let doubled = from.strip_prefix("{{").map(|rest| ('{', rest));
            let doubled = doubled.or_else(|| from.strip_prefix("}}").map(|rest| ('}', rest)));
            if let Some((brace, behind)) = doubled {
                text.push(brace);
                rest = behind;
                continue;
            }
            let (piece, behind) = placeholder(from)?;
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(piece);
            rest = behind;
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        let count = pieces.iter().filter(|piece| matches!(piece, Piece::Number { .. })).count();
        if count != 1 {
            return Err(FormatError::Numbers { count });
        }
        Ok(Self { source: source.to_owned(), pieces })
    }

    /// The text of a number drawn in a year.
    #[must_use]
    pub fn show(&self, number: Number, year: Year) -> String {
        let mut shown = String::new();
        for piece in &self.pieces {
            let written = match piece {
                Piece::Text(text) => shown.write_str(text),
                Piece::Number { digits_min } => write!(shown, "{:0digits_min$}", number.get()),
                Piece::Year => write!(shown, "{:04}", year.get()),
            };
            written.expect("a string takes all that is written to it");
        }
        shown
    }

    /// The presentation as it was written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl Default for Format {
    fn default() -> Self {
        Self::new("{n}").expect("the plain number is a good format")
    }
}

/// The placeholder at the front of a text, and what follows it.
fn placeholder(from: &str) -> Result<(Piece, &str), FormatError> {
    // Only the culprit: up to its closing brace, or the opening one that is never closed.
    let end = from.find('}').filter(|_| from.starts_with('{'));
    let culprit = from.get(..=end.unwrap_or(0)).unwrap_or(from);
    let unknown = || FormatError::Unknown { found: culprit.to_owned() };
    let inner = from.strip_prefix('{').ok_or_else(unknown)?;
    let (name, behind) = inner.split_once('}').ok_or_else(unknown)?;
    let piece = match name {
        "yyyy" => Piece::Year,
        "n" => Piece::Number { digits_min: 1 },
        _ => {
            let digits = name.strip_prefix("n:0").ok_or_else(unknown)?;
            let is_plain =
                (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            let digits_min = digits.parse().ok().filter(|_| is_plain).ok_or_else(unknown)?;
            if !(1..=20).contains(&digits_min) {
                return Err(unknown());
            }
            Piece::Number { digits_min }
        }
    };
    Ok((piece, behind))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(format: &str, number: u64) -> String {
        Format::new(format).unwrap().show(Number::new(number).unwrap(), Year::new(2026).unwrap())
    }

    #[test]
    fn numbers_are_shown_as_the_format_says() {
        assert_eq!(shown("INV-{yyyy}-{n:06}", 7), "INV-2026-000007");
        assert_eq!(shown("{n}", 31), "31");
        assert_eq!(shown("{n:03}", 12_345), "12345", "a longer number is never cut");
        assert_eq!(shown("{{{n}}}/ü", 1), "{1}/ü");
        assert_eq!(shown("{n:020}", 1), "00000000000000000001");
    }

    #[test]
    fn malformed_formats_are_refused_with_what_was_found() {
        for bad in ["{x}-{n}", "{", "{n", "}", "{n}}", "{n:0}", "{n:21}", "{n:021}", "{n: 06}"] {
            let error = Format::new(bad).unwrap_err();
            assert!(matches!(error, FormatError::Unknown { .. }), "{bad}: {error}");
        }
        for (bad, culprit) in [
            ("{yy}-{n}", "{yy}"),
            ("INV-{n}-{year}-{yyyy}", "{year}"),
            ("{n}-{", "{"),
            ("{n}}-x", "}"),
            ("{n}{größe}", "{größe}"),
        ] {
            let error = Format::new(bad).unwrap_err();
            assert_eq!(error, FormatError::Unknown { found: culprit.to_owned() });
            let sentence = format!(
                "{culprit} is not known in a format: use {{n}}, {{n:06}}, {{yyyy}}, {{{{ or }}}}"
            );
            assert_eq!(error.to_string(), sentence);
        }
        assert_eq!(Format::new("INV"), Err(FormatError::Numbers { count: 0 }));
        assert_eq!(Format::new("{n}\u{7}"), Err(FormatError::Control));
        assert_eq!(Format::new("{n}{n}"), Err(FormatError::Numbers { count: 2 }));
        let long = format!("{{n}}{}", "x".repeat(FORMAT_BYTES_MAX));
        assert_eq!(Format::new(&long), Err(FormatError::TooLong { bytes: long.len() }));
    }

    proptest! {
        #[test]
        fn any_text_is_a_format_or_an_error(text: String) {
            if let Ok(format) = Format::new(&text) {
                prop_assert_eq!(format.source(), text);
            }
        }
    }
}
