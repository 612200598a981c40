//! Numbers: read as they were written, written as JavaScript does (RFC 8785, section 3.2.2.3).
//!
//! A JSON number is a double. Below 2^53 the nearest double stands for what was written, as the
//! standard has it. From there on whole numbers fall through its grid, and who sends
//! 12345678901234567890 means an identity, not a measure: it is refused if a digit would be lost.

use crate::error::{Problem, excerpt};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number<'a> {
    /// A whole number of at most 15 digits: canonical as it was written.
    Short(&'a str),
    /// Any other, always finite.
    Double(f64),
}

const SHORT_DIGITS_MAX: usize = 15;

/// 2^53, from which on not every whole number is a double.
const GRID_FROM: f64 = 9_007_199_254_740_992.0;

impl<'a> Number<'a> {
    pub(crate) fn read(written: &'a str) -> Result<Self, Problem> {
        let unsigned = written.strip_prefix('-').unwrap_or(written);
        if is_whole(unsigned) && unsigned.len() <= SHORT_DIGITS_MAX && written != "-0" {
            return Ok(Self::Short(written));
        }
        let value = written.parse().ok().filter(|_: &f64| is_json(unsigned));
        let value = value.ok_or_else(|| Problem::NotANumber { written: excerpt(written) })?;
        if value.is_infinite() {
            return Err(Problem::NumberTooGreat { written: excerpt(written) });
        }
        if value.abs() >= GRID_FROM {
            let mut buffer = ryu_js::Buffer::new();
            let kept = buffer.format_finite(value);
            if decimal(unsigned) != decimal(kept.trim_start_matches('-')) {
                let (written, kept) = (excerpt(written), kept.to_owned());
                return Err(Problem::LosesDigits { written, kept });
            }
        }
        Ok(Self::Double(value))
    }

    /// Its canonical text.
    pub(crate) fn text<'t>(&'t self, buffer: &'t mut ryu_js::Buffer) -> &'t str {
        match self {
            Self::Short(written) => written,
            Self::Double(value) => buffer.format_finite(*value),
        }
    }

    /// The number, if it is whole and not negative.
    pub(crate) fn whole(&self) -> Option<u64> {
        self.text(&mut ryu_js::Buffer::new()).parse().ok()
    }
}

fn is_json(unsigned: &str) -> bool {
    let (mantissa, exponent) = split(unsigned, ['e', 'E']);
    let (whole, fraction) = split(mantissa, ['.'; 2]);
    let is_exponent = |text: &str| is_digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    is_whole(whole) && fraction.is_none_or(is_digits) && exponent.is_none_or(is_exponent)
}

fn is_whole(text: &str) -> bool {
    is_digits(text) && (text == "0" || !text.starts_with('0'))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The digits that count, and where the point stands before the first of them: 1200 and 1.2e3
/// are both ("12", 4).
fn decimal(unsigned: &str) -> (String, Option<i64>) {
    let (mantissa, exponent) = split(unsigned, ['e', 'E']);
    let (whole, fraction) = split(mantissa, ['.'; 2]);
    let digits = [whole, fraction.unwrap_or_default()].concat();
    let significant = digits.trim_start_matches('0');
    let zeros = digits.len().checked_sub(significant.len());
    let point = zeros.and_then(|zeros| {
        let point = i64::try_from(whole.len()).ok()?.checked_sub(i64::try_from(zeros).ok()?)?;
        point.checked_add(exponent.unwrap_or("0").parse().ok()?)
    });
    (significant.trim_end_matches('0').to_owned(), point)
}

fn split(text: &str, at: [char; 2]) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, behind)) => (before, Some(behind)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(written: &str) -> Result<String, String> {
        let number = Number::read(written).map_err(|problem| problem.to_string())?;
        Ok(number.text(&mut ryu_js::Buffer::new()).to_owned())
    }

    #[test]
    fn numbers_are_written_as_rfc_8785_has_them() {
        for (bits, expected) in APPENDIX_B {
            let value = f64::from_bits(*bits);
            assert_eq!(Number::Double(value).text(&mut ryu_js::Buffer::new()), *expected);
            assert_eq!(canonical(expected).as_deref(), Ok(*expected), "reads its own form");
        }
    }

    /// RFC 8785, appendix B, without the two that are no JSON.
    const APPENDIX_B: &[(u64, &str)] = &[
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];

    #[test]
    fn numbers_may_be_written_in_several_ways() {
        for (written, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0e5", "0"),
            ("1e-400", "0"),
            ("-7", "-7"),
            ("999999999999999", "999999999999999"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("1E30", "1e+30"),
            ("0.000000000000000000000000001", "1e-27"),
            ("333333333.33333329", "333333333.3333333"),
            ("9007199254740991", "9007199254740991"),
            ("9007199254740992", "9007199254740992"),
            ("90071992547409920e-1", "9007199254740992"),
            ("0.0000009007199254740992e+22", "9007199254740992"),
            ("1e0000000000000000000000000000020", "100000000000000000000"),
        ] {
            assert_eq!(canonical(written).as_deref(), Ok(expected), "{written}");
        }
    }

    #[test]
    fn a_number_that_would_lose_digits_is_refused() {
        for (written, kept) in [
            ("9007199254740993", "9007199254740992"),
            ("-9007199254740993", "-9007199254740992"),
            ("9007199254740992.5", "9007199254740992"),
            ("12345678901234567890", "12345678901234567000"),
            // A power of two, which a double holds exactly, but its canonical form does not.
            ("1152921504606846976", "1152921504606847000"),
            ("1.00000000000000000001e30", "1e+30"),
        ] {
            let sentence = format!(
                "is {written} and would lose digits, becoming {kept}: whole numbers go up to \
                 9007199254740991, and as data it can be a string"
            );
            assert_eq!(canonical(written), Err(sentence));
        }
    }

    #[test]
    fn what_json_does_not_write_is_refused() {
        for written in ["-", "01", "-01", "00", "1.", ".5", "1e", "1e+", "1.e1", "1.5.5", "1-1"] {
            let sentence = format!("is written {written}, which is not how JSON writes a number");
            assert_eq!(canonical(written), Err(sentence));
        }
        for written in ["1e309", "-1e309", "17976931348623159e292"] {
            let refused = Err(Problem::NumberTooGreat { written: written.to_owned() });
            assert_eq!(Number::read(written), refused);
        }
    }

    #[test]
    fn whole_numbers_are_known_however_they_are_written() {
        let whole = |written| Number::read(written).unwrap().whole();
        for written in ["1000", "1e3", "1000.0", "0.1e4"] {
            assert_eq!(whole(written), Some(1000), "{written}");
        }
        assert_eq!(whole("-0"), Some(0));
        for written in ["1.5", "-1", "-1.0", "1e21", "1e-7"] {
            assert_eq!(whole(written), None, "{written}");
        }
    }

    proptest! {
        #[test]
        fn every_finite_double_is_read_as_it_is_written(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let written = canonical(&format!("{value:?}")).unwrap();
            prop_assert_eq!(written.parse::<f64>().unwrap(), value);
            prop_assert_eq!(canonical(&written), Ok(written.clone()));
        }
    }
}
