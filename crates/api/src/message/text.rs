//! Values that are written as text: moments and hashes.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use jiff::SignedDuration;
use jiff::civil::{self, DateTime};
use jiff::fmt::StdFmtWrite;
use jiff::fmt::temporal::DateTimePrinter;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use seriatim_types::Time;

/// A moment, written as RFC 3339 in UTC with milliseconds: `2026-11-15T12:00:00.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(Time);

/// A SHA-256 hash, written as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

/// The last millisecond of the year 9999, beyond which RFC 3339 has no text.
const LAST_MS: u64 = 253_402_300_799_999;

/// The first moment. Moments are reckoned in calendar time, whose last day is the last of the year
/// 9999: the timestamps of `jiff` end a day before.
const FIRST: DateTime = civil::date(1970, 1, 1).at(0, 0, 0, 0);

const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

impl Timestamp {
    /// The last moment that has a text.
    pub const LAST: Self = Self(Time(LAST_MS));

    /// Milliseconds since 1970, UTC.
    #[must_use]
    pub fn as_millis(self) -> u64 {
        self.0.0
    }

    /// The same as the standard library has it.
    #[must_use]
    pub fn system_time(self) -> SystemTime {
        let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.0.0));
        time.unwrap_or(SystemTime::UNIX_EPOCH)
    }
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Self {
        Self(time)
    }
}

impl From<Timestamp> for Time {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0
    }
}

impl From<SystemTime> for Timestamp {
    /// What was before 1970 is 1970.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = i64::try_from(self.0.0.min(LAST_MS)).map_err(|_| fmt::Error)?;
        let moment = FIRST.checked_add(SignedDuration::from_millis(ms)).map_err(|_| fmt::Error)?;
        let printed = PRINTER.print_datetime(&moment, StdFmtWrite(&mut *formatter));
        printed.map_err(|_| fmt::Error)?;
        formatter.write_str("Z")
    }
}

impl FromStr for Timestamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, jiff::Error> {
        let ms = match text.strip_suffix(['Z', 'z']) {
            Some(moment) => moment.parse::<DateTime>()?.duration_since(FIRST).as_millis(),
            None => i128::from(text.parse::<jiff::Timestamp>()?.as_millisecond()),
        };
        // What was before 1970 is 1970.
        Ok(Self(Time(u64::try_from(ms).unwrap_or(0))))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Timestamp;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a moment as RFC 3339 writes it")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Timestamp, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

impl From<seriatim_types::Hash> for Hash {
    fn from(hash: seriatim_types::Hash) -> Self {
        Self(hash.0)
    }
}

impl From<&seriatim_types::Hash> for Hash {
    fn from(hash: &seriatim_types::Hash) -> Self {
        Self(hash.0)
    }
}

impl From<Hash> for seriatim_types::Hash {
    fn from(hash: Hash) -> Self {
        Self(hash.0)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// What a hash must look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash has 64 hexadecimal digits")]
pub struct NotAHash;

impl FromStr for Hash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return Err(NotAHash) };
        let pairs: &[[u8; 2]; 32] = pairs.try_into().map_err(|_| NotAHash)?;
        let mut hash = [0; 32];
        for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
            let digit = |digit: u8| char::from(digit).to_digit(16).ok_or(NotAHash);
            let value = (digit(*high)? << 4) | digit(*low)?;
            *byte = u8::try_from(value).map_err(|_| NotAHash)?;
        }
        Ok(Self(hash))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for Hash {
    fn schema_name() -> Cow<'static, str> {
        "Hash".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
    }
}
