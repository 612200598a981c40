//! Values of settings as people write them: `1100`, `"64 MiB"`, `"30s"`.

use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use seriatim_types::limits::RETENTION_MS_MAX;
use seriatim_types::{Retention, TrustLevel};

use crate::server_log::{LogFormat, LogLevel};

/// A value, as the table knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    /// A count, bytes or milliseconds.
    Number(u64),
    /// A retention without an end.
    Forever,
    /// No limit.
    NoLimit,
    Flag(bool),
}

/// What a setting takes.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    /// An address and a port.
    Address,
    /// A folder.
    Folder,
    /// Names of hosts.
    Hosts,
    /// A whole number.
    Count(RangeInclusive<u64>),
    /// A number of bytes.
    Bytes(RangeInclusive<u64>),
    /// A time, in milliseconds.
    Time(RangeInclusive<u64>),
    /// A time, or for ever.
    Retention,
    /// A whole number, or no limit.
    CountOrNone(RangeInclusive<u64>),
    /// A time in milliseconds, or no limit.
    TimeOrNone(RangeInclusive<u64>),
    /// Yes or no.
    Flag,
    /// One of these words.
    Choice(fn() -> Vec<&'static str>),
}

/// How many of the smallest unit each unit is. The first that fits is shown.
type Units = &'static [(&'static str, u64)];

const BYTES: Units = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("", 1)];

/// Days are read and not written: the contract for clients says 24h too.
const TIMES: Units = &[("h", 3_600_000), ("m", 60_000), ("s", 1000), ("d", 86_400_000), ("ms", 1)];

impl Kind {
    /// Reads a value, or says what it must be.
    pub(super) fn read(&self, text: &str) -> Result<Value, String> {
        let number = |range: &RangeInclusive<u64>| {
            let number = number(text, self.units()).filter(|number| range.contains(number));
            number.map(Value::Number)
        };
        let value = match self {
            Self::Address => return address(text),
            Self::Folder => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
            Self::Hosts => hosts(text).map(|hosts| Value::Text(hosts.join(", "))),
            Self::Count(range) | Self::Bytes(range) | Self::Time(range) => number(range),
            Self::CountOrNone(_) | Self::TimeOrNone(_) if text == "none" => Some(Value::NoLimit),
            Self::CountOrNone(range) | Self::TimeOrNone(range) => number(range),
            Self::Flag => text.parse().ok().map(Value::Flag),
            Self::Choice(words) => words().contains(&text).then(|| Value::Text(text.to_owned())),
            Self::Retention if text == "forever" => Some(Value::Forever),
            Self::Retention => number(&(1..=RETENTION_MS_MAX)),
        };
        value.ok_or_else(|| format!("{text:?} is not {self}"))
    }

    /// A value as it is written in a file: what JSON writes is TOML too.
    pub(super) fn show(&self, value: &Value) -> serde_json::Value {
        match value {
            Value::Text(text) => text.as_str().into(),
            Value::Forever => "forever".into(),
            Value::NoLimit => "none".into(),
            Value::Flag(flag) => (*flag).into(),
            Value::Number(number) => match with_unit(*number, self.units()) {
                plain if plain.bytes().all(|byte| byte.is_ascii_digit()) => (*number).into(),
                with_unit => with_unit.into(),
            },
        }
    }

    /// From where to where, in words.
    pub(super) fn range_in_words(&self) -> String {
        match self {
            Self::Address => "of this machine's own".to_owned(),
            Self::Folder => "any".to_owned(),
            Self::Hosts => "any number of them, or *".to_owned(),
            Self::Count(range) | Self::Bytes(range) | Self::Time(range) => self.span(range),
            Self::CountOrNone(range) | Self::TimeOrNone(range) => {
                format!("{}, or none", self.span(range))
            }
            Self::Flag => "true or false".to_owned(),
            Self::Choice(words) => {
                let words = words();
                let (last, others) = words.split_last().expect("there is a choice");
                format!("{} or {last}", others.join(", "))
            }
            Self::Retention => {
                format!("1ms to {}, or forever", with_unit(RETENTION_MS_MAX, TIMES))
            }
        }
    }

    fn span(&self, range: &RangeInclusive<u64>) -> String {
        let [first, last] = [range.start(), range.end()].map(|end| with_unit(*end, self.units()));
        format!("{first} to {last}")
    }

