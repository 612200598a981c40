//! `docs/seeds.md` traces every requirement to code and test, or says why not.
//!
//! A row that claims too much is worse than no row, so each status has to show something: `done`
//! its code and its test, `differs` its reason, `open` the crate that will hold it.

use std::collections::BTreeSet;

use super::Finding;
use super::markdown::{cells, line_links, resolve, without_code};
use super::tree::Tree;

const PATH: &str = "docs/seeds.md";
/// The seeds hold more requirements than this: fewer rows mean that a part of them was lost.
const ROWS_MIN: usize = 100;
const REASON_WORDS_MIN: usize = 5;
/// The crates of the architecture, those to come included.
const CRATES: &[&str] = &[
    "types",
    "codec",
    "sequencer",
    "sequencer-runtime",
    "core",
    "lanes",
    "replay",
    "storage",
    "storage-fjall",
    "raft",
    "node",
    "api",
    "server",
    "client",
    "projection",
    "workflow",
    "cli",
    "sim",
    "testkit",
    "bench",
    "xtask",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(PATH) else {
        return vec![Finding::new(PATH, 1, "the file is missing: it traces the requirements")];
    };
    let rows = rows(text);
    let mut findings = Vec::new();
    let mut ids = BTreeSet::new();
    for (line, cells) in &rows {
        let mut fault = |sentence: String| findings.push(Finding::new(PATH, *line, sentence));
        let [id, requirement, status, place] = cells.as_slice() else {
            fault(format!("{} cells in a table of four: write a bar as \\|", cells.len()));
            continue;
        };
        if !ids.insert(*id) {
            fault(format!("`{id}` is the id of an earlier row too"));
        }
        if id.is_empty() || requirement.is_empty() {
            fault("a row needs an id and a requirement".to_owned());
        }
        if let Some(sentence) = status_fault(tree, status, place) {
            fault(format!("`{id}` {sentence}"));
        }
    }
    if rows.len() < ROWS_MIN {
        let sentence = format!("{} rows; the seeds have at least {ROWS_MIN}", rows.len());
        findings.push(Finding::new(PATH, 1, sentence));
    }
    findings
}

/// The rows of the tables whose heads have four columns. A row of theirs with another number of
/// cells is among them: a stray bar must not hide a requirement.
fn rows(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut rows: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut is_inside = false;
    for (line, number) in text.lines().zip(1..) {
        match cells(line) {
            None => is_inside = false,
            Some(cells) if cells.iter().all(|cell| cell.contains("---")) => {
                // The line above was the head.
                rows.pop_if(|(row, _)| row.saturating_add(1) == number);
                is_inside = cells.len() == 4;
            }
            Some(cells) if is_inside || cells.len() == 4 => rows.push((number, cells)),
            Some(_) => {}
        }
    }
    rows
}

fn status_fault(tree: &Tree, status: &str, place: &str) -> Option<&'static str> {
    match status {
        "done" => {
            let links: Vec<(String, Option<String>)> = line_links(&without_code(place))
                .iter()
                .filter_map(|target| resolve(PATH, target))
                .collect();
            let (tests, code): (Vec<_>, Vec<_>) =
                links.iter().partition(|(path, name)| is_test(tree, path, name.as_deref()));
            if !code.iter().any(|(path, _)| is_source(path)) {
                return Some("is done, but links to no code: a .rs file below crates/*/src");
            }
            tests.is_empty().then_some(
                "is done, but links to no test: a file below tests/, a #[test] or a conformance \
                 case listed in case_list![]",
            )
        }
        "differs" => {
            let reason =
                place.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
            let is_short = reason.count() < REASON_WORDS_MIN;
            is_short.then_some("differs, but does not say why in five words or more")
        }
        "open" => {
            let names_crate = place
                .split('`')
                .skip(1)
                .step_by(2)
                .any(|code| CRATES.contains(&code.strip_prefix("seriatim-").unwrap_or(code)));
            (!names_crate).then_some("is open, but does not name the crate it will live in")
        }
        _ => Some("has a status that is not one of done, open, differs"),
    }
}

