//! Documents that are refused before anybody asks what they mean.

use seriatim_json::{Problem, canonical};
use seriatim_types::limits::JSON_DEPTH_MAX;

use crate::corpus;

fn refused(input: impl AsRef<[u8]>) -> String {
    canonical(input.as_ref()).unwrap_err().to_string()
}

#[test]
fn what_another_reader_takes_means_the_same_to_us() {
    for document in corpus::all() {
        let canonical = canonical(document.as_bytes()).unwrap();
        assert!(same(document.as_bytes(), &canonical), "{document}");
    }
}

/// Whether two documents mean the same, numbers being doubles.
pub(crate) fn same(one: &[u8], other: &[u8]) -> bool {
    fn same_value(one: &serde_json::Value, other: &serde_json::Value) -> bool {
        use serde_json::Value::{Array, Number, Object};
        match (one, other) {
            (Number(one), Number(other)) => one.as_f64() == other.as_f64(),
            (Array(one), Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same_value(a, b))
            }
            (Object(one), Object(other)) => {
                let same =
                    |((a, x), (b, y)): ((&String, _), (&String, _))| a == b && same_value(x, y);
                one.len() == other.len() && one.iter().zip(other).all(same)
            }
            _ => one == other,
        }
    }
    let parsed = (serde_json::from_slice(one), serde_json::from_slice(other));
    matches!(parsed, (Ok(one), Ok(other)) if same_value(&one, &other))
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    assert_eq!(refused(b"[\"a\xff\"]"), "the document: is not UTF-8 from byte 3 on");
    assert_eq!(refused(b"\"\xed\xa0\x80\""), "the document: is not UTF-8 from byte 1 on");
    let bom = "the document: begins with a byte order mark, which JSON does not have: leave it out";
    assert_eq!(refused("\u{feff}{}"), bom);
    assert!(canonical("[\"\u{feff}\"]".as_bytes()).is_ok(), "inside a text it is a character");
}

#[test]
fn documents_end_where_their_value_ends() {
    let sentence =
        "the document: is broken at byte 2: expected a value, but the document ends there";
    assert_eq!(refused("  "), sentence);
    for (input, at) in [("nullx", 4), ("{} {}", 3), ("[]]", 2), ("1 2", 2), ("\"a\"\"b\"", 3)] {
        let sentence = format!("the document: ends before byte {at}, and nothing may follow it");
        assert_eq!(refused(input), sentence);
    }
    // A no-break space is no space to JSON.
    assert_eq!(refused("[\u{a0}1]"), "[0]: is broken at byte 1: expected a value, found '\\u{a0}'");
}

#[test]
fn every_cut_document_is_refused() {
    for document in corpus::all().filter(|document| document.ends_with(['}', ']', '"'])) {
        for (end, _) in document.trim_end().char_indices() {
            assert!(canonical(&document.as_bytes()[..end]).is_err(), "{}", &document[..end]);
        }
    }
}

#[test]
fn escapes_are_read_exactly() {
    let text = canonical(br#""\u00e9\u00E9\ud83d\uDE00\u0022\/""#).unwrap();
    assert_eq!(text, "\"éé😀\\\"/\"".as_bytes());
    let ends = canonical(br#""\ud800\udc00\udbff\udfff\ud7ff\ue000""#).unwrap();
    assert_eq!(ends, "\"\u{10000}\u{10ffff}\u{d7ff}\u{e000}\"".as_bytes());
    for escape in
        [r"\u12", r"\u+123", r"\u 123", r"\ud83d\u", r"\ud83d\u12", r"\U0041", r"\'", "\\"]
    {
        let problem = canonical(format!("\"{escape}\"").as_bytes()).unwrap_err().problem;
        let is_cut = escape == "\\" && matches!(problem, Problem::Syntax { .. });
        assert!(is_cut || problem == Problem::UnknownEscape { at: 1 }, "{escape} {problem}");
    }
    for halves in [r"\ud83d", r"\ude00", r"\ud83d\ud83d", r"\ud83dx", r"\ud83d\n", r"\ude00\ud83d"]
    {
        let problem = canonical(format!("\"{halves}\"").as_bytes()).unwrap_err().problem;
        assert_eq!(problem, Problem::LoneSurrogate { at: 1 }, "{halves}");
    }
    for code in 0..0x20 {
        let problem = canonical(&[b'"', code, b'"']).unwrap_err().problem;
        assert_eq!(problem, Problem::ControlCharacter { at: 1, code });
    }
}

#[test]
fn a_repeated_member_is_found_however_it_is_written() {
    let sentence = "is given more than once in the same object";
    assert_eq!(refused(r#"{"a": 1, "b": 2, "\u0061": 3}"#), format!("a: {sentence}"));
    assert_eq!(
        refused(r#"[0, {"x y": {"": 1, "": 1}}]"#),
        format!("[1][\"x y\"][\"\"]: {sentence}")
    );
    assert!(canonical(br#"{"a": {"a": {"A": 1}}}"#).is_ok());
}

#[test]
fn nesting_ends_at_its_limit_and_not_at_the_end_of_the_stack() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(canonical(nested(JSON_DEPTH_MAX).as_bytes()).is_ok());
    assert!(canonical(format!("[{0},{0}]", nested(JSON_DEPTH_MAX - 1)).as_bytes()).is_ok());
    for bad in [nested(JSON_DEPTH_MAX + 1), "[".repeat(10_000_000), "{\"a\":".repeat(2_000_000)] {
        let invalid = canonical(bad.as_bytes()).unwrap_err();
        assert_eq!(invalid.problem, Problem::TooDeep);
        assert_eq!(invalid.code(), "INVALID_ARGUMENT");
    }
}
