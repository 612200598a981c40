//! Words that mean "not finished" or "not reliable".
//!
//! The needles are put together from halves, so that this file does not find itself.

use super::Finding;
use super::tree::Tree;

const UNFINISHED: &[(&str, &str)] = &[
    (concat!("FIX", "ME"), "not mergeable: repair it now, or open an issue and describe the limit"),
    (concat!("to", "do!("), "write the code, or return an error that says what is not supported"),
    (
        concat!("unimple", "mented!("),
        "write the code, or return an error that says what is not supported",
    ),
    (concat!("db", "g!("), "left over from debugging: remove it, or trace what an operator needs"),
    (concat!("#[", "ignore"), "a test runs or does not exist: give a slow one a short mode"),
];

const SLEEPS: &[&str] = &["thread::sleep", "time::sleep"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, file) in tree.rust_files() {
        for (line, number) in tree.text(path).unwrap_or_default().lines().zip(1..) {
            for (word, instead) in UNFINISHED.iter().filter(|(word, _)| line.contains(word)) {
                findings.push(Finding::new(path, number, format!("`{word}`: {instead}")));
            }
        }
        for word in SLEEPS {
            let is_test = |line: &usize| is_below_tests(path) || tree.is_cfg_test(path, *line);
            for line in file.lines_with(word).into_iter().filter(is_test) {
                let sentence = format!("`{word}` in a test: wait for a condition instead");
                findings.push(Finding::new(path, line, sentence));
            }
        }
    }
    findings
}

fn is_below_tests(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/")
}

#[cfg(test)]
mod tests {
    use super::super::printed;
    use super::*;

    #[test]
    fn each_unfinished_word_is_found_even_in_a_comment() {
        for (word, _) in UNFINISHED {
            let found = check(&Tree::of(&[("src/a.rs", &format!("\n// {word}"))]));
            assert!(printed(&found)[0].starts_with(&format!("src/a.rs:2: `{word}`")), "{found:?}");
        }
        assert_eq!(check(&Tree::of(&[("src/a.rs", "// fix me, a todo, dbg")])), []);
    }

    #[test]
    fn a_sleep_is_found_in_tests_and_only_there() {
        let code = "use std::thread;\nfn a() { thread::sleep(d) }\n";
        let module = "#[cfg(test)]\nmod t {\n    use tokio::time::{self, sleep};\n}\n";
        let files = [("src/a.rs", code), ("src/b.rs", module), ("crates/x/tests/it/c.rs", code)];
        let found = printed(&check(&Tree::of(&files)));
        let advice = "in a test: wait for a condition instead";
        let first = format!("crates/x/tests/it/c.rs:2: `thread::sleep` {advice}");
        assert_eq!(found, [first, format!("src/b.rs:3: `time::sleep` {advice}")]);
    }
}