    /// What kind of value, in words.
    pub(super) fn in_words(&self) -> &'static str {
        match self {
            Self::Address => "address and port",
            Self::Folder => "folder",
            Self::Hosts => "names with commas between them",
            Self::Count(_) | Self::CountOrNone(_) => "whole number",
            Self::Bytes(_) => "bytes (KiB, MiB, GiB)",
            Self::Time(_) | Self::TimeOrNone(_) | Self::Retention => "time (ms, s, m, h, d)",
            Self::Flag => "yes or no",
            Self::Choice(_) => "word",
        }
    }

    fn units(&self) -> Units {
        match self {
            Self::Bytes(_) => BYTES,
            Self::Time(_) | Self::TimeOrNone(_) | Self::Retention => TIMES,
            Self::Address
            | Self::Folder
            | Self::Hosts
            | Self::Count(_)
            | Self::CountOrNone(_)
            | Self::Flag
            | Self::Choice(_) => &[("", 1)],
        }
    }
}

/// What a value must be, for a sentence that begins with "is not".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = self.range_in_words();
        match self {
            Self::Address => {
                f.write_str("an address with a port, such as 127.0.0.1:7600 or [::1]:7600")
            }
            Self::Folder => f.write_str("a folder"),
            Self::Hosts => {
                f.write_str("names of hosts without ports, such as db.internal, db.example")
            }
            Self::Count(_) | Self::CountOrNone(_) => write!(f, "a whole number from {range}"),
            Self::Bytes(_) => write!(f, "a number of bytes from {range}"),
            Self::Time(_) => write!(f, "a time from {range}, with its unit, such as 30s"),
            Self::Retention | Self::TimeOrNone(_) => {
                write!(f, "a time from {range}, such as 24h")
            }
            Self::Flag | Self::Choice(_) => write!(f, "{range}"),
        }
    }
}

/// The words of a choice.
pub(super) fn names<T>(named: &[(&'static str, T)]) -> Vec<&'static str> {
    named.iter().map(|(name, _)| *name).collect()
}

/// A time with its unit, such as 30s: from a millisecond to a day.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let value = Kind::Time(1..=86_400_000).read(text)?;
    Ok(Duration::from_millis(value.number()))
}

/// How long keys are kept: a time with its unit, or forever.
pub(crate) fn retention(text: &str) -> Result<Retention, String> {
    let mut retention = Retention::Forever;
    retention.take(Kind::Retention.read(text)?);
    Ok(retention)
}

fn address(text: &str) -> Result<Value, String> {
    // The name that every machine has for itself is not looked up.
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    let address: SocketAddr =
        numeric.parse().map_err(|_| format!("{text:?} is not {}", Kind::Address))?;
    if !address.ip().is_loopback() {
        return Err(format!(
            "{address} can be reached from other machines, and there is no authentication yet; \
             listen on 127.0.0.1 or [::1]"
        ));
    }
    Ok(Value::Text(address.to_string()))
}

/// Names with commas between them; none for an empty text.
fn hosts(text: &str) -> Option<Vec<String>> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char);
    let is_host = |name: &&str| *name == "*" || (!name.is_empty() && name.chars().all(is_part));
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let names = text.split(',').map(str::trim);
    names.map(|name| Some(name).filter(is_host).map(str::to_owned)).collect()
}

/// A number with one of the units behind it.
fn number(text: &str, units: Units) -> Option<u64> {
    let digits = text.trim_end_matches(|char: char| !char.is_ascii_digit());
    let unit = text.strip_prefix(digits)?.trim_start();
    let (_, size) = units.iter().find(|(known, _)| *known == unit)?;
    // The parser for numbers would take a sign.
    let digits = digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)?;
    digits.parse::<u64>().ok()?.checked_mul(*size)
}

/// A number in the greatest unit of which it is a whole number.
fn with_unit(number: u64, units: Units) -> String {
    let fits = |(_, size): &&(&str, u64)| number != 0 && number.is_multiple_of(*size);
    let unit = units.iter().find(fits).or(units.last());
    let (unit, size) = unit.expect("every kind has a smallest unit");
    // Times are written as the HTTP contract does; bytes with a space, as people do.
    let space = if unit.ends_with("iB") { " " } else { "" };
    format!("{}{space}{unit}", number.checked_div(*size).expect("no unit is 0"))
}

