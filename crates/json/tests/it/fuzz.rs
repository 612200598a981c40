//! Right documents with a few wrong bytes: nothing panics, and what is taken is taken rightly.

use seriatim_json::{canonical, command, define, header};
use seriatim_storage::faulty::Dice;
use seriatim_types::Name;

use crate::corpus;
use crate::documents::same;
use crate::orders::{filled, templates};

const ROUNDS: usize = 60_000;

/// What a mutation puts into a document.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "null",
    "true",
    "false",
    "-",
    "0",
    "1",
    "e",
    ".",
    "+",
    "-0",
    "1e400",
    "1e-400",
    "9007199254740993",
    "65535",
    "200001",
    "0.1",
    "\\u0000",
    "\\ud83d",
    "\\ude00",
    "\\n",
    "\u{0}",
    "\u{7f}",
    "\u{feff}",
    "é",
    "😀",
    " ",
    "\n",
    "{\"$ref\":1}",
    "{\"$next\":\"s\"}",
    "{\"$draw\":0}",
    "{\"$lit\":{}}",
    "\"as\":\"text\"",
    "\"$ref\"",
    "\"\"",
    "\"a\":1,",
    "[[[[[[[[",
    "\u{ff}",
];

fn mutate(document: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let at = dice.index_below(document.len() + 1);
    let end = (at + 1 + dice.index_below(8)).min(document.len());
    match dice.index_below(7) {
        0 => document.truncate(at.max(end)),
        1 => drop(document.splice(at..end, [])),
        2 => drop(document.splice(at..at, TOKENS[dice.index_below(TOKENS.len())].bytes())),
        3 => drop(document.splice(at..end, TOKENS[dice.index_below(TOKENS.len())].bytes())),
        4 => {
            let again = document[at..end].to_vec();
            drop(document.splice(at..at, again));
        }
        5 => {
            let from = dice.index_below(other.len());
            let to = (from + dice.index_below(40)).min(other.len());
            drop(document.splice(at..end, other[from..to].iter().copied()));
        }
        _ => {
            if let Some(byte) = document.get_mut(at) {
                *byte ^= 1 << dice.index_below(8);
            }
        }
    }
}

/// Whether anybody takes the bytes as a document.
fn check(bytes: &[u8]) -> bool {
    let name = || Name::new("n").unwrap();
    let _ = (define::app(bytes), define::kind(name(), bytes), define::workspace(bytes));
    let _ = (define::sequence(name(), bytes), define::record(name(), bytes));
    if let Ok(text) = str::from_utf8(bytes) {
        let _ = (header::key(text), header::client(text), header::deadline(text));
    }
    let ours = canonical(bytes);
    let shown = || String::from_utf8_lossy(bytes).into_owned();
    if let Ok(canonical_bytes) = &ours {
        assert!(same(bytes, canonical_bytes), "not the same to another reader: {}", shown());
        assert_eq!(canonical(canonical_bytes).as_ref(), Ok(canonical_bytes), "{}", shown());
    }
    if let Ok(body) = command(bytes) {
        assert!(ours.is_ok(), "a command and no document: {}", shown());
        for filled in templates(&body).map(filled) {
            assert_eq!(canonical(&filled).unwrap(), filled, "{}", shown());
        }
    }
    ours.is_ok()
}

#[test]
fn documents_with_wrong_bytes_are_refused_or_mean_what_they_say() {
    let corpus: Vec<&[u8]> = corpus::all().map(str::as_bytes).collect();
    let mut dice = Dice::new(8785);
    let mut taken = 0;
    for _ in 0..ROUNDS {
        let mut document = corpus[dice.index_below(corpus.len())].to_vec();
        for _ in 0..=dice.index_below(3) {
            let other = corpus[dice.index_below(corpus.len())];
            mutate(&mut document, other, &mut dice);
        }
        taken += usize::from(check(&document));
    }
    assert!(taken > ROUNDS / 20, "only {taken} of {ROUNDS} were taken: the mutations are too wild");
}
