//! Years, for sequences that begin anew with each.

use std::fmt;
use std::str::FromStr;

use seriatim_types::{Time, Year};

/// A fixed offset from UTC in minutes, from -12:00 to +14:00.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UtcOffset(i16);

/// A text that is no offset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no UTC offset: write it like +01:00, from -12:00 to +14:00")]
pub struct UtcOffsetError {
    /// The text.
    pub text: String,
}

const DAY_MS: i64 = 86_400_000;

impl UtcOffset {
    /// The offset, if it lies between -12:00 and +14:00.
    #[must_use]
    pub fn from_minutes(minutes: i16) -> Option<Self> {
        (-720..=840).contains(&minutes).then_some(Self(minutes))
    }

    /// The year of a moment at this offset.
    #[must_use]
    pub fn year_of(self, time: Time) -> Year {
        // Any u64 of milliseconds is taken, and years beyond 9999 stay there: the result must
        // be the same everywhere, not sensible in a distant future.
        let ms = i64::try_from(time.0).unwrap_or(i64::MAX);
        let local = ms.saturating_add(i64::from(self.0).saturating_mul(60_000));
        let year = year_of_day(local.div_euclid(DAY_MS));
        let year = u16::try_from(year.clamp(1, 9_999)).ok();
        year.and_then(Year::new).expect("clamped to four digits")
    }
}

/// The year of a day, counted from the first of January 1970, by the well-known reckoning in
/// eras of 400 years that begin in March.
fn year_of_day(day: i64) -> i64 {
    let day = day.saturating_add(719_468);
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let leap = of_era / 1_460;
    let year_of_era = of_era
        .saturating_sub(leap)
        .saturating_add(of_era / 36_524)
        .saturating_sub(of_era / 146_096)
        / 365;
    let days_before = year_of_era
        .saturating_mul(365)
        .saturating_add(year_of_era / 4)
        .saturating_sub(year_of_era / 100);
    // Counted from March: from the 306th day on it is January or February of the next year.
    let is_next = i64::from(of_era.saturating_sub(days_before) >= 306);
    year_of_era.saturating_add(era.saturating_mul(400)).saturating_add(is_next)
}

impl FromStr for UtcOffset {
    type Err = UtcOffsetError;

    fn from_str(text: &str) -> Result<Self, UtcOffsetError> {
        let parse = || -> Option<Self> {
            let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = text.as_bytes() else { return None };
            let digit = |byte: &u8| byte.is_ascii_digit().then(|| i16::from(byte & 0x0f));
            let hours = digit(h1)?.checked_mul(10)?.checked_add(digit(h2)?)?;
            let minutes = digit(m1)?.checked_mul(10)?.checked_add(digit(m2)?)?;
            let total = hours.checked_mul(60)?.checked_add(minutes)?;
            let signed = if *sign == b'-' { total.checked_neg()? } else { total };
            (minutes < 60).then(|| Self::from_minutes(signed)).flatten()
        };
        parse().ok_or_else(|| UtcOffsetError { text: text.to_owned() })
    }
}

impl fmt::Display for UtcOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.0.unsigned_abs();
        let sign = if self.0 < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn offset(text: &str) -> UtcOffset {
        text.parse().unwrap()
    }

    #[test]
    fn a_year_turns_at_midnight_of_its_offset() {
        // 2026-12-31T23:00:00Z, and a millisecond before.
        let turn = 1_798_758_000_000;
        assert_eq!(offset("+01:00").year_of(Time(turn)).get(), 2027);
        assert_eq!(offset("+01:00").year_of(Time(turn - 1)).get(), 2026);
        assert_eq!(offset("+00:00").year_of(Time(turn)).get(), 2026);
        assert_eq!(offset("+00:00").year_of(Time(turn + 3_600_000)).get(), 2027);
        assert_eq!(offset("-00:30").year_of(Time(0)).get(), 1969);
        assert_eq!(offset("+14:00").year_of(Time(u64::MAX)).get(), 9_999);
    }

    #[test]
    fn every_day_of_six_centuries_lies_in_its_year() {
        let mut day = 0;
        for year in 1970..2600_i64 {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let days = if is_leap { 366 } else { 365 };
            for of_year in [0, 1, 58, 59, 60, 180, days - 1] {
                assert_eq!(year_of_day(day + of_year), year, "day {of_year}");
            }
            day += days;
        }
    }

    #[test]
    fn malformed_offsets_are_refused() {
        for bad in ["", "1:00", "+1:00", "+01:60", "+14:01", "-12:01", "+01:0a", "Z", "+01:000"] {
            assert!(bad.parse::<UtcOffset>().is_err(), "{bad}");
        }
        assert_eq!(offset("-12:00").to_string(), "-12:00");
    }

    proptest! {
        #[test]
        fn an_offset_is_read_as_it_is_written(minutes in -720_i16..=840) {
            let written = UtcOffset(minutes).to_string();
            prop_assert_eq!(written.parse(), Ok(UtcOffset(minutes)));
        }

        #[test]
        fn any_text_is_an_offset_or_an_error(text: String) {
            let _ = text.parse::<UtcOffset>();
        }
    }
}