fn is_source(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    path.ends_with(".rs") && matches!(parts.as_slice(), ["crates", _, "src", ..])
}

fn is_test(tree: &Tree, path: &str, fragment: Option<&str>) -> bool {
    let is_named = |name: &String| Some(name.as_str()) == fragment;
    let is_below_tests = path.ends_with(".rs") && path.contains("/tests/");
    is_below_tests
        || tree.rust(path).is_some_and(|file| {
            let is_case = path.contains("/conformance") && file.cases.iter().any(is_named);
            is_case || file.items.iter().any(|item| item.is_test && is_named(&item.name))
        })
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    const CODE: &str = "../crates/a/src/lib.rs";

    /// The findings about one row among as many good ones as the file needs.
    fn findings(row: &str) -> Vec<String> {
        let good = (1..=ROWS_MIN).map(|id| format!("| g{id} | x | open | `core` |\n"));
        let document = format!("| id | requirement | status | where |\n|---|---|---|---|\n{row}\n");
        let document = document + &good.collect::<String>();
        let tree = Tree::of(&[
            (PATH, &document),
            ("crates/a/src/lib.rs", "fn helper() {}\n#[test]\nfn proves() {}\n"),
            (
                "crates/a/src/conformance.rs",
                "case_list![case];\nfn case() {}\npub fn helper() {}\n",
            ),
        ]);
        printed(&check(&tree))
    }

    #[test]
    fn rows_that_show_what_their_status_claims_pass() {
        let tests = [
            "../crates/a/tests/it/x.rs",
            "../crates/a/src/lib.rs#proves",
            "../crates/a/src/conformance.rs#case",
        ];
        for test in tests {
            let row = format!("| a | `x|y` | done | [code]({CODE}#helper), [test]({test}) |");
            assert_eq!(findings(&row), [""; 0]);
        }
        assert_eq!(findings("| a | x | differs | the log itself answers this, always |"), [""; 0]);
        assert_eq!(
            findings("| a | x | open | `seriatim-node`, later |\n\n| other | table |"),
            [""; 0]
        );
    }

    #[test]
    fn rows_that_claim_more_than_they_show_are_found() {
        let bad = [
            ("done", format!("[test]({CODE}#proves)"), "links to no code"),
            ("done", format!("[code]({CODE}), [t]({CODE}#helper)"), "links to no test"),
            (
                "done",
                format!("[code]({CODE}), [t](../crates/a/src/conformance.rs#helper)"),
                "links to no test",
            ),
            ("done", format!("`[code]({CODE})`, [test]({CODE}#proves)"), "links to no code"),
            ("differs", "not so — here :".to_owned(), "does not say why"),
            ("open", "`somewhere`, not core".to_owned(), "does not name the crate"),
            ("Done", "`core`".to_owned(), "not one of done"),
        ];
        for (status, place, sentence) in bad {
            let found = findings(&format!("| a | x | {status} | {place} |"));
            assert_eq!(found.len(), 1, "{status} {place}: {found:?}");
            assert!(
                found[0].starts_with("docs/seeds.md:3: `a` ") && found[0].contains(sentence),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_missing_file_a_short_file_and_a_second_id_are_found() {
        assert!(printed(&check(&Tree::of(&[])))[0].contains("missing"));
        let short = printed(&check(&Tree::of(&[(PATH, "| a | x | open | `core` |\n")])));
        assert_eq!(short, ["docs/seeds.md:1: 1 rows; the seeds have at least 100"]);
        let divided = findings("| a | x|y | open | `core` |");
        assert_eq!(divided, ["docs/seeds.md:3: 5 cells in a table of four: write a bar as \\|"]);
        let twice = findings("| g7 | x | open | `core` |");
        assert_eq!(twice, ["docs/seeds.md:10: `g7` is the id of an earlier row too"]);
    }
}
