//! What comes with a command beside its body, in headers or in the path of a request.

use seriatim_types::limits::{NAME_BYTES_MAX, NAMED_WORKSPACE_FIRST};
use seriatim_types::{ClientId, Key, Name, Time, WorkspaceId, WorkspaceRef, is_dots};

use crate::error::{Invalid, Problem, excerpt};
use crate::time;

/// The idempotency key of a hyphenated UUID, in any case. The nil one is refused: it is what a
/// client sends that forgot to make one.
///
/// # Errors
///
/// It is no such UUID.
pub fn key(text: &str) -> Result<Key, Invalid> {
    let groups: Vec<&str> = text.split('-').collect();
    let has_shape = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]);
    let hex = groups.concat();
    // The parser for numbers would take a sign for a digit.
    let is_hex = has_shape && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u128::from_str_radix(&hex, 16) {
        Ok(number) if is_hex && number != 0 => Ok(Key(number.to_be_bytes())),
        Ok(_) | Err(_) => {
            Err(invalid("Idempotency-Key", Problem::NotAUuid { found: excerpt(text) }))
        }
    }
}

/// The client of a text without control characters.
///
/// # Errors
///
/// It is empty, too long, `.` or `..`, holds a control character, or has a blank at an end: a header
/// loses that, and who is sent in one would be another.
pub fn client(text: &str) -> Result<ClientId, Invalid> {
    let is_trimmed = !text.starts_with(' ') && !text.ends_with(' ');
    let is_text = is_trimmed && !text.chars().any(char::is_control) && !is_dots(text);
    let client = ClientId::new(text.as_bytes()).filter(|_| is_text);
    client.ok_or_else(|| invalid("Client-Id", Problem::NotAClient))
}

/// The workspace of a text: digits alone are its id, anything else is its name. Ids from 2^40 on belong
/// to names, and a zero in front would be a second text for the same id: neither is an id here, so no
/// text is ambiguous.
///
/// # Errors
///
/// It is neither such an id nor a name.
pub fn workspace(text: &str) -> Result<WorkspaceRef, Invalid> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits {
        let not_a_name = || invalid("workspace", Problem::NotAName { bytes_max: NAME_BYTES_MAX });
        return Name::new(text).map(WorkspaceRef::Name).ok_or_else(not_a_name);
    }
    let is_shortest = text == "0" || !text.starts_with('0');
    let id = text.parse().ok().filter(|id| is_shortest && *id < NAMED_WORKSPACE_FIRST);
    let not_an_id = || invalid("workspace", Problem::NotAWorkspaceId { found: excerpt(text) });
    id.map(|id| WorkspaceRef::Id(WorkspaceId(id))).ok_or_else(not_an_id)
}

/// The moment after which a command is not to be carried out.
///
/// # Errors
///
/// It is no moment as RFC 3339 writes them.
pub fn deadline(text: &str) -> Result<Time, Invalid> {
    let not_a_time = || invalid("Deadline", Problem::NotATime { found: excerpt(text) });
    time::read(text).ok_or_else(not_a_time)
}

fn invalid(header: &str, problem: Problem) -> Invalid {
    Invalid { field: header.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_hyphenated_uuid_in_any_case() {
        let bytes = *b"\x0b\x0e\x8a\x4e\x5f\x0a\x4c\x3e\x9d\x6b\x7a\x1c\x2d\x3e\x4f\x50";
        for text in ["0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50", "0B0E8A4E-5F0A-4c3e-9d6b-7A1C2D3E4F50"]
        {
            assert_eq!(key(text), Ok(Key(bytes)));
        }
    }

    #[test]
    fn digits_are_an_id_below_two_to_the_40_and_anything_else_is_a_name() {
        for id in [0, 1, 42, NAMED_WORKSPACE_FIRST - 1] {
            assert_eq!(workspace(&id.to_string()), Ok(WorkspaceRef::Id(WorkspaceId(id))));
        }
        for name in ["store-1", "0x2a", "42a", "+42", "-1", "4 2", "4.2", "\u{664}\u{662}"] {
            assert_eq!(workspace(name), Ok(WorkspaceRef::Name(Name::new(name).unwrap())));
        }
        for text in [
            "0042",
            "00",
            "01",
            "1099511627776",
            "9007199254740991",
            "9007199254740992",
            "18446744073709551616",
            "99999999999999999999999999",
        ] {
            let refused = Problem::NotAWorkspaceId { found: text.to_owned() };
            assert_eq!(workspace(text), Err(invalid("workspace", refused)), "{text}");
        }
        for text in ["", ".", "..", "a\nb"] {
            let refused = Problem::NotAName { bytes_max: NAME_BYTES_MAX };
            assert_eq!(workspace(text), Err(invalid("workspace", refused)), "{text:?}");
        }
    }

    #[test]
    fn other_forms_and_the_nil_uuid_are_refused() {
        for text in [
            "",
            "00000000-0000-0000-0000-000000000000",
            "0b0e8a4e5f0a4c3e9d6b7a1c2d3e4f50",
            "{0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50}",
            "urn:uuid:0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50",
            "0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f5",
            "0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f500",
            "0b0e8a4e-5f0a-4c3e-9d6b7-a1c2d3e4f50",
            "+b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50",
            "gb0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50",
            " 0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4f50",
            "0b0e8a4e-5f0a-4c3e-9d6b-7a1c2d3e4ff\u{661}",
        ] {
            let refused = Problem::NotAUuid { found: text.to_owned() };
            assert_eq!(key(text), Err(invalid("Idempotency-Key", refused)));
        }
    }

    #[test]
    fn a_client_has_1_to_255_characters_and_no_control_characters() {
        for text in ["pos-4", "Kasse Süd", &"x".repeat(255), &"ü".repeat(255), &"😀".repeat(255)]
        {
            assert_eq!(client(text).unwrap().as_bytes(), text.as_bytes());
        }
        for text in [
            "",
            " ",
            " a",
            "a ",
            ".",
            "..",
            "a\tb",
            "\u{7f}",
            "\u{85}",
            &"x".repeat(256),
            &"ü".repeat(256),
        ] {
            let refused = client(text).unwrap_err();
            let sentence = "Client-Id: must have 1 to 255 characters, none of them a control \
                            character, no blank at its ends, and not be . or ..";
            assert_eq!(refused.to_string(), sentence);
        }
    }

    #[test]
    fn a_deadline_is_a_moment() {
        assert_eq!(deadline("1970-01-01T00:00:01Z"), Ok(Time(1000)));
        let sentence = "Deadline: must be a time like \"2027-01-01T00:00:00Z\", from 1970 to 9999, \
                        not \"soon\"";
        assert_eq!(deadline("soon").unwrap_err().to_string(), sentence);
    }
}
