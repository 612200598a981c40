//! Protobuf's wire format, in the one form that we write.
//!
//! ```text
//!  field     │ number · 8 + wire type, varint │ value │
//!  wire type   0 varint      2 length varint, bytes      1, 5  8 and 4 bytes, of unknown fields only
//! ```
//!
//! Any protobuf tool can read what is written here. We read less than such a tool does: fields
//! must ascend, numbers must be as short as they can be, zeros and empty texts must be left out
//! (unless their presence says something). So a value has one encoding, and bytes that decode
//! are those that the value encodes to. That is also why reading goes field by field in the order
//! of their numbers, and needs no loop over a match.
//!
//! By hand and not by a library, because libraries drop fields that they do not know, take any
//! form for granted, and bring a code generator into the pure ring.
//!
//! **Invariant:** a reader never panics, and goes no deeper than the types of messages do.
//!
//! **Deliberately absent:** groups, packed lists, and fixed-length numbers of our own.

use bytes::Bytes;
use seriatim_types::Unknown;

use crate::{DecodeError, Problem};

const VARINT: u8 = 0;
const FIXED_64: u8 = 1;
const LENGTH: u8 = 2;
const FIXED_32: u8 = 5;

/// The highest field number that protobuf has.
const FIELD_NUMBER_MAX: u64 = (1 << 29) - 1;

/// A message: fields with numbers.
pub(crate) trait Message: Sized {
    /// Its name in `docs/formats.md`.
    const NAME: &'static str;

    /// Writes its fields, ascending.
    fn write(&self, to: &mut Writer);

    /// Reads its fields, ascending. The caller makes sure that none is left.
    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// Writes the fields of a message.
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Begins with a version.
    pub(crate) fn new(version: u8) -> Self {
        // Most events fit, so that most are written with one allocation.
        let mut bytes = Vec::with_capacity(512);
        bytes.push(version);
        Self { bytes }
    }

    /// Everything that was written, without the room that was left: rows are kept for long.
    pub(crate) fn finish(self) -> Bytes {
        self.bytes.into_boxed_slice().into()
    }

    /// An integer; nothing for zero.
    pub(crate) fn integer(&mut self, field: u32, value: impl Into<u64>) {
        let value = value.into();
        self.optional_integer(field, (value != 0).then_some(value));
    }

    /// An integer whose absence says something else than zero.
    pub(crate) fn optional_integer(&mut self, field: u32, value: Option<impl Into<u64>>) {
        if let Some(value) = value {
            self.tag(field, VARINT);
            push_varint(&mut self.bytes, value.into());
        }
    }

    /// Bytes or a text; nothing for an empty one.
    pub(crate) fn bytes(&mut self, field: u32, value: &[u8]) {
        if !value.is_empty() {
            self.present_bytes(field, value);
        }
    }

    /// Bytes whose absence says something else than that they are empty.
    pub(crate) fn present_bytes(&mut self, field: u32, value: &[u8]) {
        self.tag(field, LENGTH);
        push_varint(&mut self.bytes, widen(value.len()));
        self.bytes.extend_from_slice(value);
    }

    /// A message.
    pub(crate) fn message<M: Message>(&mut self, field: u32, message: &M) {
        self.nested(field, |to| message.write(to));
    }

    /// A message, if there is one.
    pub(crate) fn optional_message<M: Message>(&mut self, field: u32, message: Option<&M>) {
        if let Some(message) = message {
            self.message(field, message);
        }
    }

    /// Messages, one after the other.
    pub(crate) fn repeated<M: Message>(&mut self, field: u32, messages: &[M]) {
        messages.iter().for_each(|message| self.message(field, message));
    }

    /// A message that is no type of its own.
    pub(crate) fn nested(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        self.tag(field, LENGTH);
        let start = self.bytes.len();
        write(self);
        // The length is known only now, so it is written behind the message and moved before it.
        // Writing every message twice to know it earlier costs more.
        let end = self.bytes.len();
        push_varint(&mut self.bytes, widen(end.saturating_sub(start)));
        let length_bytes = self.bytes.len().saturating_sub(end);
        let (_, message) = self.bytes.split_at_mut(start);
        message.rotate_right(length_bytes);
    }

    /// Fields that were not known when they were read.
    pub(crate) fn unknown(&mut self, unknown: &Unknown) {
        self.bytes.extend_from_slice(&unknown.0);
    }

    fn tag(&mut self, field: u32, wire_type: u8) {
        push_varint(&mut self.bytes, u64::from(field) << 3 | u64::from(wire_type));
    }
}

