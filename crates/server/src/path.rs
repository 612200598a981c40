//! The parts of a path, and what escapes in it and behind it stand for.
//!
//! By hand, because an error names the part that it is about, and because a percent sign that
//! begins no escape must not pass for itself: two texts would then ask for the same thing.

use seriatim_api::method::Method;

use crate::error::ApiError;

/// The parts of a path, by what errors call them.
pub(crate) fn parts(method: &Method, path: &str) -> Result<Vec<(&'static str, String)>, ApiError> {
    let mut parts = Vec::new();
    let mut parameters = method.parts.iter().peekable();
    let mut rest = path;
    for known in method.path.split('/') {
        let (part, behind) = rest.split_once('/').unwrap_or((rest, ""));
        if let Some(parameter) = parameters.next_if(|_| known.starts_with('{')) {
            // One with a star takes all that is left.
            let part = if known.starts_with("{*") { rest } else { part };
            parts.push((parameter.field, decoded(parameter.field, part)?));
        }
        rest = behind;
    }
    Ok(parts)
}

/// The text that stands in a part of a path or in a parameter.
pub(crate) fn decoded(field: &str, written: &str) -> Result<String, ApiError> {
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let (byte, behind) = match (first, behind) {
            (b'%', [high, low, behind @ ..]) => (byte_of([*high, *low]), behind),
            (b'%', _) => (None, behind),
            (first, behind) => (Some(*first), behind),
        };
        let why = "has a % without two hexadecimal digits behind it: write %25 for the sign itself";
        bytes.push(byte.ok_or_else(|| ApiError::invalid(field, why))?);
        rest = behind;
    }
    String::from_utf8(bytes).map_err(|_| ApiError::invalid(field, "is not UTF-8"))
}

fn byte_of(digits: [u8; 2]) -> Option<u8> {
    // The parser for numbers would take a sign.
    let digits = str::from_utf8(&digits).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use seriatim_api::code::ErrorCode;
    use seriatim_api::method::MethodId;

    use super::*;

    fn named(parts: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        parts.iter().map(|(name, text)| (*name, (*text).to_owned())).collect()
    }

    #[test]
    fn parts_have_the_names_of_their_route() {
        let parts = |id: MethodId, path| parts(id.method(), path).unwrap();
        let path = "/v1/apps/a%20b/workspaces/%C3%BC/entities/stock/A%2F7/";
        let found = parts(MethodId::GetEntity, path);
        let expected = [("app", "a b"), ("workspace", "ü"), ("key", "stock/A/7/")];
        assert_eq!(found, named(&expected));
        let found = parts(MethodId::RestartPartition, "/v1/partitions/a/3/restart");
        assert_eq!(found, named(&[("app", "a"), ("partition", "3")]));
        assert_eq!(parts(MethodId::Live, "/livez"), []);
    }

    #[test]
    fn what_is_no_escape_or_no_text_is_refused() {
        for (written, text) in [("", ""), ("%25", "%"), ("a%2e%2Eb", "a..b"), ("ü+", "ü+")] {
            assert_eq!(decoded("x", written).as_deref(), Ok(text));
        }
        for written in ["%", "%4", "%zz", "%+1", "%%41", "a%ü", "%ff", "%C3"] {
            assert_eq!(
                decoded("x", written).unwrap_err().code,
                ErrorCode::InvalidArgument,
                "{written}"
            );
        }
    }
}
