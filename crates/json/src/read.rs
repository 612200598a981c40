//! Reads a document into a tree (RFC 8259, and strictly).
//!
//! By hand, because a refusal names the path of its culprit, numbers are judged by the digits
//! that were written, a repeated member is an error, and holes are drawn in the order in which
//! they stood.
//!
//! **Invariant:** the members of an object are sorted as RFC 8785 sorts them, and each is there
//! once.
//!
//! **Invariant:** the stack is bounded, because what is nested deeper than the limit is refused.

use std::borrow::Cow;

use seriatim_types::limits::{COMMAND_BYTES_MAX, JSON_DEPTH_MAX};
use seriatim_types::utf16_order;

use crate::canonical::plain_bytes;
use crate::error::{Invalid, Problem};
use crate::number::Number;
use crate::path::Path;

#[derive(Debug)]
pub(crate) enum Value<'a> {
    Null,
    Bool(bool),
    Number(Number<'a>),
    Text(Cow<'a, str>),
    Array(Vec<Value<'a>>),
    Object(Object<'a>),
}

#[derive(Debug)]
pub(crate) struct Object<'a> {
    /// The byte of the document at which it begins.
    pub(crate) at: usize,
    pub(crate) members: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl Value<'_> {
    /// What it is, for a sentence.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(object) = self else { return None };
        object.members.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(crate) fn items(&self) -> &[Self] {
        if let Self::Array(items) = self { items } else { &[] }
    }
}

/// Reads the body of a request.
pub(crate) fn read_request(body: &[u8]) -> Result<Value<'_>, Invalid> {
    if body.len() > COMMAND_BYTES_MAX as usize {
        let too_large = Problem::TooLarge { bytes: body.len(), max: COMMAND_BYTES_MAX };
        return Err(Path::Root.invalid(too_large));
    }
    read(body)
}

/// Reads any document.
pub(crate) fn read(input: &[u8]) -> Result<Value<'_>, Invalid> {
    let path = &Path::Root;
    let text = str::from_utf8(input).map_err(|error| {
        let at = error.valid_up_to();
        path.invalid(Problem::NotUtf8 { at })
    })?;
    if text.starts_with('\u{feff}') {
        return Err(path.invalid(Problem::ByteOrderMark));
    }
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value(path)?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(path.invalid(Problem::TrailingText { at: reader.at })),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// How many arrays and objects are open.
    depth: usize,
}

