//! Canonical JSON (RFC 8785): one text for one value, so that equal values are equal bytes.

use bytes::{BufMut, Bytes, BytesMut};

use crate::error::Invalid;
use crate::read::{Value, read};

/// The canonical form of any JSON document.
///
/// # Errors
///
/// The document is not JSON, repeats a member, is nested too deep, or holds a number that would
/// lose digits.
pub fn canonical(input: &[u8]) -> Result<Bytes, Invalid> {
    let value = read(input)?;
    let mut out = BytesMut::with_capacity(input.len());
    write(&value, &mut out);
    Ok(out.freeze())
}

pub(crate) fn write(value: &Value<'_>, out: &mut BytesMut) {
    match value {
        Value::Null => out.put_slice(b"null"),
        Value::Bool(true) => out.put_slice(b"true"),
        Value::Bool(false) => out.put_slice(b"false"),
        Value::Number(number) => {
            out.put_slice(number.text(&mut ryu_js::Buffer::new()).as_bytes());
        }
        Value::Text(text) => write_text(text, out),
        Value::Array(items) => {
            out.put_u8(b'[');
            for (index, item) in items.iter().enumerate() {
                write_comma(index, out);
                write(item, out);
            }
            out.put_u8(b']');
        }
        Value::Object(object) => {
            out.put_u8(b'{');
            for (index, (name, value)) in object.members.iter().enumerate() {
                write_comma(index, out);
                write_name(name, out);
                write(value, out);
            }
            out.put_u8(b'}');
        }
    }
}

pub(crate) fn write_comma(index: usize, out: &mut BytesMut) {
    if index > 0 {
        out.put_u8(b',');
    }
}

pub(crate) fn write_name(name: &str, out: &mut BytesMut) {
    write_text(name, out);
    out.put_u8(b':');
}

/// Any text, with the escapes that JSON needs and no other.
pub(crate) fn write_text(text: &str, out: &mut impl BufMut) {
    out.put_u8(b'"');
    let mut rest = text;
    while let Some((plain, special, behind)) = split_at_special(rest) {
        out.put_slice(plain.as_bytes());
        match special {
            '"' => out.put_slice(b"\\\""),
            '\\' => out.put_slice(b"\\\\"),
            '\u{8}' => out.put_slice(b"\\b"),
            '\t' => out.put_slice(b"\\t"),
            '\n' => out.put_slice(b"\\n"),
            '\u{c}' => out.put_slice(b"\\f"),
            '\r' => out.put_slice(b"\\r"),
            control => out.put_slice(format!("\\u{:04x}", u32::from(control)).as_bytes()),
        }
        rest = behind;
    }
    out.put_slice(rest.as_bytes());
    out.put_u8(b'"');
}

fn split_at_special(text: &str) -> Option<(&str, char, &str)> {
    let (plain, behind) = text.split_at(plain_bytes(text));
    let mut chars = behind.chars();
    Some((plain, chars.next()?, chars.as_str()))
}

/// How many bytes of a text come before the first that JSON writes with an escape, or ends a text by.
pub(crate) fn plain_bytes(text: &str) -> usize {
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    let (chunks, rest) = text.as_bytes().as_chunks();
    let mut plain = 0_usize;
    for chunk in chunks {
        if let Some(at) = first_special(*chunk) {
            return plain.saturating_add(at);
        }
        plain = plain.saturating_add(chunk.len());
    }
    plain.saturating_add(rest.iter().position(is_special).unwrap_or(rest.len()))
}

/// The place of the first special one among eight bytes, which are looked at in one go. A byte that is
/// less than another borrows when it is subtracted, and so has its highest bit set. What is borrowed can
/// make the bytes behind it look special too, but none before it.
fn first_special(bytes: [u8; 8]) -> Option<usize> {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = u64::from_le_bytes([0x80; 8]);
    let below = |word: u64, limit: u64| word.wrapping_sub(EACH.wrapping_mul(limit)) & !word;
    let word = u64::from_le_bytes(bytes);
    let is_zero_for = |byte: u8| word ^ EACH.wrapping_mul(u64::from(byte));
    let special = below(word, 0x20) | below(is_zero_for(b'"'), 1) | below(is_zero_for(b'\\'), 1);
    let special = special & HIGHEST;
    (special != 0).then(|| usize::try_from(special.trailing_zeros() / 8).expect("it is below 8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(input: &str) -> String {
        String::from_utf8(canonical(input.as_bytes()).unwrap().to_vec()).unwrap()
    }

    /// RFC 8785, sections 3.2.2 to 3.2.4.
    #[test]
    fn the_sample_of_the_standard_comes_out_byte_for_byte() {
        let input = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let expected = "{\"literals\":[null,true,false],\
            \"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
            \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}";
        assert_eq!(text_of(input), expected);
    }

    /// RFC 8785, section 3.2.3.
    #[test]
    fn members_are_sorted_by_utf16_units() {
        let input = r#"{"\u20ac": "Euro Sign", "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis"}"#;
        let expected = "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
            \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
            \"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}";
        assert_eq!(text_of(input), expected);
    }

    #[test]
    fn each_of_the_first_characters_has_its_one_form() {
        let mut input = String::from("\"");
        for code in 0..0x80 {
            input.push_str(&format!("\\u{code:04X}"));
        }
        input.push('"');
        let expected = "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\
            \\f\\r\\u000e\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014\\u0015\\u0016\\u0017\\u0018\
            \\u0019\\u001a\\u001b\\u001c\\u001d\\u001e\\u001f !\\\"#$%&'()*+,-./0123456789:;<=>?@\
            ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\\\]^_`abcdefghijklmnopqrstuvwxyz{|}~\u{7f}\"";
        assert_eq!(text_of(&input), expected);
    }

    #[test]
    fn a_special_character_is_found_wherever_it_stands() {
        for length in 0..70 {
            let plain = "é".repeat(length / 2) + &"a".repeat(length % 2);
            assert_eq!(plain_bytes(&plain), plain.len());
            for special in ["\"", "\\", "\0", "\u{1f}"] {
                assert_eq!(plain_bytes(&format!("{plain}{special}{special}plain")), plain.len());
            }
        }
        assert_eq!(plain_bytes(" !#[]~\u{7f}\u{80}\u{2028}"), 12);
    }

    /// What one byte borrows must not show in another, whichever two they are and wherever they stand.
    #[test]
    fn all_pairs_of_characters_are_told_apart_at_all_places() {
        let is_special = |char| matches!(char, '"' | '\\' | '\0'..' ');
        for first in '\0'..='\u{80}' {
            for second in '\0'..='\u{80}' {
                for before in 0..9 {
                    let text = format!("{}{first}{second}behind", "a".repeat(before));
                    let expected = text.find(is_special).unwrap_or(text.len());
                    assert_eq!(plain_bytes(&text), expected, "{text:?}");
                }
            }
        }
    }

    #[test]
    fn any_value_is_a_document() {
        for input in ["null", " true ", "\"\"", "[]", "{}", "\t[ ]\r\n", "{ }", "-1"] {
            assert_eq!(text_of(input), input.replace([' ', '\t', '\r', '\n'], ""));
        }
    }
}
