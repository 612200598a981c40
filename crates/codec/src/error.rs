//! Why stored bytes cannot be read.

use std::fmt;

/// Stored bytes that cannot be read: where, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// The message or the key, by its name in `docs/formats.md`.
    pub message: &'static str,
    /// The number of the field; `None` when it is about the whole.
    pub field: Option<u32>,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The bytes end before the value does.
    #[error("the bytes end too early")]
    CutOff,
    /// The first byte names a version that was not invented yet.
    #[error("it has version {0}, which this version of Seriatim does not know")]
    Version(u8),
    /// A field that was added later and cannot be kept, or a kind that was.
    #[error("this version of Seriatim knows no such field there")]
    Unknown,
    /// An encrypted value.
    #[error("it is protected, and this version of Seriatim cannot read protected values")]
    Protected,
    /// A field behind one with a higher number, or once more.
    #[error("it stands out of order or more than once")]
    Misplaced,
    /// A number with more bytes than it needs, or a zero or an empty text that is written out.
    #[error("it is not written in the shortest way")]
    NotShortest,
    /// A wire type that the field does not have, or one that nothing has.
    #[error("its wire type is wrong")]
    WireType,
    /// A field number that does not exist.
    #[error("its number lies outside of 1..=536870911")]
    FieldNumber,
    /// A field that must be there.
    #[error("it is missing")]
    Missing,
    /// A value that breaks a rule of its type.
    #[error("it is not {0}")]
    Invalid(&'static str),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, field, problem } = self;
        match field {
            Some(field) => write!(f, "field {field} of {message} cannot be read: {problem}"),
            None => write!(f, "{message} cannot be read: {problem}"),
        }
    }
}

impl std::error::Error for DecodeError {}