impl<'a> Reader<'a> {
    fn value(&mut self, path: &Path<'_>) -> Result<Value<'a>, Invalid> {
        self.skip_space();
        match self.peek() {
            Some(b'"') => self.string(path).map(Value::Text),
            Some(b'{') => self.nested(path, Self::object),
            Some(b'[') => self.nested(path, Self::array),
            Some(b'-' | b'0'..=b'9') => self.number(path),
            Some(_) | None => self.word(path),
        }
    }

    fn nested(
        &mut self,
        path: &Path<'_>,
        read: impl FnOnce(&mut Self, &Path<'_>) -> Result<Value<'a>, Invalid>,
    ) -> Result<Value<'a>, Invalid> {
        if self.depth == JSON_DEPTH_MAX {
            return Err(path.invalid(Problem::TooDeep));
        }
        self.depth = self.depth.saturating_add(1);
        let value = read(self, path)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(value)
    }

    fn object(&mut self, path: &Path<'_>) -> Result<Value<'a>, Invalid> {
        let mut object = Object { at: self.at, members: Vec::new() };
        self.skip(1);
        self.skip_space();
        if self.eat(b'}') {
            return Ok(Value::Object(object));
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a member's name in quotation marks", path));
            }
            let name = self.string(path)?;
            self.skip_space();
            if !self.eat(b':') {
                return Err(self.unexpected("a colon", &path.member(&name)));
            }
            let value = self.value(&path.member(&name))?;
            object.members.push((name, value));
            if !self.goes_on(b'}', "a comma or }", path)? {
                break;
            }
        }
        object.members.sort_unstable_by(|(one, _), (other, _)| utf16_order(one, other));
        let mut pairs = object.members.array_windows();
        if let Some([(name, _), _]) = pairs.find(|[(one, _), (other, _)]| one == other) {
            return Err(path.member(name).invalid(Problem::Repeated));
        }
        Ok(Value::Object(object))
    }

    fn array(&mut self, path: &Path<'_>) -> Result<Value<'a>, Invalid> {
        let mut items = Vec::new();
        self.skip(1);
        self.skip_space();
        if self.eat(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(&path.item(items.len()))?);
            if !self.goes_on(b']', "a comma or ]", path)? {
                return Ok(Value::Array(items));
            }
        }
    }

    /// Whether another member or item follows, or this is the end.
    fn goes_on(
        &mut self,
        end: u8,
        expected: &'static str,
        path: &Path<'_>,
    ) -> Result<bool, Invalid> {
        self.skip_space();
        if self.eat(b',') {
            return Ok(true);
        }
        if self.eat(end) { Ok(false) } else { Err(self.unexpected(expected, path)) }
    }

    fn number(&mut self, path: &Path<'_>) -> Result<Value<'a>, Invalid> {
        // None of these bytes can follow a number, so whatever they form was meant as one.
        let is_part = |byte: u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let written = self.take_while(is_part);
        let number = Number::read(written).map_err(|problem| path.invalid(problem))?;
        Ok(Value::Number(number))
    }

    fn word(&mut self, path: &Path<'_>) -> Result<Value<'a>, Invalid> {
        let words =
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        let found = words.into_iter().find(|(word, _)| self.rest().starts_with(word));
        let (word, value) = found.ok_or_else(|| self.unexpected("a value", path))?;
        self.skip(word.len());
        Ok(value)
    }

    fn string(&mut self, path: &Path<'_>) -> Result<Cow<'a, str>, Invalid> {
        self.skip(1);
        let plain = self.take(plain_bytes(self.rest()));
        if self.eat(b'"') {
            return Ok(Cow::Borrowed(plain));
        }
        let mut text = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.skip(1);
                    return Ok(Cow::Owned(text));
                }
                Some(b'\\') => text.push(self.escape().map_err(|problem| path.invalid(problem))?),
                Some(code) => {
                    let control = Problem::ControlCharacter { at: self.at, code };
                    return Err(path.invalid(control));
                }
                None => return Err(self.unexpected("a closing quotation mark", path)),
            }
            text.push_str(self.take(plain_bytes(self.rest())));
        }
    }

    fn escape(&mut self) -> Result<char, Problem> {
        let at = self.at;
        self.skip(1);
        let char = match self.peek() {
            Some(b'u') => return self.unicode_escape(at),
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(_) | None => return Err(Problem::UnknownEscape { at }),
        };
        self.skip(1);
        Ok(char)
    }

    fn unicode_escape(&mut self, at: usize) -> Result<char, Problem> {
        let first = self.utf16_unit(at)?;
        let is_high = (0xd800..0xdc00).contains(&first);
        let second = if is_high && self.rest().starts_with("\\u") {
            self.skip(1);
            Some(self.utf16_unit(at)?)
        } else {
            None
        };
        let mut chars = char::decode_utf16([first].into_iter().chain(second));
        chars.next().and_then(Result::ok).ok_or(Problem::LoneSurrogate { at })
    }

    /// The four digits behind a `u`.
    fn utf16_unit(&mut self, at: usize) -> Result<u16, Problem> {
        let digits = self.rest().get(1..5);
        let hex = digits.filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = hex.and_then(|hex| u16::from_str_radix(hex, 16).ok());
        let unit = unit.ok_or(Problem::UnknownEscape { at })?;
        self.skip(5);
        Ok(unit)
    }

    fn unexpected(&self, expected: &'static str, path: &Path<'_>) -> Invalid {
        let found = self.rest().chars().next();
        path.invalid(Problem::Syntax { at: self.at, expected, found })
    }

    fn skip_space(&mut self) {
        self.take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// The text of all bytes from here on that pass. A multi-byte character passes as a whole.
    fn take_while(&mut self, passes: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        self.take(rest.bytes().position(|byte| !passes(byte)).unwrap_or(rest.len()))
    }

    /// The text of so many bytes from here on.
    fn take(&mut self, bytes: usize) -> &'a str {
        let rest = self.rest();
        self.skip(bytes);
        rest.get(..bytes).expect("a test for bytes ends only before an ASCII character")
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        if is_next {
            self.skip(1);
        }
        is_next
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }
}
