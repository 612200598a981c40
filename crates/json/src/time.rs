//! Moments as RFC 3339 writes them, in UTC and with milliseconds: `2026-11-15T12:00:00.000Z`.
//!
//! Days are reckoned in eras of 400 years that begin in March, so that the leap day is the last
//! of a year and every month has its fixed place. A moment lies between 1970 and 9999.

use seriatim_types::Time;

const DAY_MS: i64 = 86_400_000;

/// The last moment that has a text.
pub(crate) const LAST: Time = Time(LAST_MS);

/// The last millisecond of the year 9999.
const LAST_MS: u64 = 253_402_300_799_999;

/// From the first of March of the year 0 to the first of January 1970.
const DAYS_TO_1970: i64 = 719_468;

const DAYS_OF_ERA: i64 = 146_097;

/// The text of a moment. Beyond the year 9999, which has no text, it is that year's last one.
///
/// # Panics
///
/// Never: the year 9999 is far from any overflow.
#[must_use]
pub fn write(time: Time) -> String {
    let ms = i64::try_from(time.0.min(LAST_MS)).expect("the year 9999 is far from any overflow");
    let (year, month, day) = date_of_day(ms / DAY_MS);
    let (hour, minute) = (ms / 3_600_000 % 24, ms / 60_000 % 60);
    let (second, milli) = (ms / 1000 % 60, ms % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The moment of a text with any offset. What is finer than a millisecond is cut off.
#[expect(clippy::arithmetic_side_effects, reason = "all parts have at most four digits")]
pub(crate) fn read(text: &str) -> Option<Time> {
    let (date, rest) = text.split_once(['T', 't'])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let (milli, offset) = fraction(rest)?;
    let [year, month, day] = parts(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = parts(clock, ':', [2, 2, 2])?;
    // A leap second has no place of its own in milliseconds since 1970.
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let minutes = day_of_date(year, month, day)? * 24 * 60 + hour * 60 + minute;
    let seconds = (minutes - utc_offset(offset)?) * 60 + second;
    let ms = u64::try_from(seconds * 1000 + milli).ok()?;
    (ms <= LAST_MS).then_some(Time(ms))
}

/// An offset from UTC in minutes: `Z`, or hours and minutes with their sign.
#[expect(clippy::arithmetic_side_effects, reason = "both parts have two digits")]
pub(crate) fn utc_offset(text: &str) -> Option<i64> {
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
fn fraction(text: &str) -> Option<(i64, &str)> {
    let Some(behind_point) = text.strip_prefix('.') else { return Some((0, text)) };
    let rest = behind_point.trim_start_matches(|char: char| char.is_ascii_digit());
    let fraction = behind_point.strip_suffix(rest).filter(|fraction| !fraction.is_empty())?;
    let millis: String = fraction.chars().chain(['0'; 2]).take(3).collect();
    Some((digits(&millis)?, rest))
}

/// Numbers of fixed widths with a separator between them.
fn parts<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[i64; N]> {
    let mut pieces = text.split(separator);
    let mut parts = [0; N];
    for (part, width) in parts.iter_mut().zip(widths) {
        *part = digits(pieces.next().filter(|piece| piece.len() == width)?)?;
    }
    pieces.next().is_none().then_some(parts)
}

fn digits(text: &str) -> Option<i64> {
    // The parser for numbers would take a sign for a digit.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// The day, counted from the first of January 1970, if there is such a date.
#[expect(clippy::arithmetic_side_effects, reason = "a year has four digits")]
fn day_of_date(year: i64, month: i64, day: i64) -> Option<i64> {
    // January and February belong to the year before.
    let march_year = year - i64::from(month <= 2);
    let (era, year_of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * DAYS_OF_ERA + day_of_era - DAYS_TO_1970;
    // A date that does not exist comes back as another one.
    (date_of_day(days) == (year, month, day)).then_some(days)
}

/// Year, month and day.
#[expect(clippy::arithmetic_side_effects, reason = "days come from years of four digits")]
fn date_of_day(day: i64) -> (i64, i64, i64) {
    let day = day + DAYS_TO_1970;
    let (era, day_of_era) = (day.div_euclid(DAYS_OF_ERA), day.rem_euclid(DAYS_OF_ERA));
    let leaps = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leaps) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_of_year = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_of_year + 2) / 5 + 1;
    let month = (month_of_year + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_moments_are_written_and_read() {
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
            assert_eq!(write(Time(ms)), text);
            assert_eq!(read(text), Some(Time(ms)), "{text}");
        }
        assert_eq!(write(Time(u64::MAX)), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn every_day_from_1970_to_9999_has_its_date() {
        let mut days = 0;
        for year in 1970..=9999 {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let february = if is_leap { 29 } else { 28 };
            let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            for (month, month_days) in (1..).zip(months) {
                for day in 1..=month_days {
                    assert_eq!(date_of_day(days), (year, month, day));
                    days += 1;
                }
                assert_eq!(day_of_date(year, month, month_days), Some(days - 1));
                assert_eq!(day_of_date(year, month, month_days + 1), None);
            }
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
        fn a_moment_is_read_as_it_is_written(ms in 0..=LAST_MS) {
            prop_assert_eq!(read(&write(Time(ms))), Some(Time(ms)));
        }

        #[test]
        fn any_text_is_a_moment_or_not(text: String) {
            let _ = read(&text);
        }
    }
}