/// Reads the fields of a message.
pub(crate) struct Reader<'a> {
    /// The stored bytes of which this is a part. Values that are taken out share them.
    stored: &'a Bytes,
    message: &'static str,
    /// What was not taken yet, from the tag of the next field on.
    rest: &'a [u8],
    /// The same from behind the tag on.
    behind_tag: &'a [u8],
    /// The next field; 0 when there is none.
    next: u32,
    wire_type: u8,
    /// The highest field that this version knows, of those asked for so far.
    known: u32,
}

enum Value<'a> {
    Varint(u64),
    Fixed,
    Bytes(&'a [u8]),
}

impl<'a> Reader<'a> {
    /// Reads a whole message, which is a part of the stored bytes.
    pub(crate) fn read<T>(
        stored: &'a Bytes,
        part: &'a [u8],
        message: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut from = Self {
            stored,
            message,
            rest: part,
            behind_tag: part,
            next: 0,
            wire_type: VARINT,
            known: 0,
        };
        from.take_tag()?;
        let value = read(&mut from)?;
        match from.next {
            0 => Ok(value),
            next if next <= from.known => Err(from.error(next, Problem::Misplaced)),
            next => Err(from.error(next, Problem::Unknown)),
        }
    }

    /// The number of the next field, where it decides what the message is.
    pub(crate) fn kind(&self) -> Result<u32, DecodeError> {
        let missing = DecodeError { message: self.message, field: None, problem: Problem::Missing };
        if self.next == 0 { Err(missing) } else { Ok(self.next) }
    }

    /// An integer; zero when it is absent.
    pub(crate) fn integer<T: TryFrom<u64> + Default>(
        &mut self,
        field: u32,
    ) -> Result<T, DecodeError> {
        match self.varint(field)? {
            None => Ok(T::default()),
            Some(0) => Err(self.error(field, Problem::NotShortest)),
            Some(value) => self.narrow(field, value),
        }
    }

    /// An integer whose absence says something else than zero.
    pub(crate) fn optional_integer<T: TryFrom<u64>>(
        &mut self,
        field: u32,
    ) -> Result<Option<T>, DecodeError> {
        self.varint(field)?.map(|value| self.narrow(field, value)).transpose()
    }

    /// An integer that must be there, be it zero.
    pub(crate) fn present_integer<T: TryFrom<u64>>(
        &mut self,
        field: u32,
    ) -> Result<T, DecodeError> {
        self.optional_integer(field)?.ok_or_else(|| self.error(field, Problem::Missing))
    }