/// What the table can read from settings and put into them.
pub(super) trait Field {
    fn value(&self) -> Value;

    /// Takes a value that its kind has read.
    fn take(&mut self, value: Value);
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn value(&self) -> Value {
                Value::Number(u64::try_from(*self).expect("no setting is wider than 64 bits"))
            }

            fn take(&mut self, value: Value) {
                *self = value.number().try_into().expect("the range is one of its type");
            }
        }
    )*};
}

numbers!(u16, u32, u64, usize);

impl Field for Duration {
    fn value(&self) -> Value {
        Value::Number(u64::try_from(self.as_millis()).expect("no time is ages long"))
    }

    fn take(&mut self, value: Value) {
        *self = Self::from_millis(value.number());
    }
}

impl Field for Option<Duration> {
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::NoLimit, Field::value)
    }

    fn take(&mut self, value: Value) {
        *self = match value {
            Value::NoLimit => None,
            Value::Number(_) | Value::Text(_) | Value::Forever | Value::Flag(_) => {
                Some(Duration::from_millis(value.number()))
            }
        };
    }
}

impl Field for Option<u64> {
    fn value(&self) -> Value {
        self.map_or(Value::NoLimit, Value::Number)
    }

    fn take(&mut self, value: Value) {
        *self = match value {
            Value::NoLimit => None,
            Value::Number(_) | Value::Text(_) | Value::Forever | Value::Flag(_) => {
                Some(value.number())
            }
        };
    }
}

impl Field for bool {
    fn value(&self) -> Value {
        Value::Flag(*self)
    }

    fn take(&mut self, value: Value) {
        *self = match value {
            Value::Flag(flag) => flag,
            Value::Number(_) | Value::Text(_) | Value::Forever | Value::NoLimit => {
                panic!("its kind reads flags only, not {value:?}")
            }
        };
    }
}

macro_rules! choices {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn value(&self) -> Value {
                let named = Self::NAMED.iter().find(|(_, known)| known == self);
                Value::Text(named.expect("every choice has a name").0.to_owned())
            }

            fn take(&mut self, value: Value) {
                let text = value.text();
                let named = Self::NAMED.iter().find(|(name, _)| *name == text);
                *self = named.expect("its kind reads names only").1;
            }
        }
    )*};
}

choices!(LogFormat, LogLevel);

impl Field for SocketAddr {
    fn value(&self) -> Value {
        Value::Text(self.to_string())
    }

    fn take(&mut self, value: Value) {
        *self = value.text().parse().expect("its kind reads addresses only");
    }
}

impl Field for PathBuf {
    fn value(&self) -> Value {
        Value::Text(self.display().to_string())
    }

    fn take(&mut self, value: Value) {
        *self = value.text().into();
    }
}

impl Field for Vec<String> {
    fn value(&self) -> Value {
        Value::Text(self.join(", "))
    }

    fn take(&mut self, value: Value) {
        *self = hosts(&value.text()).expect("its kind reads such lists only");
    }
}

impl Field for Retention {
    fn value(&self) -> Value {
        match self {
            Self::Milliseconds(ms) => Value::Number(*ms),
            Self::Forever => Value::Forever,
        }
    }

    fn take(&mut self, value: Value) {
        *self = match value {
            Value::Forever => Self::Forever,
            Value::Number(_) | Value::Text(_) | Value::NoLimit | Value::Flag(_) => {
                Self::Milliseconds(value.number())
            }
        };
    }
}

impl Field for TrustLevel {
    fn value(&self) -> Value {
        Value::Number(match self {
            Self::Zero => 0,
            Self::One => 1,
            Self::Two => 2,
        })
    }

    fn take(&mut self, value: Value) {
        *self = match value.number() {
            0 => Self::Zero,
            1 => Self::One,
            _ => Self::Two,
        };
    }
}

impl Value {
    fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Text(_) | Self::Forever | Self::NoLimit | Self::Flag(_) => {
                panic!("its kind reads numbers only, not {self:?}")
            }
        }
    }

    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(_) | Self::Forever | Self::NoLimit | Self::Flag(_) => {
                panic!("its kind reads texts only, not {self:?}")
            }
        }
    }
}
