//! Pure crates hold no I/O, no clock, no async, no randomness and no order of chance.
//!
//! Clippy stops the calls that matter, through the `clippy.toml` of each pure crate; this check
//! makes sure that the file is there, and stops what clippy cannot name: the words themselves.

use super::tree::Tree;
use super::{Finding, rings};

const IO: &str = "the edges do I/O and hand in what was read";
const CLOCK: &str = "time is a field of the input";
const ASYNC: &str = "waiting belongs to the edges";
const ORDER: &str = "iteration order differs from run to run: use the BTree twin";

/// What must not be written in a pure crate, and what to do instead.
const WORDS: &[(&str, &str)] = &[
    ("std::fs", IO),
    ("std::net", IO),
    ("std::process", IO),
    ("std::env", IO),
    ("std::thread", "threads are a shell around the machine"),
    ("std::time::Instant", CLOCK),
    ("std::time::SystemTime", CLOCK),
    ("async", ASYNC),
    (".await", ASYNC),
    ("HashMap", ORDER),
    ("HashSet", ORDER),
    ("rand::", "what is random is a field of the input"),
];

/// What each pure crate's `clippy.toml` must disallow, and under which key.
const DISALLOWED: &[(&str, &str)] = &[
    ("disallowed-methods", "std::time::Instant::now"),
    ("disallowed-methods", "std::time::SystemTime::now"),
    ("disallowed-methods", "std::thread::spawn"),
    ("disallowed-types", "std::collections::HashMap"),
    ("disallowed-types", "std::collections::HashSet"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for directory in rings::pure_directories() {
        findings.extend(check_clippy(tree, &format!("{directory}/clippy.toml")));
        let sources = format!("{directory}/src/");
        for (path, file) in tree.rust_files().filter(|(path, _)| path.starts_with(&sources)) {
            for (word, instead) in WORDS {
                let lines = file.lines_with(word).into_iter();
                for line in lines.filter(|line| !tree.is_cfg_test(path, *line)) {
                    let sentence = format!("`{word}` in a pure crate: {instead}");
                    findings.push(Finding::new(path, line, sentence));
                }
            }
        }
    }
    findings
}

fn check_clippy(tree: &Tree, path: &str) -> Vec<Finding> {
    let text = tree.text(path).unwrap_or_default();
    let lacking = DISALLOWED.iter().filter(|(key, item)| !disallows(text, key, item));
    let finding = |(key, item): &(&str, &str)| {
        Finding::new(path, 1, format!("a pure crate needs `{item}` in {key}, with a reason"))
    };
    lacking.map(finding).collect()
}

/// Whether a list holds an item with a reason. An inline table is one line, by the rules of TOML.
fn disallows(text: &str, key: &str, item: &str) -> bool {
    let list = text.lines().skip_while(|line| !line.starts_with(key));
    let mut entries = list.take_while(|line| !line.starts_with(']'));
    entries.any(|line| {
        let reason = line.split_once("reason = \"").map_or("", |(_, reason)| reason);
        let is_commented = line.trim_start().starts_with('#');
        !is_commented
            && line.contains(&format!("path = \"{item}\""))
            && !reason.starts_with('"')
            && !reason.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    /// The real file, so that the check and what it checks cannot drift apart.
    const CLIPPY: &str = include_str!("../../../crates/types/clippy.toml");

    fn findings(source: &str, clippy: &str) -> Vec<String> {
        let others: Vec<String> = rings::pure_directories()
            .filter(|directory| directory != "crates/types")
            .map(|directory| format!("{directory}/clippy.toml"))
            .collect();
        let mut files = vec![
            ("crates/types/src/a.rs", source),
            ("crates/types/clippy.toml", clippy),
            ("crates/storage/src/lib.rs", "use std::fs;\n"),
        ];
        files.extend(others.iter().map(|path| (path.as_str(), CLIPPY)));
        printed(&check(&Tree::of(&files)))
    }

    #[test]
    fn impure_words_are_found_wherever_they_hide() {
        let source = "use std::{fs, time::{Duration, Instant}};\nasync fn a() { b().await }\n\
                      type M = std::collections::HashMap<u8, u8>;\nfn r() { rand::random() }\n";
        let found = findings(source, CLIPPY);
        let places = [1, 1, 2, 2, 3, 4].map(|line| format!("crates/types/src/a.rs:{line}: "));
        let mut found: Vec<&String> = found.iter().collect();
        found.sort();
        assert_eq!(found.len(), places.len(), "{found:?}");
        assert!(
            found.iter().zip(places).all(|(found, place)| found.starts_with(&place)),
            "{found:?}"
        );
    }

    #[test]
    fn comments_strings_and_tests_may_name_what_the_code_may_not() {
        let source = "//! No HashMap.\nconst A: &str = \"std::fs\"; // .await\n\
                      fn operand() { operand::x() }\n#[cfg(test)]\n\
                      mod tests {\n    use std::collections::HashMap;\n}\n";
        assert_eq!(findings(source, CLIPPY), [""; 0]);
    }

    #[test]
    fn a_clippy_file_without_a_ban_or_without_its_reason_is_found() {
        assert_eq!(findings("", "").len(), DISALLOWED.len());
        let reasonless = CLIPPY.replace("reason = \"iteration", "because = \"iteration");
        assert_eq!(findings("", &reasonless).len(), 2);
        let misplaced = CLIPPY.replace("disallowed-types", "disallowed-macros");
        assert_eq!(findings("", &misplaced).len(), 2);
    }
}