    /// Bytes; empty ones when they are absent.
    pub(crate) fn bytes(&mut self, field: u32) -> Result<&'a [u8], DecodeError> {
        match self.optional_bytes(field)? {
            None => Ok(&[]),
            Some([]) => Err(self.error(field, Problem::NotShortest)),
            Some(bytes) => Ok(bytes),
        }
    }

    /// Bytes whose absence says something else than that they are empty.
    pub(crate) fn optional_bytes(&mut self, field: u32) -> Result<Option<&'a [u8]>, DecodeError> {
        match self.take_if(field)? {
            None => Ok(None),
            Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Value::Varint(_) | Value::Fixed) => Err(self.error(field, Problem::WireType)),
        }
    }

    /// A message that must be there.
    pub(crate) fn message<M: Message>(&mut self, field: u32) -> Result<M, DecodeError> {
        self.nested(field, M::NAME, M::read)
    }

    /// A message that may be there.
    pub(crate) fn optional_message<M: Message>(
        &mut self,
        field: u32,
    ) -> Result<Option<M>, DecodeError> {
        let part = self.optional_bytes(field)?;
        part.map(|part| Self::read(self.stored, part, M::NAME, M::read)).transpose()
    }

    /// Messages, one after the other.
    pub(crate) fn repeated<M: Message>(&mut self, field: u32) -> Result<Vec<M>, DecodeError> {
        let mut messages = Vec::new();
        while let Some(message) = self.optional_message(field)? {
            messages.push(message);
        }
        Ok(messages)
    }

    /// A message that is no type of its own, and must be there.
    pub(crate) fn nested<T>(
        &mut self,
        field: u32,
        message: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        match self.optional_bytes(field)? {
            Some(part) => Self::read(self.stored, part, message, read),
            None => Err(self.error(field, Problem::Missing)),
        }
    }

    /// All fields that are left. They must be of a later version: each has a higher number than
    /// those that were asked for.
    pub(crate) fn unknown(&mut self) -> Result<Unknown, DecodeError> {
        let unknown = self.rest;
        let mut least = self.known.saturating_add(1);
        while self.next != 0 {
            if self.next < least {
                return Err(self.error(self.next, Problem::Misplaced));
            }
            least = self.next;
            self.take()?;
        }
        Ok(Unknown(unknown.to_vec()))
    }

    /// A copy of bytes that were read, sharing what is stored.
    pub(crate) fn share(&self, bytes: &[u8]) -> Bytes {
        self.stored.slice_ref(bytes)
    }

    /// That a field of this message cannot be read.
    pub(crate) fn error(&self, field: u32, problem: Problem) -> DecodeError {
        DecodeError { message: self.message, field: Some(field), problem }
    }

    fn varint(&mut self, field: u32) -> Result<Option<u64>, DecodeError> {
        match self.take_if(field)? {
            None => Ok(None),
            Some(Value::Varint(value)) => Ok(Some(value)),
            Some(Value::Bytes(_) | Value::Fixed) => Err(self.error(field, Problem::WireType)),
        }
    }

    fn narrow<T: TryFrom<u64>>(&self, field: u32, value: u64) -> Result<T, DecodeError> {
        let too_high = Problem::Invalid("within the range of its type");
        T::try_from(value).map_err(|_| self.error(field, too_high))
    }

    fn take_if(&mut self, field: u32) -> Result<Option<Value<'a>>, DecodeError> {
        debug_assert!(field >= self.known, "fields are asked for in the order of their numbers");
        self.known = field;
        match self.next {
            0 => Ok(None),
            next if next < field => Err(self.error(next, Problem::Misplaced)),
            next if next == field => self.take().map(Some),
            _ => Ok(None),
        }
    }

    /// The value of the next field, which stands behind its tag.
    fn take(&mut self) -> Result<Value<'a>, DecodeError> {
        let field = self.next;
        let (value, rest) = take_value(self.wire_type, self.behind_tag)
            .map_err(|problem| self.error(field, problem))?;
        self.rest = rest;
        self.take_tag()?;
        Ok(value)
    }

    fn take_tag(&mut self) -> Result<(), DecodeError> {
        (self.next, self.wire_type, self.behind_tag) = match self.rest {
            [] => (0, VARINT, self.rest),
            rest => take_tag(rest).map_err(|problem| DecodeError {
                message: self.message,
                field: None,
                problem,
            })?,
        };
        Ok(())
    }
}

fn take_tag(rest: &[u8]) -> Result<(u32, u8, &[u8]), Problem> {
    let (tag, rest) = take_varint(rest)?;
    let number = match tag >> 3 {
        number @ 1..=FIELD_NUMBER_MAX => u32::try_from(number).ok(),
        _ => None,
    };
    Ok((number.ok_or(Problem::FieldNumber)?, (tag & 0x07) as u8, rest))
}

fn take_value(wire_type: u8, rest: &[u8]) -> Result<(Value<'_>, &[u8]), Problem> {
    let split = |length| rest.split_at_checked(length).ok_or(Problem::CutOff);
    match wire_type {
        VARINT => take_varint(rest).map(|(value, rest)| (Value::Varint(value), rest)),
        FIXED_64 => split(8).map(|(_, rest)| (Value::Fixed, rest)),
        FIXED_32 => split(4).map(|(_, rest)| (Value::Fixed, rest)),
        LENGTH => {
            let (length, rest) = take_varint(rest)?;
            let length = usize::try_from(length).map_err(|_| Problem::CutOff)?;
            let (bytes, rest) = rest.split_at_checked(length).ok_or(Problem::CutOff)?;
            Ok((Value::Bytes(bytes), rest))
        }
        _ => Err(Problem::WireType),
    }
}

/// Seven bits a byte, the lowest first; all bytes but the last have the highest bit.
fn take_varint(rest: &[u8]) -> Result<(u64, &[u8]), Problem> {
    if let [byte @ ..0x80, rest @ ..] = rest {
        return Ok((u64::from(*byte), rest));
    }
    let mut value = 0_u64;
    let mut left = rest;
    for shift in (0..64).step_by(7) {
        let Some((byte, behind)) = left.split_first() else { return Err(Problem::CutOff) };
        left = behind;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            break;
        }
        value |= bits << shift;
        if *byte < 0x80 {
            return if *byte == 0 { Err(Problem::NotShortest) } else { Ok((value, left)) };
        }
    }
    Err(Problem::Invalid("a number of 64 bits"))
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push((value & 0x7f) as u8);
}

/// A length or a place as it is written.
pub(crate) fn widen(length: usize) -> u64 {
    u64::try_from(length).expect("lengths have at most 64 bits")
}
