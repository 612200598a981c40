//! Moments as RFC 3339 writes them, in UTC and with milliseconds: `2026-11-15T12:00:00.000Z`.
//!
//! The shape is read here, because RFC 3339 is stricter than the formats that a library for dates
//! takes; the calendar is that of `jiff`. A moment lies between 1970 and 9999.

use jiff::civil::{self, Date, DateTime, Time as TimeOfDay};
use seriatim_types::Time;

/// The last millisecond of the year 9999.
const LAST_MS: u64 = 253_402_300_799_999;

/// Moments are reckoned in calendar time: the timestamps of `jiff` end a day before the year 9999 does.
const FIRST: DateTime = civil::date(1970, 1, 1).at(0, 0, 0, 0);

/// The moment of a text with any offset. What is finer than a millisecond is cut off.
pub(crate) fn read(text: &str) -> Option<Time> {
    let (date, rest) = text.split_once(['T', 't'])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let (milli, offset) = fraction(rest)?;
    let [year, month, day] = parts(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = parts(clock, ':', [2, 2, 2])?;
    let date = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let [hour, minute, second] = [hour, minute, second].map(i8::try_from);
    // A leap second has no place of its own in milliseconds since 1970, and is refused.
    let clock = TimeOfDay::new(hour.ok()?, minute.ok()?, second.ok()?, 0).ok()?;
    let local = date.to_datetime(clock).duration_since(FIRST).as_millis();
    let offset_ms = i128::from(utc_offset(offset)?).checked_mul(60_000)?;
    let ms = local.checked_add(milli)?.checked_sub(offset_ms)?;
    let ms = u64::try_from(ms).ok()?;
    (ms <= LAST_MS).then_some(Time(ms))
}

/// An offset from UTC in minutes: `Z`, or hours and minutes with their sign.
#[expect(clippy::arithmetic_side_effects, reason = "both parts have two digits")]
pub(crate) fn utc_offset(text: &str) -> Option<i16> {
    let (sign, size) = match text.split_at_checked(1)? {
        ("Z" | "z", "") => return Some(0),
        ("+", size) => (1, size),
        ("-", size) => (-1, size),
        _ => return None,
    };
    let [hours, minutes] = parts(size, ':', [2, 2])?;
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes))
}

/// The milliseconds of a fraction, if there is one, and what stands behind it.
fn fraction(text: &str) -> Option<(i128, &str)> {
    let Some(behind_point) = text.strip_prefix('.') else { return Some((0, text)) };
    let rest = behind_point.trim_start_matches(|char: char| char.is_ascii_digit());
    let fraction = behind_point.strip_suffix(rest).filter(|fraction| !fraction.is_empty())?;
    let millis: String = fraction.chars().chain(['0'; 2]).take(3).collect();
    Some((digits(&millis)?.into(), rest))
}

/// Numbers of fixed widths with a separator between them.
fn parts<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[i16; N]> {
    let mut pieces = text.split(separator);
    let mut parts = [0; N];
    for (part, width) in parts.iter_mut().zip(widths) {
        *part = digits(pieces.next().filter(|piece| piece.len() == width)?)?;
    }
    pieces.next().is_none().then_some(parts)
}

fn digits(text: &str) -> Option<i16> {
    // The parser for numbers would take a sign for a digit.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments_are_read() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
            (1_794_744_000_000, "2026-11-15T12:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (LAST_MS, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(read(text), Some(Time(ms)), "{text}");
        }
    }

    #[test]
    fn offsets_and_fractions_are_read() {
        let noon = read("2026-11-15T12:00:00Z").unwrap();
        for text in [
            "2026-11-15t12:00:00z",
            "2026-11-15T13:00:00+01:00",
            "2026-11-16T11:59:00+23:59",
            "2026-11-15T04:30:00-07:30",
            "2026-11-15T12:00:00-00:00",
            "2026-11-15T12:00:00.0009999999999999999999999Z",
        ] {
            assert_eq!(read(text), Some(noon), "{text}");
        }
        assert_eq!(read("2026-11-15T12:00:00.5Z"), Some(Time(noon.0 + 500)));
        assert_eq!(read("2026-11-15T12:00:00.0219+00:00"), Some(Time(noon.0 + 21)));
        assert_eq!(read("1969-12-31T23:00:00-01:00"), Some(Time(0)));
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "2026-11-15",
            "2026-11-15T12:00:00",
            "2026-11-15 12:00:00Z",
            "2026-11-15T12:00Z",
            "2026-11-15T12:00:00.Z",
            "2026-11-15T12:00:00,5Z",
            "2026-11-15T12:00:00ZZ",
            "2026-11-15T12:00:00+0100",
            "2026-11-15T12:00:00+01",
            "2026-11-15T12:00:00+24:00",
            "2026-11-15T12:00:00+01:60",
            "2026-11-15T24:00:00Z",
            "2026-11-15T12:60:00Z",
            "2026-12-31T23:59:60Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-99T00:00:00Z",
            "+026-01-01T00:00:00Z",
            "2026-1-011T00:00:00Z",
            "12026-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "2026-11-15T12:00:0٣Z",
            "٢٠٢٦-11-15T12:00:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_moment_is_read_as_messages_write_it(ms in 0..=LAST_MS) {
            let text = seriatim_api::message::Timestamp::from(Time(ms)).to_string();
            prop_assert_eq!(read(&text), Some(Time(ms)));
        }

        #[test]
        fn any_text_is_a_moment_or_not(text: String) {
            let _ = read(&text);
        }
    }
}
