//! `grpc-timeout`: how long a client waits for an answer.

use std::time::Duration;

use axum::http::HeaderMap;

use crate::error::ApiError;

const HEADER: &str = "grpc-timeout";

/// The time that a client gives a call: at most 8 digits and a unit, or nothing.
pub(super) fn timeout(headers: &HeaderMap) -> Result<Option<Duration>, ApiError> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(ApiError::invalid(HEADER, "is given more than once"));
    }
    let read = value.to_str().ok().and_then(read);
    let timeout = read.ok_or_else(|| {
        ApiError::invalid(HEADER, "must be 1 to 8 digits and one of H, M, S, m, u and n")
    })?;
    Ok(Some(timeout))
}

fn read(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = (1..=8).contains(&digits.len()) && digits.bytes().all(|it| it.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number)?;
    Some(match unit {
        "H" => Duration::from_secs(number.saturating_mul(3600)),
        "M" => Duration::from_secs(number.saturating_mul(60)),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_up_to_eight_digits_and_a_unit() {
        assert_eq!(read("1H"), Some(Duration::from_secs(3600)));
        assert_eq!(read("2M"), Some(Duration::from_secs(120)));
        assert_eq!(read("99999999S"), Some(Duration::from_secs(99_999_999)));
        assert_eq!(read("250m"), Some(Duration::from_millis(250)));
        assert_eq!(read("250u"), Some(Duration::from_micros(250)));
        assert_eq!(read("250n"), Some(Duration::from_nanos(250)));
        for bad in ["", "1", "H", "+1S", "-1S", "1.5S", "100000000S", "1s", "1 S", "S1", "1ü"] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }
}
